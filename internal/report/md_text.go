package report

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/message"
)

// longestName is what a Markdown page shows of a name; some templates fill
// screens, and result.json has them whole.
const longestName = 2000

// prose escapes a text that comes from data, so that it stays text in a
// paragraph, a list or a cell of a table.
// It is for one line: line breaks become blanks.
func prose(s string) string {
	s = strings.TrimSpace(oneLine(s))
	number := len(s) - len(strings.TrimLeft(s, "0123456789")) // would begin a list
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; c {
		case '.', ')':
			if number > 0 && i == number && (i+1 == len(s) || s[i+1] == ' ') {
				b.WriteByte('\\')
			}
			b.WriteByte(c)
		case '|': // even an escaped bar ends the cell in some renderers
			b.WriteString("&#124;")
		case '\\', '`', '*', '[', ']', '~', '$':
			b.WriteByte('\\')
			b.WriteByte(c)
		case '_':
			if !withinWord(s, i) {
				b.WriteByte('\\')
			}
			b.WriteByte(c)
		case '<':
			b.WriteString("&lt;")
		case '>':
			b.WriteString("&gt;")
		case '&':
			if i+1 < len(s) && (s[i+1] == '#' || wordByte(s[i+1])) {
				b.WriteString("&amp;")
			} else {
				b.WriteByte(c)
			}
		case '#', '-', '+', '=':
			if i == 0 {
				b.WriteByte('\\')
			}
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
	return unlinked.Replace(b.String())
}

// unlinked breaks what renderers turn into links by themselves.
var unlinked = strings.NewReplacer("://", ":&#47;&#47;", "www.", "www&#46;")

// withinWord reports whether the run of underscores at i stands between the
// letters of a word, where it is text already.
func withinWord(s string, i int) bool {
	before := strings.TrimRight(s[:i], "_")
	after := strings.TrimLeft(s[i:], "_")
	return before != "" && after != "" && wordByte(before[len(before)-1]) && wordByte(after[0])
}

// wordByte tells bytes of letters and digits; those of other alphabets count as letters.
func wordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c >= utf8.RuneSelf
}

// code shows a name as it is, in a paragraph and in a cell of a table. Renderers
// make no markup, link, mention or formula of what stands in a code span.
// A name without a character is said to have none, so that the span is never empty.
func code(s string) string {
	s = strings.TrimSpace(shorten(oneLine(s), longestName))
	if s == "" {
		return message.Phrase("no-name")
	}
	if !strings.ContainsAny(s, "`|\\") {
		return "`" + s + "`"
	}
	// Within a table these three end a span or a cell. Character references
	// never do.
	var b strings.Builder
	b.WriteString("<code>")
	for _, r := range s {
		if r > ' ' && r < utf8.RuneSelf && !wordByte(byte(r)) {
			fmt.Fprintf(&b, "&#%d;", r)
		} else {
			b.WriteRune(r)
		}
	}
	b.WriteString("</code>")
	return b.String()
}

// A doc is a Markdown page in the making. What is handed to it is Markdown
// already: texts from data go through prose or code first.
type doc struct {
	b bytes.Buffer
	// notes are the texts of the footnotes, in the order of their first use; seen has their
	// numbers, from 1.
	notes []string
	seen  map[string]int
}

// newDoc begins a page with its title and what a reader must know before any
// number.
func newDoc(title string, r *analysis.Result) *doc {
	d := &doc{seen: map[string]int{}}
	d.line("# %s", title)
	if r.Source.Recorded {
		d.say("banner-recorded", prose(gpuName(r)), prose(r.Source.Created))
	}
	if text := Unfinished(r); text != "" {
		d.say("banner-unfinished", text, message.Phrase("unfinished-note"))
	}
	for _, n := range r.FirstNotes() {
		d.say("banner-warning", prose(message.Text(n.AsFact())))
	}
	return d
}

// titled adds what ran to the title of a page.
func titled(title string, r *analysis.Result) string {
	return message.Phrase("title-of", title, prose(workloadName(r)))
}

// RecordedRun marks the tables and the summary of a recording.
func RecordedRun() string { return message.Phrase("recorded-run") }

// unfinished says that the run holds less than it was to capture; "" where it does not.
func unfinished(r *analysis.Result) string {
	if !r.Source.Unfinished() {
		return ""
	}
	return message.Label("unfinished", r.Source.Status)
}

// Unfinished is the same as a sentence.
func Unfinished(r *analysis.Result) string { return sentence(unfinished(r)) }

// gpuName is that of the first GPU; "" where it is not known.
func gpuName(r *analysis.Result) string {
	if len(r.Environment.GPUs) == 0 {
		return ""
	}
	return r.Environment.GPUs[0].Name
}

// line writes a paragraph, a heading or a quote, set off by blank lines.
func (d *doc) line(format string, args ...any) {
	if d.b.Len() > 0 {
		d.b.WriteByte('\n')
	}
	fmt.Fprintf(&d.b, format, args...)
	d.b.WriteByte('\n')
}

// say writes a phrase of package message as a paragraph.
func (d *doc) say(id string, args ...any) { d.line("%s", message.Phrase(id, args...)) }

// lacks says that what a phrase names is absent, with the reason as a footnote.
func (d *doc) lacks(id, why string) { d.say("absent-note", message.Phrase(id), d.note(why)) }

// paragraph is sentences in a row; those that are "" are left out.
func paragraph(sentences ...string) string {
	return strings.Join(slices.DeleteFunc(sentences, func(s string) bool { return s == "" }), " ")
}

// heading writes a phrase as a heading of a level: 2 for a section.
func (d *doc) heading(level int, id string) {
	d.line("%s %s", strings.Repeat("#", level), message.Phrase(id))
}

// list writes items as a list.
func (d *doc) list(items []string) {
	if len(items) == 0 {
		return
	}
	d.b.WriteByte('\n')
	for _, s := range items {
		fmt.Fprintf(&d.b, "- %s\n", s)
	}
}

// numbered writes items as a numbered list.
func (d *doc) numbered(items []string) {
	if len(items) == 0 {
		return
	}
	d.b.WriteByte('\n')
	for i, s := range items {
		fmt.Fprintf(&d.b, "%d. %s\n", i+1, s)
	}
}

// fenced writes lines that renderers must leave alone.
func (d *doc) fenced(text string) {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	d.line("%stext\n%s\n%s", fence, strings.TrimRight(text, "\n"), fence)
}

// note registers a footnote and returns the reference to it. The same text is
// one footnote.
// "" is no footnote: the reference is "" too.
func (d *doc) note(text string) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return ""
	}
	n, ok := d.seen[text]
	if !ok {
		d.notes = append(d.notes, text)
		n = len(d.notes)
		d.seen[text] = n
	}
	return fmt.Sprintf("[^%d]", n)
}

// noteText is a note of the result in Markdown, with what to do about it.
func noteText(n *analysis.Note) string { return prose(withNext(n.AsFact())) }

// sentence ends a text with a full stop.
// "" stays "".
func sentence(s string) string {
	s = strings.TrimSpace(s)
	if s == "" || strings.ContainsRune(".!?:", rune(s[len(s)-1])) {
		return s
	}
	return s + "."
}

// writeTo ends the page with where it comes from and its footnotes, which
// renderers put last anyway.
func (d *doc) writeTo(w io.Writer, r *analysis.Result) error {
	run := ""
	if r.Source.Run != "" {
		run = code(r.Source.Run)
	}
	d.line("---")
	d.say("made-by-from", prose(strings.TrimPrefix(r.Version, "deepprof ")), run)
	for i, n := range d.notes {
		d.line("[^%d]: %s", i+1, n)
	}
	_, err := w.Write(d.b.Bytes())
	return err
}

// A grid is a table of cells that are Markdown already.
type grid struct {
	// heads and the cells of rows are Markdown; each row has as many as heads.
	heads []string
	right []bool // of numbers; as many as heads
	rows  [][]string
	// compact: without blanks that align the columns, for what programs and forms take.
	compact bool
}

// newGrid takes the IDs of the phrases that are its headers; one that begins with
// ">" holds numbers.
func newGrid(heads ...string) *grid {
	g := &grid{}
	for _, h := range heads {
		id, right := strings.CutPrefix(h, ">")
		g.column(message.Phrase(id), right)
	}
	return g
}

// column adds a column whose header comes from data.
func (g *grid) column(head string, right bool) {
	g.heads, g.right = append(g.heads, head), append(g.right, right)
}

// add takes as many cells as there are columns.
func (g *grid) add(cells ...string) { g.rows = append(g.rows, cells) }

// widestCell is how far a column of the source is padded; longer cells stick out.
const widestCell = 72

// table writes a grid as a paragraph of its own.
func (d *doc) table(g *grid) {
	d.b.WriteByte('\n')
	g.write(&d.b)
}

// write is the one writer of Markdown tables. Those of pages are aligned in the source too,
// because many read that.
func (g *grid) write(b *bytes.Buffer) {
	widths := make([]int, len(g.heads)) // 0 of a compact table
	for i, h := range g.heads {
		if g.compact {
			break
		}
		widths[i] = min(max(3, utf8.RuneCountInString(h)), widestCell)
		for _, row := range g.rows {
			if n := utf8.RuneCountInString(row[i]); n <= widestCell {
				widths[i] = max(widths[i], n)
			}
		}
	}
	line := func(cells []string) {
		for i, c := range cells {
			pad := strings.Repeat(" ", max(0, widths[i]-utf8.RuneCountInString(c)))
			if g.right[i] {
				pad, c = c, pad
			}
			fmt.Fprintf(b, "| %s%s ", c, pad)
		}
		b.WriteString("|\n")
	}
	line(g.heads)
	rules := make([]string, len(g.heads))
	for i := range rules {
		n, end := widths[i], ""
		if g.right[i] {
			n, end = n-1, ":"
		}
		if g.compact {
			n = 3
		}
		rules[i] = strings.Repeat("-", n) + end
	}
	line(rules)
	for _, row := range g.rows {
		line(row)
	}
}
