package capture

import (
	"bytes"
	"context"
	"encoding/csv"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/deepprof/deepprof/internal/gpu"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/tool"
)

// conditionFields are what nvidia-smi is asked for while a step runs, in the order
// of runs.Condition.
const conditionFields = "index,clocks.sm,clocks.mem,power.draw,temperature.gpu,utilization.gpu,clocks_throttle_reasons.active,memory.used"

// conditionEvery is the time between two samples, in milliseconds: often enough for
// a short pass, rare enough that nobody notices.
const conditionEvery = "250"

// SampleConditions appends clocks, power and throttle reasons to the run while a
// step runs, until stop is called. A sample that cannot be written costs the sample
// and not the run.
// stop returns once the last row is written.
func SampleConditions(ctx context.Context, smi tool.Tool, store *runs.Run, step string) (stop func()) {
	inner, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w := &conditionWriter{path: store.Path(runs.ConditionsName), step: step, now: time.Now}
		defer w.close()
		command := tool.Command{Path: smi.Path, Args: []string{"--query-gpu=" + conditionFields, "--format=csv,noheader,nounits", "-lms", conditionEvery}, Stdout: w}
		_, _ = command.Run(inner) // it ends by being stopped; one that ends before has told what it could
	}()
	return func() {
		cancel()
		<-ended
	}
}

// A conditionWriter takes what nvidia-smi prints and writes it as rows of the run.
// The file is made with the first row.
type conditionWriter struct {
	path, step string
	now        func() time.Time
	rest       []byte // a line that has not ended
	file       *os.File
}

// Write never fails: a sample is worth less than the run.
func (w *conditionWriter) Write(p []byte) (int, error) {
	w.rest = append(w.rest, p...)
	for {
		line, rest, ok := bytes.Cut(w.rest, []byte("\n"))
		if !ok {
			return len(p), nil
		}
		w.rest = rest
		if c, ok := parseCondition(string(line)); ok {
			c.Time, c.Step = w.now(), w.step
			w.add(c)
		}
	}
}

// add makes the file with its header when the first sample comes.
func (w *conditionWriter) add(c runs.Condition) {
	if w.file == nil {
		f, err := os.OpenFile(w.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
		if err != nil {
			return
		}
		w.file = f
		if st, err := f.Stat(); err == nil && st.Size() == 0 {
			w.row(runs.ConditionColumns)
		}
	}
	w.row(c.Record())
}

// row writes a line with one call, so that a killed run has whole lines but the last.
func (w *conditionWriter) row(cells []string) {
	var line bytes.Buffer
	out := csv.NewWriter(&line)
	_ = out.Write(cells)
	out.Flush()
	_, _ = w.file.Write(line.Bytes())
}

// close does nothing where no sample came: there is no file then.
func (w *conditionWriter) close() {
	if w.file != nil {
		_ = w.file.Close()
	}
}

// parseCondition reads a line of nvidia-smi; false where it is none.
func parseCondition(line string) (c runs.Condition, ok bool) {
	cells := strings.Split(strings.TrimSpace(line), ",")
	if len(cells) != strings.Count(conditionFields, ",")+1 {
		return c, false
	}
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	var err error
	if c.GPU, err = strconv.Atoi(cells[0]); err != nil {
		return c, false
	}
	for i, to := range []*float64{&c.ClockSM, &c.ClockMem, &c.PowerW, &c.TempC, &c.Utilization} {
		if *to, err = strconv.ParseFloat(cells[1+i], 64); err != nil { // [N/A]
			*to = math.NaN()
		}
	}
	if c.MemoryMiB, err = strconv.ParseFloat(cells[7], 64); err != nil {
		c.MemoryMiB = math.NaN()
	}
	c.Reasons, _ = strconv.ParseUint(cells[6], 0, 64)
	c.Throttled = strings.Join(gpu.Throttled(c.Reasons), "+")
	return c, true
}
