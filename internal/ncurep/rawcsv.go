package ncurep

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/deepprof/deepprof/internal/metric"
)

// Names of the columns that hold the NVTX state.
const (
	pushPopColumn  = "thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg"
	startEndColumn = "Id:Domain:Start/Stop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg"
)

// WriteRawCSV writes what is left in r as `ncu --import FILE --page raw --csv`
// of the newest known release does under LC_ALL=C. units is auto or base, as
// for --print-units.
// Rows are those of Reader.Next, columns the fixed ones and then all metrics by name.
// It holds the whole report in memory, because the unit of a column depends on all of
// its values. An error is one of w or of units.
func WriteRawCSV(w io.Writer, r *Reader, units string) error {
	f := metric.Format{Release: metric.Latest}
	switch units {
	case "auto":
	case "base":
		f.Base = true
	default:
		return fmt.Errorf("print units %q: must be auto or base", units)
	}
	return formatRawCSV(w, r.report(), f)
}

// formatRawCSV writes the raw page as the chosen release prints it. Names of
// kernels are those in the file, which releases from 2025 on shorten.
func formatRawCSV(w io.Writer, rep *Report, f metric.Format) error {
	t := newRawTable(rep, f)
	out := bufio.NewWriterSize(w, 64<<10)
	writeCells(out, t.header())
	writeCells(out, t.units())
	for i := range rep.Results {
		t.writeRow(out, i)
	}
	return out.Flush()
}

// rawTable is the raw page before it is written. Rows are the results of the report, in its
// order.
type rawTable struct {
	rep    *Report
	format metric.Format
	fixed  []rawColumn
	names  []string // of the metrics, sorted
	// columns know the unit of each metric and how many digits ncu prints.
	columns []metric.Column
	values  [][]*Metric // by row and metric, the last if a name repeats; nil if a result lacks it
}

// A rawColumn is a column that is no metric.
type rawColumn struct {
	name string
	cell func(r *Result) string
	// quoted cells hold their doubled quotes already.
	quoted bool
}

// newRawTable lists the metrics of all results by name, and finds the unit of each
// column from all of its values, as ncu does.
func newRawTable(rep *Report, f metric.Format) *rawTable {
	t := &rawTable{rep: rep, format: f, fixed: fixedColumns(rep, f)}
	index := map[string]int{}
	for _, r := range rep.Results {
		for i := range r.Metrics {
			if name := r.Metrics[i].Name; shown(name) {
				index[name] = 0
			}
		}
	}
	t.names = slices.Sorted(maps.Keys(index))
	for i, name := range t.names {
		index[name] = i
	}
	for _, r := range rep.Results {
		row := make([]*Metric, len(t.names))
		for i := range r.Metrics {
			m := &r.Metrics[i]
			if j, ok := index[m.Name]; ok {
				row[j] = m
			}
		}
		t.values = append(t.values, row)
	}
	units := metric.Units(slices.Concat(rep.names, t.names), f.Release)
	for j, name := range t.names {
		t.columns = append(t.columns, metric.NewColumn(units[name], f, t.column(j)))
	}
	return t
}

// shown tells which metrics the raw page prints: lists of other metrics are not.
func shown(name string) bool {
	return !strings.HasPrefix(name, "breakdown:") && !strings.HasPrefix(name, "group:") && !strings.HasPrefix(name, "regex:")
}

// column goes through the values of a metric that there are, by row; results without it are
// passed over.
func (t *rawTable) column(j int) func(yield func(metric.Value) bool) {
	return func(yield func(metric.Value) bool) {
		for _, row := range t.values {
			if row[j] != nil && !yield(row[j].Value) {
				return
			}
		}
	}
}

// header has the fixed columns first, then metrics by name.
func (t *rawTable) header() []string {
	var cells []string
	for _, c := range t.fixed {
		cells = append(cells, c.name)
	}
	return append(cells, t.names...)
}

// units are empty in the fixed columns.
func (t *rawTable) units() []string {
	cells := make([]string, len(t.fixed), len(t.fixed)+len(t.columns))
	for i := range t.columns {
		cells = append(cells, t.columns[i].Unit)
	}
	return cells
}

// appendCell prints the metric in column j of row i.
func (t *rawTable) appendCell(b []byte, i, j int) []byte {
	m := t.values[i][j]
	if m == nil || m.Value.IsZero() && m.NumInstances > 0 {
		return b
	}
	return t.columns[j].Append(b, m.Value)
}

// writeRow writes a line of the page, without a string per cell.
func (t *rawTable) writeRow(w *bufio.Writer, i int) {
	for k, c := range t.fixed {
		if k > 0 {
			w.WriteByte(',')
		}
		if text := c.cell(t.rep.Results[i]); c.quoted {
			w.WriteString(`"` + text + `"`)
		} else {
			writeCell(w, text)
		}
	}
	var cell []byte
	for j := range t.columns {
		cell = append(cell[:0], ',', '"')
		cell = append(t.appendCell(cell, i, j), '"')
		if bytes.IndexByte(cell[2:len(cell)-1], '"') >= 0 {
			w.WriteByte(',')
			writeCell(w, string(cell[2:len(cell)-1]))
			continue
		}
		w.Write(cell)
	}
	w.WriteByte('\n')
}

// fixedColumns depend on the release: 2022 has Kernel Time and lacks what follows Stream.
func fixedColumns(rep *Report, f metric.Format) []rawColumn {
	cols := []rawColumn{
		{name: "ID", cell: func(r *Result) string { return strconv.Itoa(r.ID) }},
		{name: "Process ID", cell: func(r *Result) string { return strconv.FormatUint(uint64(r.Process.ID), 10) }},
		{name: "Process Name", cell: func(r *Result) string { return path.Base(r.Process.Name) }},
		{name: "Host Name", cell: func(r *Result) string { return r.Process.Host }},
	}
	// A report made with --nvtx in which no range was open has no such columns.
	if slices.ContainsFunc(rep.Results, func(r *Result) bool { return !r.NVTX.IsZero() }) {
		cols = append(cols, rawColumn{pushPopColumn, pushPopCell, true}, rawColumn{startEndColumn, startEndCell, true})
	}
	cols = append(cols, rawColumn{name: "Kernel Name", cell: (*Result).Name})
	if f.Release == metric.R2022 {
		cols = append(cols, rawColumn{name: "Kernel Time", cell: func(r *Result) string {
			return time.Unix(int64(r.CreationTime), 0).UTC().Format("2006-Jan-02 15:04:05")
		}})
	}
	cols = append(cols,
		rawColumn{name: "Context", cell: func(r *Result) string { return strconv.FormatUint(uint64(r.ContextID), 10) }},
		rawColumn{name: "Stream", cell: streamCell})
	if f.Release == metric.R2022 {
		return cols
	}
	if slices.ContainsFunc(rep.Results, func(r *Result) bool { return r.Kind == Kernel || r.Kind == CommandList }) {
		cols = append(cols,
			rawColumn{name: "Block Size", cell: func(r *Result) string { return extentCell(r, r.Block) }},
			rawColumn{name: "Grid Size", cell: func(r *Result) string { return extentCell(r, r.Grid) }})
	}
	return append(cols,
		rawColumn{name: "Device", cell: deviceCell},
		rawColumn{name: "CC", cell: ccCell})
}

// extentCell prints what ranges and graphs do not have as n/a.
func extentCell(r *Result, d Dim3) string {
	if r.Kind == Range || r.Kind == Graph {
		return "n/a"
	}
	return d.String()
}

// streamCell prints n/a for ranges, which have no stream.
func streamCell(r *Result) string {
	if !r.HasStream {
		return "n/a"
	}
	return strconv.FormatUint(uint64(r.StreamID), 10)
}

// deviceCell prints 255 if the report does not name the device, as ncu does.
func deviceCell(r *Result) string {
	if r.Device < 0 {
		return "255"
	}
	return strconv.Itoa(r.Device)
}

// ccCell prints 0.0 if the attributes are missing.
func ccCell(r *Result) string {
	major, _ := r.Value("device__attribute_compute_capability_major")
	minor, _ := r.Value("device__attribute_compute_capability_minor")
	return strconv.Itoa(int(major)) + "." + strconv.Itoa(int(minor))
}

// pushPopCell prints the stacks of the launching thread. ncu quotes the ranges
// with doubled quotes itself and does not escape their names.
func pushPopCell(r *Result) string {
	var b strings.Builder
	for _, s := range r.NVTX.Stacks {
		if s.Thread != r.ThreadID {
			continue
		}
		if b.Len() == 0 {
			b.WriteString(strconv.FormatUint(uint64(s.Thread), 10) + " ")
		}
		if s.Domain == "" {
			continue // ncu leaves out ranges of a domain that it does not know
		}
		for i := range s.Ranges {
			b.WriteString(` ""` + s.Domain + ":" + s.Ranges[i].Name + s.Ranges[i].attributeText() + `"" `)
		}
	}
	return b.String()
}

// startEndCell prints the start/end ranges of all threads.
func startEndCell(r *Result) string {
	var b strings.Builder
	for i := range r.NVTX.Open {
		o := &r.NVTX.Open[i]
		if o.Domain == "" {
			continue
		}
		b.WriteString(` ""` + strconv.FormatUint(o.ID, 10) + ":" + o.Domain + ":" + o.Name + o.attributeText() + `"" `)
	}
	return b.String()
}

// attributeText prints the six attributes; ncu leaves the type of an invalid handle empty.
func (rg *NVTXRange) attributeText() string {
	msgType := orNone(rg.MessageType)
	if rg.Message == invalidHandle {
		msgType = ""
	}
	return ":" + orNone(rg.PayloadType) + ":" + orNone(rg.Payload) + ":" + orNone(rg.ColorType) + ":" + orNone(rg.Color) +
		":" + msgType + ":" + orNone(rg.Message)
}

// orNone is the word that ncu prints for an attribute that was not given.
func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// writeCells writes a line with every cell in quotes.
func writeCells(w *bufio.Writer, cells []string) {
	for i, c := range cells {
		if i > 0 {
			w.WriteByte(',')
		}
		writeCell(w, c)
	}
	w.WriteByte('\n')
}

// writeCell quotes every cell, as ncu does.
func writeCell(w *bufio.Writer, c string) {
	w.WriteByte('"')
	if strings.Contains(c, `"`) {
		c = strings.ReplaceAll(c, `"`, `""`)
	}
	w.WriteString(c)
	w.WriteByte('"')
}
