package ncurep

import (
	"slices"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/deepprof/deepprof/internal/metric"
)

// Reports from before 2023 name the device only among its attributes.
const (
	deviceMetric    = "launch__device_id"
	deviceAttribute = "device__attribute_device_index"
)

// metric decodes a ProfileMetricResult if its name is wanted.
// It reports false for damage; what could be read is kept all the same. The device of
// the result is taken from here even if the metric is not wanted.
func (r *Reader) metric(res *Result, b []byte) bool {
	var m Metric
	id, hasID, ok := uint64(0), false, true
	var list []byte // from the first instance on
	for rest := b; len(rest) > 0; {
		if rest[0] == instanceTag && len(list) > 0 {
			n, after := skipInstances(rest)
			m.NumInstances += n
			if rest = after; n > 0 {
				continue
			}
		}
		f, n := consumeField(rest)
		if n <= 0 {
			ok = false
			break
		}
		switch f.num {
		case 1:
			id, hasID = f.val, true
		case 2:
			var good bool
			m.Value, good = decodeValue(f.data)
			ok = ok && good
		case 3:
			if m.NumInstances == 0 {
				list = rest
			}
			m.NumInstances++
		}
		rest = rest[n:]
	}
	if !hasID {
		return false
	}
	m.Name = r.name(id)
	r.use(id)
	if m.Name == deviceMetric || m.Name == deviceAttribute && res.Device < 0 {
		if v, isInt := m.Value.Uint64(); isInt && v < 1<<16 {
			res.Device = int(v)
		}
	}
	if !r.wants(id, m.Name) {
		return ok
	}
	m.unit, m.hasUnit = r.unit(m.Name), true
	if r.opts.Instances && m.NumInstances > 0 {
		m.Instances = decodeInstances(list, m.NumInstances)
	}
	res.Metrics = append(res.Metrics, m)
	return ok
}

// instanceTag is the first byte of an element of a metric's list.
const instanceTag = 3<<3 | byte(protowire.BytesType)

// skipInstances passes over a run of short elements, which is most of what a
// large report consists of, and returns their number and what follows.
func skipInstances(b []byte) (int, []byte) {
	n := 0
	for len(b) > 2 && b[0] == instanceTag && b[1] < 0x80 && int(b[1])+2 <= len(b) {
		b = b[int(b[1])+2:]
		n++
	}
	return n, b
}

// decodeInstances reads the elements of a metric's list. n was counted over
// elements that are there. A value that cannot be read stays zero in its element.
func decodeInstances(b []byte, n int) []Instance {
	out := make([]Instance, 0, n)
	for len(b) > 0 && len(out) < n {
		f, size := consumeField(b)
		if size <= 0 {
			break
		}
		b = b[size:]
		if f.num != 3 {
			continue
		}
		var in Instance
		decode(f.data, places{
			1: func(b []byte) { in.ID, _ = decodeValue(b) },
			2: func(b []byte) { in.Value, _ = decodeValue(b) },
		})
		out = append(out, in)
	}
	return out
}

// name looks a metric's name up. An id that refers to nothing keeps its
// number, so that the value is not lost.
func (r *Reader) name(id uint64) string {
	if id < uint64(len(r.strings)) {
		return r.strings[id]
	}
	return "#" + strconv.FormatUint(id, 10)
}

// unit derives the unit of a name from the whole string table, which may list
// a few names that no result has; a Report is based on those in use.
func (r *Reader) unit(name string) string {
	if r.units == nil {
		r.units = metric.Units(shownNames(r.strings), metric.Latest)
	}
	if u, ok := r.units[name]; ok {
		return u
	}
	return metric.Unit(name)
}

// use notes names for the units of a Report, which depend on the other names in it.
func (r *Reader) use(id uint64) {
	if r.used == nil {
		r.used = make([]bool, len(r.strings))
	}
	if id < uint64(len(r.used)) {
		r.used[id] = true
	}
}

// usedNames are in the order of the string table, without those that ncu hides.
func (r *Reader) usedNames() []string {
	var names []string
	for i, used := range r.used {
		if used && shown(r.strings[i]) {
			names = append(names, r.strings[i])
		}
	}
	return names
}

// shownNames are those that ncu prints: units go by them.
func shownNames(all []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(name string) bool { return !shown(name) })
}

// assignUnits gives every metric the unit that ncu prints for it in the report.
// ncu chooses the unit of some metrics by their neighbors, so it needs all names.
func (rep *Report) assignUnits() {
	units := metric.Units(rep.names, metric.Latest)
	for _, res := range rep.Results {
		for i := range res.Metrics {
			if u, ok := units[res.Metrics[i].Name]; ok {
				res.Metrics[i].unit = u
			}
		}
	}
}

// wants asks Options.Metrics once per name, since the same few hundred names repeat in
// every result.
func (r *Reader) wants(id uint64, name string) bool {
	if r.opts.Metrics == nil {
		return true
	}
	if id >= uint64(len(r.strings)) {
		return r.opts.Metrics(name)
	}
	if r.wanted == nil {
		r.wanted = make([]int8, len(r.strings))
	}
	if r.wanted[id] == 0 {
		r.wanted[id] = -1
		if r.opts.Metrics(name) {
			r.wanted[id] = 1
		}
	}
	return r.wanted[id] == 1
}

// metric returns the metric of that name. Where the name occurs several times
// the last occurrence counts, with or without a value: that is the one ncu shows.
func (res *Result) metric(name string) (*Metric, bool) {
	for i := len(res.Metrics) - 1; i >= 0; i-- {
		if m := &res.Metrics[i]; m.Name == name {
			return m, true
		}
	}
	return nil, false
}

// Value returns the number of a metric, and whether it was measured.
// It is in the unit of Metric.Unit. A text, an absent metric and one without a value
// report false.
func (res *Result) Value(name string) (float64, bool) {
	m, ok := res.metric(name)
	if !ok {
		return 0, false
	}
	return m.Value.Float64()
}
