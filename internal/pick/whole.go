package pick

import "slices"

// whole adds what ncu measured of the region as a whole: each instance is a
// result, and only those that were measured count. A graph is not a range of its
// own: it counts in every region that was open around its launch.
func (j *joiner) whole(r *Region, graphs int) {
	var list, inGraphs []int
	for i := range j.results {
		switch c := &j.results[i]; {
		case c.Graph && j.stands.where[i][r.Path]:
			inGraphs = append(inGraphs, i)
		case c.Whole && !c.Graph && slices.Contains(c.Paths(), r.Path):
			list = append(list, i)
		}
	}
	of := r.Instances
	if len(list) == 0 { // a measured range holds its graphs
		list, of = inGraphs, graphs
	}
	if len(list) == 0 {
		return
	}
	w := &WholeSums{Ranges: len(list), Of: of}
	for _, i := range list {
		w.NS += j.results[i].DurationNS
	}
	w.Metrics = j.metricsOf(list, w.Of)
	r.Whole = w
}

// metricsOf sums the metrics of results or takes their mean, weighted by their
// durations where any is known. Coverage is by number, of at least as many as
// there are. A metric that none has is left out.
func (j *joiner) metricsOf(list []int, of int) (out []RegionMetric) {
	var ns int64
	for _, i := range list {
		ns += j.results[i].DurationNS
	}
	for _, name := range j.metrics {
		m := RegionMetric{Name: name, Unit: j.units[name], How: HowMean}
		if additive(name, m.Unit) {
			m.How = HowSum
		}
		var weight float64
		n := 0
		for _, i := range list {
			v, ok := j.values[i][name]
			if !ok {
				continue
			}
			n++
			by := 1.0
			if m.How == HowMean && ns > 0 {
				by = float64(j.results[i].DurationNS)
			}
			m.Value += v * by
			weight += by
		}
		if n == 0 {
			continue
		}
		if m.How == HowMean && weight > 0 {
			m.Value /= weight
		}
		m.Coverage = float64(n) / float64(max(of, n))
		out = append(out, m)
	}
	return out
}
