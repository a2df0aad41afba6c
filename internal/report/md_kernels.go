package report

import (
	"cmp"
	"io"
	"strconv"
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
		d.noKernels(r)
		return d.writeTo(w, r)
	}
	if r.HasTimes() {
		d.say("kernels-summary", len(r.Kernels), partOf(r).launches, elapsed(float64(partOf(r).kernel)))
	} else {
		d.say("kernels-lead-untimed", len(r.Kernels))
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

// noKernels says why there are none.
func (d *doc) noKernels(r *analysis.Result) {
	d.say("no-kernels", d.note(missing(r, message.Phrase("no-kernels-captured"), withoutKernels...)))
}

// kernelTable writes the kernels that take most time; the last row sums the
// others, so that shares add up.
func (d *doc) kernelTable(r *analysis.Result, n *names, most int) {
	rows := kernelLines(r, n, most, true)
	if !r.HasTimes() {
		d.lacks("kernel-times-title", paragraph(noTimeline(r, message.Phrase("timeline-lacks-kernels")), message.Phrase("ncu-replay-note")))
	}
	writeView(d, resultKernelView, rows)
}

// categories writes the GPU time by category, and the names that no rule knows.
func (d *doc) categories(r *analysis.Result) {
	if len(r.Categories) == 0 || !r.HasTimeline() {
		d.lacks("time-by-category", noTimeline(r, message.Phrase("no-kernels-for-categories")))
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
	item := func(id string, args ...any) { items = append(items, message.Phrase(id, args...)) }
	item("kernel-name", code(k.Name))
	item("launched-as", dims(k.Grid), dims(k.Block), k.Registers, positive(float64(k.SharedBytes()), bytesText), positive(k.Waves, significant))
	if k.NoLaunch() {
		item("absent-note", message.Phrase("calls-and-times"), d.note(underNcu(r, k)))
	} else {
		item("kernel-times", k.Calls, elapsed(float64(k.TotalNS)), percent(k.Share),
			elapsed(k.MeanNS), elapsed(k.MedianNS), elapsed(float64(k.MinNS)), elapsed(float64(k.MaxNS)))
	}
	if len(k.Stages) > 0 {
		item("kernel-in-stages", strings.Join(each(k.Stages, func(s *analysis.StageTime) string {
			return message.Phrase("kernel-in-stage", code(s.Stage), elapsed(float64(s.NS)), s.Calls)
		}), ", "))
	}
	item("kernel-limiter", prose(cmp.Or(limiter(&k.Limiter), message.Phrase("cell-no-verdict"))), prose(upperFirst(abstained(&k.Limiter))))
	if len(k.Limiter.Evidence) > 0 {
		item("kernel-evidence", evidence(k.Limiter.Evidence))
	}
	if c := k.Limiter.Cause; c != nil {
		item("kernel-cause", prose(message.Cause(c.Fact, c.Need)))
	} else {
		item("kernel-cause", prose(message.NoCause(k.Limiter.Why)))
	}
	for _, o := range k.OtherLimiters {
		item("kernel-limiter-of-group", elapsed(o.TimelineNS), o.Calls, percent(o.Share),
			prose(limiter(&o.Limiter)), prose(upperFirst(message.Sentences(o.Limiter.Why))), strconv.Itoa(o.Launch), code(o.Report))
	}
	if k.Attained != nil {
		item("busiest", prose(roofLabel(k.AttainedOf)), percent(*k.Attained), busiestBy(k))
	}
	for _, p := range k.Point {
		item("kernel-roofline", prose(roofLabel(p.DType)), prose(roofLabel(p.Memory)), significant(p.Intensity), rate(p.FLOPS, "flop/s"), percent(p.Attained))
	}
	if !k.PointNote.IsZero() {
		item("kernel-padding", prose(message.Text(k.PointNote)))
	}
	if !k.NoPoint.IsZero() {
		item("no-point", prose(message.Text(k.NoPoint)))
	}
	d.list(append(items, countedItems(r, k)...))
}

// busiestBy says what tells how busy the busiest unit is. A counter tells more than the share
// of the roofline.
func busiestBy(k *analysis.Kernel) string {
	if k.AttainedMetric == "" {
		return message.Phrase("busiest-by-roofline")
	}
	return message.Phrase("busiest-by", code(k.AttainedMetric))
}

// countedItems say what ncu counted and what NVIDIA's rules make of it.
func countedItems(r *analysis.Result, k *analysis.Kernel) []string {
	c := k.Counted
	if c == nil {
		why := message.Phrase("no-counters")
		switch {
		case k.Reason != nil && !k.Reason.IsZero():
			why = message.Text(*k.Reason)
		case r.CountedKernels() > 0:
			why = message.Phrase("kernel-not-in-ncu-reports")
		}
		return []string{message.Phrase("not-counted", prose(sentence(why)))}
	}
	launch := message.Phrase("counted", strconv.Itoa(c.Launch), code(c.Report), positive(c.DurationNS, elapsed), positive(c.ClockHz, clock), c.Passes, positive(c.TimelineNS, elapsed))
	doubt, chosen := "", ""
	if !c.Verified {
		doubt = message.Phrase("kernel-launch-unverified")
	}
	if k.Reason != nil {
		chosen = message.Phrase("counted-why", prose(sentence(message.Text(*k.Reason))))
	}
	items := []string{message.Phrase("kernel-counted", paragraph(lowerFirst(launch), doubt, prose(upperFirst(sentence(message.Join(c.Note)))), chosen))}
	rules, more := c.TopRules(topRules)
	for _, rule := range rules {
		var whole, part any // what NVIDIA promises, of the kernel or of a part of it
		if rule.Speedup != nil {
			whole, part = when(!rule.Local, percentage(*rule.Speedup)), when(rule.Local, percentage(*rule.Speedup))
		}
		items = append(items, message.Phrase("kernel-rule", prose(cmp.Or(rule.Title, rule.Rule)), whole, part, prose(Words.shorten(sentence(oneLine(rule.Text)), ruleText))))
	}
	if more > 0 {
		items = append(items, message.Phrase("rules-left-out", more))
	}
	return items
}

// What a page shows of NVIDIA's rules about one kernel.
const (
	topRules = 4
	ruleText = 320 // characters
)

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
		d.say("kernels-left-out", cut)
	}
}
