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
	g := newGrid("What", "Value")
	row := func(name, value string, id string) {
		if value == "" {
			g.add(name, absent+d.note(missing(r, "The captures do not hold it.")))
			return
		}
		g.add(name, prose(value))
	}
	for i := range e.GPUs {
		g.add(fmt.Sprintf("GPU %d", e.GPUs[i].Device), prose(gpuText(&e.GPUs[i])))
	}
	if len(e.GPUs) == 0 {
		row("GPU", "", "gpu")
	}
	row("Driver", e.Driver, "driver")
	row("CUDA", e.CUDA, "cuda")
	row("Nsight Systems", e.Nsys, "no-timeline")
	row("Nsight Compute", e.Ncu, "no-counters")
	for _, f := range []analysis.Fact{{Name: "CPU", Value: e.CPU}, {Name: "Operating system", Value: e.OS}, {Name: "Host", Value: e.Host}} {
		if f.Value != "" {
			g.add(f.Name, prose(f.Value))
		}
	}
	for _, f := range e.Software {
		g.add(prose(f.Name), prose(f.Value))
	}
	w := &r.Workload
	if w.Model != nil {
		g.add("Model", prose(modelText(w.Model)))
	}
	for _, f := range w.Shape {
		g.add(prose(factName(message.Label("shape", f.Name))), prose(f.Value))
	}
	if c := ranCommand(r); len(c) > 0 {
		g.add("Command", code(shellescape.QuoteCommand(c)))
	}
	d.table(g)
}

// factName begins with a capital, as its neighbours do, unless it is a name out of
// a program such as torch.compile.
func factName(name string) string {
	if strings.ContainsAny(name, "._") {
		return name
	}
	return upperFirst(name)
}

func gpuText(g *analysis.GPU) string {
	var parts []string
	if g.Name != "" { // CSV does not name it
		parts = append(parts, g.Name)
	}
	if g.Chip != "" {
		parts = append(parts, g.Chip)
	}
	if g.Compute != "" {
		parts = append(parts, "compute capability "+g.Compute)
	}
	if g.SMs > 0 {
		parts = append(parts, fmt.Sprintf("%d SMs", g.SMs))
	}
	if g.MemoryBytes > 0 {
		parts = append(parts, byteSize(g.MemoryBytes))
	}
	return strings.Join(parts, ", ")
}

func modelText(m *analysis.Model) string {
	var parts []string
	add := func(format string, v any, empty bool) {
		if !empty {
			parts = append(parts, fmt.Sprintf(format, v))
		}
	}
	add("%s", m.Name, m.Name == "")
	add("%s", m.Family, m.Family == "" || m.Family == m.Name)
	add("%s parameters", Parameters(m.Parameters), m.Parameters == 0)
	add("%s of weights", byteSize(m.WeightsBytes), m.WeightsBytes == 0)
	add("%d layers", m.Layers, m.Layers == 0)
	add("%s", m.DType, m.DType == "")
	add("attention %s", m.Attention, m.Attention == "")
	add("KV cache %s", m.KVCache, m.KVCache == "")
	return strings.Join(parts, ", ")
}

// Parameters writes how many a model has, as people say it: 8.03 B.
func Parameters(n int64) string {
	return strings.TrimRight(strings.Replace(prefixed(float64(n), ""), "G", "B", 1), " ")
}

// drop leaves out a column without a single value.
func (g *grid) drop(head string) {
	for i, h := range g.heads {
		if h != head {
			continue
		}
		for _, row := range g.rows {
			if row[i] != "" {
				return
			}
		}
		g.heads = append(g.heads[:i:i], g.heads[i+1:]...)
		g.right = append(g.right[:i:i], g.right[i+1:]...)
		for r, row := range g.rows {
			g.rows[r] = append(row[:i:i], row[i+1:]...)
		}
		return
	}
}

// clocks says at which clocks the peaks of MFU and of the roofline are, where
// they differ.
func (d *doc) clocks(r *analysis.Result) {
	for i := range r.Stages {
		for _, u := range append(r.Stages[i].MFU, r.Stages[i].HFU...) {
			for _, roof := range r.Roofline.Roofs {
				if roof.ID != u.Peak.ID || roof.ClockHz <= 0 || u.Peak.ClockHz <= 0 || math.Abs(roof.ClockHz/u.Peak.ClockHz-1) < 0.001 {
					continue
				}
				d.line("The peak of MFU is at %s: what the GPU could do at most. The table of the roofline gives the same limit at %s, because each counted kernel is held against what was possible while it was counted.",
					prose(whichClock(&u.Peak, "the highest clock of the device")), prose(whichClock(&roof, "the clock at which ncu counted")))
				return
			}
		}
	}
}

func whichClock(p *analysis.Peak, otherwise string) string {
	if !p.Clock.IsZero() {
		return message.Text(p.Clock)
	}
	return clock(p.ClockHz) + ", " + otherwise
}

// utilisation writes MFU or MBU of the stages.
func (d *doc) utilisation(r *analysis.Result, name string, of func(*analysis.Stage) []analysis.Utilisation) {
	g := newGrid("Stage", "From", ">"+name, ">Achieved", ">Peak", "Peak of", ">Clock", ">Of the roof", ">Over", ">Coverage")
	why := missing(r, "It needs the work of the model, or counters, and the time of the stage.", slices.Concat(withoutCounters, withoutTimeline)...)
	for i := range r.Stages {
		s := &r.Stages[i]
		if len(of(s)) == 0 {
			g.add(code(s.Name), "", absent+d.note(why), "", "", "", "", "", "", "")
		}
		for _, u := range of(s) {
			g.add(code(s.Name), prose(methodLabel(u.Method)), d.utilisationValue(&u), positive(u.Achieved, func(x float64) string { return rate(x, u.Peak.Unit) }),
				positive(u.Peak.Value, func(x float64) string { return rate(x, u.Peak.Unit) }), d.peakLabel(&u.Peak), positive(u.Peak.ClockHz, clock), ofRoof(&u),
				positive(u.Seconds, func(x float64) string { return elapsed(x * 1e9) }), share(u.Coverage))
		}
	}
	for _, h := range []string{"From", "Achieved", "Peak", "Peak of", "Clock", "Of the roof", "Over", "Coverage"} {
		g.drop(h)
	}
	if len(g.rows) == 0 {
		d.line("%s: %s%s", name, absent, d.note(why))
		return
	}
	d.table(g)
}

func methodLabel(m string) string {
	switch m {
	case "analytic":
		return "model"
	case "counters":
		return "counters"
	}
	return m
}

// ofRoof writes the share of the roof at the clock that the kernels ran at.
func ofRoof(u *analysis.Utilisation) string {
	if u.OfRoof == nil {
		return ""
	}
	return percent(*u.OfRoof) + " at " + clock(u.Roof.ClockHz)
}

// utilisationValue writes a share of the peak.
func (d *doc) utilisationValue(u *analysis.Utilisation) string {
	switch {
	case u.Contradiction:
		return "**contradiction**" + d.note(prose(upperFirst(sentence(message.Join(u.Why)))))
	case u.Value == nil:
		why := message.Join(u.Why)
		if why == "" {
			why = "the result gives no reason"
		}
		return absent + d.note(prose(upperFirst(sentence(why))))
	}
	return percent(*u.Value) + d.note(prose(upperFirst(sentence(message.Join(u.Why)))))
}

// peakLabel names a peak; one that was not measured says where it is from.
func (d *doc) peakLabel(p *analysis.Peak) string {
	label := message.Label("peak", p.ID)
	if label == "" {
		return ""
	}
	if p.Published {
		return prose(label) + d.note("Published MFU is of the dense peak of the data sheet, and so is this: "+prose(sentence(message.Text(p.Basis))))
	}
	if !p.Measured {
		basis := message.Text(p.Basis)
		if basis == "" {
			basis = "a table of published values"
		}
		return prose(label) + d.note("This peak was not measured; it is from "+prose(sentence(basis)))
	}
	return prose(label)
}

// positive writes a number, or nothing where the result leaves it out.
func positive(x float64, write func(float64) string) string {
	if x <= 0 || math.IsNaN(x) {
		return ""
	}
	return write(x)
}

func share(p *float64) string {
	if p == nil {
		return ""
	}
	return percent(*p)
}

// peaks writes the roofs that kernels and stages are held against.
func (d *doc) peaks(r *analysis.Result) {
	g := newGrid("Limit", ">Peak", ">Clock", "Measured", "Basis")
	for _, p := range r.Roofline.Roofs {
		measured := "yes"
		if !p.Measured {
			measured = "**no**"
		}
		g.add(prose(message.Label("peak", p.ID)), rate(p.Value, p.Unit), positive(p.ClockHz, clock), measured, prose(message.Text(p.Basis)))
	}
	if len(g.rows) == 0 {
		why := prose(sentence(message.Text(r.Roofline.Why)))
		if why == "" {
			why = missing(r, "It needs counters that hold the peaks of this chip.", withoutCounters...)
		}
		d.line("Roofline: %s%s", absent, d.note(why))
		return
	}
	g.drop("Clock")
	d.table(g)
}
