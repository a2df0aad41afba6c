package report

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/deepprof/deepprof/internal/analysis"
)

type summaryStage struct {
	name                             string
	clean, nsys, busy                any
	passes, low, high                any // of the times under nsys, where there are several
	mfu, mfuCounted, mbu, mbuCounted any
	bound                            string
}

// summaryStages is one row a stage. Narrow terminals get fewer columns.
func summaryStages(r *analysis.Result, width int) *Table[summaryStage] {
	type row = summaryStage
	var rows []row
	clean, nsys := "unprofiled", "under nsys"
	for i := range r.Stages {
		s := &r.Stages[i]
		x := row{name: s.Name, clean: scaled(s.CleanMS, 1e6), nsys: scaled(s.NsysMS, 1e6), bound: "-"}
		if t := s.CleanTimes; t != nil && t.N > 1 {
			x.clean, clean = t.MedianMS*1e6, "unprofiled, median"
		}
		if t := s.NsysTimes; t != nil && t.N > 1 {
			nsys = "under nsys, median"
			x.nsys, x.passes, x.low, x.high = t.MedianMS*1e6, t.N, t.MinMS*1e6, t.MaxMS*1e6
		}
		x.mfu, x.mfuCounted = best(arithmetic(s))
		x.mbu, x.mbuCounted = best(s.MBU)
		if p := &s.Split; p.WallNS > 0 {
			x.busy = percentage(float64(p.BusyNS) / float64(p.WallNS) * 100)
			x.bound = boundBy(p)
		}
		if s.Region == "" && len(r.Stages) == 1 { // the program as a whole: the heading has its time
			x.nsys = nil
		}
		rows = append(rows, x)
	}
	gives := func(minor int) int {
		if width < 76 {
			return minor
		}
		return 0
	}
	return &Table[row]{Rows: Slice(rows), View: View[row]{Columns: []Column[row]{
		{Key: "stage", Value: func(r *row) any { return shorten(r.name, 20) }},
		{Key: "clean", Title: clean, Unit: Nanoseconds, Group: "t", Value: func(r *row) any { return r.clean }},
		{Key: "nsys", Title: nsys, Unit: Nanoseconds, Group: "t", Value: func(r *row) any { return r.nsys }},
		{Key: "low", Title: "min", Unit: Nanoseconds, Group: "t", Priority: 7, Value: func(r *row) any { return r.low }},
		{Key: "high", Title: "max", Unit: Nanoseconds, Group: "t", Priority: 7, Value: func(r *row) any { return r.high }},
		{Key: "passes", Unit: Count, Priority: 8, Value: func(r *row) any { return r.passes }},
		{Key: "busy", Title: "kernels run", Unit: Percent, Priority: 1, Value: func(r *row) any { return r.busy }},
		{Key: "mfu", Title: "MFU", Unit: Percent, Priority: gives(4), Value: func(r *row) any { return r.mfu }},
		{Key: "mfu_counted", Title: "HFU", Unit: Percent, Priority: 2 + gives(4), Value: func(r *row) any { return r.mfuCounted }},
		{Key: "mbu", Title: "MBU", Unit: Percent, Priority: gives(5), Value: func(r *row) any { return r.mbu }},
		{Key: "mbu_counted", Title: "MBU counted", Unit: Percent, Priority: 3 + gives(4), Value: func(r *row) any { return r.mbuCounted }},
		{Key: "bound", Title: "bound by", Value: func(r *row) any { return r.bound }},
	}}}
}

// waits are the causes of idle time in a word or two.
var waits = map[string]string{
	"launch": "launches", "graph": "graph nodes", "python": "host code", "host": "host code", "call": "CUDA calls", "sync": "synchronisation", "copy": "copies", "alloc": "allocation", "others": "work of other regions", "none": "no work given",
}

// boundBy says what a stage spends most of its time on: launches, work, or the
// cause that leaves the GPU without a kernel longest.
func boundBy(s *analysis.Split) string {
	switch {
	case s.LaunchBound:
		return "launches"
	case s.IdleNS <= s.BusyNS:
		return "GPU work"
	}
	most := analysis.TimePart{}
	for _, p := range s.Idle {
		if p.NS > most.NS {
			most = p
		}
	}
	if word, ok := waits[most.ID]; ok {
		return "wait: " + word
	}
	return "wait: " + lowerFirst(partLabel(most))
}

// best is the analytic value, or else the counted one, which is another thing.
func best(list []analysis.Utilisation) (analytic, counted any) {
	if v := utilised(list, "analytic"); v != nil {
		return inUse(v), nil
	}
	return nil, inUse(utilised(list, "counters"))
}

type summaryKernel struct {
	share   *float64
	ns      *int64
	calls   *int64
	alone   *float64 // under ncu, where the timeline has no launch
	limiter string
	name    string
}

// summaryKernels is one row a kernel. Narrow terminals get fewer columns, the
// names of the kernels to the last.
func summaryKernels(r *analysis.Result, most, width int) *Table[summaryKernel] {
	type row = summaryKernel
	yields := func(minor int) int {
		if width < 60 { // in more, texts that are shortened make room enough
			return minor
		}
		return 0
	}
	n := newNames(r)
	var rows []row
	for i := range r.Kernels[:min(len(r.Kernels), most)] {
		k := &r.Kernels[i]
		x := row{limiter: limiterBrief(k), name: n.apart(r, i, textCell)}
		if share := k.Share * 100; !untimed(k) {
			x.share, x.ns, x.calls = &share, &k.TotalNS, &k.Calls
		} else if k.Counted != nil && k.Counted.DurationNS > 0 {
			x.alone = &k.Counted.DurationNS
		}
		rows = append(rows, x)
	}
	return &Table[row]{Rows: Slice(rows), View: View[row]{Columns: []Column[row]{
		{Key: "time", Title: "time", Unit: Percent, Value: func(r *row) any { return r.share }},
		{Key: "total_ns", Title: "time", Unit: Nanoseconds, Value: func(r *row) any { return r.ns }},
		{Key: "calls", Title: "launches", Unit: Count, Priority: yields(2), Value: func(r *row) any { return r.calls }},
		{Key: "alone_ns", Title: "one under ncu", Unit: Nanoseconds, Value: func(r *row) any { return r.alone }},
		{Key: "limiter", Format: Words, Priority: yields(1), Value: func(r *row) any { return r.limiter }},
		{Key: "kernel", Title: "kernel, by GPU time", Format: Name, Value: func(r *row) any { return r.name }},
	}}}
}

// tableLines writes a table, cuts what still does not fit, and names in lines of
// their own the columns that were left out.
func tableLines[T any](t *Table[T], width int) (lines, dropped []string, err error) {
	var b bytes.Buffer
	if err := t.WriteText(&b, width); err != nil {
		return nil, nil, err
	}
	if t.Written() == 0 {
		return nil, nil, nil
	}
	lines = strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
	for i := range lines {
		if r := []rune(lines[i]); len(r) > width {
			lines[i] = string(r[:width-1]) + "…"
		}
	}
	if len(t.dropped) > 0 {
		dropped = wrap(fmt.Sprintf("(too narrow for %s; see the report)", strings.Join(t.dropped, ", ")), width, "  ", sentenceLines)
	}
	return lines, dropped, nil
}
