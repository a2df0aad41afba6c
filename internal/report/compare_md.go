package report

import (
	"bufio"
	"fmt"
	"io"

	"github.com/deepprof/deepprof/internal/compare"
	"github.com/deepprof/deepprof/internal/message"
)

// CompareMarkdown writes a comparison for a comment on a pull request: what
// everybody needs first, the details folded.
func CompareMarkdown(w io.Writer, c *compare.Comparison) error {
	out := bufio.NewWriter(w)
	m := &markdownPrinter{out: out, c: c}
	fmt.Fprintf(out, "### %s\n\n", message.Phrase("compare-heading", prose(message.Text(c.Headline()))))
	fmt.Fprintf(out, "%s\n", prose(sides(c)))
	for _, text := range message.Texts(c.Warnings) {
		fmt.Fprintf(out, "\n%s\n", prose(text))
	}
	if c.Gate != nil {
		fmt.Fprintf(out, "\n**%s**\n\n", prose(upperFirst(gateTitle(c.Gate))))
		m.write(gateView.Table(gateLines(c.Gate)))
	}
	m.tables(false, compare.Stage, compare.MFU, compare.MBU)
	if len(c.Differ) > 0 {
		m.fold(message.Phrase("compare-sides-differ-in", len(c.Differ)), func() {
			for i := range c.Differ {
				fmt.Fprintf(out, "- %s\n", prose(differenceWords(&c.Differ[i])))
			}
		})
	}
	for i := range c.Falls {
		f := &c.Falls[i]
		m.fold(fallTitle(f), func() { m.write(fallView.Table(f.Summed(compareFall))) })
	}
	for _, k := range append([]compare.Kind{compare.Total, compare.Workload, compare.Request, compare.Rank}, detailKinds...) {
		if len(c.Lines(k)) > 0 {
			m.fold(message.Label("compare.kind", string(k)), func() { m.tables(false, k) })
		}
	}
	if m.err != nil {
		return m.err
	}
	return out.Flush()
}

// markdownPrinter writes Markdown; err is the first error, after which tables are left out.
type markdownPrinter struct {
	out *bufio.Writer
	c   *compare.Comparison
	err error
}

// write writes a table with its notes.
func (m *markdownPrinter) write(t Printable) {
	if m.err == nil {
		m.err = t.WriteMarkdown(m.out)
	}
}

// tables writes those of several kinds, one below the other; all leaves no row out.
func (m *markdownPrinter) tables(all bool, kinds ...compare.Kind) {
	for _, k := range kinds {
		for _, t := range compareTables(m.c, k, all) {
			fmt.Fprintln(m.out)
			m.write(t.table)
			if t.more > 0 {
				fmt.Fprintln(m.out, "\n"+message.Phrase("compare-more-rows", t.more))
			}
		}
	}
}

// fold hides details behind a line.
func (m *markdownPrinter) fold(title string, body func()) {
	fmt.Fprintf(m.out, "\n<details><summary>%s</summary>\n\n", prose(title))
	body()
	fmt.Fprint(m.out, "\n</details>\n")
}
