package ncurep

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/metric"
)

// fixed names the columns that do not hold a metric.
var fixed = map[string]bool{
	"ID": true, "Process ID": true, "Process Name": true, "Host Name": true, pushPopColumn: true, startEndColumn: true,
	"Kernel Name": true, "Kernel Time": true, "Context": true, "Stream": true, "Block Size": true, "Grid Size": true,
	"Device": true, "CC": true, "Section Name": true, "Metric Name": true, "Metric Unit": true, "Metric Value": true,
	"Rule Name": true, "Rule Type": true, "Rule Description": true, "Estimated Speedup Type": true, "Estimated Speedup": true,
}

// firstMetric is the number of header columns if the page has no metric.
func (t *table) firstMetric() int {
	for i, h := range t.header {
		if !fixed[h] {
			return i
		}
	}
	return len(t.header)
}

// cell is "" if the table lacks the column or the row is too short.
func (t *table) cell(r record, name string) string {
	if i, ok := t.index[name]; ok && i < len(r.cells) {
		return r.cells[i]
	}
	return ""
}

// result makes the result that a row describes, without its metrics. The error names the cell
// that cannot be read; such a row is lost.
func (t *table) result(r record) (*Result, error) {
	id, err := strconv.Atoi(t.cell(r, "ID"))
	if err != nil || id < 0 {
		return nil, fmt.Errorf("%q is no result number", t.cell(r, "ID"))
	}
	if len(r.cells) > len(t.header)+1 {
		return nil, fmt.Errorf("%d cells under %d columns", len(r.cells), len(t.header))
	}
	res := &Result{ID: id, Device: -1}
	pid, _ := strconv.ParseUint(t.cell(r, "Process ID"), 10, 32)
	res.Process = Process{ID: uint32(pid), Host: t.cell(r, "Host Name"), Name: t.cell(r, "Process Name")}
	res.setName(t.cell(r, "Kernel Name"))
	context, _ := strconv.ParseUint(t.cell(r, "Context"), 10, 32)
	res.ContextID = uint32(context)
	if stream, err := strconv.ParseUint(t.cell(r, "Stream"), 10, 32); err == nil {
		res.StreamID, res.HasStream = uint32(stream), true
	}
	if d, err := strconv.Atoi(t.cell(r, "Device")); err == nil && d != 255 {
		res.Device = d
	}
	res.Block = parseDim3(t.cell(r, "Block Size"))
	res.Grid = parseDim3(t.cell(r, "Grid Size"))
	_, recorded := t.index[pushPopColumn]
	res.NVTX.Recorded = recorded
	res.NVTX.parsePushPop(t.cell(r, pushPopColumn), &res.ThreadID)
	res.NVTX.parseStartEnd(t.cell(r, startEndColumn))
	return res, nil
}

// setName: a CSV tells the kind by the name alone, so a kernel called range or graph is
// taken for one.
func (r *Result) setName(name string) {
	switch name {
	case "range":
		r.Kind = Range
	case "graph":
		r.Kind = Graph
	default:
		r.DemangledName = name
	}
}

// wideRow reads a row of a raw page, one result with all its metrics. A cell that cannot be
// read costs its metric, not the row.
func (t *table) wideRow(r record, l metric.Locale) {
	res, err := t.result(r)
	if err != nil {
		t.lost++
		t.warn(r.line, 1, rowLeftOut, fact.Error("error", err))
		return
	}
	if len(r.cells) < len(t.header) {
		t.warn(r.line, int64(len(t.header)-len(r.cells)), rowShort, fact.Count("n", len(r.cells)), fact.Count("of", len(t.header)))
	}
	for i := t.firstMetric(); i < len(t.header) && i < len(r.cells); i++ {
		if fixed[t.header[i]] || t.index[t.header[i]] != i {
			continue
		}
		unit := ""
		if i < len(t.units) {
			unit = t.units[i]
		}
		m := Metric{Name: t.header[i], hasUnit: t.units != nil}
		if t.value(r, &m, r.cells[i], unit, l) {
			res.Metrics = append(res.Metrics, m)
		}
	}
	t.rep.Results = append(t.rep.Results, res)
}

// value fills a metric from its cell and reports whether there is one.
// A cell "no data" is a metric without a value. A number that two locales read
// differently is left out with a warning rather than guessed.
func (t *table) value(r record, m *Metric, cell, unit string, l metric.Locale) bool {
	switch cell {
	case "":
		return false
	case "no data":
		return true
	}
	v, err := metric.ParseNumber(cell, l)
	switch {
	case errors.Is(err, metric.ErrAmbiguous):
		t.warn(r.line, 1, cellLeftOut, fact.Metric("metric", m.Name), fact.Vendor("cell", cell), fact.Error("error", err))
		return false
	case err != nil:
		m.Value = metric.String(cell)
		return true
	}
	m.Value = v
	if x, ok := v.Float64(); ok {
		y, base := metric.Normalize(x, unit)
		m.unit = base
		if y != x {
			m.Value = metric.Float64(y)
		}
	}
	return true
}

// longRow reads a row of a details page: a metric, or a rule's message. Rows of one result
// have its ID and process, and need not follow each other.
func (t *table) longRow(r record, l metric.Locale) {
	key := t.cell(r, "ID") + "\x00" + t.cell(r, "Process ID")
	res := t.byID[key]
	if res == nil {
		var err error
		if res, err = t.result(r); err != nil {
			t.lost++
			t.warn(r.line, 1, rowLeftOut, fact.Error("error", err))
			return
		}
		t.byID[key] = res
		t.rep.Results = append(t.rep.Results, res)
	}
	if name := t.cell(r, "Metric Name"); name != "" {
		m := Metric{Name: name, Section: t.cell(r, "Section Name"), hasUnit: true}
		if t.value(r, &m, t.cell(r, "Metric Value"), t.cell(r, "Metric Unit"), l) {
			res.Metrics = append(res.Metrics, m)
		}
	}
	if name := t.cell(r, "Rule Name"); name != "" {
		res.Rules = append(res.Rules, t.rule(r, name))
	}
}

// What a details page calls the types of messages and speedups.
var (
	messageTypes = map[string]MessageType{"INF": MessageOK, "WRN": MessageWarning, "ERR": MessageError, "OPT": MessageOptimization}
	speedupTypes = map[string]SpeedupType{"local": SpeedupLocal, "global": SpeedupGlobal}
)

// rule: the CSV has one message a row, in percent if it estimates a speedup.
func (t *table) rule(r record, name string) RuleResult {
	msg := RuleMessage{Type: messageTypes[t.cell(r, "Rule Type")], Text: t.cell(r, "Rule Description")}
	if x, err := strconv.ParseFloat(t.cell(r, "Estimated Speedup"), 64); err == nil {
		msg.Speedup = &Speedup{Type: speedupTypes[strings.ToLower(t.cell(r, "Estimated Speedup Type"))], Value: x}
	}
	return RuleResult{Identifier: name, Section: t.cell(r, "Section Name"), Messages: []RuleMessage{msg}}
}

// parseDim3 reads "(x, y, z)"; anything else is the zero extent.
func parseDim3(s string) Dim3 {
	var d Dim3
	parts := strings.Split(strings.Trim(s, "()"), ",")
	if len(parts) != 3 {
		return d
	}
	for i, p := range []*uint64{&d.X, &d.Y, &d.Z} {
		n, err := strconv.ParseUint(strings.TrimSpace(parts[i]), 10, 64)
		if err != nil {
			return Dim3{}
		}
		*p = n
	}
	return d
}
