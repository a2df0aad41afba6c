package report

import (
	"slices"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/message"
)

// A StageRow is one stage of a result. Times under nsys and the split are of
// the timeline; shares are from 0 to 1.
type StageRow struct {
	Stage  string `json:"stage"`
	Region string `json:"region"` // path that it is measured by; empty for the whole
	// Means of a pass in ms; null where the stage was not timed, and 0 is a time.
	CleanMS    *float64 `json:"clean_ms"`
	CleanStdMS *float64 `json:"clean_std_ms"`
	NsysMS     *float64 `json:"nsys_ms"`
	Overhead   *float64 `json:"overhead"` // nsys over clean, minus 1
	// Passes are those of the timeline; 0 without one.
	Passes     int      `json:"passes"`
	NsysMedian *float64 `json:"nsys_median_ms"` // of the passes behind nsys_ms
	NsysMin    *float64 `json:"nsys_min_ms"`
	NsysMax    *float64 `json:"nsys_max_ms"`
	NsysStd    *float64 `json:"nsys_std_ms"` // 0 for one pass
	// Of the passes of the unprofiled run; null where only their mean is known.
	CleanMedian *float64 `json:"clean_median_ms"`
	CleanMin    *float64 `json:"clean_min_ms"`
	CleanMax    *float64 `json:"clean_max_ms"`
	HostMS      *float64 `json:"host_ms"`     // how long the host kept a pass open under nsys
	Synchronous *bool    `json:"synchronous"` // every pass stayed open until its work had ended
	LeadMS      *float64 `json:"lead_ms"`     // per pass: no kernel runs between its opening and its first work
	// TokensPS is of the unprofiled run.
	TokensPS    *float64 `json:"tokens_per_s"`
	WallNS      *int64   `json:"wall_ns"` // all passes of the timeline
	BusyNS      *int64   `json:"gpu_busy_ns"`
	IdleNS      *int64   `json:"gpu_idle_ns"`
	LaunchBound *bool    `json:"launch_bound"`
	GainNS      *int64   `json:"launch_gain_ns"` // what closing the launch gaps saves at most, of the unprofiled time where there is one
	// Shares of the peak; null where a method does not tell, or contradicts itself.
	MFU         *float64 `json:"mfu_analytic"`
	MFUCounters *float64 `json:"mfu_counters"` // HFU by its older name
	HFU         *float64 `json:"hfu_counters"`
	MBU         *float64 `json:"mbu_analytic"`
	MBUCounters *float64 `json:"mbu_counters"`
	BusyShare   *float64 `json:"gpu_busy_share"` // gpu_busy_ns of wall_ns
	Limiter     string   `json:"limiter"`        // code of what decides how long it takes: launch, work or idle

	several  bool   // passes under nsys
	limiter  string // in words
	overhead string // in place of one that cannot be told
	// overheadNote is what to know of the overhead: why it is absent, or too much.
	overheadNote string
	cleanWhy     string // why a time is absent
	nsysWhy      string // or which clock it is by
	regions      string // where its name does not tell
}

// passes hides the distribution of one pass from people.
func (r *StageRow) passes(p *float64) any {
	return when(r.several, scaled(p, units[Milliseconds].factor))
}

// stagesLegend is for the table of the terminal and of documents; the page has footnotes.
const stagesLegend = "unprofiled and under nsys are means per pass; median, fastest, slowest and spread (standard deviation) are of the passes under nsys; a stage that is not synchronous closes before its work ends: its time is that of its work on the GPU, and host is how long the range was open; copies count as time in which no kernel runs"

// StageView is the stages of a result, in the order of the program. People get times in the
// unit that suits the column; JSON and CSV keep the names of the keys: "clean" is the
// unprofiled run. The terminal, report.md, the page and the summary show different columns of
// this one declaration.
var StageView = View[StageRow]{
	Name: "stages", Order: Order{Words: "the program"}, Legend: stagesLegend,
	Columns: []Column[StageRow]{
		{Key: "stage", Format: Name, Value: func(r *StageRow) any { return r.Stage }},
		{Key: "region", Detail: true, Value: func(r *StageRow) any { return r.Region }},
		{Key: "clean_ms", Title: "unprofiled, mean per pass", Unit: Milliseconds, Group: "pass", Value: func(r *StageRow) any { return r.CleanMS }, Note: func(r *StageRow) string { return r.cleanWhy }},
		{Key: "clean_std_ms", Priority: 15, Title: "spread, unprofiled", Unit: Milliseconds, Group: "pass", Value: func(r *StageRow) any { return r.CleanStdMS }},
		{Key: "nsys_ms", Priority: 2, Title: "under nsys, mean per pass", Unit: Milliseconds, Group: "pass", Value: func(r *StageRow) any { return r.NsysMS }, Note: func(r *StageRow) string { return r.nsysWhy }},
		{Key: "overhead", Priority: 8, Title: "overhead", Help: "Of the unprofiled time: how much longer a pass takes under nsys", Unit: Share, Value: func(r *StageRow) any { return r.Overhead }, Show: showOverhead, Note: func(r *StageRow) string { return r.overheadNote }},
		{Key: "passes", Priority: 13, Unit: Count, Value: func(r *StageRow) any { return r.Passes }},
		{Key: "nsys_median_ms", Priority: 9, Title: "median pass", Unit: Milliseconds, Group: "pass", Value: func(r *StageRow) any { return r.NsysMedian }, Show: func(r *StageRow) any { return r.passes(r.NsysMedian) }},
		{Key: "nsys_min_ms", Priority: 9, Title: "fastest pass", Unit: Milliseconds, Group: "pass", Value: func(r *StageRow) any { return r.NsysMin }, Show: func(r *StageRow) any { return r.passes(r.NsysMin) }},
		{Key: "nsys_max_ms", Priority: 9, Title: "slowest pass", Unit: Milliseconds, Group: "pass", Value: func(r *StageRow) any { return r.NsysMax }, Show: func(r *StageRow) any { return r.passes(r.NsysMax) }},
		{Key: "nsys_std_ms", Priority: 16, Title: "spread of passes", Unit: Milliseconds, Group: "pass", Value: func(r *StageRow) any { return r.NsysStd }, Show: func(r *StageRow) any { return r.passes(r.NsysStd) }},
		{Key: "clean_median_ms", Detail: true, Title: "unprofiled, median pass", Unit: Milliseconds, Group: "pass", Value: func(r *StageRow) any { return r.CleanMedian }},
		{Key: "clean_min_ms", Detail: true, Title: "unprofiled, fastest pass", Unit: Milliseconds, Group: "pass", Value: func(r *StageRow) any { return r.CleanMin }},
		{Key: "clean_max_ms", Detail: true, Title: "unprofiled, slowest pass", Unit: Milliseconds, Group: "pass", Value: func(r *StageRow) any { return r.CleanMax }},
		{Key: "host_ms", Priority: 17, Title: "host, per pass", Unit: Milliseconds, Group: "pass", Value: func(r *StageRow) any { return r.HostMS }},
		{Key: "synchronous", Priority: 17, Title: "synchronous", Value: func(r *StageRow) any { return yesNo(r.Synchronous) }},
		{Key: "lead_ms", Priority: 17, Title: "no kernel before its first work, per pass", Help: "Of a stage that is not synchronous: from the opening of a pass, or the end of earlier work, to its first work; no part of its time", Unit: Milliseconds, Group: "pass", Value: func(r *StageRow) any { return r.LeadMS }},
		{Key: "tokens_per_s", Priority: 7, Title: "tokens/s", Unit: Count, Value: func(r *StageRow) any { return r.TokensPS }},
		{Key: "wall_ns", Title: "wall, all passes", Priority: 11, Unit: Nanoseconds, Group: "split", Value: func(r *StageRow) any { return r.WallNS }},
		{Key: "gpu_busy_ns", Priority: 5, Title: "a kernel runs, all passes", Unit: Nanoseconds, Group: "split", Value: func(r *StageRow) any { return r.BusyNS }},
		{Key: "gpu_idle_ns", Priority: 12, Title: "no kernel runs, all passes", Unit: Nanoseconds, Group: "split", Value: func(r *StageRow) any { return r.IdleNS }},
		{Key: "launch_bound", Priority: 6, Title: "launch-bound", Value: func(r *StageRow) any { return yesNo(r.LaunchBound) }},
		{Key: "launch_gain_ns", Priority: 14, Title: "closing launch gaps saves at most, all passes", Unit: Nanoseconds, Group: "split", Value: func(r *StageRow) any { return r.GainNS }},
		{Key: "mfu_analytic", Priority: 3, Title: "MFU", Help: "Of the peak: the FLOPs of the model", Unit: Share, Value: func(r *StageRow) any { return r.MFU }},
		{Key: "mfu_counters", Detail: true, Title: "HFU by its older name", Help: "Of the peak: the same as hfu_counters", Unit: Share, Value: func(r *StageRow) any { return r.MFUCounters }},
		{Key: "hfu_counters", Priority: 3, Title: "HFU", Help: "Of the peak: the FLOPs that the hardware executed", Unit: Share, Value: func(r *StageRow) any { return r.HFU }},
		{Key: "mbu_analytic", Priority: 4, Title: "MBU", Help: "Of the peak: the bytes of the model", Unit: Share, Value: func(r *StageRow) any { return r.MBU }},
		{Key: "mbu_counters", Priority: 4, Title: "MBU counted", Help: "Of the peak: the bytes that were counted", Unit: Share, Value: func(r *StageRow) any { return r.MBUCounters }},
		{Key: "gpu_busy_share", Priority: 1, Title: "a kernel runs, of wall", Unit: Share, Part: "gpu_busy_ns", Within: "stage", Value: func(r *StageRow) any { return r.BusyShare }},
		{Key: "limiter", Value: func(r *StageRow) any { return orNil(r.Limiter) }, Show: func(r *StageRow) any { return orNil(r.limiter) }},
	},
}

// Stages shows the stages of a result.
func Stages(r *analysis.Result) Printable {
	return StageView.table(slices.Values(stageRows(r)), func() []string { return stageNotes(r) })
}

// stageRows has a row a stage, in the order of the result.
func stageRows(r *analysis.Result) []*StageRow {
	return each(r.Stages, func(s *analysis.Stage) *StageRow { return stageRow(r, s) })
}

// stageRow takes what the result says of a stage; pointers are into s.
func stageRow(r *analysis.Result, s *analysis.Stage) *StageRow {
	row := &StageRow{
		Stage: s.Name, Region: s.Region, CleanMS: s.CleanMS, CleanStdMS: s.CleanStdMS, NsysMS: s.NsysMS, Overhead: s.Overhead, Passes: s.Passes, TokensPS: s.TokensPS,
		MFU: utilized(s.MFU, "analytic"), MFUCounters: utilized(s.HFU, "counters"), HFU: utilized(s.HFU, "counters"), MBU: utilized(s.MBU, "analytic"), MBUCounters: utilized(s.MBU, "counters"),
	}
	row.HostMS, row.Synchronous = s.HostMS, s.Synchronous
	row.LeadMS = s.LeadMS()
	if t := s.NsysTimes; t != nil {
		row.NsysMedian, row.NsysMin, row.NsysMax, row.NsysStd = &t.MedianMS, &t.MinMS, &t.MaxMS, &t.StdMS
		row.several = t.N > 1
	}
	if t := s.CleanTimes; t != nil {
		row.CleanMedian, row.CleanMin, row.CleanMax = &t.MedianMS, &t.MinMS, &t.MaxMS
	}
	if p := &s.Split; p.WallNS > 0 {
		row.WallNS, row.BusyNS, row.IdleNS, row.LaunchBound = &p.WallNS, &p.BusyNS, &p.IdleNS, &p.LaunchBound
		if s.LaunchGain != nil {
			row.GainNS = &s.LaunchGain.NS
		}
		row.BusyShare = p.BusyShare
		if p.Limiter != nil {
			row.Limiter, row.limiter = p.Limiter.Kind, timeLimiter(p)
		}
	}
	row.explain(r, s)
	return row
}

// explain says why times are absent, and what to know of them.
func (row *StageRow) explain(r *analysis.Result, s *analysis.Stage) {
	row.regions = regionsOf(s)
	if s.CleanMS == nil {
		row.cleanWhy = whyMissing(r, message.Phrase("stage-without-unprofiled-time"), withoutUnprofiled...)
	}
	switch {
	case s.NsysMS == nil:
		row.nsysWhy = whyMissing(r, message.Phrase("stage-not-in-timeline"), withoutTimeline...)
	case s.RangeMS != nil:
		row.nsysWhy = message.Phrase("stage-session-clock", elapsed(*s.RangeMS*1e6))
	}
	switch {
	case s.Overhead == nil && s.OverheadWhy != nil:
		row.overhead, row.overheadNote = message.Short(*s.OverheadWhy), message.Text(*s.OverheadWhy)
	case s.OverheadHigh:
		row.overheadNote = slowed(r, s)
	}
}

// regionsOf names what a stage is measured by, where its name does not tell.
func regionsOf(s *analysis.Stage) string {
	switch {
	case len(s.Regions) > 1:
		return names3(s.Regions)
	case s.Region != s.Name:
		return s.Region
	}
	return ""
}

// StageRegions say of each stage what it is measured by, for the page; "" where its name tells.
func StageRegions(r *analysis.Result) []string {
	return each(r.Stages, func(s *analysis.Stage) string {
		id := "stage-by"
		if len(s.Regions) > 1 {
			id = "stage-sum"
		}
		return known(id, regionsOf(s))
	})
}

// showOverhead has words where there is no number.
func showOverhead(r *StageRow) any {
	if r.Overhead == nil {
		return orNil(r.overhead)
	}
	return *r.Overhead * 100
}

// utilized is the value found by a method; a contradiction is none.
func utilized(list []analysis.Utilization, method string) *float64 {
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
			of   []analysis.Utilization
		}{{"MFU", s.MFU}, {"HFU", s.HFU}, {"MBU", s.MBU}} {
			for _, u := range list.of {
				if u.Value == nil && len(u.Why) > 0 {
					notes = append(notes, message.Phrase("use-absent", s.Name, list.name, methodLabel(u.Method), message.Join(u.Why)))
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
		notes = append(notes, RecordedRun())
	}
	if text := unfinished(r); text != "" {
		notes = append(notes, message.Phrase("screen-unfinished", lowerFirst(text)))
	}
	return append(notes, noteLines(slices.Concat(r.Missing, r.Warnings))...)
}

// noteLines are notes of a result, each with what to do about it.
func noteLines(notes []analysis.Note) []string {
	return message.Texts(each(notes, func(n *analysis.Note) fact.Fact { return n.AsFact() }))
}

// scaled multiplies a value that may be absent.
func scaled(p *float64, by float64) any {
	if p == nil {
		return nil
	}
	return *p * by
}

// yesNo writes a switch that may be absent; CSV has the same.
func yesNo(p *bool) any {
	switch {
	case p == nil:
		return nil
	case *p:
		return "yes"
	}
	return "no"
}

// An operatorRow is one operator of the torch profiler.
type operatorRow struct {
	Name string `json:"name"`
	// Shapes are those of the inputs as the torch profiler writes them; "" where it has none.
	Shapes        string  `json:"shapes"`
	Calls         int64   `json:"calls"`
	TotalDeviceUS float64 `json:"total_device_us"` // with the operators that it calls
	// Without the operators that it calls: these add up.
	SelfDeviceUS float64  `json:"self_device_us"`
	Share        *float64 `json:"share"` // of all self device time, 0 to 1
	TotalCPUUS   float64  `json:"total_cpu_us"`
	SelfCPUUS    float64  `json:"self_cpu_us"`
	Limiter      string   `json:"limiter"` // of most of its kernels' time, where known
	// LimiterShare and LimiterCoverage are of its kernels' time, 0 to 1: held back
	// by the limiter, and with a verdict. Null without a limiter of linked kernels.
	LimiterShare    *float64 `json:"limiter_share"`
	LimiterCoverage *float64 `json:"limiter_coverage"`
	MainKernel      string   `json:"main_kernel"` // that takes most of its time; "" where the recording does not tell
	Through         string   `json:"through"`     // the operator that launches it, where that is another
	// Kernels are names as the torch profiler has them; never null.
	Kernels    []string `json:"kernels"`
	Module     string   `json:"module"` // place in the model that called it and took most of its time
	Modules    []string `json:"modules"`
	Why        string   `json:"why"` // its own device time is 0
	onCPU      bool     // no operator of the result has device time
	limiter    string   // with its share where that is not all
	limiterWhy string   // there is none
	kernelID   string   // of the main kernel; "" where the result does not list it
}

// device hides a device time where no operator has one.
func (r *operatorRow) device(us float64) any { return when(!r.onCPU, us*units[Microseconds].factor) }

// OperatorView is the operators of the torch profiler. Times are microseconds of CPU and
// device, as the profiler sums them; self leaves out nested operators.
var OperatorView = View[operatorRow]{
	Name: "operators", Order: Order{Key: "total_device_us", Descending: true}, Legend: "self leaves out the operators that an operator calls: device self adds up, totals overlap",
	Columns: []Column[operatorRow]{
		{Key: "share", Priority: 4, Title: "of all device self", Unit: Share, Part: "self_device_us", Value: func(r *operatorRow) any { return r.Share }},
		{Key: "total_device_us", Title: "device total", Unit: Microseconds, Group: "device", Value: func(r *operatorRow) any { return r.TotalDeviceUS }, Show: func(r *operatorRow) any { return r.device(r.TotalDeviceUS) }},
		{Key: "self_device_us", Priority: 5, Title: "device self", Unit: Microseconds, Group: "device", Value: func(r *operatorRow) any { return r.SelfDeviceUS }, Show: func(r *operatorRow) any { return r.device(r.SelfDeviceUS) }},
		{Key: "total_cpu_us", Title: "CPU total", Priority: 7, Unit: Microseconds, Group: "cpu", Value: func(r *operatorRow) any { return r.TotalCPUUS }},
		{Key: "self_cpu_us", Title: "CPU self", Priority: 2, Unit: Microseconds, Group: "cpu", Value: func(r *operatorRow) any { return r.SelfCPUUS }},
		{Key: "calls", Priority: 3, Unit: Count, Value: func(r *operatorRow) any { return r.Calls }},
		{Key: "limiter", Priority: 8, Help: "What holds back more of the time of an operator's kernels than anything else, its own and those of the operators that it calls; in brackets the share of that time, and how much of it was counted, where that is not all", Format: Words, Value: func(r *operatorRow) any { return orNil(r.Limiter) }, Show: func(r *operatorRow) any { return orNil(r.limiter) }, Note: func(r *operatorRow) string { return r.limiterWhy }},
		{Key: "limiter_share", Title: "limited, of its kernels' time", Detail: true, Unit: Share, Value: func(r *operatorRow) any { return r.LimiterShare }},
		{Key: "limiter_coverage", Title: "counted, of its kernels' time", Detail: true, Unit: Share, Value: func(r *operatorRow) any { return r.LimiterCoverage }},
		{Key: "name", Title: "operator", Format: Name, Value: func(r *operatorRow) any { return r.Name }},
		{Key: "main_kernel", Priority: 6, Title: "main kernel", Format: Name, Value: func(r *operatorRow) any { return orNil(r.MainKernel) }},
		{Key: "module", Priority: 7, Title: "main module", Help: "Place in the model that called it and took most of its device time, of its calls where none took any", Format: Name, Value: func(r *operatorRow) any { return orNil(r.Module) }},
		{Key: "modules", Detail: true, Value: func(r *operatorRow) any { return r.Modules }},
		{Key: "through", Format: Name, Detail: true, Value: func(r *operatorRow) any { return orNil(r.Through) }},
		{Key: "shapes", Detail: true, Value: func(r *operatorRow) any { return r.Shapes }},
		{Key: "kernels", Detail: true, Value: func(r *operatorRow) any { return r.Kernels }},
		{Key: "why", Priority: 9, Title: "no device self because", Format: Words, Value: func(r *operatorRow) any { return orNil(r.Why) }},
	},
}

// Operators shows the operators of a result by total device time.
func Operators(r *analysis.Result) Printable {
	rows := operatorRows(r, newNames(r), r.OperatorsByTotal())
	t := OperatorView.Table(rows, operatorNotes(r)...)
	if r.OnlyCPU() && len(rows) > 0 {
		t.Legend, t.Order.Key = message.Phrase("operators-without-device-time"), "self_cpu_us"
	}
	return t
}

// operatorRows are some operators in words. Lists are never nil, so that JSON has lists.
func operatorRows(r *analysis.Result, n *names, operators []*analysis.Operator) []operatorRow {
	onCPU := r.OnlyCPU()
	rows := make([]operatorRow, 0, len(operators))
	for _, o := range operators {
		x := operatorRow{onCPU: onCPU, Name: o.Name, Shapes: o.Shapes, Calls: o.Calls, TotalDeviceUS: o.TotalDeviceUS, SelfDeviceUS: o.SelfDeviceUS,
			TotalCPUUS: o.TotalCPUUS, SelfCPUUS: o.SelfCPUUS, Kernels: append([]string{}, o.Kernels...), Why: message.Text(o.Why)}
		if !onCPU { // the share is of device time
			x.Share = o.Share
		}
		x.Limiter = operatorLimiter(r, n, o)
		if x.limiter = x.Limiter; x.Limiter == "" && o.Limiter == nil && len(o.Kernels) == 0 && o.TotalDeviceUS > 0 {
			x.limiterWhy = message.Phrase("operator-without-kernels")
		}
		if l := o.Limiter; l != nil {
			x.Limiter = message.Limiter(l.Kind, l.Units)
			if l.Kind != "" {
				x.LimiterShare, x.LimiterCoverage = &l.Share, &l.Coverage
			} else if !l.Why.IsZero() {
				x.limiterWhy = message.Phrase("no-verdict-on-limiter", message.Text(l.Why))
			}
		}
		if len(o.Links) > 0 {
			x.MainKernel, x.Through, x.kernelID = linkName(n, &o.Links[0]), o.Links[0].By, o.Links[0].Kernel
		}
		x.Modules = []string{}
		for _, m := range o.Modules {
			x.Modules = append(x.Modules, m.Name)
		}
		if len(x.Modules) > 0 {
			x.Module = x.Modules[0]
		}
		rows = append(rows, x)
	}
	return rows
}

// operatorNotes say why there are no operators, where there are none.
func operatorNotes(r *analysis.Result) []string {
	notes := missingNotes(r)
	told := r.Lacks(analysis.NoOperators, analysis.OperatorKernels)
	if len(r.Operators) == 0 && !told {
		notes = append([]string{message.Phrase("operators-none")}, notes...)
	}
	return notes
}

// A rooflineRow is one kernel against one compute roof and one memory level.
type rooflineRow struct {
	// KernelID is that of result.json; a kernel has a row for each roof and memory level.
	KernelID string `json:"kernel_id"`
	// Grid in blocks, Block in threads.
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

	arithmetic, level string // labels of DType and Memory
}

// roofsLegend is said of roofs beside the points of several launches.
const roofsLegend = "roofs are those of the longest counted launch; of roof is held against the limits at the clock of the kernel's own launch, so the two may differ by their clocks"

// RooflineView is the points of the roofline: one row for each kernel, compute roof and
// memory level that was counted. roofline.csv is this view.
var RooflineView = View[rooflineRow]{
	Name: "roofline", Order: Order{Key: "kernel_total_ns", Descending: true}, Legend: roofsLegend,
	Columns: []Column[rooflineRow]{
		{Key: "kernel_id", Detail: true, Value: func(r *rooflineRow) any { return r.KernelID }},
		{Key: "dtype", Title: "arithmetic", Format: Words, Value: func(r *rooflineRow) any { return r.DType }, Show: func(r *rooflineRow) any { return r.arithmetic }},
		{Key: "memory", Value: func(r *rooflineRow) any { return r.Memory }, Show: func(r *rooflineRow) any { return r.level }},
		{Key: "flop_per_byte", Priority: 3, Title: "FLOP/B", Unit: Count, Value: func(r *rooflineRow) any { return r.Intensity }},
		{Key: "flop_per_s", Priority: 2, Title: "FLOP/s", Unit: FLOPPerSecond, Value: func(r *rooflineRow) any { return r.FLOPS }},
		{Key: "roof_flop_per_s", Detail: true, Value: func(r *rooflineRow) any { return r.Roof }},
		{Key: "roof_byte_per_s", Detail: true, Value: func(r *rooflineRow) any { return r.Bandwidth }},
		{Key: "attained", Title: "of roof", Unit: Share, Value: func(r *rooflineRow) any { return r.Attained }},
		{Key: "kernel_total_ns", Priority: 4, Title: "total", Unit: Nanoseconds, Value: func(r *rooflineRow) any { return r.NS }, Show: func(r *rooflineRow) any { return orNil(r.NS) }}, // 0: the timeline has no launch of it
		{Key: "limiter", Priority: 5, Format: Words, Value: func(r *rooflineRow) any { return orNil(r.Limiter) }},
		{Key: "grid", Priority: 6, Value: func(r *rooflineRow) any { return dims(r.Grid) }},
		{Key: "block", Detail: true, Value: func(r *rooflineRow) any { return dims(r.Block) }},
		{Key: "short_name", Title: "kernel", Format: Name, Value: func(r *rooflineRow) any { return r.Short }},
		{Key: "kernel", Detail: true, Value: func(r *rooflineRow) any { return r.Kernel }},
	},
}

// rooflineRows are the points with what they are held against.
func rooflineRows(r *analysis.Result, n *names) []rooflineRow {
	roofs := map[string]*float64{}
	for i := range r.Roofline.Roofs {
		roofs[r.Roofline.Roofs[i].ID] = &r.Roofline.Roofs[i].Value
	}
	rows := make([]rooflineRow, len(r.Roofline.Points))
	for i, p := range r.Roofline.Points {
		rows[i] = rooflineRow{KernelID: p.Kernel, DType: p.DType, Memory: p.Memory, Intensity: p.Intensity, FLOPS: p.FLOPS, Attained: p.Attained, NS: p.NS,
			Roof: roofs[p.DType], Bandwidth: roofs[p.Memory], arithmetic: roofLabel(p.DType), level: roofLabel(p.Memory)}
		if k := n.find(p.Kernel); k >= 0 {
			rows[i].Short, rows[i].Kernel, rows[i].Limiter = n.of(k), r.Kernels[k].Name, limiter(&r.Kernels[k].Limiter)
			rows[i].Grid, rows[i].Block = r.Kernels[k].Grid, r.Kernels[k].Block
		}
	}
	return rows
}

// RooflinePoints shows the points of the roofline.
func RooflinePoints(r *analysis.Result) Printable {
	rows := rooflineRows(r, newNames(r))
	var notes []string
	if r.Scope != nil {
		notes = append(notes, message.Phrase("total-times-of", message.Text(r.Scope.Name)))
	}
	if why := message.Text(r.Roofline.Why); why != "" {
		notes = append(notes, why)
	}
	t := RooflineView.Table(rows, append(notes, missingNotes(r)...)...)
	if len(rows) == 0 {
		t.Legend = ""
	}
	return t
}
