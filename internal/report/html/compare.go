package html

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/compare"
	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/report"
)

//go:embed compare.html
var compareText string

// compareTemplate escapes what comes from data, by the place where it stands.
var compareTemplate = template.Must(template.New("compare.html").Parse(compareText))

// compareStyle is what the page of a comparison has beside the style of reports.
const compareStyle = `
.compare{max-width:80rem;margin:0 auto;padding:1.6rem 1.25rem 3rem}
.compare .scroll{overflow-x:auto;margin:.6rem 0}
.compare table{border-collapse:collapse;font-size:.88rem}
.compare th,.compare td{padding:.18rem .7rem .18rem 0;text-align:left;vertical-align:top;border-bottom:1px solid var(--line)}
.compare .number{text-align:right}
.compare svg{width:100%;background:var(--card);border:1px solid var(--line)}
.compare svg text{font:9px var(--text);fill:var(--quiet)}
.compare .lane{fill:var(--lane)}.compare .kernel{fill:var(--bar)}.compare .nvtx{fill:var(--accent-soft);stroke:var(--accent);stroke-width:.4}
`

// comparePage is what the template shows.
type comparePage struct {
	Head string // at most 20 words
	Lead string // the same in full; shown where it says more
	// Policy is what the page may load: its own style and nothing else.
	Policy string
	Style  template.CSS
	// Panels are the timelines of both sides, a region each.
	Panels   []drawnPanel
	Sections []report.Section
}

// A drawnPanel is a region of both timelines, in the units of the drawing: it is
// 1000 wide.
type drawnPanel struct {
	Region, Base, New string
	Height            int
	Lanes             []drawnLane
	Labels            []drawnText
}

// A drawnLane is a row of boxes; Class is the kind of its events, which the style colors.
type drawnLane struct {
	Y     int
	Class string
	Boxes []drawnBox
}

// A drawnBox has numbers as SVG writes them: two digits keep the file small.
type drawnBox struct {
	// In units of the drawing; a box is at least 0.3 wide, so that it is seen.
	X, Width  string
	Y, Height string
	Name      string
}

// A drawnText is the name of a side, on its base line.
type drawnText struct {
	Y    int
	Text string
}

// WriteCompare writes a comparison as one HTML file, in the style of the report and
// without a program. The timelines are those of the first run of each side; they may
// be nil.
func WriteCompare(w io.Writer, c *compare.Comparison, base, fresh *analysis.Result) error {
	style, err := asset("app.css")
	if err != nil {
		return err
	}
	style += compareStyle
	p := comparePage{Head: report.CompareTitle(c), Lead: report.CompareHead(c), Policy: policy("", style), Style: template.CSS(style), Sections: report.CompareSections(c)}
	for _, panel := range compare.Align(base, fresh) {
		p.Panels = append(p.Panels, draw(&panel))
	}
	var out bytes.Buffer
	if err := compareTemplate.Execute(&out, p); err != nil {
		return fmt.Errorf("write the page of the comparison: %w", err)
	}
	_, err = w.Write(out.Bytes())
	return err
}

// Heights of a drawing.
const (
	laneStep  = 16
	boxHeight = 14
	titleStep = 14
)

// draw lays a panel out: the lanes of the base, then those of the new side.
func draw(p *compare.Panel) drawnPanel {
	d := drawnPanel{Region: p.Region, Base: message.Duration(float64(p.BaseNS)), New: message.Duration(float64(p.NewNS))}
	scale := 1000 / float64(max(p.BaseNS, p.NewNS, 1))
	for _, side := range []struct {
		name  string
		lanes []compare.PanelLane
	}{{"base", p.Base}, {"new", p.New}} {
		d.Labels = append(d.Labels, drawnText{d.Height + titleStep - 4, side.name})
		d.Height += titleStep
		for _, lane := range side.lanes {
			one := drawnLane{Y: d.Height, Class: lane.Kind}
			for _, b := range lane.Boxes {
				height := max(boxHeight*min(1, float64(b.Busy)/float64(b.Len)), 1) // as much as the GPU was busy in it
				one.Boxes = append(one.Boxes, drawnBox{
					X: units(float64(b.Start) * scale), Width: units(max(float64(b.Len)*scale, 0.3)),
					Y: units(float64(d.Height) + boxHeight - height), Height: units(height), Name: message.Label("gpu-work", b.Name),
				})
			}
			d.Lanes = append(d.Lanes, one)
			d.Height += laneStep
		}
	}
	return d
}

// units is a length of the drawing.
func units(x float64) string { return fmt.Sprintf("%.2f", x) }
