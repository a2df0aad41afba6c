package pick

import "math"

// groupSum is a group within a part, and how much of it each of its representatives
// stands for.
type groupSum struct {
	launches int
	ns       int64
	by       []weight // by the representatives of the group in the region
	scaledNS int64    // of launches whose values are taken by their time
}

// A weight is how much of a group one counted launch stands for.
type weight struct {
	times float64 // launches, those of other durations by their time
	ns    float64
}

// add enters n launches of ns each, split among the counted launches that stand for them.
func (g *groupSum) add(ns, n int64, representatives []representative) {
	g.launches += int(n)
	g.ns += n * ns
	weigh(representatives, ns, func(i int, part, times float64) {
		g.by[i].times += part * times * float64(n)
		g.by[i].ns += part * float64(n*ns)
		if times != 1 {
			g.scaledNS += n * ns
		}
	})
}

// settle lets results stand for themselves alone where each launch was counted.
func (g *groupSum) settle(representatives []representative) {
	n := 0
	for _, p := range representatives {
		if p.here {
			n += len(p.results)
		}
	}
	if n != g.launches {
		return
	}
	g.scaledNS = 0
	for i, p := range representatives {
		g.by[i] = weight{}
		if p.here {
			g.by[i] = weight{float64(len(p.results)), float64(g.ns) * float64(len(p.results)) / float64(n)}
		}
	}
}

// elsewhere is the time that results from other regions stand for.
func (g *groupSum) elsewhere(representatives []representative) int64 {
	here := 0.0
	for i, p := range representatives {
		if p.here {
			here += g.by[i].ns
		}
	}
	return g.ns - int64(math.Round(here))
}

// metric weighs one metric over groups: launches for what adds up, time for
// the rest.
// It is false where no counted launch has it. Coverage is the share of total, which is in ns.
func (j *joiner) metric(name, path string, own bool, groups []int, s *partSum, total int64) (RegionMetric, bool) {
	m := RegionMetric{Name: name, Unit: j.units[name], How: HowMean}
	if additive(name, m.Unit) {
		m.How = HowSum
	}
	var ns int64
	var sum float64
	have := false
	for _, g := range groups {
		value, ok := j.over(name, m.How, j.stands.of(g, path, own), s.groups[g].by)
		if !ok {
			continue
		}
		have = true
		ns += s.groups[g].ns
		sum += value
	}
	if !have || m.How == HowMean && ns == 0 {
		return m, false
	}
	if m.How == HowMean {
		sum /= float64(ns)
	}
	m.Value, m.Coverage = sum, share(ns, total)
	return m, true
}

// over adds a metric up over the launches of a group.
func (j *joiner) over(name, how string, representatives []representative, by []weight) (float64, bool) {
	sum, have := 0.0, false
	for i := range representatives {
		if by[i] == (weight{}) {
			continue
		}
		value, times, ok := j.valueOf(name, representatives, i)
		switch {
		case !ok:
			return 0, false // no result has it
		case how == HowSum:
			sum += value * times * by[i].times
		default:
			sum += value * by[i].ns
		}
		have = true
	}
	return sum, have
}

// valueOf is the value of a metric by a representative. Where its results lack it, the
// nearest one that has it stands in, and an additive value counts times.
func (j *joiner) valueOf(name string, representatives []representative, i int) (value, times float64, ok bool) {
	if value, ok = j.mean(name, representatives[i].results); ok {
		return value, 1, true
	}
	var others []representative
	for _, p := range representatives {
		if _, has := j.mean(name, p.results); has {
			others = append(others, p)
		}
	}
	if len(others) == 0 {
		return 0, 0, false
	}
	p := others[nearest(others, representatives[i].ns)]
	value, _ = j.mean(name, p.results)
	return value, ratio(representatives[i].ns, p.ns), true
}

// mean is over the results that have the metric; false where none has.
func (j *joiner) mean(name string, results []int) (float64, bool) {
	sum, n := 0.0, 0
	for _, i := range results {
		if v, ok := j.values[i][name]; ok {
			sum += v
			n++
		}
	}
	if n == 0 {
		return 0, false
	}
	return sum / float64(n), true
}
