package show

import (
	"context"
	"errors"
	"slices"

	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/ncurep"
	"github.com/deepprof/deepprof/internal/nsys"
	"github.com/deepprof/deepprof/internal/report"
	"github.com/deepprof/deepprof/internal/tool"
)

// A Comparison is what a selfcheck found. Vendors are those tools that gave something to
// compare with; Checks of others say why they were skipped.
type Comparison struct {
	Vendors []tool.Tool // that were asked
	// Checks are in the order of the files and their reports.
	Checks []report.Check
}

// Differs reports whether anything differs.
func (c *Comparison) Differs() bool {
	return slices.ContainsFunc(c.Checks, func(c report.Check) bool { return c.Differences > 0 })
}

// SelfCheck lays our numbers beside those of the vendor's tools, for a report or
// for all reports of a run. An empty path of a tool is the newest that is found.
// It cannot tell, which is a UsageError, where no tool gave anything to compare
// with.
// The Comparison comes with that error where tools ran and every check was skipped; with other
// errors it is nil. A report that deepprof itself cannot read keeps the error of its reader.
func SelfCheck(ctx context.Context, path, nsysPath, ncuPath string) (*Comparison, error) {
	path, err := named(path)
	if err != nil {
		return nil, err
	}
	kind, err := Recognize(path)
	if err != nil {
		return nil, err
	}
	if kind == CSV {
		if err := noReport("selfcheck", path); err != nil {
			return nil, err
		}
		return nil, usagef("selfcheck %s: CSV is what the vendor printed; name the report that it was printed from", path)
	}
	vendors, checks, err := selfcheck(ctx, path, kind, nsysPath, ncuPath)
	var ours *unreadError
	var absent *tool.NotFoundError
	switch {
	case errors.As(err, &ours) && !errors.As(err, &absent):
		return nil, err
	case err != nil && !errors.Is(err, context.Canceled):
		return nil, usagef("selfcheck %s: cannot tell: %w", path, err)
	case err != nil:
		return nil, err
	}
	c := &Comparison{vendors, checks}
	if !c.Differs() && !slices.ContainsFunc(checks, func(c report.Check) bool { return c.Skipped == "" }) {
		return c, usagef("selfcheck %s: cannot tell: %s gave nothing to compare with", path, vendors[0].Name)
	}
	return c, nil
}

// An unreadError is a report that deepprof itself could not read, which no tool of the vendor
// can make up for.
type unreadError struct{ err error }

// Error is that of the reader.
func (e *unreadError) Error() string { return e.err.Error() }

// Unwrap lets errors.Is and errors.As see the cause.
func (e *unreadError) Unwrap() error { return e.err }

// selfcheck compares a report, or all reports of a run: its timeline first, then counters,
// which a run may lack.
func selfcheck(ctx context.Context, path string, kind Kind, nsysPath, ncuPath string) ([]tool.Tool, []report.Check, error) {
	if kind == Counters {
		vendor, check, err := checkCounters(ctx, path, ncuPath)
		return []tool.Tool{vendor}, []report.Check{check}, err
	}
	f, src, err := openTimeline(ctx, path, "selfcheck", &Request{})
	if err != nil {
		if counters, cerr := locate(ctx, path, Counters); cerr == nil && counters.dir != "" { // a run without a timeline
			defer counters.done()
			return checkReports(ctx, counters, ncuPath)
		}
		return nil, nil, &unreadError{err}
	}
	defer src.done()
	vendor, checks, err := checkTimeline(ctx, f, nsysPath)
	vendors := []tool.Tool{vendor}
	if err != nil || src.dir == "" {
		return vendors, checks, err
	}
	counters, err := find(src.dir, path, Counters)
	if err != nil {
		return vendors, checks, nil // a run may have none
	}
	more, reports, err := checkReports(ctx, &source{dir: src.dir, files: counters}, ncuPath)
	if errors.Is(err, context.Canceled) {
		return nil, nil, err
	}
	return append(vendors, more...), append(checks, reports...), nil
}

// checkReports compares the counters of a run. A report that cannot be compared
// is skipped; it returns an error if none could be compared.
func checkReports(ctx context.Context, src *source, ncuPath string) (vendors []tool.Tool, checks []report.Check, err error) {
	for _, file := range src.files {
		vendor, check, cerr := checkCounters(ctx, file, ncuPath)
		if errors.Is(cerr, context.Canceled) {
			return nil, nil, cerr
		}
		if cerr != nil {
			check.Skipped, err = cerr.Error(), cerr
		} else if len(vendors) == 0 {
			vendors = append(vendors, vendor)
		}
		check.What = message.Phrase("check-of", check.What, within(src.dir, file))
		checks = append(checks, check)
	}
	if len(vendors) > 0 {
		err = nil
	}
	return vendors, checks, err
}

// checkTimeline lays a timeline beside nsys stats. The tool comes back also with an error, for
// the message.
func checkTimeline(ctx context.Context, f *nsys.File, nsysPath string) (tool.Tool, []report.Check, error) {
	vendor, err := tool.Find(ctx, tool.Spec{Name: tool.Nsys, Path: nsysPath})
	if err != nil {
		return vendor, nil, err
	}
	found, err := f.SelfCheck(ctx, vendor)
	if err != nil {
		return vendor, nil, err
	}
	var checks []report.Check
	for _, c := range found {
		checks = append(checks, report.Check{What: c.Report, Compared: c.Rows, Skipped: c.Skipped, Differences: len(c.Differences), Details: texts(c.Differences)})
	}
	return vendor, checks, nil
}

// checkCounters lays a report beside the raw page of ncu. An error of our own reader is an
// unreadError; others are of the tool.
func checkCounters(ctx context.Context, path, ncuPath string) (tool.Tool, report.Check, error) {
	check := report.Check{What: "raw page"}
	r, err := ncurep.Open(path, ncurep.Options{})
	if err != nil {
		return tool.Tool{}, check, &unreadError{err}
	}
	r.Close()
	vendor, err := tool.Find(ctx, tool.Spec{Name: tool.Ncu, Path: ncuPath})
	if err != nil {
		return vendor, check, err
	}
	c, err := ncurep.SelfCheck(ctx, path, vendor)
	if err != nil {
		return vendor, check, err
	}
	check.Compared, check.Differences, check.Details, check.NotCompared = c.Cells, len(c.Differences), texts(c.Differences), c.Notes()
	return vendor, check, nil
}
