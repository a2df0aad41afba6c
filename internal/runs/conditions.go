package runs

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// A Condition is one sample of one GPU. A value that nvidia-smi did not tell is
// NaN.
type Condition struct {
	Time        time.Time
	Step        string // that ran
	GPU         int    // index
	ClockSM     float64
	ClockMem    float64 // both in MHz
	PowerW      float64
	TempC       float64
	Utilization float64 // 0 to 100: share of the time in which a kernel ran
	Reasons     uint64  // bits of clocks_event_reasons.active
	// Throttled names the reasons that change results, joined by '+'; "" if none
	// does.
	Throttled string
	MemoryMiB float64 // in use on the GPU, of all processes
}

// ConditionColumns is the header of the file.
var ConditionColumns = []string{"time", "step", "gpu", "clock_sm_mhz", "clock_mem_mhz", "power_w", "temperature_c", "utilization_pct", "reasons", "throttled", "memory_used_mib"}

// conditionColumnsBefore is how many of them older versions wrote.
const conditionColumnsBefore = 10

// Record is the sample as a row of the file.
// It has the order of ConditionColumns. The time is in UTC, and an unknown value is "NaN".
func (c *Condition) Record() []string {
	num := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	return []string{c.Time.UTC().Format(time.RFC3339Nano), c.Step, strconv.Itoa(c.GPU), num(c.ClockSM), num(c.ClockMem), num(c.PowerW), num(c.TempC), num(c.Utilization), fmt.Sprintf("0x%x", c.Reasons), c.Throttled, num(c.MemoryMiB)}
}

// ReadConditions reads the samples of a run; none if it has none.
// Samples are in the order of the file, which is that of time; a half-written last line
// is left out.
func ReadConditions(dir string) ([]Condition, error) {
	f, err := os.Open(filepath.Join(dir, ConditionsName))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read conditions: %w", err)
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.FieldsPerRecord, r.ReuseRecord = -1, true // a run of an older version may have gone on
	var out []Condition
	for line := 0; ; line++ {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read conditions %s: %w", f.Name(), err)
		}
		if len(row) != len(ConditionColumns) && len(row) != conditionColumnsBefore { // a run that was killed leaves half a line
			return out, nil
		}
		if line == 0 {
			continue
		}
		c, err := condition(row)
		if err != nil {
			return nil, fmt.Errorf("read conditions %s line %d: %w", f.Name(), line+1, err)
		}
		out = append(out, c)
	}
}

// condition reads one row of ConditionColumns.
func condition(row []string) (c Condition, err error) {
	if c.Time, err = time.Parse(time.RFC3339Nano, row[0]); err != nil {
		return c, err
	}
	if c.GPU, err = strconv.Atoi(row[2]); err != nil {
		return c, err
	}
	for i, to := range []*float64{&c.ClockSM, &c.ClockMem, &c.PowerW, &c.TempC, &c.Utilization} {
		if *to, err = strconv.ParseFloat(row[3+i], 64); err != nil {
			return c, err
		}
	}
	if c.Reasons, err = strconv.ParseUint(row[8], 0, 64); err != nil {
		return c, err
	}
	c.Step, c.Throttled, c.MemoryMiB = row[1], row[9], math.NaN()
	if len(row) > conditionColumnsBefore {
		c.MemoryMiB, err = strconv.ParseFloat(row[conditionColumnsBefore], 64)
	}
	return c, err
}

// MemoryInUse is the most memory that one GPU had in use since a moment, of all
// processes, in bytes; nil if no sample of the run tells it.
func MemoryInUse(dir string, since time.Time) *float64 {
	samples, err := ReadConditions(dir)
	if err != nil {
		return nil
	}
	var most *float64
	for i := range samples {
		bytes := samples[i].MemoryMiB * (1 << 20)
		if samples[i].Time.Before(since) || math.IsNaN(bytes) || most != nil && *most >= bytes {
			continue
		}
		most = &bytes
	}
	return most
}

// repeatsFolder holds the further processes of a run, each a run of its own.
const repeatsFolder = "repeats"

// RepeatDir is the folder of a further process within a run, from 2 on.
func RepeatDir(n int) string { return repeatsFolder + "/" + strconv.Itoa(n) }

// Repeats are the folders of the further processes of a run, in order.
// Numbering has no gaps: the list ends at the first number that is missing.
func Repeats(dir string) []string {
	var out []string
	for n := 2; ; n++ {
		path := filepath.Join(dir, filepath.FromSlash(RepeatDir(n)))
		if _, err := os.Stat(filepath.Join(path, ManifestName)); err != nil {
			return out
		}
		out = append(out, path)
	}
}
