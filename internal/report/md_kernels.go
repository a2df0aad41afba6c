package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/message"
)

// How many kernels a page shows. result.json has all of them.
const (
	topKernels    = 10
	listedKernels = 300
	kernelEntries = 60
)

// WriteKernels writes kernels.md: every kernel by its total time, then what is
// known of each.
func WriteKernels(w io.Writer, r *analysis.Result) error {
	d := newDoc(message.Phrase("kernels"), r)
	d.scope(r)
	if len(r.Kernels) == 0 {
		d.say("no-kernels", d.note(missing(r, message.Phrase("no-kernels-captured"), withoutKernels...)))
		return d.writeTo(w, r)
	}
	if slices.ContainsFunc(r.Kernels, func(k analysis.Kernel) bool { return !untimed(&k) }) {
		d.say("kernels-summary",
			plural(len(r.Kernels), "kernel"), thousands(partOf(r).launches), elapsed(float64(partOf(r).kernel)))
	} else {
		d.say("kernels-lead-untimed", plural(len(r.Kernels), "kernel"))
	}
	n := newNames(r)
	d.kernelTable(r, n, listedKernels)
	d.heading(2, "categories")
	d.categories(r)
	d.heading(2, "each-kernel")
	for i := range r.Kernels[:min(len(r.Kernels), kernelEntries)] {
		d.kernelEntry(r, n, i)
	}
	d.fullNames(r)
	return d.writeTo(w, r)
}

// kernelTable writes the kernels that take most time; the last row sums the
// others, so that shares add up.
func (d *doc) kernelTable(r *analysis.Result, n *names, most int) {
	rows := kernelLines(r, n, most, true)
	if !slices.ContainsFunc(r.Kernels, func(k analysis.Kernel) bool { return !untimed(&k) }) {
		d.say("kernel-times-absent", absent, d.note(noTimeline(r, message.Phrase("timeline-lacks-kernels"))+message.Phrase("ncu-replay-note")))
	}
	writeView(d, resultKernelView, rows)
}

// categories writes the GPU time by category, and the names that no rule knows.
func (d *doc) categories(r *analysis.Result) {
	if len(r.Categories) == 0 || !r.HasTimeline() {
		d.say("categories-absent", absent, d.note(noTimeline(r, message.Phrase("no-kernels-for-categories"))))
		return
	}
	writeView(d, categoryView, pointers(r.Categories))
	var unmatched []string
	for _, c := range r.Categories {
		for _, name := range c.Unnamed {
			unmatched = append(unmatched, code(name))
		}
	}
	if len(unmatched) > 0 {
		d.say("categories-unmatched")
		if cut := len(unmatched) - listedKernels; cut > 0 {
			unmatched = append(unmatched[:listedKernels], message.Phrase("more-in-result-json", cut))
		}
		d.list(unmatched)
	}
}

// kernelEntry writes what is known of one kernel.
func (d *doc) kernelEntry(r *analysis.Result, n *names, i int) {
	k := &r.Kernels[i]
	d.line("### %d. %s", i+1, code(n.of(i)))
	var items []string
	add := func(id string, args ...any) { items = append(items, message.Phrase(id, args...)) }
	add("kernel-name", code(k.Name))
	add("launched-as-grid-block", dims(k.Grid), dims(k.Block), resources(k))
	if untimed(k) {
		add("calls-absent", absent, d.note(underNcu(r, k)))
	} else {
		add("kernel-times", launchCount(k.Calls), elapsed(float64(k.TotalNS)), percent(k.Share),
			elapsed(k.MeanNS), elapsed(k.MedianNS), elapsed(float64(k.MinNS)), elapsed(float64(k.MaxNS)))
	}
	if len(k.Stages) > 0 {
		add("kernel-in-stages", strings.Join(each(k.Stages, func(s *analysis.StageTime) string {
			return fmt.Sprintf("%s %s (%s)", code(s.Stage), elapsed(float64(s.NS)), launchCount(s.Calls))
		}), ", "))
	}
	if text := limiter(&k.Limiter); text != "" {
		add("kernel-limiter", prose(text), prose(upperFirst(abstained(&k.Limiter))))
	} else {
		add("kernel-no-limiter", prose(abstained(&k.Limiter)))
	}
	if len(k.Limiter.Evidence) > 0 {
		add("kernel-evidence", evidence(k.Limiter.Evidence))
	}
	if c := k.Limiter.Cause; c != nil {
		add("kernel-cause", prose(message.Cause(c.Fact, c.Need)))
	} else {
		add("kernel-cause", prose(message.NoCause(k.Limiter.Why)))
	}
	for _, o := range k.OtherLimiters {
		add("kernel-limiter-of-group", elapsed(o.TimelineNS), launchCount(o.Calls), percent(o.Share),
			prose(limiter(&o.Limiter)), prose(upperFirst(message.Sentences(o.Limiter.Why))), o.Launch, code(o.Report))
	}
	if k.Attained != nil {
		add("busiest-unit", busiest(k))
	}
	for _, p := range k.Point {
		add("kernel-roofline", prose(roofLabel(p.DType)), prose(roofLabel(p.Memory)), significant(p.Intensity), rate(p.FLOPS, "flop/s"), percent(p.Attained))
	}
	if !k.PointNote.IsZero() {
		add("kernel-padding", prose(message.Text(k.PointNote)))
	}
	if !k.NoPoint.IsZero() {
		add("kernel-roofline-absent", absent, prose(message.Text(k.NoPoint)))
	}
	d.list(append(items, countedItems(r, k)...))
}

// busiest names the limit that a kernel uses most, and by what. A counter tells
// how busy the unit is, which is not the share of the roofline.
func busiest(k *analysis.Kernel) string {
	text := percent(*k.Attained) + message.Phrase("attained-of-peak")
	if k.AttainedOf != "" {
		text = prose(roofLabel(k.AttainedOf)) + ", " + text
	}
	if k.AttainedMetric == "" {
		return text + message.Phrase("attained-by-roofline")
	}
	return text + ", by " + code(k.AttainedMetric) + message.Phrase("attained-by-metric")
}

// resources are what a launch takes of an SM.
func resources(k *analysis.Kernel) string {
	text := ""
	if k.Registers > 0 {
		text += fmt.Sprintf(", %d registers a thread", k.Registers)
	}
	if bytes := int64(k.StaticShared) + int64(k.DynamicShared); bytes > 0 {
		text += ", " + byteSize(bytes) + message.Phrase("shared-memory-per-block")
	}
	if k.Waves > 0 {
		text += fmt.Sprintf(", %s waves", significant(k.Waves))
	}
	return text
}

// countedItems say what ncu counted and what NVIDIA's rules make of it.
func countedItems(r *analysis.Result, k *analysis.Kernel) []string {
	c := k.Counted
	if c == nil {
		why := message.Phrase("no-counters")
		switch {
		case k.Reason != nil && !k.Reason.IsZero():
			why = message.Text(*k.Reason)
		case counted(r) > 0:
			why = message.Phrase("kernel-not-in-ncu-reports")
		}
		return []string{message.Phrase("kernel-not-counted") + prose(sentence(why))}
	}
	text := message.Phrase("kernel-counted-launch", c.Launch, code(c.Report))
	if c.DurationNS > 0 {
		text += ", " + elapsed(c.DurationNS)
	}
	if c.ClockHz > 0 {
		text += " at " + clock(c.ClockHz)
	}
	if c.Passes > 0 {
		text += fmt.Sprintf(", %d passes", c.Passes)
	}
	if !c.Verified {
		text += message.Phrase("kernel-launch-unverified")
	}
	if c.TimelineNS > 0 {
		text += message.Phrase("kernel-group-duration", elapsed(c.TimelineNS))
	}
	text += "."
	if len(c.Note) > 0 {
		text += " " + prose(upperFirst(sentence(message.Join(c.Note))))
	}
	if k.Reason != nil {
		text += message.Phrase("kernel-why-chosen") + prose(sentence(message.Text(*k.Reason)))
	}
	rules, more := rulesThatMatter(c.Rules)
	items := []string{text}
	for _, rule := range rules {
		gain := ""
		if rule.Speedup != nil {
			gain = message.Phrase("rule-speedup-estimate", percentage(*rule.Speedup))
			if rule.Local {
				gain += " of a part"
			}
			gain += ")"
		}
		items = append(items, fmt.Sprintf("NVIDIA's rule, %s%s: %s", prose(cmp.Or(rule.Title, rule.Rule)), gain, prose(Words.shorten(sentence(oneLine(rule.Text)), ruleText))))
	}
	if more > 0 {
		items = append(items, message.Phrase("rules-left-out", thousands(int64(more))))
	}
	return items
}

// What a page shows of NVIDIA's rules about one kernel.
const (
	topRules = 4
	ruleText = 320 // characters
)

// rulesThatMatter are those that promise most, and how many more there are.
func rulesThatMatter(all []analysis.RuleWords) (rules []analysis.RuleWords, more int) {
	rules = slices.DeleteFunc(slices.Clone(all), func(rule analysis.RuleWords) bool { return rule.Kind == "ok" })
	gain := func(r *analysis.RuleWords) float64 {
		if r.Speedup == nil {
			return -1
		}
		return *r.Speedup
	}
	slices.SortStableFunc(rules, func(a, b analysis.RuleWords) int {
		if a.Local != b.Local && a.Speedup != nil && b.Speedup != nil { // a part of the kernel promises less
			if b.Local {
				return -1
			}
			return 1
		}
		return cmp.Compare(gain(&b), gain(&a))
	})
	shown := min(len(rules), topRules)
	return rules[:shown], len(rules) - shown
}

// roofLabel names a roof: a data type, or a memory level.
func roofLabel(id string) string { return message.Label("peak", id) }

// fullNames lists the names of the kernels that have no entry.
func (d *doc) fullNames(r *analysis.Result) {
	if len(r.Kernels) <= kernelEntries {
		return
	}
	d.heading(2, "names-in-full")
	var items []string
	seen := map[string]bool{}
	for i := kernelEntries; i < min(len(r.Kernels), listedKernels); i++ {
		if name := r.Kernels[i].Name; !seen[name] {
			seen[name] = true
			items = append(items, code(name))
		}
	}
	d.list(items)
	if cut := len(r.Kernels) - listedKernels; cut > 0 {
		d.say("kernels-left-out", thousands(int64(cut)))
	}
}
