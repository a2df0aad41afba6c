package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"al.essio.dev/pkg/shellescape"

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
		row(fmt.Sprintf("GPU %d", e.GPUs[i].Device), gpuText(&e.GPUs[i]))
	}
	if len(e.GPUs) == 0 {
		row("GPU", "")
	}
	row("Driver", e.Driver)
	row("CUDA", e.CUDA)
	row(message.Phrase("environment-nsys"), e.Nsys)
	row(message.Phrase("environment-ncu"), e.Ncu)
	for _, f := range []analysis.Fact{{Name: "CPU", Value: e.CPU}, {Name: message.Phrase("operating-system"), Value: e.OS}, {Name: "Host", Value: e.Host}} {
		if f.Value != "" {
			g.add(f.Name, prose(f.Value))
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
	if c := ranCommand(r); len(c) > 0 {
		g.add(message.Phrase("environment-command"), code(shellescape.QuoteCommand(c)))
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
	var parts phrases
	parts.add(g.Name != "", "value-is", g.Name) // CSV does not name it
	parts.add(g.Chip != "", "value-is", g.Chip)
	parts.add(g.Compute != "", "compute-capability", g.Compute)
	parts.add(g.SMs > 0, "gpu-sms", g.SMs)
	parts.add(g.MemoryBytes > 0, "value-is", byteSize(g.MemoryBytes))
	return parts.text()
}

// phrases are those of a list whose values are known.
type phrases []string

// add appends a phrase where its value is known.
func (p *phrases) add(known bool, id string, values ...any) {
	if known {
		*p = append(*p, message.Phrase(id, values...))
	}
}

// text puts commas between them.
func (p phrases) text() string { return strings.Join(p, ", ") }

// modelText describes a model by what the run tells of it: 0 and "" stand for unknown.
func modelText(m *analysis.Model) string {
	var parts phrases
	parts.add(m.Name != "", "value-is", m.Name)
	parts.add(m.Family != "" && m.Family != m.Name, "value-is", m.Family)
	parts.add(m.Parameters != 0, "model-parameters", Parameters(m.Parameters))
	parts.add(m.WeightsBytes != 0, "of-weights", byteSize(m.WeightsBytes))
	parts.add(m.Layers != 0, "model-layers", m.Layers)
	parts.add(m.DType != "", "value-is", m.DType)
	parts.add(m.Attention != "", "model-attention", m.Attention)
	parts.add(m.KVCache != "", "kv-cache", m.KVCache)
	return parts.text()
}

// Parameters writes how many a model has, as people say it: 8.03 B.
func Parameters(n int64) string {
	return strings.TrimRight(strings.Replace(prefixed(float64(n), ""), "G", "B", 1), " ")
}

// clocks says at which clocks the peaks of MFU and of the roofline are, where
// they differ.
func (d *doc) clocks(r *analysis.Result) {
	if c := r.Roofline.Clocks; c != nil {
		d.say("mfu-peak-note",
			prose(whichClock(&c.Peak, message.Phrase("highest-clock"))), prose(whichClock(&c.Roof, message.Phrase("counted-clock"))))
	}
}

// whichClock says at which clock a peak is; otherwise is how that clock came about where
// the peak has no words for it.
func whichClock(p *analysis.Peak, otherwise string) string {
	if !p.Clock.IsZero() {
		return message.Text(p.Clock)
	}
	return clock(p.ClockHz) + ", " + otherwise
}

// whyUnused is why nothing is known of how much of the GPU a stage uses.
func whyUnused(r *analysis.Result) string {
	return whyMissing(r, message.Phrase("utilization-absent"), slices.Concat(withoutCounters, withoutTimeline)...)
}

// use writes MFU, HFU and MBU of the stages.
func (d *doc) use(r *analysis.Result, keys ...string) {
	rows := useLines(r)
	if len(rows) == 0 {
		d.line("MFU: %s%s", absent, d.note(prose(upperFirst(sentence(whyUnused(r))))))
		return
	}
	v := useView
	if len(keys) > 0 {
		v = v.only(keys...)
	}
	writeView(d, v, rows)
}

// methodLabel says what a measure was made from: the work of the model, or counters.
func methodLabel(m string) string {
	if m == "analytic" {
		return "model"
	}
	return m
}

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
		d.say("roofline-absent", absent, d.note(why))
		return
	}
	writeView(d, roofView, pointers(r.Roofline.Roofs))
}
