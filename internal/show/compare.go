package show

import (
	"context"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/compare"
	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/report"
	"github.com/deepprof/deepprof/internal/suggest"
)

// compareRuns has every row of the kinds that are asked for, and the differences of the sides
// as notes.
func compareRuns(ctx context.Context, r *Request) (*Answer, error) {
	made, _, _, err := CompareSides(ctx, r)
	if err != nil {
		return nil, err
	}
	t := report.CompareRowView.Table(made.Rows)
	for _, d := range made.Differ {
		t.Note(message.Text(d.Fact))
	}
	t.Note(message.Texts(made.Warnings)...)
	return &Answer{Printable: t}, nil
}

// CompareOptions checks how a request wants its sides compared, before anything is read.
// The error is a UsageError.
func (r *Request) CompareOptions() (compare.Options, error) {
	effect, err := compare.ParseEffect(r.MinEffect)
	switch {
	case err != nil:
		return compare.Options{}, usagef("compare: --min-effect %w", err)
	case r.Of != "" && !slices.Contains(compare.Kinds(), r.Of):
		return compare.Options{}, usagef("compare: --of %q is no kind of row%s; kinds are %s", r.Of, suggest.DidYouMean(r.Of, compare.Kinds()), strings.Join(compare.Kinds(), ", "))
	}
	return compare.Options{MinEffect: effect, Partial: r.Partial, AcrossGPUs: r.AcrossGPUs, Seed: r.Seed}, nil
}

// CompareSides reads the two sides of a request and compares them. It also returns the sides:
// their first results are drawn beside each other.
func CompareSides(ctx context.Context, r *Request) (made *compare.Comparison, base, fresh []compare.Run, err error) {
	if _, err := r.CompareOptions(); err != nil {
		return nil, nil, nil, err
	}
	if len(r.Base) == 0 || len(r.New) == 0 {
		return nil, nil, nil, usagef("compare: a side is empty; give both base and new")
	}
	if base, err = r.side(ctx, "compare", r.Base); err != nil {
		return nil, nil, nil, err
	}
	if fresh, err = r.side(ctx, "compare", r.New); err != nil {
		return nil, nil, nil, err
	}
	made, err = r.Compare(base, fresh)
	return made, base, fresh, err
}

// Compare compares two sides that were read, judges the rules and keeps the rows that were
// asked for. Errors are UsageErrors.
func (r *Request) Compare(base, fresh []compare.Run) (*compare.Comparison, error) {
	options, err := r.CompareOptions()
	if err != nil {
		return nil, err
	}
	made, err := compare.Compare(base, fresh, options)
	if err != nil {
		return nil, usage(err)
	}
	if len(r.Rules) > 0 {
		if err := made.Apply(r.Rules); err != nil {
			return nil, usage(err)
		}
	}
	if r.Of != "" {
		made.Rows = slices.DeleteFunc(made.Rows, func(row compare.Row) bool { return string(row.Kind) != r.Of })
	}
	return made, nil
}

// Noise measures how far runs of one program differ.
func (r *Request) Noise(ctx context.Context, names []string) (*compare.SelfNoise, error) {
	options, err := r.CompareOptions()
	if err != nil {
		return nil, err
	}
	side, err := r.side(ctx, "compare", names)
	if err != nil {
		return nil, err
	}
	noise, err := compare.Self(side, options)
	if err != nil {
		return nil, usage(err)
	}
	return noise, nil
}

// SetBaseline keeps runs under a name in the store, in place of an earlier baseline of
// that name. A process that was given twice counts once, which a note says. It returns the
// number of processes and the file.
func (r *Request) SetBaseline(ctx context.Context, name string, names []string) (processes int, path string, notes []string, err error) {
	side, err := r.side(ctx, "baseline", names)
	if err != nil {
		return 0, "", nil, err
	}
	side, again := compare.Distinct(side)
	if len(again) > 0 {
		notes = []string{message.Text(compare.Repeated(again))}
	}
	path, err = compare.SetBaseline(r.Store, name, side)
	if err != nil {
		return 0, "", nil, usage(err)
	}
	return len(side), path, notes, nil
}

// Sides reads runs and baselines of the store of a request, and files unless Resolve says
// which runs may be named. command is for messages.
func (r *Request) Sides(command string) *SideLoader {
	return &SideLoader{Store: r.Listing.Store, Resolve: r.Resolve, Analyze: func(ctx context.Context, paths []string) (*analysis.Result, error) {
		return r.Analyze(ctx, command, paths)
	}}
}

// side reads one side.
func (r *Request) side(ctx context.Context, command string, names []string) ([]compare.Run, error) {
	return r.Sides(command).Side(ctx, names)
}
