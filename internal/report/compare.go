package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/compare"
	"github.com/deepprof/deepprof/internal/message"
)

// CompareOptions are how a comparison is written for people.
type CompareOptions struct {
	// Width is that of the terminal; 0 is no limit.
	Width int
	// All: every row and every waterfall, not those of the largest changes.
	All bool
}

// Rows of a table that people get unless they ask for all.
const (
	compareTop  = 10
	compareFall = 8
)

// firstKinds are the kinds that everybody needs; the others are details.
var (
	firstKinds  = []compare.Kind{compare.Total, compare.Stage, compare.MFU, compare.MBU, compare.Workload, compare.Request, compare.Rank}
	detailKinds = []compare.Kind{compare.Step, compare.Sample, compare.Layer, compare.Region, compare.Operator, compare.Kernel}
)

// CompareText writes a comparison for a terminal.
func CompareText(w io.Writer, c *compare.Comparison, o CompareOptions) error {
	p := &comparePrinter{w: w, c: c, o: o}
	p.line(CompareHead(c))
	p.line(sides(c))
	p.line(message.Phrase("compare-order"))
	for _, text := range message.Texts(c.Warnings) {
		p.line(message.Phrase("note", text))
	}
	for i := range c.Differ {
		if i == 0 {
			p.line(message.Phrase("compare-sides-differ"))
		}
		p.line("  " + differenceWords(&c.Differ[i]))
	}
	for _, k := range firstKinds {
		p.table(k)
	}
	for i := range c.Falls {
		if f := &c.Falls[i]; o.All || !strings.HasPrefix(f.Of, "stage:") {
			p.fall(f)
		}
	}
	for _, k := range detailKinds {
		p.table(k)
	}
	if c.Gate != nil {
		p.line("")
		p.line(gateTitle(c.Gate))
		p.print(gateView.Table(gateLines(c.Gate)))
	}
	return p.err
}

// A comparePrinter writes for a terminal; err is the first that came.
type comparePrinter struct {
	w io.Writer
	c *compare.Comparison
	o CompareOptions
	// err is the first that came; nothing is written after it.
	err error
}

// line wraps a text; rows after its first are indented.
func (p *comparePrinter) line(text string) {
	if p.err == nil {
		_, p.err = fmt.Fprintln(p.w, Wrap(text, p.o.Width, "  "))
	}
}

// print writes a table with its footnotes below it.
func (p *comparePrinter) print(t Printable) {
	if p.err == nil {
		p.err = t.WriteText(p.w, p.o.Width)
	}
	for _, note := range t.Footnotes() {
		p.line(message.Phrase("note", note))
	}
}

// sides names what is compared.
func sides(c *compare.Comparison) string {
	return message.Phrase("compare-sides", sideWords(&c.Base), sideWords(&c.New), message.Share(c.Settings.MinEffect))
}

// sideWords names the runs of a side: by their baseline where all are of one. A side has at
// least one run, which compare.Compare guarantees.
func sideWords(s *compare.Side) string {
	first := &s.Runs[0]
	ofBaseline := first.Baseline != "" && !slices.ContainsFunc(s.Runs, func(r compare.RunInfo) bool { return r.Baseline != first.Baseline })
	switch {
	case ofBaseline:
		return message.Phrase("compare-baseline", first.Baseline, len(s.Runs))
	case len(s.Runs) == 1:
		return first.Name
	}
	return message.Phrase("compare-runs", len(s.Runs), first.Name)
}

// gateTitle says what came of the rules as a whole.
func gateTitle(g *compare.Gate) string {
	return message.Phrase("compare-gate", message.Label("compare.outcome", string(g.Outcome)))
}

// differenceWords says a circumstance in which the sides differ, and what may not be
// concluded because of it.
func differenceWords(d *compare.Difference) string {
	return message.Phrase("compare-difference", message.Text(d.Fact), message.And(each(d.Forbids, func(c *compare.Claim) string { return message.Label("compare.claim", string(*c)) })))
}

// table writes the things of a kind, a table for each unit.
func (p *comparePrinter) table(kind compare.Kind) {
	for _, t := range compareTables(p.c, kind, p.o.All) {
		p.line("")
		p.print(t.table)
		if t.more > 0 {
			p.line(message.Phrase("compare-more-rows-all", t.more))
		}
	}
}

// A compareTable is a table with the number of rows that it leaves out.
type compareTable struct {
	table Printable
	// more counts rows with smaller changes that are left out; 0 where all are shown.
	more int
}

// compareTables are the tables of a kind, one for each unit.
// Tables are in the order in which their unit first occurs; lines keep theirs.
func compareTables(c *compare.Comparison, kind compare.Kind, all bool) []compareTable {
	byUnit := map[string][]compare.Line{}
	var order []string
	for _, l := range c.Lines(kind) {
		if byUnit[l.Unit] == nil {
			order = append(order, l.Unit)
		}
		byUnit[l.Unit] = append(byUnit[l.Unit], l)
	}
	var out []compareTable
	for _, unit := range order {
		lines, more := byUnit[unit], 0
		if !all && len(lines) > compareTop {
			lines, more = lines[:compareTop], len(lines)-compareTop
		}
		out = append(out, compareTable{diffView(kind, compareUnits[unit]).Table(lines), more})
	}
	return out
}

// fall writes a waterfall with its sum.
func (p *comparePrinter) fall(f *compare.Fall) {
	p.line("")
	p.line(fallTitle(f))
	most := compareFall
	if p.o.All {
		most = len(f.Parts)
	}
	p.print(fallView.Table(f.Summed(most)))
}

// fallTitle names what is divided, and by what it was measured.
// It begins in lower case: a page gives it a capital.
func fallTitle(f *compare.Fall) string {
	of, clock := message.Label("compare.fall", f.Of), ""
	if stage, ok := strings.CutPrefix(f.Of, "stage:"); ok {
		of = message.Phrase("waterfall-wall-time-of", stage)
	}
	if f.Clock != compare.OnGPU {
		clock = message.Label("compare.clock", string(f.Clock))
	}
	return message.Phrase("waterfall-title", of, clock)
}
