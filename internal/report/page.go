package report

import (
	"cmp"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/message"
)

// operatorsWithoutGPU heads the operators that the page folds. n
const operatorsWithoutGPU fact.Code = "page-host-operators"

// A PageTable is a declared table with its cells, as the page draws it: the columns
// that have a value, and texts with their units in the heads.
type PageTable struct {
	// Columns and the cells of each row are in the same order; Columns is never nil.
	Columns []ColumnInfo `json:"columns"`
	Rows    [][]PageCell `json:"rows"`
	Legend  string       `json:"legend,omitempty"`
	Notes   []string     `json:"notes,omitempty"` // sentences about the table as a whole
}

// A PageCell is a cell: its text, what it is sorted by where that is not the text,
// and what to know of it.
type PageCell struct {
	// Text is what is shown, "" for an absent value without a reason.
	Text string `json:"t"`
	// Sort is in the unit of Value of the column; absent for texts and absent values.
	Sort *float64 `json:"s,omitempty"`
	// Note is a sentence; the page shows it on request.
	Note string `json:"n,omitempty"`
	// Absent: it was not measured, which Text says.
	Absent bool `json:"absent,omitempty"`
	// Kernel is the ID of the one that the cell names; "" where it names none that the result has.
	Kernel string `json:"kernel,omitempty"`
}

// PageTables are the tables of the page, by name. Rows are in the order of the
// result: those of kernels in that of its kernels, those of regions in that of
// RegionLines.
// Tables of ranks and of servers are there only for results that have them; others may be empty.
func PageTables(r *analysis.Result) map[string]PageTable {
	n := newNames(r)
	regions := resultRegionView.without("process", "device", "min_ns", "self_kernel_ns", "scope_kernel_ns")
	if underNcuAlone(r) {
		regions = NcuRegionView
	}
	tables := map[string]PageTable{
		"kernels":    pageTable(shownAll(resultKernelView.only("short", "calls", "total_ns", "mean_ns", "share", "ncu_ns", "limiter")), kernelLines(r, n, len(r.Kernels), false)),
		"categories": pageTable(categoryView, pointers(r.Categories)),
		"operators":  operatorsOfPage(r, n, func(o *operatorRow) bool { return o.onCPU || o.TotalDeviceUS > 0 }),
		// Operators without GPU time are many; the page folds them.
		"operators_host": hostOperators(r, n),
		"roofline":       pageTable(RooflineView, pointers(rooflineRows(r, n))),
		"roofs":          pageTable(roofView, pointers(r.Roofline.Roofs)),
		"stages":         pageTable(StageView.without("wall_ns", "gpu_busy_ns", "gpu_idle_ns", "launch_bound", "mfu_analytic", "mfu_counters", "hfu_counters", "mbu_analytic", "mbu_counters"), stageRows(r)),
		"use":            pageTable(useView.without("clock", "seconds"), useLines(r)),
		"aggregates":     pageTable(aggregateView, pointers(r.Totals.Aggregates)),
		"regions":        pageTable(regions, pointers(regionLines(r))),
		"lanes":          pageTable(laneView, laneLines(r, n)),
		"deviations":     pageTable(deviationView, pointers(r.Method.Deviations)),
		"files":          pageTable(fileView, pointers(r.Source.Files)),
		"samples":        pageTable(SampleView, pointers(sampleRows(r))),
		"steps":          pageTable(StepGroupView, stepGroups(r)),
		"outliers":       outliersOfPage(r),
	}
	addRanks(tables, r)
	addServing(tables, r)
	return tables
}

// Tables of the page of a kernel and of opportunities, which no other output has.
var (
	kernelStageView = View[analysis.StageTime]{Name: "kernel_stages", Columns: []Column[analysis.StageTime]{
		{Key: "stage", Value: func(s *analysis.StageTime) any { return s.Stage }},
		{Key: "calls", Title: "launches", Unit: Count, Value: func(s *analysis.StageTime) any { return s.Calls }},
		{Key: "ns", Title: "GPU time", Unit: Nanoseconds, Value: func(s *analysis.StageTime) any { return s.NS }},
		{Key: "share", Title: "of this kernel", Unit: Share, Value: func(s *analysis.StageTime) any { return s.Share }},
	}}
	stallView = View[analysis.Stall]{Name: "stalls", Columns: []Column[analysis.Stall]{
		{Key: "reason", Title: "a warp waits for", Value: func(s *analysis.Stall) any { return s.Reason }},
		{Key: "share", Title: "of its time", Unit: Share, Value: func(s *analysis.Stall) any { return s.Share }},
	}}
	evidenceView = View[analysis.Evidence]{Name: "evidence", Columns: []Column[analysis.Evidence]{
		{Key: "of", Title: "evidence", Value: func(e *analysis.Evidence) any { return cmp.Or(e.Metric, message.Text(e.Of)) }},
		{Key: "value", Unit: Count, Value: func(e *analysis.Evidence) any { return e.Value }},
		{Key: "threshold", Title: "held against", Value: func(e *analysis.Evidence) any { return message.Text(e.Threshold) }},
	}}
)

// PageViews are the columns of tables whose rows the page has in the result: those of each
// region and kernel.
func PageViews() map[string][]ColumnInfo {
	places := kernelStageView.Info()
	places.Columns = slices.Insert(places.Columns, 1, ColumnInfo{Key: "module", Title: "module", Align: "left"})
	views := map[string][]ColumnInfo{"kernel_places": places.Columns}
	for _, v := range []Declared{regionKernelView.only("kernel", "calls", "ns", "share"), regionCounterView.without("coverage"), kernelStageView, stallView, evidenceView} {
		views[v.Info().Name] = v.Info().Columns
	}
	views["kernel_operators"] = OperatorView.only("name", "through", "calls").Info().Columns
	for _, columns := range views {
		for i := range columns {
			columns[i].Title = upperFirst(strings.TrimSuffix(columns[i].Title, " %")) // cells have their units
		}
	}
	return views
}

// addServing adds what the clients of a server saw and its steps; nothing for other
// programs.
func addServing(tables map[string]PageTable, r *analysis.Result) {
	s := r.Serving
	if s == nil {
		return
	}
	requests := pageTable(RequestView.without("seconds", "itl_p50_ns", "itl_p99_ns"), pointers(clientWindows(s.Windows)))
	requests.Notes = requestNotes(r)
	tables["requests"] = requests
	tables["next_token"] = pageTable(NextTokenView, pointers(NextTokenParts(r)))
	tables["engine_steps"] = pageTable(ServingStepView.without("context_tokens_p99", "generation_tokens_p99", "busy_p99_ns", "launches", "bytes"), pointers(s.Steps))
	tables["step_kernels"] = pageTable(StepKernelView, pointers(stepPartRows(s, kernelsOfSteps, partsOfStep)))
	tables["step_layers"] = pageTable(StepLayerView, pointers(stepPartRows(s, layersOfSteps, partsOfStep)))
	tables["steps_over_time"] = pageTable(StepTimeView, pointers(s.OverTime))
}

// operatorsOfPage has some of the operators, and says below the table why none has
// a limiter.
func operatorsOfPage(r *analysis.Result, n *names, some func(*operatorRow) bool) PageTable {
	v := shownAll(OperatorView.only("name", "calls", "self_device_us", "total_device_us", "share", "self_cpu_us", "limiter", "main_kernel"))
	v.column("self_device_us").Note = func(o *operatorRow) string { return o.Why } // there is no room for a column
	rows := slices.DeleteFunc(pointers(operatorRows(r, n, r.OperatorsByTotal())), func(o *operatorRow) bool { return !some(o) })
	if !slices.ContainsFunc(rows, func(o *operatorRow) bool { return o.Limiter != "" }) {
		v = v.without("limiter")
		v.Legend += "; " + lowerFirst(noLimiter(r.Operators))
	}
	t := pageTable(v, rows)
	if at := slices.IndexFunc(t.Columns, func(c ColumnInfo) bool { return c.Key == "main_kernel" }); at >= 0 {
		for i, o := range rows {
			t.Rows[i][at].Kernel = o.kernelID
		}
	}
	return t
}

// outliersOfPage has the legend of the strip in which they stand out.
func outliersOfPage(r *analysis.Result) PageTable {
	t := pageTable(outlierView, outlierRows(r))
	t.Legend = stripLegend(r)
	return t
}

// hostOperators are those without GPU time; its legend counts them.
func hostOperators(r *analysis.Result, n *names) PageTable {
	t := operatorsOfPage(r, n, func(o *operatorRow) bool { return !o.onCPU && o.TotalDeviceUS == 0 })
	t.Legend = message.Text(fact.New(operatorsWithoutGPU, fact.Count("n", len(t.Rows))))
	return t
}

// pageTable fills a declared table.
// A column without a value in any row is left out, as in Markdown.
func pageTable[T any](v View[T], rows []*T) PageTable {
	v.Columns = v.visible(rows, true)
	t := PageTable{Columns: append([]ColumnInfo{}, v.Info().Columns...), Rows: make([][]PageCell, len(rows)), Legend: v.Legend}
	scale := scales(v.Columns, rows)
	for i := range v.Columns {
		c := &v.Columns[i]
		head, cells := readable(c, scale[i], rows, longestName)
		t.Columns[i].Title = head
		if !c.Named {
			t.Columns[i].Title = upperFirst(head)
		}
		for r, row := range rows {
			t.Rows[r] = append(t.Rows[r], pageCell(c, row, cells[r]))
		}
	}
	return t
}

// WritePage implements Printable.
func (t *Table[T]) WritePage(w io.Writer) error {
	page := struct {
		PageTable
		Order    string   `json:"order,omitempty"` // how the rows come, in words
		LeftOut  int      `json:"rows_left_out"`
		Warnings []string `json:"warnings"`
	}{PageTable: pageTable(t.View, t.all()), Order: t.orderWords(), Warnings: t.notes()}
	page.LeftOut = t.Cut // counted while the rows were read
	if page.Warnings == nil {
		page.Warnings = []string{}
	}
	return json.NewEncoder(w).Encode(page)
}

// pageCell is a cell with what the page sorts it by: the value as CSV has it, not as it is
// scaled. A cell that shows nothing has no place in that order.
func pageCell[T any](c *Column[T], row *T, text string) PageCell {
	cell := PageCell{Text: text}
	value := deref(c.shown(row))
	if x, ok := number(deref(c.Value(row))); ok {
		cell.Sort = &x
		if c.Unit == Count && isWhole(value) && value != nil {
			cell.Text = thousands(int64(x))
		}
	}
	if value == nil {
		cell.Text, cell.Sort = "", nil
	}
	if c.Note != nil {
		cell.Note = upperFirst(sentence(c.Note(row)))
		if cell.Text == "" && cell.Note != "" {
			cell.Text = absent
		}
	}
	cell.Absent = cell.Text == absent
	return cell
}
