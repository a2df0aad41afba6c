package report

import (
	"math"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/message"
)

// environment writes the machine and what ran on it.
func (d *doc) environment(r *analysis.Result) {
	e := &r.Environment
	g := newGrid("row-what", "value")
	row := func(name, value string) {
		if value == "" {
			g.add(name, absent+d.note(missing(r, message.Phrase("captures-lack-it"))))
			return
		}
		g.add(name, prose(value))
	}
	for i := range e.GPUs {
		row(message.Phrase("gpu", e.GPUs[i].Device), gpuText(&e.GPUs[i]))
	}
	if len(e.GPUs) == 0 {
		row("GPU", "")
	}
	row(message.Phrase("environment-driver"), e.Driver)
	row(message.Phrase("environment-cuda"), e.CUDA)
	row(message.Phrase("environment-nsys"), e.Nsys)
	row(message.Phrase("environment-ncu"), e.Ncu)
	for _, f := range []analysis.Fact{{Name: "environment-cpu", Value: e.CPU}, {Name: "environment-os", Value: e.OS}, {Name: "environment-host", Value: e.Host}} {
		if f.Value != "" {
			g.add(message.Phrase(f.Name), prose(f.Value))
		}
	}
	for _, f := range e.Software {
		g.add(prose(message.Label("software", f.Name)), prose(f.Value))
	}
	w := &r.Workload
	if w.Model != nil {
		g.add(message.Phrase("environment-model"), prose(modelText(w.Model)))
	}
	for _, f := range w.Shape {
		g.add(prose(factName(message.Label("shape", f.Name))), prose(f.Value))
	}
	if c := Command(r); c != "" {
		g.add(message.Phrase("environment-command"), code(c))
	}
	d.table(g)
}

// factName begins with a capital, as its neighbors do, unless it is a name out of
// a program such as torch.compile.
func factName(name string) string {
	if strings.ContainsAny(name, "._") {
		return name
	}
	return upperFirst(name)
}

// gpuText describes a GPU by what the captures tell: 0 and "" stand for unknown.
func gpuText(g *analysis.GPU) string {
	return commas(g.Name, g.Chip, known("compute-capability", g.Compute), known("gpu-sms", g.SMs), positive(float64(g.MemoryBytes), bytesText))
}

// known is a phrase about a value; "" where the value is 0 or "", which stand for unknown.
func known[T comparable](id string, v T) string {
	if orNil(v) == nil {
		return ""
	}
	return message.Phrase(id, v)
}

// commas are the texts that are not "", with commas between them.
func commas(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), ", ")
}

// modelText describes a model by what the run tells of it: 0 and "" stand for unknown.
func modelText(m *analysis.Model) string {
	family := m.Family
	if family == m.Name {
		family = ""
	}
	return commas(m.Name, family, known("model-parameters", positive(float64(m.Parameters), parametersText)), known("of-weights", positive(float64(m.WeightsBytes), bytesText)),
		known("model-layers", m.Layers), m.DType, known("model-attention", m.Attention), known("kv-cache", m.KVCache))
}

// Parameters writes how many a model has, as people say it: 8.03 B.
func Parameters(n int64) string { return parametersText(float64(n)) }

func parametersText(n float64) string {
	return strings.TrimRight(strings.Replace(prefixed(n, ""), "G", "B", 1), " ")
}

// clocks says at which clocks the peaks of MFU and of the roofline are, where
// they differ.
func (d *doc) clocks(r *analysis.Result) {
	if c := r.Roofline.Clocks; c != nil {
		d.say("use-clocks", prose(whichClock(&c.Peak, message.Phrase("highest-clock"))), prose(whichClock(&c.Roof, message.Phrase("counted-clock"))))
	}
}

// whichClock says at which clock a peak is; otherwise is how that clock came about where
// the peak has no words for it.
func whichClock(p *analysis.Peak, otherwise string) string {
	if !p.Clock.IsZero() {
		return message.Text(p.Clock)
	}
	return commas(clock(p.ClockHz), otherwise)
}

// whyUnused is why nothing is known of how much of the GPU a stage uses.
func whyUnused(r *analysis.Result) string {
	return whyMissing(r, message.Phrase("utilization-absent"), slices.Concat(withoutCounters, withoutTimeline)...)
}

// use writes MFU, HFU and MBU of the stages.
func (d *doc) use(r *analysis.Result, keys ...string) {
	rows := useLines(r)
	if len(rows) == 0 {
		d.lacks("mfu", prose(upperFirst(sentence(whyUnused(r)))))
		return
	}
	v := useView
	if len(keys) > 0 {
		v = v.only(keys...)
	}
	writeView(d, v, rows)
}

// methodLabel says what a measure was made from: the work of the model, or counters.
func methodLabel(m string) string { return message.Label("made-from", m) }

// positive writes a number, or nothing where the result leaves it out.
func positive(x float64, write func(float64) string) string {
	if x <= 0 || math.IsNaN(x) {
		return ""
	}
	return write(x)
}

// peaks writes the roofs that kernels and stages are held against.
func (d *doc) peaks(r *analysis.Result) {
	if len(r.Roofline.Roofs) == 0 {
		why := prose(sentence(message.Text(r.Roofline.Why)))
		if why == "" {
			why = missing(r, message.Phrase("peaks-absent"), withoutCounters...)
		}
		d.lacks("roofline", why)
		return
	}
	writeView(d, roofView, pointers(r.Roofline.Roofs))
}
