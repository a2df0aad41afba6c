package nsys

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/timeline"
	"github.com/deepprof/deepprof/internal/tool"
)

// A Check compares one report of nsys stats with the same report computed here. No Differences and no Skipped means equal.
type Check struct {
	Report string // name of the report in the version that ran
	Rows   int    // rows of the vendor's
	// Skipped says why there was nothing to compare, in the vendor's words: the
	// file has no such data, or nsys failed on it.
	Skipped     string
	Differences []Difference
}

// A Difference is a cell, or a whole row, on which both do not agree.
type Difference struct {
	Row    string `json:"row"`              // what the row is about
	Column string `json:"column,omitempty"` // empty if a row is missing on one side
	Vendor string `json:"vendor"`
	Ours   string `json:"ours"`
}

func (d Difference) String() string {
	if d.Column == "" {
		return fmt.Sprintf("%s: nsys %s, deepprof %s", d.Row, d.Vendor, d.Ours)
	}
	return fmt.Sprintf("%s, %s: nsys %q, deepprof %q", d.Row, d.Column, d.Vendor, d.Ours)
}

// comparison is one report under the names it has had.
type comparison struct {
	old, name string // up to 2022, and since 2023
	oldOurs   func(*ours) vendorTable
	ours      func(*ours) vendorTable
	label     string // column that says what a row is about
	oldLabel  string
}

// ours computes the reports from one reading of the file.
// dialect is found out while reports are compared, and what one report tells holds for the next.
type ours struct {
	t       *timeline.Timeline
	kernels []timeline.KernelRow
	dialect statsDialect
}

var comparisons = []comparison{
	{
		old: "gpukernsum", name: "cuda_gpu_kern_sum", label: "Name",
		oldOurs: func(o *ours) vendorTable { return kernelShapeReport(o.t, o.dialect) },
		ours:    func(o *ours) vendorTable { return kernelReport(o.kernels, o.dialect) },
	},
	{
		old: "nvtxsum", name: "nvtx_sum", label: "Range",
		ours: func(o *ours) vendorTable { return rangeReport(o.t, o.dialect) },
	},
	{
		old: "nvtxgpuproj", name: "nvtx_gpu_proj_sum", label: "Range", oldLabel: "Name",
		oldOurs: func(o *ours) vendorTable { return projectionTrace(o.t, o.dialect) },
		ours:    func(o *ours) vendorTable { return projectionReport(o.t, o.dialect) },
	},
	{
		old: "nvtxkernsum", name: "nvtx_kern_sum", label: "NVTX Range",
		ours: func(o *ours) vendorTable { return kernelRangeReport(o.t, o.dialect) },
	},
}

// SelfCheck runs nsys stats on the file and compares its reports with ours,
// row by row. The error is set if nsys could not be run.
// Checks that came before an error are returned with it. nsys runs once per report.
func (f *File) SelfCheck(ctx context.Context, nsys tool.Tool) ([]Check, error) {
	t, err := f.Timeline(ctx, Kernels|Memory|Calls|NVTX)
	if err != nil {
		return nil, err
	}
	kernels, err := f.KernelRows(ctx, timeline.Query{})
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "deepprof-selfcheck-")
	if err != nil {
		return nil, fmt.Errorf("compare with nsys stats: %w", err)
	}
	defer os.RemoveAll(dir)
	o := &ours{t: t, kernels: kernels.Rows}
	var checks []Check
	for _, c := range comparisons {
		check, err := f.compare(ctx, nsys, c, o, dir)
		if err != nil {
			return checks, err
		}
		checks = append(checks, check)
	}
	return checks, nil
}

// compare sets an error only if nsys could not be run at all.
func (f *File) compare(ctx context.Context, nsys tool.Tool, c comparison, o *ours, dir string) (Check, error) {
	name := c.reportName(nsys.Version)
	vendor, skipped, err := runStats(ctx, nsys, f.SQLite, name, dir)
	check := Check{Report: name, Rows: len(vendor.Rows), Skipped: skipped}
	if err != nil || skipped != "" {
		return check, err
	}
	check.Differences = c.differences(nsys.Version, vendor, o)
	return check, nil
}

// reportName: reports were renamed in 2023.1.
func (c comparison) reportName(v tool.Version) string {
	if v.AtLeast(2023, 1) {
		return c.name
	}
	return c.old
}

// differences compares the vendor's report with ours as that version computes
// it.
// It changes o.dialect, and cells of the vendor's table if the version is before 2023.1.
func (c comparison) differences(v tool.Version, vendor vendorTable, o *ours) []Difference {
	compute, label := c.ours, c.label
	if !v.AtLeast(2023, 1) {
		emptyNone(vendor)
		o.dialect.LastOfAll = true
		if c.oldOurs != nil {
			compute = c.oldOurs
		}
		if c.oldLabel != "" {
			label = c.oldLabel
		}
	}
	o.dialect.Colon = o.dialect.Colon || hasColon(vendor)
	differences := compareTables(vendor, compute(o), label)
	if len(differences) == 0 {
		return nil
	}
	// How halves are rounded depends on the SQLite inside nsys, which no
	// version number tells.
	o.dialect.Exact = !o.dialect.Exact
	if other := compareTables(vendor, compute(o), label); len(other) < len(differences) {
		return other
	}
	o.dialect.Exact = !o.dialect.Exact
	return differences
}

// emptyNone turns the word that 2022 prints for a missing value into the empty
// cell of later versions.
func emptyNone(r vendorTable) {
	for _, row := range r.Rows {
		for i, cell := range row {
			if cell == "None" {
				row[i] = ""
			}
		}
	}
}

// hasColon reports whether names of the default domain begin with a colon.
func hasColon(r vendorTable) bool {
	at := slices.IndexFunc(r.Columns, func(c string) bool { return c == "Range" || c == "NVTX Range" })
	return at >= 0 && slices.ContainsFunc(r.Rows, func(row []string) bool { return strings.HasPrefix(row[at], ":") })
}

// What nsys stats prints in place of a report. It exits with 0 all the same.
var (
	statsSkipped = regexp.MustCompile(`(?m)SKIPPED: (.*)$`)
	statsBroke   = regexp.MustCompile(`ERROR: Report '[^']*' encountered an internal error: (.*)`)
	statsFailed  = regexp.MustCompile(`(?m)^\s*(?:ERROR|Exportation error): (.*)$`)
)

// runStats runs one report of nsys stats on an SQLite file. skipped holds the
// reason if nsys says that the file has no data for it, or fails on the data:
// its scripts do so on names that are not valid UTF-8 and on domains that two
// threads have created.
func runStats(ctx context.Context, nsys tool.Tool, path, report, dir string) (r vendorTable, skipped string, err error) {
	base := filepath.Join(dir, "stats")
	cmd := tool.Command{
		Path: nsys.Path,
		Args: []string{"stats", "--format=csv", "--report=" + report, "--output=" + base, "--force-overwrite=true", path},
		Env:  tool.Environ(os.Environ(), "LC_ALL=C", "TMPDIR="+dir),
	}
	stdout, stderr, exit, err := tool.Output(ctx, cmd)
	if err != nil {
		return r, "", fmt.Errorf("run nsys stats: %w", err)
	}
	printed := string(stdout) + "\n" + string(stderr)
	if m := statsSkipped.FindStringSubmatch(printed); m != nil {
		return r, strings.TrimSpace(m[1]), nil
	}
	if m := statsBroke.FindStringSubmatch(printed); m != nil && !strings.Contains(m[1], "No module named") {
		return r, "nsys failed: " + strings.TrimSpace(m[1]), nil
	}
	if m := statsFailed.FindStringSubmatch(printed); m != nil {
		return r, "", fmt.Errorf("run nsys stats --report=%s: %s", report, strings.TrimSpace(m[1]))
	}
	data, err := os.ReadFile(base + "_" + report + ".csv")
	if errors.Is(err, fs.ErrNotExist) {
		return r, "", fmt.Errorf("run nsys stats --report=%s: it wrote no report (%s): %s", report, exit, lastLine(printed))
	}
	if err != nil {
		return r, "", fmt.Errorf("read nsys stats: %w", err)
	}
	return parseStats(string(data)), "", nil
}

// lastLine is where nsys says what went wrong.
// It is "" for a text without words.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// compareTables gives the differences of two reports. Columns that ours does not
// have are left out; rows that the vendor orders by chance may stand in any
// order.
func compareTables(vendor, ours vendorTable, label string) []Difference {
	if len(vendor.Columns) == 0 {
		vendor.Columns = ours.Columns
	}
	vendor = keepColumns(vendor, ours.Columns)
	if !slices.Equal(vendor.Columns, ours.Columns) {
		return []Difference{{Row: "columns", Vendor: strings.Join(vendor.Columns, ", "), Ours: strings.Join(ours.Columns, ", ")}}
	}
	left := map[string][]int{}
	for i, row := range ours.Rows {
		key := fmt.Sprintf("%q", row)
		left[key] = append(left[key], i)
	}
	used := make([]bool, len(ours.Rows))
	var rest [][]string
	for _, row := range vendor.Rows {
		key := fmt.Sprintf("%q", row)
		if at := left[key]; len(at) > 0 {
			used[at[0]] = true
			left[key] = at[1:]
			continue
		}
		rest = append(rest, row)
	}
	var extra [][]string
	for i, row := range ours.Rows {
		if !used[i] {
			extra = append(extra, row)
		}
	}
	differences := differ(rest, extra, ours.Columns, slices.Index(ours.Columns, label))
	if len(differences) == 0 {
		differences = disorder(vendor, ours, label)
	}
	return differences
}

// differ pairs the rows that have no equal by what they are about, best match
// first in the order of the report.
func differ(vendor, ours [][]string, columns []string, label int) []Difference {
	about := func(row []string) string {
		if label < 0 || row[label] == "" {
			return strings.Join(row, ",")
		}
		return row[label]
	}
	var differences []Difference
	for _, row := range vendor {
		best, cells := -1, 0
		for i, other := range ours {
			if label >= 0 && other[label] != row[label] {
				continue
			}
			same := 0
			for c := range row {
				if row[c] == other[c] {
					same++
				}
			}
			if best < 0 || same > cells {
				best, cells = i, same
			}
		}
		if best < 0 {
			differences = append(differences, Difference{Row: about(row), Vendor: "has the row " + strings.Join(row, ","), Ours: "has not"})
			continue
		}
		for c := range row {
			if row[c] != ours[best][c] {
				differences = append(differences, Difference{Row: about(row), Column: columns[c], Vendor: row[c], Ours: ours[best][c]})
			}
		}
		ours = slices.Delete(ours, best, best+1)
	}
	for _, row := range ours {
		differences = append(differences, Difference{Row: about(row), Vendor: "has not", Ours: "has the row " + strings.Join(row, ",")})
	}
	return differences
}

// disorder finds the first row that stands elsewhere. Only reports that the
// vendor orders by total time are held to it.
// Both tables have the same rows; only their order may differ.
func disorder(vendor, ours vendorTable, label string) []Difference {
	if slices.Contains(ours.Columns, "Projected Start (ns)") {
		return nil
	}
	key := slices.IndexFunc(ours.Columns, func(c string) bool { return strings.HasPrefix(c, "Total") })
	at := slices.Index(ours.Columns, label)
	for i, row := range vendor.Rows {
		if row[at] != ours.Rows[i][at] && row[key] != ours.Rows[i][key] {
			return []Difference{{Row: fmt.Sprintf("row %d", i+1), Column: label, Vendor: row[at], Ours: ours.Rows[i][at]}}
		}
	}
	return nil
}

// keepColumns keeps the order of r.
func keepColumns(r vendorTable, columns []string) vendorTable {
	var at []int
	kept := vendorTable{}
	for i, c := range r.Columns {
		if slices.Contains(columns, c) {
			at = append(at, i)
			kept.Columns = append(kept.Columns, c)
		}
	}
	for _, row := range r.Rows {
		cells := make([]string, len(at))
		for i, c := range at {
			cells[i] = row[c]
		}
		kept.Rows = append(kept.Rows, cells)
	}
	return kept
}
