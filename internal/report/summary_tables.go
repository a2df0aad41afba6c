package report

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/message"
)

// timeTables are the stages; of a server what its clients saw, and its steps in
// place of stages where they are known; few leaves them to the report. A blank line
// is before each.
func timeTables(r *analysis.Result, o SummaryOptions, few bool) (lines []string, err error) {
	add := func(table, dropped []string, failed error) {
		if len(table) > 0 {
			lines = append(append(append(lines, ""), table...), dropped...)
		}
		err = errors.Join(err, failed)
	}
	if r.Serving == nil {
		add(stageLines(r, o.Width))
		return lines, err
	}
	windows, steps := clientWindows(r.Serving.Windows), r.Serving.Steps
	if !o.Log { // a screen has room for one window of a kind, and for a few kinds of steps
		windows = lastOfEachKind(windows)
		steps = steps[:min(len(steps), screenSteps)]
	}
	requests, view := RequestView, ServingStepView.titled("kind", message.Phrase("steps-by-time"))
	add(fitted(requests, windows, o, []string{"window", "requests", "ttft_p50_ns", "ttft_p99_ns", "tpot_p50_ns", "tpot_p99_ns", "tokens_per_s", "goodput_per_s", "cache_use", "memory_peak_bytes", "gpu_memory_used_bytes"},
		[]string{"window", "ttft_p50_ns", "tpot_p50_ns", "tokens_per_s", "goodput_per_s"}))
	switch {
	case few && len(lines) > 0:
		return lines, err
	case len(steps) == 0:
		add(stageLines(r, o.Width))
		return lines, err
	}
	add(fitted(view, steps, o, []string{"kind", "batch", "steps", "share", "step_median_ns", "busy_median_ns", "gap_before_median_ns", "mfu", "mbu", "roof"},
		[]string{"kind", "batch", "share", "step_median_ns", "busy_median_ns", "mfu", "mbu"}))
	return lines, err
}

// fitted is a table of the columns that are wanted, or on a screen that is too
// narrow for them of a few that fit 80 columns.
func fitted[T any](v View[T], rows []T, o SummaryOptions, wanted, few []string) (lines, below []string, err error) {
	v.Legend, v.Order = "", Order{}
	t := v.only(wanted...).table(Slice(rows), nil)
	lines, below, err = tableLines(t, o.Width, "", "")
	if o.Log || len(t.dropped) == 0 {
		return lines, below, err
	}
	return tableLines(v.only(few...).table(Slice(rows), nil), o.Width, "", "")
}

// screenSteps is how many kinds of steps a screen shows.
const screenSteps = 3

// lastOfEachKind leaves one window of each kind, the last.
func lastOfEachKind(windows []analysis.ServingWindow) (out []analysis.ServingWindow) {
	for i, w := range windows {
		if !slices.ContainsFunc(windows[i+1:], func(later analysis.ServingWindow) bool { return later.Kind == w.Kind }) {
			out = append(out, w)
		}
	}
	return out
}

// stageLines are the stages and how they are sorted: in the head, unless that would
// take the place of a column, else in a line of its own.
func stageLines(r *analysis.Result, width int) (lines, below []string, err error) {
	t := summaryStages(r, message.Phrase("stage-in-order"))
	if lines, below, err = tableLines(t, width, "", ""); err != nil || len(lines) == 0 {
		return lines, below, err
	}
	bare := summaryStages(r, "stage")
	lines2, below2, err := tableLines(bare, width, message.Phrase("stages-in-order"), "")
	if len(bare.dropped) < len(t.dropped) {
		return lines2, below2, err
	}
	return lines, below, err
}

// summaryStages is one row a stage, by its median pass. Narrow terminals get fewer
// columns.
func summaryStages(r *analysis.Result, head string) *Table[StageRow] {
	var rows []*StageRow
	v := shownAll(StageView.only("stage", "clean_ms", "clean_median_ms", "nsys_ms", "nsys_min_ms", "nsys_max_ms", "passes", "gpu_busy_share", "mfu_analytic", "hfu_counters", "mbu_analytic", "mbu_counters", "limiter")).titled("clean_ms", "unprofiled").titled("nsys_ms", message.Phrase("times-nsys")).titled("gpu_busy_share", message.Phrase("kernel-runs")).titled("stage", head)
	v.Legend = ""
	for i := range r.Stages {
		s := &r.Stages[i]
		x := stageRow(r, s)
		x.Stage = shorten(x.Stage, 20)
		if t := s.CleanTimes; t != nil && t.N > 1 { // findings are about the mean
			v = v.titled("clean_ms", message.Phrase("unprofiled-mean-pass")).titled("clean_median_ms", message.Phrase("median-pass"))
		} else {
			x.CleanMedian = nil
		}
		if x.several {
			x.NsysMS, v = x.NsysMedian, v.titled("nsys_ms", message.Phrase("under-nsys-median-pass"))
		}
		if x.MFU != nil {
			x.HFU = nil // one of them is enough here
		}
		if x.MBU != nil {
			x.MBUCounters = nil
		}
		if s.Region == "" && len(r.Stages) == 1 { // the program as a whole: the heading has its time
			x.NsysMS = nil
		}
		rows = append(rows, x)
	}
	if len(r.Stages) > 0 && !slices.ContainsFunc(r.Stages, func(s analysis.Stage) bool { return !s.Steps }) {
		for key, title := range map[string]string{"nsys_ms": "under-nsys-median-step", "nsys_min_ms": "fastest-step", "nsys_max_ms": "slowest-step", "passes": "steps-of-stage"} {
			v = v.titled(key, message.Phrase(title))
		}
	}
	return v.table(slices.Values(rows), nil)
}

// summaryKernels is one row a kernel. Narrow terminals get fewer columns, the
// names of the kernels to the last.
func summaryKernels(r *analysis.Result, most int) *Table[kernelLine] {
	n := newNames(r)
	rows := kernelLines(r, n, most, false)
	for i, x := range rows {
		x.name, x.limiter = n.apart(r, i, textCell), limiterBrief(x.Kernel)
	}
	v := resultKernelView.only("share", "total_ns", "calls", "ncu_ns", "limiter", "short").titled("share", message.Phrase("share-of-all")).titled("total_ns", "time").titled("short", message.Phrase("kernel-by-gpu-time"))
	v.Order = Order{}
	return v.table(slices.Values(rows), nil)
}

// levelNote says what the shares beside limiters are of; "" where the first kernels, as many
// as are shown, have none.
func levelNote(r *analysis.Result, shown int) string {
	if !slices.ContainsFunc(r.Kernels[:min(shown, len(r.Kernels))], func(k analysis.Kernel) bool { return k.Limiter.Level != nil }) {
		return ""
	}
	return message.Phrase("limiter-levels")
}

// tableLines writes a table, cuts what still does not fit, and has in lines of
// their own what is said of it and the columns that were left out. column is the title
// of the one that said is about, and is left out with; "" is the whole table.
func tableLines[T any](t *Table[T], width int, said, column string) (lines, below []string, err error) {
	var b bytes.Buffer
	if err := t.WriteText(&b, width); err != nil {
		return nil, nil, err
	}
	if t.Written() == 0 {
		return nil, nil, nil
	}
	lines = strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
	for i := range lines {
		if r := []rune(lines[i]); len(r) > width {
			lines[i] = string(r[:width-1]) + "…"
		}
	}
	var notes []string
	if said != "" && !slices.Contains(t.dropped, column) {
		notes = append(notes, said)
	}
	if len(t.dropped) > 0 {
		notes = append(notes, message.Phrase("screen-too-narrow", strings.Join(t.dropped, ", ")))
	}
	if len(notes) > 0 {
		below = wrap("("+strings.Join(notes, "; ")+")", width, "  ", sentenceLines)
	}
	return lines, below, nil
}
