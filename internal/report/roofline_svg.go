package report

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/message"
)

// The roofline plot in pixels: the frame and the room around it.
const (
	roofWidth, roofHeight          = 960, 560
	roofLeft, roofRight            = 86, 270
	roofTop, roofBottom            = 46, 64
	roofMaxPoints                  = 400
	roofMinDot, roofMaxDot float64 = 3, 13
)

// roofStyle follows the reader's choice of light or dark.
const roofStyle = `<style>
svg{font:13px system-ui,sans-serif;background:#fff;color:#1b1f24}
.grid{stroke:#d7dbe0;stroke-width:1}.axis{stroke:#59636e;stroke-width:1;fill:none}.roof{stroke:#1b1f24;stroke-width:1.6;fill:none}.slope{stroke:#59636e;stroke-width:1.4;stroke-dasharray:6 4;fill:none}
text{fill:#1b1f24}.small{font-size:11px;fill:#59636e}
.dram{fill:#0b62c4;fill-opacity:.72}.l2{fill:#b35900;fill-opacity:.6}.l1{fill:#1a7f37;fill-opacity:.6}
@media (prefers-color-scheme:dark){svg{background:#0d1117}.grid{stroke:#2b323b}.axis{stroke:#8b949e}.roof{stroke:#e6edf3}.slope{stroke:#8b949e}text{fill:#e6edf3}.small{fill:#8b949e}.dram{fill:#58a6ff}.l2{fill:#f0883e}.l1{fill:#56d364}}
</style>
`

// RooflineSVG draws the roofs and the points of a result as a picture of its
// own. Without points it says why.
// It needs no script and no file beside it.
func RooflineSVG(w io.Writer, r *analysis.Result) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-labelledby="t d">`+"\n",
		roofWidth, roofHeight, roofWidth, roofHeight)
	b.WriteString("<title id=\"t\">" + escapeXML(message.Phrase("roofline")) + "</title>\n")
	p := newRoofPlot(r)
	fmt.Fprintf(&b, "<desc id=\"d\">%s</desc>\n", escapeXML(p.describe(r)))
	b.WriteString(roofStyle)
	if p == nil {
		fmt.Fprintf(&b, "<text x=\"40\" y=\"60\">%s</text>\n", escapeXML(message.Phrase("no-roofline", message.Text(r.Roofline.Why))))
	} else {
		p.draw(&b)
	}
	if r.Source.Recorded {
		fmt.Fprintf(&b, "<text class=\"small\" x=\"%d\" y=\"26\" text-anchor=\"end\">%s</text>\n", roofWidth-20, escapeXML(message.Phrase("recorded-not-here")))
	}
	b.WriteString("</svg>\n")
	_, err := w.Write(b.Bytes())
	return err
}

// A roofPlot is what is drawn: at most roofMaxPoints points, those of most time first, and
// the roofs that they are held against.
type roofPlot struct {
	// points are those of most time first, as the result has them.
	points []analysis.Point
	// names are short names by ID of the kernel.
	names map[string]string
	// flops are in FLOP/s, bytes in byte/s; only those that a point is held against.
	flops, bytes   []analysis.Peak
	x0, x1, y0, y1 float64 // logarithms
	// most is the GPU time of the longest point in ns, which has the largest dot; 0 without a
	// timeline.
	most int64
	// cut counts the points that are not drawn; 0 or less where all are.
	cut int
}

// newRoofPlot is nil where there is nothing to draw.
func newRoofPlot(r *analysis.Result) *roofPlot {
	p := &roofPlot{names: map[string]string{}, points: slices.Clone(r.Roofline.Points)}
	if len(p.points) == 0 {
		return nil
	}
	if p.cut = len(p.points) - roofMaxPoints; p.cut > 0 {
		p.points = p.points[:roofMaxPoints]
	}
	used := map[string]bool{}
	for _, q := range p.points {
		used[q.DType], used[q.Memory] = true, true
		p.most = max(p.most, q.NS)
	}
	for i := range r.Kernels {
		p.names[r.Kernels[i].ID] = r.Kernels[i].Short
	}
	for _, roof := range r.Roofline.Roofs {
		switch {
		case !used[roof.ID] || roof.Value <= 0:
		case roof.Unit == "byte/s":
			p.bytes = append(p.bytes, roof)
		default:
			p.flops = append(p.flops, roof)
		}
	}
	p.scale()
	return p
}

// scale takes in all points and the knees of the roofs, in whole decades.
func (p *roofPlot) scale() {
	p.x0, p.x1, p.y0, p.y1 = math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	include := func(x, y float64) {
		if x > 0 && y > 0 {
			p.x0, p.x1 = min(p.x0, math.Log10(x)), max(p.x1, math.Log10(x))
			p.y0, p.y1 = min(p.y0, math.Log10(y)), max(p.y1, math.Log10(y))
		}
	}
	for _, q := range p.points {
		include(q.Intensity, q.FLOPS)
	}
	for _, f := range p.flops {
		for _, m := range p.bytes {
			include(f.Value/m.Value, f.Value)
		}
	}
	p.x0, p.x1, p.y0, p.y1 = math.Floor(p.x0), math.Ceil(p.x1+0.2), math.Floor(p.y0), math.Ceil(p.y1+0.05)
}

// x is the pixel of the logarithm of an intensity in FLOP/byte.
func (p *roofPlot) x(log float64) float64 {
	return roofLeft + (log-p.x0)/(p.x1-p.x0)*(roofWidth-roofLeft-roofRight)
}

// y is the pixel of the logarithm of a rate in FLOP/s; it grows downward.
func (p *roofPlot) y(log float64) float64 {
	return roofHeight - roofBottom - (log-p.y0)/(p.y1-p.y0)*(roofHeight-roofTop-roofBottom)
}

// describe is for readers who do not see the picture; p may be nil.
func (p *roofPlot) describe(r *analysis.Result) string {
	if p == nil {
		return message.Phrase("no-roofline", message.Text(r.Roofline.Why))
	}
	return message.Phrase("roofline-described", len(p.points))
}

// draw puts the points of most time on top.
func (p *roofPlot) draw(b *bytes.Buffer) {
	p.grid(b)
	b.WriteString("<g clip-path=\"url(#f)\">\n")
	fmt.Fprintf(b, "<clipPath id=\"f\"><rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/></clipPath>\n", roofLeft, roofTop, roofWidth-roofLeft-roofRight, roofHeight-roofTop-roofBottom)
	highest := p.y1
	for i, f := range p.flops {
		if log := math.Log10(f.Value); i == 0 || log > highest {
			highest = log
		}
	}
	for _, m := range p.bytes {
		// FLOP/s = intensity x byte/s, up to the highest roof.
		bandwidth := math.Log10(m.Value)
		end := min(p.x1, highest-bandwidth)
		fmt.Fprintf(b, "<path class=\"slope\" d=\"M%.1f %.1fL%.1f %.1f\"/>\n", p.x(p.x0), p.y(p.x0+bandwidth), p.x(end), p.y(end+bandwidth))
	}
	for _, f := range p.flops {
		fmt.Fprintf(b, "<path class=\"roof\" d=\"M%.1f %.1fH%.1f\"/>\n", p.x(p.x0), p.y(math.Log10(f.Value)), p.x(p.x1))
	}
	for _, q := range slices.Backward(p.points) {
		dot := roofMinDot
		if p.most > 0 {
			dot += (roofMaxDot - roofMinDot) * math.Sqrt(float64(q.NS)/float64(p.most))
		}
		fmt.Fprintf(b, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"><title>%s</title></circle>\n",
			escapeXML(q.Memory), p.x(math.Log10(q.Intensity)), p.y(math.Log10(q.FLOPS)), dot,
			escapeXML(message.Phrase("roofline-point", p.names[q.Kernel], q.DType, q.Memory, fmt.Sprintf("%.3g", q.Intensity), roofRate(q.FLOPS, "FLOP/s"), fmt.Sprintf("%.0f", q.Attained*100))))
	}
	b.WriteString("</g>\n")
	p.legend(b)
}

// grid draws a line for each decade, and the axes.
func (p *roofPlot) grid(b *bytes.Buffer) {
	for d := p.x0; d <= p.x1; d++ {
		fmt.Fprintf(b, "<path class=\"grid\" d=\"M%.1f %dV%d\"/><text class=\"small\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%g</text>\n",
			p.x(d), roofTop, roofHeight-roofBottom, p.x(d), roofHeight-roofBottom+18, math.Pow(10, d))
	}
	for d := p.y0; d <= p.y1; d++ {
		fmt.Fprintf(b, "<path class=\"grid\" d=\"M%d %.1fH%d\"/><text class=\"small\" x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
			roofLeft, p.y(d), roofWidth-roofRight, roofLeft-6, p.y(d)+4, roofRate(math.Pow(10, d), "FLOP/s"))
	}
	fmt.Fprintf(b, "<path class=\"axis\" d=\"M%d %dV%dH%d\"/>\n", roofLeft, roofTop, roofHeight-roofBottom, roofWidth-roofRight)
	fmt.Fprintf(b, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>\n", (roofLeft+roofWidth-roofRight)/2, roofHeight-20, escapeXML(message.Phrase("roofline-axis")))
	fmt.Fprintf(b, "<text x=\"%d\" y=\"26\">%s</text>\n", roofLeft, escapeXML(message.Phrase("roofline-title")))
}

// legend lists the roofs, the highest first, and says how many points are left out.
func (p *roofPlot) legend(b *bytes.Buffer) {
	x, y := roofWidth-roofRight+16, roofTop+12
	line := func(class, text string) {
		if class != "" {
			fmt.Fprintf(b, "<circle class=\"%s\" cx=\"%d\" cy=\"%d\" r=\"5\"/>", class, x+5, y-4)
		}
		fmt.Fprintf(b, "<text class=\"small\" x=\"%d\" y=\"%d\">%s</text>\n", x+16, y, escapeXML(text))
		y += 18
	}
	flops := slices.Clone(p.flops)
	slices.SortStableFunc(flops, func(a, c analysis.Peak) int { return cmp.Compare(c.Value, a.Value) })
	for _, f := range flops {
		line("", roofText(f, "FLOP/s"))
	}
	for _, m := range p.bytes {
		line(m.ID, roofText(m, "B/s"))
	}
	if p.cut > 0 {
		line("", message.Phrase("points-left-out", p.cut))
	}
}

// roofText names a peak, and marks one that is from a table, not from this GPU.
func roofText(p analysis.Peak, unit string) string {
	id := "roof-rate"
	if !p.Measured {
		id = "roof-rate-unmeasured"
	}
	return message.Phrase(id, message.Label("peak", p.ID), roofRate(p.Value, unit))
}

// roofRate writes a rate with the prefix of its unit, and no more digits than an axis needs.
func roofRate(x float64, unit string) string {
	for _, s := range []struct {
		factor float64
		prefix string
	}{{1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if x >= s.factor*0.9999 {
			return fmt.Sprintf("%.3g %s%s", x/s.factor, s.prefix, unit)
		}
	}
	return fmt.Sprintf("%.3g %s", x, unit)
}

// xmlEscapes are enough within elements and within attributes in either quotes.
var xmlEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#39;")

// escapeXML makes text safe within elements and attributes; characters that XML
// does not have become a question mark.
func escapeXML(s string) string {
	return xmlEscapes.Replace(strings.Map(func(r rune) rune {
		if r < 0x20 && r != '\t' && r != '\n' || r == 0xFFFE || r == 0xFFFF || r == '\uFFFD' {
			return '?'
		}
		return r
	}, s))
}
