package export

import (
	"context"
	"math"
	"path/filepath"

	"github.com/deepprof/deepprof/internal/load"
	"github.com/deepprof/deepprof/internal/report"
	"github.com/deepprof/deepprof/internal/runs"
)

// runTable is a table with rows of files that a run keeps beside its captures.
// They are not of a region, so that a region has none.
func runTable[Row any](name, file string, view report.View[Row], read func(*Source, func(path string, rows []Row) error) error) table {
	return table{
		name: name, columns: columnsOf(file, nil, view),
		rows: func(_ context.Context, s *Source, emit emitter) ([]string, error) {
			if s.Dir == "" || s.Region != "" {
				return nil, nil
			}
			return nil, read(s, func(path string, rows []Row) error {
				return emitRows(emit, s.Run, s.relative(path), nil, view, report.Slice(rows))
			})
		},
	}
}

// A requestRow is a request with the window in which it ended.
// Times are ns; window and timeline are "" outside every profiled window.
type requestRow struct {
	load.Request
	// number is the place of the request in the file of requests, from 1.
	number int
	window string
	// timeline names the file of the window; "" where it was not profiled.
	timeline string
}

// requestView has the requests that clients of deepprof's own sent to a server.
// Moments are on the clock of the load, which windows.json shares.
var requestView = report.View[requestRow]{Name: "requests", Columns: []report.Column[requestRow]{
	{Key: "request", Unit: report.Count, Value: func(r *requestRow) any { return int64(r.number) }},
	{Key: "window", Value: func(r *requestRow) any { return r.window }},
	{Key: "timeline", Value: func(r *requestRow) any { return r.timeline }},
	{Key: "sent_ns", Unit: report.Nanoseconds, Value: func(r *requestRow) any { return r.Sent }},
	{Key: "end_ns", Unit: report.Nanoseconds, Value: func(r *requestRow) any { return since(r.End, 0) }},
	{Key: "ttft_ns", Unit: report.Nanoseconds, Value: func(r *requestRow) any {
		if len(r.Tokens) == 0 {
			return (*int64)(nil)
		}
		return since(r.Tokens[0], r.Sent)
	}},
	{Key: "tpot_ns", Unit: report.Nanoseconds, Value: func(r *requestRow) any {
		if v, ok := r.PerToken(); ok {
			return new(int64(v))
		}
		return (*int64)(nil)
	}},
	{Key: "e2e_ns", Unit: report.Nanoseconds, Value: func(r *requestRow) any { return since(r.End, r.Sent) }},
	{Key: "prompt_tokens", Unit: report.Count, Value: func(r *requestRow) any { return int64(r.Prompt) }},
	{Key: "output_tokens", Unit: report.Count, Value: func(r *requestRow) any { return int64(r.Output) }},
	{Key: "error", Value: func(r *requestRow) any { return r.Error }},
}}

// since is the time from one moment to another in ns; absent where it did not come to that,
// which the load writes as 0.
func since(at, from int64) *int64 {
	if at == 0 {
		return nil
	}
	return new(at - from)
}

// requestTable has a row for each request that a client of deepprof's own sent.
func requestTable() table {
	return runTable("requests", "file", requestView, func(s *Source, emit func(string, []requestRow) error) error {
		for _, path := range runs.Files(s.Dir, runs.RequestsFile) {
			list, err := load.ReadRequests(path)
			if err != nil {
				return err
			}
			record, err := load.ReadRecord(filepath.Join(filepath.Dir(path), runs.WindowsName))
			if err != nil {
				return err
			}
			rows := make([]requestRow, len(list))
			for i := range list {
				rows[i] = requestRow{Request: list[i], number: i + 1}
				rows[i].window, rows[i].timeline = s.windowOf(record, list[i].End)
			}
			if err := emit(path, rows); err != nil {
				return err
			}
		}
		return nil
	})
}

// windowOf names the window in which something ended, and its timeline; "" where
// there is none.
// at is ns on the clock of the load; 0 is a request that never ended.
func (s *Source) windowOf(r *load.Record, at int64) (window, timeline string) {
	for i := range r.Window {
		w := &r.Window[i]
		if at == 0 || at < w.From || at >= w.To || w.Kind == load.Startup { // which has a clock of its own
			continue
		}
		for _, path := range s.Timelines {
			if file := s.relative(path); w.Report != "" && file == w.Report+filepath.Ext(file) {
				return w.Name, file
			}
		}
		return w.Name, ""
	}
	return "", ""
}

// conditionView has what nvidia-smi told of the GPUs while the run was made.
var conditionView = report.View[runs.Condition]{Name: "conditions", Columns: []report.Column[runs.Condition]{
	{Key: "time_utc_ns", Unit: report.Nanoseconds, Value: func(c *runs.Condition) any { return c.Time.UnixNano() }},
	{Key: "step", Value: func(c *runs.Condition) any { return c.Step }},
	{Key: "gpu", Unit: report.Count, Value: func(c *runs.Condition) any { return int64(c.GPU) }},
	{Key: "clock_sm_mhz", Unit: report.Count, Value: func(c *runs.Condition) any { return known(c.ClockSM) }},
	{Key: "clock_mem_mhz", Unit: report.Count, Value: func(c *runs.Condition) any { return known(c.ClockMem) }},
	{Key: "power_w", Unit: report.Count, Value: func(c *runs.Condition) any { return known(c.PowerW) }},
	{Key: "temperature_c", Unit: report.Count, Value: func(c *runs.Condition) any { return known(c.TempC) }},
	{Key: "utilization_pct", Unit: report.Count, Value: func(c *runs.Condition) any { return known(c.Utilization) }},
	{Key: "throttled", Value: func(c *runs.Condition) any { return c.Throttled }},
	{Key: "memory_used_mib", Unit: report.Count, Value: func(c *runs.Condition) any { return known(c.MemoryMiB) }},
}}

// known is absent where nvidia-smi did not tell.
func known(v float64) *float64 {
	if math.IsNaN(v) {
		return nil
	}
	return &v
}

// conditionTable has a row for each sample of nvidia-smi.
func conditionTable() table {
	return runTable("conditions", "file", conditionView, func(s *Source, emit func(string, []runs.Condition) error) error {
		rows, err := s.conditions()
		if err != nil || len(rows) == 0 {
			return err
		}
		return emit(filepath.Join(s.Dir, runs.ConditionsName), rows)
	})
}

// conditions are what nvidia-smi told during the run; none for files that were
// named one by one.
func (s *Source) conditions() ([]runs.Condition, error) {
	if s.Dir == "" {
		return nil, nil
	}
	return runs.ReadConditions(s.Dir)
}
