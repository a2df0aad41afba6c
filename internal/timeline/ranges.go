package timeline

import (
	"cmp"
	"fmt"
	"slices"
)

// RangeRows lists every instance of every range by its start. With a device
// or kernel filter, only the GPU work of that counts.
func (t *Timeline) RangeRows(q Query) Rows[RangeRow] {
	return t.Attribute().rangeRows(q, func(int) bool { return true })
}

// rangeRows is RangeRows of the ranges that want accepts.
func (a *Attribution) rangeRows(q Query, want func(i int) bool) Rows[RangeRow] {
	t := a.t
	u, _ := a.measured(&q)
	matches := a.nodeFilter(&q)
	var order []int
	for i := range t.Ranges {
		r := &t.Ranges[i]
		if want(i) && matches[a.rangeNode[i]] && q.wantProcess(t.pid(t.ThreadProcess(r.Thread))) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(t.Ranges[x].Start, t.Ranges[y].Start) })
	cut := cutTop(order, q.Top)
	categories := t.categoryNames()
	rows := make([]RangeRow, len(cut.Rows))
	for i, at := range cut.Rows {
		rows[i] = a.rangeRow(at, u.get(at), categories)
	}
	return Rows[RangeRow]{Rows: rows, Cut: cut.Cut, Warnings: a.Warnings}
}

func (a *Attribution) rangeRow(i int, u *use, categories map[categoryKey]string) RangeRow {
	t := a.t
	r := &t.Ranges[i]
	id := a.rangeNode[i]
	row := RangeRow{
		ID: i + 1, Path: a.Path(id), Name: t.Name(r.Name), Domain: t.DomainName(r.Domain), Style: r.Kind.String(),
		StartNS: r.Start, EndNS: r.End, RangeNS: Since(r.Start, r.End),
		Process: t.pid(t.ThreadProcess(r.Thread)), Depth: a.nodes[id].depth, Unclosed: r.Unclosed,
	}
	if int(r.Thread) < len(t.Threads) {
		row.Thread = t.Threads[r.Thread].TID
	}
	if r.Category != 0 {
		row.Category = categories[categoryKey{r.Domain, r.Category}]
		if row.Category == "" {
			row.Category = fmt.Sprint(r.Category)
		}
	}
	if r.Color != 0 {
		row.Color = fmt.Sprintf("#%08X", r.Color)
	}
	if int(r.Payload) < len(t.Payloads) {
		row.PayloadType, row.Payload = t.Payloads[r.Payload].Type, t.Payloads[r.Payload].Value
	}
	if u == nil {
		return row
	}
	if u.projected {
		row.ProjectedStart, row.ProjectedNS = new(u.projStart), u.projection()
	}
	row.KernelCalls, row.InclusiveNS, row.ExclusiveNS = u.kernels, u.kernelNS, u.ownNS
	row.BusyNS, row.IdleNS, row.GPUOps, row.GraphLaunches = u.busy, u.idle(), u.ops, u.graphs
	return row
}

type categoryKey struct{ domain, id uint32 }

func (t *Timeline) categoryNames() map[categoryKey]string {
	names := make(map[categoryKey]string, len(t.Categories))
	for _, c := range t.Categories {
		names[categoryKey{c.Domain, c.ID}] = t.Name(c.Name)
	}
	return names
}
