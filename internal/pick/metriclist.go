package pick

import (
	"regexp"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/ncurep"
)

// mostMetrics bounds what the report of a region shows: a full set holds more
// than a thousand metrics, of which most are steps of ncu's own arithmetic.
const mostMetrics = 160

// coreMetrics are shown of a region whenever they were collected.
var coreMetrics = []string{
	"gpu__time_duration.sum", "dram__bytes_read.sum", "dram__bytes_write.sum", "dram__throughput.avg.pct_of_peak_sustained_elapsed",
	"lts__throughput.avg.pct_of_peak_sustained_elapsed", "l1tex__throughput.avg.pct_of_peak_sustained_elapsed",
	"sm__throughput.avg.pct_of_peak_sustained_elapsed", "smsp__inst_executed.sum",
}

// A metricList is the metrics that reports of regions show: what was configured
// by name, the core, and the headers of the sections, as far as they were
// collected.
type metricList struct {
	wanted, have []string
	patterns     []*regexp.Regexp // of configured names that stand for several
}

// newMetricList wants the metrics of the configuration and the core ones, which reports
// always show. An expression that cannot be read is left to ncu to refuse.
func newMetricList(configured []string) *metricList {
	l := &metricList{wanted: slices.Concat(Named(configured), coreMetrics)}
	for _, text := range configured {
		expr, isPattern := strings.CutPrefix(text, "regex:")
		if !isPattern && !strings.ContainsAny(text, ".:") {
			expr, isPattern = "^"+regexp.QuoteMeta(text)+"\\.", true // every roll-up
		}
		if re, err := regexp.Compile(expr); err == nil && isPattern { // ncu reads the expression too, and judges it
			l.patterns = append(l.patterns, re)
		}
	}
	return l
}

// add takes the sections and metrics of a result. A metric of which an earlier
// result had no number may come with a later one.
func (l *metricList) add(r *ncurep.Result) {
	for _, s := range r.Sections {
		for _, m := range s.Header {
			if ofLaunch(m.Name) || !meaningful(m.Name) || slices.Contains(l.wanted, m.Name) {
				continue
			}
			l.wanted = append(l.wanted, m.Name)
		}
	}
	for i := range r.Metrics {
		name := r.Metrics[i].Name
		if !slices.Contains(l.wanted, name) && slices.ContainsFunc(l.patterns, func(re *regexp.Regexp) bool { return re.MatchString(name) }) {
			l.wanted = append(l.wanted, name)
		}
		if _, ok := r.Metrics[i].Value.Float64(); ok && slices.Contains(l.wanted, name) && !slices.Contains(l.have, name) {
			l.have = append(l.have, name)
		}
	}
}

// ofLaunch tells what a launch was told or the device is from what was counted.
func ofLaunch(name string) bool {
	return name == "" || strings.HasPrefix(name, "launch__") || strings.HasPrefix(name, "profiler__") || strings.HasPrefix(name, "device__")
}

// list gives the metrics in the order in which they are wanted.
func (l *metricList) list() []string {
	var out []string
	for _, name := range l.wanted {
		if slices.Contains(l.have, name) && len(out) < mostMetrics {
			out = append(out, name)
		}
	}
	return slices.Compact(out)
}

// Named are the metrics that stand for themselves; regex:, group: and
// breakdown: stand for several.
func Named(metrics []string) []string {
	return slices.DeleteFunc(slices.Clone(metrics), func(m string) bool { return strings.Contains(m, ":") })
}
