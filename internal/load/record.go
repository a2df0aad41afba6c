package load

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/deepprof/deepprof/internal/format"
)

// RecordSchema is the version of windows.json.
const RecordSchema = 1

// A Record is what came of one start of a server.
type Record struct {
	Schema int      `json:"schema"`
	Engine string   `json:"engine"`
	Load   string   `json:"load"` // client, command or none
	Shape  *Shape   `json:"shape,omitempty"`
	Steady bool     `json:"steady"`  // before the first window
	Ready  float64  `json:"ready_s"` // from the start until it served requests
	Warmup float64  `json:"warmup_s"`
	Window []Window `json:"windows"`
	// Counted are the seconds from the start under ncu to each counted launch, Steps
	// those of the load to the ends of steps: moments at which tokens came.
	Counted []float64 `json:"counted_s,omitempty"`
	Steps   []float64 `json:"steps_s,omitempty"`
}

// Shape is what the client sent.
type Shape struct {
	Endpoint    string  `json:"endpoint"`
	Model       string  `json:"model"`
	Concurrency int     `json:"concurrency"`
	Rate        float64 `json:"rate,omitempty"` // 0 for a closed loop
	Prompt      string  `json:"prompt"`
	Output      string  `json:"output"`
	Seed        int     `json:"seed"`
}

// A WindowKind says what was on while a window was measured.
type WindowKind string

const (
	Unprofiled WindowKind = "unprofiled" // no nsys at all
	Idle       WindowKind = "idle"       // a session that collects nothing
	Profiled   WindowKind = "profiled"   // a session that collects
	Counted    WindowKind = "counted"    // ncu replays launches: no time of it says anything
	Startup    WindowKind = "startup"    // a session that collects, before the server was ready
)

// A Window is an interval of a server.
type Window struct {
	Name string     `json:"name"`
	Kind WindowKind `json:"kind"`
	From int64      `json:"from_ns"` // on the clock of the load
	To   int64      `json:"to_ns"`
	// Stats is nil where no client of deepprof's own drove the server.
	Stats *Stats `json:"stats,omitempty"`
	// Report is the timeline of a profiled window without its extension, by its
	// name within the run.
	Report string `json:"report,omitempty"`
	// Kernels is the number of kernels in the timeline.
	Kernels int64 `json:"kernels,omitempty"`
	Cut     bool  `json:"cut,omitempty"` // it ended before its time
	// Connections is the largest number of open connections seen in the window, and
	// EngineSteps the steps that the server says it made in it: of traffic from outside
	// nothing else is known. Nil where they cannot be told, and of other loads.
	Connections *int     `json:"connections,omitempty"`
	EngineSteps *float64 `json:"engine_steps,omitempty"`
	// CacheUse is the used share of the key-value cache at the end of the window,
	// Memory the peak of GPU memory in bytes, by the server's own count.
	CacheUse *float64 `json:"cache_use,omitempty"`
	Memory   *float64 `json:"memory_peak_bytes,omitempty"`
	// GPUMemory is the most memory in bytes that one GPU had in use in the window, of
	// all processes, by samples of nvidia-smi.
	GPUMemory *float64 `json:"gpu_memory_used_bytes,omitempty"`
	// CacheRead is how many places of the cache a decode step reads for each
	// sequence, at the end of the window and by the server's own count.
	CacheRead *float64 `json:"cache_read_tokens,omitempty"`
}

// Arrivals are the moments at which tokens came, in seconds, as far as they are a tenth
// of a second apart.
func Arrivals(list []Request) []float64 {
	var all []int64
	for _, r := range list {
		all = append(all, r.Tokens...)
	}
	slices.Sort(all)
	var out []float64
	for i, at := range all {
		if i == 0 || at-all[i-1] > 1e8 {
			out = append(out, float64(at)/1e9)
		}
	}
	return out
}

// Number is that of the profiled window with a report, counted from 1 among those
// under load; 0 where no window has it.
func (r *Record) Number(report string) int {
	n := 0
	for _, w := range r.Window {
		if w.Kind != Profiled {
			continue
		}
		if n++; w.Report != "" && w.Report == report {
			return n
		}
	}
	return 0
}

// Busiest is the report of the window that counters are chosen from: the first,
// which the reports are about, unless a later one has twice its kernels. "" where
// there is none.
func (r *Record) Busiest() string {
	found, most := "", int64(-1)
	for _, w := range r.Window {
		if w.Kind == Profiled && w.Report != "" && w.Kernels > 2*most {
			found, most = w.Report, w.Kernels
		}
	}
	return found
}

// maxRecord bounds a windows.json, in bytes: a window takes about 2 kB.
const maxRecord = 256 << 20

// ReadRecord reads a windows.json.
func ReadRecord(path string) (*Record, error) {
	text, err := format.ReadFile(path, maxRecord)
	if err != nil {
		return nil, fmt.Errorf("read the windows of a server: %w", err)
	}
	var r Record
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if r.Schema < 1 || r.Schema > RecordSchema {
		return nil, fmt.Errorf("read %s: schema %d is not known, this version reads %d; use a newer deepprof", path, r.Schema, RecordSchema)
	}
	return &r, nil
}

// WriteRequests writes requests, one a line.
// It replaces the file, but not atomically.
func WriteRequests(path string, list []Request) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	e := json.NewEncoder(w)
	for i := range list {
		if err := e.Encode(&list[i]); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	return errors.Join(w.Flush(), f.Close())
}

// ReadRequests reads a requests.jsonl.
// The file may be compressed. The first line that cannot be read is an error.
func ReadRequests(path string) ([]Request, error) {
	f, err := format.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the requests to a server: %w", err)
	}
	defer f.Close()
	var list []Request
	for d := json.NewDecoder(bufio.NewReader(f)); ; {
		var r Request
		switch err := d.Decode(&r); {
		case errors.Is(err, io.EOF):
			return list, nil
		case err != nil:
			return nil, fmt.Errorf("read %s: request %d: %w", path, len(list)+1, err)
		}
		list = append(list, r)
	}
}
