package report

import (
	"cmp"
	"slices"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/message"
)

// A RankRow is one of several timelines. Numbers are null where it could not be
// read.
type RankRow struct {
	Part string `json:"part"` // what tells it apart, in words
	// Rank is null where the job does not number its processes; Host is "" where there is one.
	Rank    *int   `json:"rank"`
	Host    string `json:"host"`
	Process int    `json:"process"` // pid; 0 where there are several
	Device  *int   `json:"device"`  // null where there are several
	Window  int    `json:"window"`  // from 1; 0 for none
	Repeat  int    `json:"repeat"`  // from 1; 0 for none
	// Times are of this part alone; null where it could not be read or ran no GPU work.
	WallNS   *int64   `json:"wall_ns"`
	BusyNS   *int64   `json:"gpu_busy_ns"` // summed over devices
	KernelNS *int64   `json:"kernel_ns"`
	CopyNS   *int64   `json:"copy_ns"`
	Launches *int64   `json:"launches"`
	CommNS   *int64   `json:"communication_ns"` // union of kernels that exchange data
	Exposed  *int64   `json:"exposed_ns"`       // and no other kernel runs
	Slower   *float64 `json:"over_median"`      // wall time over that of the median part, minus 1
	WaitNS   *int64   `json:"wait_ns"`          // in matched collectives, for the last rank
	Late     *int     `json:"late"`             // matched collectives that it came last to
	LateNS   *int64   `json:"late_ns"`          // how much later than the median of the others, summed
	Longer   string   `json:"meanwhile"`        // what it took longer for before these, in words
	Details  bool     `json:"details"`          // other views of the result are about this one
	// File is relative to the run.
	File string `json:"file"`
	Lost string `json:"lost"` // why there are no numbers
}

// RankView is the parts of a result: the ranks of a job, the windows of a server or the
// repeats of a run, in this order. Times are of each part alone; none is a sum over parts.
var RankView = View[RankRow]{
	Name: "ranks", Order: Order{Words: "rank, window and repeat"},
	Legend: "times are of each part alone; --by measure sums them up, --by stage, --by kernel and --by collective divide them; a rank is late where it enters a collective last",
	Columns: []Column[RankRow]{
		{Key: "part", Value: func(r *RankRow) any { return r.Part }},
		{Key: "rank", Detail: true, Unit: Count, Value: func(r *RankRow) any { return r.Rank }},
		{Key: "host", Detail: true, Value: func(r *RankRow) any { return r.Host }},
		{Key: "process", Detail: true, Unit: Count, Value: func(r *RankRow) any { return orNil(r.Process) }},
		{Key: "device", Priority: 8, Unit: Count, Value: func(r *RankRow) any { return r.Device }},
		{Key: "window", Detail: true, Unit: Count, Value: func(r *RankRow) any { return orNil(r.Window) }},
		{Key: "repeat", Detail: true, Unit: Count, Value: func(r *RankRow) any { return orNil(r.Repeat) }},
		{Key: "wall_ns", Unit: Nanoseconds, Group: "time", Value: func(r *RankRow) any { return r.WallNS }},
		{Key: "gpu_busy_ns", Title: "GPU busy", Priority: 1, Unit: Nanoseconds, Group: "time", Value: func(r *RankRow) any { return r.BusyNS }},
		{Key: "kernel_ns", Title: "GPU time", Priority: 4, Unit: Nanoseconds, Group: "time", Value: func(r *RankRow) any { return r.KernelNS }},
		{Key: "copy_ns", Title: "copies", Priority: 7, Unit: Nanoseconds, Group: "time", Value: func(r *RankRow) any { return r.CopyNS }},
		{Key: "launches", Priority: 5, Unit: Count, Value: func(r *RankRow) any { return r.Launches }},
		{Key: "communication_ns", Title: "communication", Priority: 2, Unit: Nanoseconds, Group: "time", Value: func(r *RankRow) any { return r.CommNS }},
		{Key: "exposed_ns", Title: "exposed", Priority: 2, Unit: Nanoseconds, Group: "time", Value: func(r *RankRow) any { return r.Exposed }},
		{Key: "over_median", Title: "over median", Priority: 3, Unit: Share, Value: func(r *RankRow) any { return r.Slower }},
		{Key: "wait_ns", Title: "waits", Priority: 3, Unit: Nanoseconds, Group: "time", Value: func(r *RankRow) any { return r.WaitNS }},
		{Key: "late", Title: "late", Priority: 3, Unit: Count, Value: func(r *RankRow) any { return r.Late }},
		{Key: "late_ns", Title: "late by", Priority: 3, Unit: Nanoseconds, Group: "time", Value: func(r *RankRow) any { return r.LateNS }},
		{Key: "meanwhile", Title: "took longer for", Priority: 7, Format: Words, Value: func(r *RankRow) any { return orNil(r.Longer) }},
		{Key: "details", Detail: true, Value: func(r *RankRow) any { return r.Details }},
		{Key: "file", Priority: 6, Format: ID, Value: func(r *RankRow) any { return r.File }},
		{Key: "lost", Priority: 9, Title: "not read because", Format: Words, Value: func(r *RankRow) any { return orNil(r.Lost) }},
	},
}

// Ranks shows the parts of a result.
func Ranks(r *analysis.Result) Printable {
	return RankView.table(slices.Values(rankRows(r)), func() []string { return rankNotes(r) })
}

// rankRows has a row a part, in the order of the result.
func rankRows(r *analysis.Result) (rows []*RankRow) {
	for i := range r.Parts {
		rows = append(rows, rankRow(r, i))
	}
	return rows
}

// rankRow is one part. A part that could not be read has Lost and no numbers; one without
// GPU work has its wall time alone.
func rankRow(r *analysis.Result, i int) *RankRow {
	p := &r.Parts[i]
	row := &RankRow{
		Part: partName(r, i), Rank: p.Of.Rank, Host: p.Of.Host, Process: p.Of.Process, Device: p.Of.Device, Window: p.Of.Window, Repeat: p.Of.Repeat,
		Details: p.Details, File: p.File,
	}
	if p.Lost != nil {
		row.Lost = message.Text(*p.Lost)
		return row
	}
	row.WallNS, row.Slower = &p.WallNS, p.OverMedian
	if p.Launches > 0 || p.BusyNS > 0 {
		row.BusyNS, row.KernelNS, row.CopyNS, row.Launches = &p.BusyNS, &p.KernelNS, &p.CopyNS, &p.Launches
	}
	if c := p.Communication; c != nil {
		row.CommNS, row.Exposed = &c.NS, &c.ExposedNS
	}
	for _, w := range pointers(jobOf(r).Waits) {
		if w.Part == i {
			row.WaitNS, row.Late, row.LateNS, row.Longer = &w.WaitNS, &w.Late, &w.LateNS, meanwhile(w.Meanwhile)
		}
	}
	return row
}

// partName is what a part is called in tables: its identity, else its file.
func partName(r *analysis.Result, i int) string {
	return cmp.Or(message.Identity(r.Parts[i].Of), r.Parts[i].File)
}

// rankNotes say why there are no parts, and how the clocks of ranks agree.
func rankNotes(r *analysis.Result) []string {
	notes := missingNotes(r)
	if r.Job != nil {
		notes = append(clockNotes(r), notes...)
	}
	if len(r.Parts) == 0 {
		notes = append([]string{message.Phrase("ranks-single-timeline")}, notes...)
	}
	return notes
}

// A rankStageRow is one stage of one part.
type rankStageRow struct {
	Part   string `json:"part"`
	Rank   *int   `json:"rank"`
	Host   string `json:"host"`
	Window int    `json:"window"`
	Repeat int    `json:"repeat"`
	// Stage is a name of the program, as in the other views.
	Stage  string `json:"stage"`
	Passes int    `json:"passes"`
	PassNS int64  `json:"pass_ns"` // mean of a pass
	WallNS int64  `json:"wall_ns"` // of all passes
	// BusyNS is null where the passes of the part were not divided.
	BusyNS   *int64 `json:"gpu_busy_ns"`
	Launches int64  `json:"launches"`
	// Slower is the mean pass over that of the median part, minus 1.
	Slower *float64 `json:"over_median"`
}

// RankStageView is the matrix of parts and stages, a row a cell. Rows of one stage lie
// together; a part without the stage has no row.
var RankStageView = View[rankStageRow]{
	Name: "ranks", Order: Order{Words: "stage, then rank, window and repeat"},
	Columns: []Column[rankStageRow]{
		{Key: "stage", Value: func(r *rankStageRow) any { return r.Stage }},
		{Key: "part", Value: func(r *rankStageRow) any { return r.Part }},
		{Key: "rank", Detail: true, Unit: Count, Value: func(r *rankStageRow) any { return r.Rank }},
		{Key: "host", Detail: true, Value: func(r *rankStageRow) any { return r.Host }},
		{Key: "window", Detail: true, Unit: Count, Value: func(r *rankStageRow) any { return orNil(r.Window) }},
		{Key: "repeat", Detail: true, Unit: Count, Value: func(r *rankStageRow) any { return orNil(r.Repeat) }},
		{Key: "passes", Priority: 3, Unit: Count, Value: func(r *rankStageRow) any { return r.Passes }},
		{Key: "pass_ns", Title: "mean pass", Unit: Nanoseconds, Group: "time", Value: func(r *rankStageRow) any { return r.PassNS }},
		{Key: "wall_ns", Title: "all passes", Priority: 2, Unit: Nanoseconds, Group: "time", Value: func(r *rankStageRow) any { return r.WallNS }},
		{Key: "gpu_busy_ns", Title: "GPU busy", Priority: 4, Unit: Nanoseconds, Group: "time", Value: func(r *rankStageRow) any { return r.BusyNS }},
		{Key: "launches", Priority: 5, Unit: Count, Value: func(r *rankStageRow) any { return r.Launches }},
		{Key: "over_median", Title: "over median", Priority: 1, Unit: Share, Value: func(r *rankStageRow) any { return r.Slower }},
	},
}

// RankStages shows the matrix of parts and stages.
func RankStages(r *analysis.Result) Printable {
	var rows []rankStageRow
	for _, d := range acrossOf(r).Stages {
		for i, p := range r.Parts {
			for _, s := range p.Stages {
				if s.Stage == d.Name {
					rows = append(rows, rankStageRow{
						Part: partName(r, i), Rank: p.Of.Rank, Host: p.Of.Host, Window: p.Of.Window, Repeat: p.Of.Repeat,
						Stage: s.Stage, Passes: s.Passes, PassNS: s.PassNS, WallNS: s.WallNS, BusyNS: s.BusyNS, Launches: s.Launches, Slower: s.OverMedian,
					})
				}
			}
		}
	}
	return RankStageView.Table(rows, rankNotes(r)...)
}

// A rankMeasureRow is one number over all parts.
type rankMeasureRow struct {
	Measure string `json:"measure"` // of whole parts: wall, busy, ...; or the mean pass of a stage
	Stage   string `json:"stage"`   // "" for whole parts
	analysis.Distribution
	// Fastest and Slowest name the parts with the least and the most of the measure.
	Fastest string `json:"least_part"`
	Slowest string `json:"most_part"`
}

// RankMeasureView is what is summed up over parts: times of whole parts, then the mean pass of
// each stage. Numbers are over the parts that could be read.
var RankMeasureView = View[rankMeasureRow]{
	Name: "ranks", Order: Order{Words: "measure, then stage"},
	Legend: "each number is over the parts, one value a part; the sum adds them up",
	Columns: []Column[rankMeasureRow]{
		{Key: "measure", Value: func(r *rankMeasureRow) any { return r.Measure }},
		{Key: "stage", Value: func(r *rankMeasureRow) any { return r.Stage }},
		{Key: "n", Title: "parts", Unit: Count, Value: func(r *rankMeasureRow) any { return r.N }},
		{Key: "sum_ns", Priority: 1, Unit: Nanoseconds, Value: func(r *rankMeasureRow) any { return r.SumNS }},
		{Key: "min_ns", Unit: Nanoseconds, Group: "time", Value: func(r *rankMeasureRow) any { return r.MinNS }},
		{Key: "median_ns", Unit: Nanoseconds, Group: "time", Value: func(r *rankMeasureRow) any { return r.MedianNS }},
		{Key: "max_ns", Unit: Nanoseconds, Group: "time", Value: func(r *rankMeasureRow) any { return r.MaxNS }},
		{Key: "std_ns", Title: "spread", Priority: 2, Unit: Nanoseconds, Group: "time", Value: func(r *rankMeasureRow) any { return r.StdNS }},
		{Key: "least_part", Title: "least", Priority: 4, Value: func(r *rankMeasureRow) any { return r.Fastest }},
		{Key: "most_part", Title: "most", Priority: 3, Value: func(r *rankMeasureRow) any { return r.Slowest }},
	},
}

// RankMeasures shows what is summed up over parts.
func RankMeasures(r *analysis.Result) Printable {
	var rows []rankMeasureRow
	add := func(measure, stage string, d analysis.Distribution) {
		rows = append(rows, rankMeasureRow{Measure: measure, Stage: stage, Distribution: d, Fastest: partName(r, d.Least), Slowest: partName(r, d.Most)})
	}
	for _, d := range acrossOf(r).Times {
		add(d.Name, "", d)
	}
	for _, d := range acrossOf(r).Stages {
		add(message.Phrase("mean-pass"), d.Name, d)
	}
	return RankMeasureView.Table(rows, rankNotes(r)...)
}

// A rankKernelRow is one kernel over all parts.
type rankKernelRow struct {
	analysis.KernelAcross
	// MostPart names the part in which the kernel took most time.
	MostPart string `json:"most_part"`
	of       int    // parts there are
}

// RankKernelView is the kernels of all parts by name; grids and blocks are not told apart. A
// part that did not launch a kernel is in no minimum.
var RankKernelView = View[rankKernelRow]{
	Name: "ranks", Order: Order{Key: "sum_ns", Descending: true}, Legend: "launches and the sum add up all parts; min and max are of single parts that launched the kernel",
	Columns: []Column[rankKernelRow]{
		{Key: "sum_ns", Title: "sum", Unit: Nanoseconds, Value: func(r *rankKernelRow) any { return r.SumNS }},
		{Key: "launches", Priority: 3, Unit: Count, Value: func(r *rankKernelRow) any { return r.Launches }},
		{Key: "parts", Priority: 2, Value: func(r *rankKernelRow) any { return r.Parts }, Show: func(r *rankKernelRow) any { return message.Phrase("find-place", r.Parts, r.of) }},
		{Key: "min_ns", Priority: 4, Unit: Nanoseconds, Group: "part", Value: func(r *rankKernelRow) any { return r.MinNS }},
		{Key: "max_ns", Priority: 1, Unit: Nanoseconds, Group: "part", Value: func(r *rankKernelRow) any { return r.MaxNS }},
		{Key: "most_part", Title: "most", Priority: 5, Value: func(r *rankKernelRow) any { return r.MostPart }},
		{Key: "category", Priority: 6, Value: func(r *rankKernelRow) any { return r.Category }},
		{Key: "name", Title: "kernel", Format: Name, Value: func(r *rankKernelRow) any { return r.Name }},
	},
}

// RankKernels shows the kernels of all parts.
func RankKernels(r *analysis.Result) Printable {
	a, notes := acrossOf(r), rankNotes(r)
	if a.KernelsCut > 0 {
		notes = append(notes, message.Phrase("rank-kernels-left-out", a.KernelsCut))
	}
	return RankKernelView.Table(each(a.Kernels, func(k *analysis.KernelAcross) rankKernelRow {
		return rankKernelRow{KernelAcross: *k, MostPart: partName(r, k.Most), of: a.Parts}
	}), notes...)
}
