package report

import (
	"slices"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/message"
)

// A stepPartRow is a kernel or a layer in the steps of one kind and batch size.
type stepPartRow struct {
	// Kind is prefill, decode or mixed, as the engine names its steps.
	Kind  string `json:"kind"`
	Batch any    `json:"batch"` // a text; null where names of steps do not tell
	analysis.StepPart
}

// stepPartView declares the table of kernels or of layers.
func stepPartView(key, legend string, show func(r *stepPartRow) any) View[stepPartRow] {
	return View[stepPartRow]{
		Name: "steps", Order: Order{Words: "kind of step, then GPU time"}, Legend: legend,
		Columns: []Column[stepPartRow]{
			{Key: "kind", Value: func(r *stepPartRow) any { return r.Kind }},
			{Key: "batch", Value: func(r *stepPartRow) any { return r.Batch }},
			{Key: key, Format: Name, Value: func(r *stepPartRow) any { return r.Name }, Show: show},
			{Key: "launches", Priority: 2, Unit: Count, Value: func(r *stepPartRow) any { return r.Launches }},
			{Key: "gpu_ns", Title: "GPU time", Unit: Nanoseconds, Value: func(r *stepPartRow) any { return r.NS }},
			{Key: "share", Title: "of these steps", Priority: 1, Unit: Share, Value: func(r *stepPartRow) any { return r.Share }},
		},
	}
}

// Legends of the tables of what steps are made of.
const (
	stepKernelsLegend = "of the window that the details are about; the kernels with most GPU time of each kind of step"
	stepLayersLegend  = "of the window that the details are about; work of CUDA graphs counts to the layer in which it was captured"
)

// StepKernelView are the kernels of each kind of step, StepLayerView the layers.
var (
	StepKernelView = stepPartView("kernel", stepKernelsLegend, nil)
	StepLayerView  = stepPartView("layer", stepLayersLegend, func(r *stepPartRow) any { return orNone(r.Name) })
)

// StepTimeView are the steps of a server by intervals of their windows, for a chart over time.
// A step counts to the interval in which it begins.
var StepTimeView = View[analysis.StepsAt]{
	Name: "steps", Order: Order{Words: "window and time"}, Legend: "steps that began in each interval",
	Columns: []Column[analysis.StepsAt]{
		{Key: "window", Unit: Count, Value: func(s *analysis.StepsAt) any { return orNil(s.Window) }},
		{Key: "start_ns", Title: "from", Unit: Nanoseconds, Format: Moment, Value: func(s *analysis.StepsAt) any { return s.StartNS }},
		{Key: "length_ns", Detail: true, Unit: Nanoseconds, Value: func(s *analysis.StepsAt) any { return s.LengthNS }},
		{Key: "steps", Unit: Count, Value: func(s *analysis.StepsAt) any { return s.Steps }},
		{Key: "context_tokens", Title: "prompt tokens", Priority: 1, Unit: Count, Value: func(s *analysis.StepsAt) any { return s.PromptTokens }},
		{Key: "generation_tokens", Title: "decode tokens", Priority: 1, Unit: Count, Value: func(s *analysis.StepsAt) any { return s.DecodeTokens }},
		{Key: "step_mean_ns", Title: "step, mean", Unit: Nanoseconds, Group: "time", Value: func(s *analysis.StepsAt) any { return int64(s.StepNS) }},
		{Key: "busy_share", Title: "GPU busy", Unit: Share, Value: func(s *analysis.StepsAt) any { return s.BusyShare }},
		{Key: "gap_before_mean_ns", Title: "gap before, mean", Priority: 2, Unit: Nanoseconds, Group: "time", Value: func(s *analysis.StepsAt) any { return int64(s.GapNS) }},
	},
}

// NextTokenView is where the time of the next token goes: parts of the mean time from one
// step that decodes to the next, which add up to it.
var NextTokenView = View[analysis.TokenPart]{
	Name: "steps", Order: Order{Words: "what it goes to"},
	Legend: "the mean time from one step that decodes to the next, over all profiled windows",
	Columns: []Column[analysis.TokenPart]{
		{Key: "part", Title: "the time goes to", Value: func(p *analysis.TokenPart) any { return p.ID }, Show: func(p *analysis.TokenPart) any { return message.Label("next_token", p.ID) }},
		{Key: "mean_ns", Title: "mean", Unit: Nanoseconds, Value: func(p *analysis.TokenPart) any { return int64(p.NS) }},
		{Key: "share", Unit: Share, Value: func(p *analysis.TokenPart) any { return p.Share }},
	},
}

// NextTokenParts are the parts that are there; none where no step decodes.
func NextTokenParts(r *analysis.Result) []analysis.TokenPart {
	return slices.DeleteFunc(servingOf(r).NextToken.Parts(), func(p analysis.TokenPart) bool { return p.NS <= 0 })
}

// stepPartRows are the parts of all classes, at most so many of each; 0 is all.
func stepPartRows(s *analysis.Serving, of func(*analysis.StepClass) []analysis.StepPart, top int) []stepPartRow {
	var rows []stepPartRow
	for i := range s.Steps {
		c := &s.Steps[i]
		for n, p := range of(c) {
			if top == 0 || n < top {
				rows = append(rows, stepPartRow{string(c.Kind), batchName(c), p})
			}
		}
	}
	return rows
}

// kernelsOfSteps and layersOfSteps are what the steps of a class are divided into.
func kernelsOfSteps(c *analysis.StepClass) []analysis.StepPart { return c.Kernels }
func layersOfSteps(c *analysis.StepClass) []analysis.StepPart  { return c.Layers }

// StepsBy are the divisions of the steps of a server, by the word that asks for
// them.
var StepsBy = map[string]func(*analysis.Result) Printable{
	"kernel": func(r *analysis.Result) Printable { return stepPartTable(StepKernelView, r, kernelsOfSteps) },
	"layer":  func(r *analysis.Result) Printable { return stepPartTable(StepLayerView, r, layersOfSteps) },
	"token":  func(r *analysis.Result) Printable { return NextTokenView.Table(NextTokenParts(r), notServed(r)...) },
	"time": func(r *analysis.Result) Printable {
		return StepTimeView.Table(servingOf(r).OverTime, notServed(r)...)
	},
}

// stepPartTable has all parts of all classes.
func stepPartTable(v View[stepPartRow], r *analysis.Result, of func(*analysis.StepClass) []analysis.StepPart) Printable {
	return v.Table(stepPartRows(servingOf(r), of, 0), notServed(r)...)
}

// notServed says why there are no steps of a server.
func notServed(r *analysis.Result) []string {
	if len(servingOf(r).Steps) > 0 {
		return nil
	}
	return []string{message.Phrase("engine-steps-absent")}
}

// partsOfStep is how many kernels and layers of a kind of step the Markdown report
// has.
const partsOfStep = 5

// servingSteps writes the steps of a server: where the time of the next token goes,
// the steps by kind and batch size, what they are made of, and over time.
func (d *doc) servingSteps(r *analysis.Result) {
	s := r.Serving
	if len(s.Steps) == 0 {
		return
	}
	d.heading(2, "steps-of-engine")
	if parts := NextTokenParts(r); len(parts) > 0 {
		d.line("%s:", upperFirst(NextTokenView.Legend))
		writeView(d, NextTokenView, pointers(parts))
	}
	writeView(d, ServingStepView, pointers(s.Steps))
	if rows := stepPartRows(s, kernelsOfSteps, partsOfStep); len(rows) > 0 {
		d.heading(3, "step-kernels-title")
		writeView(d, StepKernelView, pointers(rows))
	}
	if rows := stepPartRows(s, layersOfSteps, partsOfStep); len(rows) > 0 {
		d.heading(3, "step-layers-title")
		writeView(d, StepLayerView, pointers(rows))
	}
	if len(s.OverTime) > 1 {
		d.heading(3, "steps-over-time")
		writeView(d, StepTimeView, pointers(s.OverTime))
	}
}

// sampledShare is a column of sampled counters in the steps of a class.
func sampledShare(metrics ...string) func(*analysis.StepClass) any {
	return func(c *analysis.StepClass) any { return value(c.SampledSum(metrics...)) }
}
