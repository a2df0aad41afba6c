package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/analysis"
)

// A StageRow is one stage of a result. Times under nsys and the split are of
// the timeline; shares are from 0 to 1.
type StageRow struct {
	Stage       string   `json:"stage"`
	Region      string   `json:"region"` // path that it is measured by; empty for the whole
	CleanMS     *float64 `json:"clean_ms"`
	CleanStdMS  *float64 `json:"clean_std_ms"`
	NsysMS      *float64 `json:"nsys_ms"`
	Overhead    *float64 `json:"overhead"` // nsys over clean, minus 1
	Passes      int      `json:"passes"`
	TokensPS    *float64 `json:"tokens_per_s"`
	WallNS      *int64   `json:"wall_ns"` // all passes of the timeline
	BusyNS      *int64   `json:"gpu_busy_ns"`
	IdleNS      *int64   `json:"gpu_idle_ns"`
	LaunchBound *bool    `json:"launch_bound"`
	GainNS      *int64   `json:"launch_gain_ns"` // what CUDA graphs or fusion save at most, of the clean time where there is one
	MFU         *float64 `json:"mfu_analytic"`
	MFUCounters *float64 `json:"mfu_counters"`
	MBU         *float64 `json:"mbu_analytic"`
	MBUCounters *float64 `json:"mbu_counters"`
}

const stagesLegend = "times are of one pass, but for wall, kernels run and no kernel runs, which are of all passes under nsys, and what graphs save, which is of all passes, clean where that was timed; copies count as time in which no kernel runs"

// Stages shows the stages of a result.
func Stages(r *analysis.Result) Printable {
	type row = StageRow
	rows := make([]row, len(r.Stages))
	for i := range r.Stages {
		rows[i] = stageRow(&r.Stages[i])
	}
	return &Table[row]{
		Schema: "stages", Version: 1, Rows: Slice(rows), Notes: func() []string { return stageNotes(r) },
		Legend: stagesLegend,
		Columns: []Column[row]{
			{Name: "stage", Get: func(r *row) any { return r.Stage }},
			{Name: "region", Detail: true, Get: func(r *row) any { return r.Region }},
			{Name: "clean_ms", Title: "clean", Kind: Nanoseconds, Group: "pass", Get: func(r *row) any { return r.CleanMS }, Show: func(r *row) any { return scaled(r.CleanMS, 1e6) }},
			{Name: "clean_std_ms", Minor: 15, Title: "std", Kind: Nanoseconds, Group: "pass", Get: func(r *row) any { return r.CleanStdMS }, Show: func(r *row) any { return scaled(r.CleanStdMS, 1e6) }},
			{Name: "nsys_ms", Minor: 2, Title: "under nsys", Kind: Nanoseconds, Group: "pass", Get: func(r *row) any { return r.NsysMS }, Show: func(r *row) any { return scaled(r.NsysMS, 1e6) }},
			{Name: "overhead", Minor: 8, Title: "overhead %", Kind: Percent, Get: func(r *row) any { return r.Overhead }, Show: func(r *row) any { return inPercent(r.Overhead) }},
			{Name: "passes", Minor: 13, Kind: Count, Get: func(r *row) any { return r.Passes }},
			{Name: "tokens_per_s", Minor: 7, Title: "tokens/s", Kind: Count, Get: func(r *row) any { return r.TokensPS }},
			{Name: "wall_ns", Title: "wall, all passes", Minor: 11, Kind: Nanoseconds, Group: "split", Get: func(r *row) any { return r.WallNS }},
			{Name: "gpu_busy_ns", Minor: 5, Title: "kernels run", Kind: Nanoseconds, Group: "split", Get: func(r *row) any { return r.BusyNS }},
			{Name: "gpu_idle_ns", Minor: 12, Title: "no kernel runs", Kind: Nanoseconds, Group: "split", Get: func(r *row) any { return r.IdleNS }},
			{Name: "launch_bound", Minor: 6, Title: "launch-bound", Get: func(r *row) any { return yesNo(r.LaunchBound) }},
			{Name: "launch_gain_ns", Minor: 14, Title: "graphs save at most", Kind: Nanoseconds, Group: "split", Get: func(r *row) any { return r.GainNS }},
			{Name: "mfu_analytic", Minor: 3, Title: "MFU %", Kind: Percent, Get: func(r *row) any { return r.MFU }, Show: func(r *row) any { return inUse(r.MFU) }},
			{Name: "mfu_counters", Minor: 3, Title: "MFU counted %", Kind: Percent, Get: func(r *row) any { return r.MFUCounters }, Show: func(r *row) any { return inUse(r.MFUCounters) }},
			{Name: "mbu_analytic", Minor: 4, Title: "MBU %", Kind: Percent, Get: func(r *row) any { return r.MBU }, Show: func(r *row) any { return inUse(r.MBU) }},
			{Name: "mbu_counters", Minor: 4, Title: "MBU counted %", Kind: Percent, Get: func(r *row) any { return r.MBUCounters }, Show: func(r *row) any { return inUse(r.MBUCounters) }},
		},
	}
}

func stageRow(s *analysis.Stage) StageRow {
	row := StageRow{
		Stage: s.Name, Region: s.Region, CleanMS: s.CleanMS, CleanStdMS: s.CleanStdMS, NsysMS: s.NsysMS, Overhead: s.Overhead, Passes: s.Passes, TokensPS: s.TokensPS,
		MFU: utilised(s.MFU, "analytic"), MFUCounters: utilised(s.MFU, "counters"), MBU: utilised(s.MBU, "analytic"), MBUCounters: utilised(s.MBU, "counters"),
	}
	if p := &s.Split; p.WallNS > 0 {
		row.WallNS, row.BusyNS, row.IdleNS, row.LaunchBound = &p.WallNS, &p.BusyNS, &p.IdleNS, &p.LaunchBound
		if p.GainNS > 0 {
			row.GainNS = cmp.Or(s.CleanGainNS, &p.GainNS)
		}
	}
	return row
}

// utilised is the value found by a method; a contradiction is none.
func utilised(list []analysis.Utilisation, method string) *float64 {
	for i := range list {
		if u := &list[i]; u.Method == method && !u.Contradiction {
			return u.Value
		}
	}
	return nil
}

// stageNotes are the reasons behind absent values.
func stageNotes(r *analysis.Result) []string {
	var notes []string
	for i := range r.Stages {
		s := &r.Stages[i]
		for _, list := range []struct {
			name string
			of   []analysis.Utilisation
		}{{"MFU", s.MFU}, {"MBU", s.MBU}} {
			for _, u := range list.of {
				if u.Value == nil && u.Why != "" {
					notes = append(notes, s.Name+", "+list.name+" from "+methodLabel(u.Method)+": "+u.Why)
				}
			}
		}
	}
	return append(notes, missingNotes(r)...)
}

// missingNotes are what holds for every table of a result.
func missingNotes(r *analysis.Result) []string {
	var notes []string
	if r.Source.Recorded {
		notes = append(notes, RecordedRun)
	}
	if text := unfinished[r.Source.Status]; text != "" {
		notes = append(notes, lowerFirst(text)+": what it had captured by then is shown")
	}
	for _, n := range append(r.Missing[:len(r.Missing):len(r.Missing)], warnings(r)...) {
		text := n.Text
		if n.Next != "" {
			text += "; " + n.Next
		}
		notes = append(notes, text)
	}
	return notes
}

// scaled multiplies a value that may be absent.
func scaled(p *float64, by float64) any {
	if p == nil {
		return nil
	}
	return *p * by
}

// inPercent writes a share for people; what is not 0 does not read as 0.
func inPercent(p *float64) any {
	if p == nil {
		return nil
	}
	return percentage(*p * 100)
}

// inUse is inPercent for MFU and MBU, which keep two digits however small.
func inUse(p *float64) any {
	if p == nil {
		return nil
	}
	return percentage(*p * 100)
}

// yesNo writes a switch that may be absent.
func yesNo(p *bool) any {
	switch {
	case p == nil:
		return nil
	case *p:
		return "yes"
	}
	return "no"
}

// An OperatorRow is one operator of the torch profiler.
type OperatorRow struct {
	Name          string   `json:"name"`
	Shapes        string   `json:"shapes"`
	Calls         int64    `json:"calls"`
	TotalDeviceUS float64  `json:"total_device_us"` // with the operators that it calls
	SelfDeviceUS  float64  `json:"self_device_us"`
	Share         *float64 `json:"share"` // of all self device time, 0 to 1
	TotalCPUUS    float64  `json:"total_cpu_us"`
	SelfCPUUS     float64  `json:"self_cpu_us"`
	Limiter       string   `json:"limiter"` // of most of its kernels' time, where known
	// LimiterShare and LimiterCoverage are of its kernels' time, 0 to 1: held back
	// by the limiter, and with a verdict. Null without a limiter of linked kernels.
	LimiterShare    *float64 `json:"limiter_share"`
	LimiterCoverage *float64 `json:"limiter_coverage"`
	MainKernel      string   `json:"main_kernel"` // that takes most of its time; "" where the recording does not tell
	Through         string   `json:"through"`     // the operator that launches it, where that is another
	Kernels         []string `json:"kernels"`
	Why             string   `json:"why"` // its own device time is 0
}

// Operators shows the operators of a result by total device time.
func Operators(r *analysis.Result) Printable {
	type row = OperatorRow
	var whole float64
	for i := range r.Operators {
		whole += r.Operators[i].SelfDeviceUS
	}
	n := newNames(r)
	rows := make([]row, 0, len(r.Operators))
	for _, o := range byTotal(r.Operators) {
		x := row{Name: o.Name, Shapes: o.Shapes, Calls: o.Calls, TotalDeviceUS: o.TotalDeviceUS, SelfDeviceUS: o.SelfDeviceUS,
			TotalCPUUS: o.TotalCPUUS, SelfCPUUS: o.SelfCPUUS, Kernels: append([]string{}, o.Kernels...), Why: o.Why}
		if whole > 0 {
			s := o.SelfDeviceUS / whole
			x.Share = &s
		}
		x.Limiter = operatorLimiter(r, n, o)
		if l := o.Limiter; l != nil {
			x.Limiter = l.Label
			if l.Kind != "" {
				x.LimiterShare, x.LimiterCoverage = &l.Share, &l.Coverage
			}
		}
		if len(o.Links) > 0 {
			x.MainKernel, x.Through = linkName(n, &o.Links[0]), o.Links[0].By
		}
		rows = append(rows, x)
	}
	us := func(x float64) any { return x * 1e3 }
	legend := "device self adds up and self % is of it; totals overlap"
	device := func(x float64) any { return us(x) }
	if cpuOnly(r.Operators) && len(rows) > 0 {
		legend = "no operator has device time; rows are in the order of CPU self"
		device = func(float64) any { return nil }
	}
	return &Table[row]{
		Schema: "operators", Version: 1, Rows: Slice(rows), Notes: func() []string { return operatorNotes(r) },
		Legend: legend,
		Columns: []Column[row]{
			{Name: "share", Minor: 4, Title: "self %", Kind: Percent, Get: func(r *row) any { return r.Share }, Show: func(r *row) any { return inPercent(r.Share) }},
			{Name: "total_device_us", Title: "device total", Kind: Nanoseconds, Group: "device", Get: func(r *row) any { return r.TotalDeviceUS }, Show: func(r *row) any { return device(r.TotalDeviceUS) }},
			{Name: "self_device_us", Minor: 5, Title: "device self", Kind: Nanoseconds, Group: "device", Get: func(r *row) any { return r.SelfDeviceUS }, Show: func(r *row) any { return device(r.SelfDeviceUS) }},
			{Name: "total_cpu_us", Title: "CPU total", Minor: 7, Kind: Nanoseconds, Group: "cpu", Get: func(r *row) any { return r.TotalCPUUS }, Show: func(r *row) any { return us(r.TotalCPUUS) }},
			{Name: "self_cpu_us", Title: "CPU self", Minor: 2, Kind: Nanoseconds, Group: "cpu", Get: func(r *row) any { return r.SelfCPUUS }, Show: func(r *row) any { return us(r.SelfCPUUS) }},
			{Name: "calls", Minor: 3, Kind: Count, Get: func(r *row) any { return r.Calls }},
			{Name: "limiter", Minor: 8, Kind: Words, Get: func(r *row) any { return textOrNil(r.Limiter) }},
			{Name: "limiter_share", Title: "limiter %", Detail: true, Kind: Percent, Get: func(r *row) any { return r.LimiterShare }, Show: func(r *row) any { return inPercent(r.LimiterShare) }},
			{Name: "limiter_coverage", Title: "counted %", Detail: true, Kind: Percent, Get: func(r *row) any { return r.LimiterCoverage }, Show: func(r *row) any { return inPercent(r.LimiterCoverage) }},
			{Name: "name", Title: "operator", Kind: Name, Get: func(r *row) any { return r.Name }},
			{Name: "main_kernel", Minor: 6, Title: "main kernel", Kind: Words, Get: func(r *row) any { return textOrNil(r.MainKernel) }},
			{Name: "through", Detail: true, Get: func(r *row) any { return textOrNil(r.Through) }},
			{Name: "shapes", Detail: true, Get: func(r *row) any { return r.Shapes }},
			{Name: "kernels", Detail: true, Get: func(r *row) any { return r.Kernels }},
			{Name: "why", Minor: 9, Title: "no device self because", Kind: Words, Get: func(r *row) any { return textOrNil(r.Why) }},
		},
	}
}

// operatorNotes say why there are no operators, where there are none.
func operatorNotes(r *analysis.Result) []string {
	notes := missingNotes(r)
	told := slices.ContainsFunc(r.Missing, func(n analysis.Note) bool {
		return strings.Contains(n.ID, "operator") || strings.Contains(n.ID, "torch")
	})
	if len(r.Operators) == 0 && !told {
		notes = append([]string{"there are no operators: the torch profiler did not run, or the workload is not PyTorch; pipeline.torch_profiler.enable=true turns it on"}, notes...)
	}
	return notes
}

func textOrNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// A RooflineRow is one kernel against one compute roof and one memory level.
type RooflineRow struct {
	KernelID  string   `json:"kernel_id"`
	Grid      [3]int64 `json:"grid"`
	Block     [3]int64 `json:"block"`
	Short     string   `json:"short_name"`
	DType     string   `json:"dtype"`            // ID of the compute roof
	Memory    string   `json:"memory"`           // dram, l2, l1
	Intensity float64  `json:"flop_per_byte"`    //
	FLOPS     float64  `json:"flop_per_s"`       // achieved
	Roof      *float64 `json:"roof_flop_per_s"`  // of the data type
	Bandwidth *float64 `json:"roof_byte_per_s"`  // of the memory level
	Attained  float64  `json:"attained"`         // share of the lower of the two roofs, 0 to 1
	NS        int64    `json:"kernel_total_ns"`  // in the timeline
	Limiter   string   `json:"limiter"`          //
	Kernel    string   `json:"kernel,omitempty"` // whole name
}

// roofsLegend is said of roofs beside the points of several launches.
const roofsLegend = "roofs are those of the longest counted launch; of roof is held against the limits at the clock of the kernel's own launch, so the two may differ by their clocks"

// RooflinePoints shows the points of the roofline.
func RooflinePoints(r *analysis.Result) Printable {
	type row = RooflineRow
	roofs := map[string]*float64{}
	for i := range r.Roofline.Roofs {
		roofs[r.Roofline.Roofs[i].ID] = &r.Roofline.Roofs[i].Value
	}
	n := newNames(r)
	rows := make([]row, len(r.Roofline.Points))
	for i, p := range r.Roofline.Points {
		rows[i] = row{KernelID: p.Kernel, DType: p.DType, Memory: p.Memory, Intensity: p.Intensity, FLOPS: p.FLOPS, Attained: p.Attained, NS: p.NS,
			Roof: roofs[p.DType], Bandwidth: roofs[p.Memory]}
		if k := n.find(p.Kernel); k >= 0 {
			rows[i].Short, rows[i].Kernel, rows[i].Limiter = n.of(k), r.Kernels[k].Name, limiter(&r.Kernels[k].Limiter)
			rows[i].Grid, rows[i].Block = r.Kernels[k].Grid, r.Kernels[k].Block
		}
	}
	giga := func(x float64) any { return x / 1e9 }
	legend := ""
	if len(rows) > 0 {
		legend = roofsLegend
	}
	return &Table[row]{
		Schema: "roofline", Version: 1, Rows: Slice(rows), Legend: legend,
		Notes: func() []string {
			var notes []string
			if r.Scope != nil {
				notes = append(notes, "total times are of "+r.Scope.Name)
			}
			if r.Roofline.Why != "" {
				notes = append(notes, r.Roofline.Why)
			}
			return append(notes, missingNotes(r)...)
		},
		Columns: []Column[row]{
			{Name: "kernel_id", Detail: true, Get: func(r *row) any { return r.KernelID }},
			{Name: "dtype", Title: "arithmetic", Kind: Words, Get: func(r *row) any { return r.DType }, Show: func(x *row) any { return roofLabel(r, x.DType) }},
			{Name: "memory", Get: func(r *row) any { return r.Memory }, Show: func(x *row) any { return roofLabel(r, x.Memory) }},
			{Name: "flop_per_byte", Minor: 3, Title: "FLOP/B", Kind: Count, Get: func(r *row) any { return r.Intensity }},
			{Name: "flop_per_s", Minor: 2, Title: "GFLOP/s", Kind: Count, Get: func(r *row) any { return r.FLOPS }, Show: func(r *row) any { return giga(r.FLOPS) }},
			{Name: "roof_flop_per_s", Detail: true, Get: func(r *row) any { return r.Roof }},
			{Name: "roof_byte_per_s", Detail: true, Get: func(r *row) any { return r.Bandwidth }},
			{Name: "attained", Title: "of roof %", Kind: Percent, Get: func(r *row) any { return r.Attained }, Show: func(r *row) any { return inPercent(&r.Attained) }},
			{Name: "kernel_total_ns", Minor: 4, Title: "total", Kind: Nanoseconds, Get: func(r *row) any { return r.NS }, Show: func(r *row) any {
				if r.NS == 0 { // the timeline has no launch of it
					return nil
				}
				return r.NS
			}},
			{Name: "limiter", Minor: 5, Kind: Words, Get: func(r *row) any { return textOrNil(r.Limiter) }},
			{Name: "grid", Minor: 6, Get: func(r *row) any { return dims(r.Grid) }},
			{Name: "block", Detail: true, Get: func(r *row) any { return dims(r.Block) }},
			{Name: "short_name", Title: "kernel", Kind: Name, Get: func(r *row) any { return r.Short }},
			{Name: "kernel", Detail: true, Get: func(r *row) any { return r.Kernel }},
		},
	}
}
