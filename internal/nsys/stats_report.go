package nsys

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/deepprof/deepprof/internal/timeline"
)

// A vendorTable is a table as nsys stats prints it, computed here, so that both can
// be laid side by side cell by cell. An empty cell is a missing value.
type vendorTable struct {
	Columns []string
	Rows    [][]string
}

// A statsDialect is what differs between versions of nsys stats.
type statsDialect struct {
	// Colon puts a colon before names in the default domain, as 2025 does.
	Colon bool
	// LastOfAll ends unclosed ranges at the last NVTX row of any kind, as 2022
	// does in every report; later versions look at ranges only, save in the
	// summary of ranges.
	LastOfAll bool
	// Exact rounds with timeline.RoundExact instead of timeline.Round1.
	Exact bool
}

// decimal prints a number rounded to one decimal.
func (d statsDialect) decimal(x float64) string {
	if d.Exact {
		return decimal(timeline.RoundExact(x))
	}
	return decimal(timeline.Round1(x))
}

// kernelReport is cuda_gpu_kern_sum: rows as KernelRows gives them without
// filters or splits.
func kernelReport(rows []timeline.KernelRow, d statsDialect) vendorTable {
	r := vendorTable{Columns: []string{"Time (%)", "Total Time (ns)", "Instances", "Avg (ns)", "Med (ns)", "Min (ns)", "Max (ns)", "StdDev (ns)", "Name"}}
	var total float64
	for _, k := range rows {
		total += float64(k.TotalNS)
	}
	for _, k := range rows {
		// the rows are rounded already, by the rule of one version
		share, mean := d.decimal(float64(k.TotalNS)*100/total), d.decimal(float64(k.TotalNS)/float64(k.Calls))
		r.Rows = append(r.Rows, []string{
			share, whole(k.TotalNS), whole(k.Calls), mean, decimal(k.MedianNS),
			whole(k.MinNS), whole(k.MaxNS), decimal(k.StddevNS), k.Name,
		})
	}
	return r
}

// kernelShapeReport is cuda_gpu_kern_sum of 2022, one row per kernel and launch
// shape, ordered by total time alone.
func kernelShapeReport(t *timeline.Timeline, d statsDialect) vendorTable {
	type key struct {
		function    timeline.StringID
		grid, block [3]int32
	}
	samples := map[key]*timeline.Sample{}
	var total float64
	for i := range t.Kernels {
		k := &t.Kernels[i]
		c := &t.Configs[k.Config]
		at := key{t.Functions[k.Function].Demangled, c.Grid, c.Block}
		if samples[at] == nil {
			samples[at] = &timeline.Sample{}
		}
		samples[at].Add(k.Duration())
		total += float64(k.Duration())
	}
	r := vendorTable{Columns: []string{"Time (%)", "Total Time (ns)", "Instances", "Avg (ns)", "Med (ns)", "Min (ns)", "Max (ns)", "StdDev (ns)", "GridXYZ", "BlockXYZ", "Name"}}
	sums := map[string]int64{}
	for at, s := range samples {
		row := append(percentCells(s, total, d),
			fmt.Sprintf("%4d %4d %4d", at.grid[0], at.grid[1], at.grid[2]),
			fmt.Sprintf("%4d %4d %4d", at.block[0], at.block[1], at.block[2]), t.Name(at.function))
		sums[rowKey(row)] = s.Sum()
		r.Rows = append(r.Rows, row)
	}
	slices.SortFunc(r.Rows, func(x, y []string) int {
		return cmp.Or(cmp.Compare(sums[rowKey(y)], sums[rowKey(x)]), slices.Compare(x, y))
	})
	return r
}

// rowKey is equal for equal rows only.
func rowKey(row []string) string { return fmt.Sprintf("%q", row) }

// percentCells are the columns from the share of the total to the deviation.
// There are eight of them. The share is "" if the total is 0.
func percentCells(s *timeline.Sample, total float64, d statsDialect) []string {
	share := ""
	if total != 0 {
		share = d.decimal(float64(s.Sum()) * 100 / total)
	}
	return []string{
		share, whole(s.Sum()), strconv.Itoa(s.Len()), d.decimal(s.Mean()), d.decimal(s.Median()),
		whole(s.Min()), whole(s.Max()), d.decimal(s.Stddev()),
	}
}

func whole(n int64) string { return strconv.FormatInt(n, 10) }

// decimal prints a number that is rounded already.
func decimal(x float64) string { return strconv.FormatFloat(x, 'f', 1, 64) }

// statsText is a string that may be missing, as a database has it. Missing sorts
// first.
type statsText struct {
	s     string
	valid bool
}

func (x statsText) compare(y statsText) int {
	if x.valid != y.valid {
		if x.valid {
			return 1
		}
		return -1
	}
	return cmp.Compare(x.s, y.s)
}

// domainTexts finds the names of a domain as the reports join them: by the
// lower 24 bits of the process, one per thread that created it.
type domainTexts map[domainTextKey][]statsText

type domainTextKey struct {
	pid int
	id  int64
}

// If one thread created it several times, the earliest counts; threads come in their order.
func newDomainTexts(t *timeline.Timeline) domainTexts {
	rows := slices.Clone(t.DomainRows)
	slices.SortStableFunc(rows, func(x, y timeline.DomainRow) int {
		return cmp.Or(cmp.Compare(x.Thread, y.Thread), cmp.Compare(x.Time, y.Time))
	})
	names := domainTexts{}
	type seenKey struct {
		thread uint32
		id     int64
	}
	seen := map[seenKey]bool{}
	for _, r := range rows {
		if k := (seenKey{r.Thread, r.ID}); seen[k] {
			continue
		} else {
			seen[k] = true
		}
		at := domainTextKey{timeline.PIDOf(t.ThreadGlobal(r.Thread)), r.ID}
		names[at] = append(names[at], statsText{t.Name(r.Name), !r.Unnamed})
	}
	return names
}

// rangeNames gives the names that a range has in the reports: more than one
// if several threads of the process created its domain.
func rangeNames(t *timeline.Timeline, r *timeline.Range, domains domainTexts, d statsDialect) []statsText {
	found := domains[domainTextKey{timeline.PIDOf(t.ThreadGlobal(r.Thread)), t.DomainID(r.Domain)}]
	names := make([]statsText, max(1, len(found)))
	if r.Unnamed {
		return names
	}
	for i := range names {
		names[i] = statsText{t.Name(r.Name), true}
		if i < len(found) && found[i].valid {
			names[i].s = found[i].s + ":" + names[i].s
		} else if d.Colon {
			names[i].s = ":" + names[i].s
		}
	}
	return names
}

// rangeReport is nvtx_sum.
func rangeReport(t *timeline.Timeline, d statsDialect) vendorTable {
	type key struct {
		name statsText
		kind timeline.RangeKind
	}
	type group struct {
		key
		sample timeline.Sample
		calls  int64 // with those that have no duration
	}
	domains := newDomainTexts(t)
	groups := map[key]*group{}
	var total float64
	for i := range t.Ranges {
		r := &t.Ranges[i]
		for _, name := range rangeNames(t, r, domains, d) {
			g := groups[key{name, r.Kind}]
			if g == nil {
				g = &group{key: key{name, r.Kind}}
				groups[g.key] = g
			}
			g.calls++
			if !r.Unclosed || t.LastNVTX.Valid {
				g.sample.Add(timeline.Since(r.Start, r.End))
				total += float64(timeline.Since(r.Start, r.End))
			}
		}
	}
	order := make([]*group, 0, len(groups))
	for _, g := range groups {
		order = append(order, g)
	}
	slices.SortFunc(order, func(x, y *group) int {
		return cmp.Or(cmp.Compare(y.sample.Sum(), x.sample.Sum()), x.name.compare(y.name), cmp.Compare(x.kind.String(), y.kind.String()))
	})
	r := vendorTable{Columns: []string{"Time (%)", "Total Time (ns)", "Instances", "Avg (ns)", "Med (ns)", "Min (ns)", "Max (ns)", "StdDev (ns)", "Style", "Range"}}
	for _, g := range order {
		cells := make([]string, 8)
		if g.sample.Len() > 0 {
			cells = percentCells(&g.sample, total, d)
		}
		cells[2] = whole(g.calls)
		r.Rows = append(r.Rows, append(cells, g.kind.String(), g.name.s))
	}
	return r
}
