package report

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/cxx"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/message"
)

// Codes of what is missing, by what a reader looks for.
var (
	withoutTimeline   = []fact.Code{analysis.NoTimeline, analysis.TimelineUnreadable, analysis.TimelineLost}
	withoutKernels    = append([]fact.Code{analysis.NoKernels}, withoutTimeline...)
	withoutUnprofiled = []fact.Code{analysis.NoBaseline, analysis.BaselineStages}
	withoutCounters   = []fact.Code{analysis.NoCounters, analysis.CountersFailed, analysis.CountersEmpty, analysis.NoKernelCounters}
	withoutOperators  = []fact.Code{analysis.NoOperators}
)

// missing is the reason that the result gives with one of the codes for a value
// that is absent; otherwise, in Markdown, is the reason where it gives none.
// The first code that the result has decides, in the order of codes.
func missing(r *analysis.Result, otherwise string, codes ...fact.Code) string {
	if n, ok := r.Why(codes...); ok {
		return noteText(&n)
	}
	return otherwise
}

// whyMissing is missing for a text that is no Markdown yet.
func whyMissing(r *analysis.Result, otherwise string, codes ...fact.Code) string {
	if n, ok := r.Why(codes...); ok {
		return withNext(n.Fact)
	}
	return otherwise
}

// noTimeline is the reason for what only a timeline tells.
func noTimeline(r *analysis.Result, otherwise string) string {
	return missing(r, otherwise, append(withoutTimeline[:len(withoutTimeline):len(withoutTimeline)], analysis.NoKernels)...)
}

// underNcu says why the times of a kernel are absent, and what there is instead.
func underNcu(r *analysis.Result, k *analysis.Kernel) string {
	none := message.Phrase("timeline-lacks-kernel")
	if r.Scope != nil {
		none = message.Phrase("scope-lacks-kernel")
	}
	if k.Counted != nil && k.Counted.DurationNS > 0 {
		return paragraph(none, message.Phrase("ncu-replay-note"))
	}
	return none
}

// names resolves kernels by the ways in which other parts of a result refer to
// them, and gives each a short name that no other kernel has.
type names struct {
	// short is by the place of the kernel in the result; no two are alike where names differ.
	short []string
	index map[string]int // by ID, name and mangled name
}

// newNames costs a pass over all kernels, so a page makes it once and hands it on.
// Names that are refs elsewhere are IDs, whole names, mangled names or short ones: find takes all.
func newNames(r *analysis.Result) *names {
	full := make([]string, len(r.Kernels))
	n := &names{index: map[string]int{}}
	for i := len(r.Kernels) - 1; i >= 0; i-- { // the longest running wins a shared name
		k := &r.Kernels[i]
		full[i] = k.Name
		for _, key := range []string{k.Short, k.Mangled, k.Name} {
			if key != "" {
				n.index[key] = i
			}
		}
	}
	for i := range r.Kernels {
		n.index[r.Kernels[i].ID] = i
	}
	n.short = cxx.Distinguish(full)
	for i := range n.short {
		if n.short[i] == "" {
			n.short[i] = r.Kernels[i].Short
		}
	}
	return n
}

// of is the short name of the kernel at an index.
func (n *names) of(i int) string {
	if i < 0 || i >= len(n.short) {
		return ""
	}
	return n.short[i]
}

// apart is the short name with the grid where another kernel shares the name.
func (n *names) apart(r *analysis.Result, i, width int) string {
	for j, s := range n.short {
		if j != i && s == n.short[i] {
			grid := dims(r.Kernels[i].Grid)
			around := utf8.RuneCountInString(message.Phrase("kernel-with-grid", "-", grid)) - 1
			return message.Phrase("kernel-with-grid", shorten(s, max(width-around, narrowest)), grid)
		}
	}
	return shorten(n.of(i), width)
}

// find is the index of a kernel, or -1.
func (n *names) find(ref string) int {
	if i, ok := n.index[ref]; ok {
		return i
	}
	return -1
}

// longest is the kernel of those referred to that takes most time, or -1.
func (n *names) longest(refs []string) int {
	best := -1
	for _, ref := range refs {
		if i := n.find(ref); i >= 0 && (best < 0 || i < best) {
			best = i
		}
	}
	return best
}

// limiter writes what holds a kernel back, with how much of that limit is in
// use, or "" where it abstains.
// The level of too little work is of one wave of blocks, and said so.
func limiter(l *analysis.Limiter) string {
	if l.Kind == "" {
		return ""
	}
	detail, level := "", ""
	if l.Detail != "" {
		detail = message.LimiterDetail(l.Kind, l.Detail)
	}
	if l.Level != nil {
		level = LevelText(l.Kind, *l.Level)
	}
	if l.Kind == "small" && l.Level != nil {
		detail, level = "", message.Phrase("level-wave", level)
	}
	return message.Phrase("limiter-level", message.Limiter(l.Kind, l.Units), detail, level)
}

// LevelText writes how much of a limit is in use; of a few blocks it keeps two digits.
func LevelText(kind string, x float64) string {
	if kind == "small" && x < 0.095 {
		return strconv.FormatFloat(x*100, 'g', 2, 64) + " %"
	}
	return fmt.Sprintf("%.0f %%", x*100)
}

// limiterBrief leaves the detail out, and that the level of too little work is of one
// wave.
func limiterBrief(k *analysis.Kernel) string {
	l := &k.Limiter
	switch {
	case l.Kind != "" && l.Level != nil:
		return message.Phrase("limiter-level", message.Limiter(l.Kind, l.Units), "", LevelText(l.Kind, *l.Level))
	case l.Kind != "":
		return message.Limiter(l.Kind, l.Units)
	case k.Counted == nil:
		return message.Phrase("cell-not-counted")
	}
	return message.Phrase("cell-no-verdict")
}

// abstained is why a limiter says nothing, and what would tell.
func abstained(l *analysis.Limiter) string {
	need := ""
	if !l.Need.IsZero() {
		need = message.Phrase("limiter-need", sentence(message.Text(l.Need)))
	}
	return paragraph(message.Sentences(l.Why), need)
}

// categoryLabel names a category: as its user does, or by its ID. Older results have
// no label where there was no timeline.
func categoryLabel(label, id string) string { return message.Label("category", cmp.Or(label, id)) }

// category is the label of a kernel's category.
func category(r *analysis.Result, id string) string {
	for _, c := range r.Categories {
		if c.ID == id {
			return categoryLabel(c.Label, id)
		}
	}
	return message.Label("category", id)
}

// dims writes a grid or a block.
func dims(d [3]int64) string {
	if d == [3]int64{} {
		return absent
	}
	return fmt.Sprintf("%dx%dx%d", d[0], d[1], d[2])
}

// evidence writes the values that a verdict rests on.
func evidence(list []analysis.Evidence) string {
	return strings.Join(each(list, func(e *analysis.Evidence) string {
		what := prose(message.Text(e.Of))
		if e.Metric != "" {
			what = code(e.Metric)
		}
		return message.Phrase("evidence-value", what, measured(e.Value, e.Unit), prose(message.Text(e.Threshold)))
	}), "; ")
}

// measured writes a value in the unit that it came in, in Markdown.
func measured(x float64, unit string) string { return CounterText(x, prose(unit)) }
