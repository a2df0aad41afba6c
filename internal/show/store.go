package show

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/deepprof/deepprof/internal/compare"
	"github.com/deepprof/deepprof/internal/report"
	"github.com/deepprof/deepprof/internal/runs"
)

// A Listing is what is asked of a store. The zero value lists everything of no store: Store is
// a folder, and Sort a key that runs.Orders has.
type Listing struct {
	// Store is the folder that holds the runs; one that does not exist has none.
	Store string
	// Status are of runs.Statuses, also several in one with commas; empty is all.
	Status []string
	// Model is a part of the label and GPU of its name, in any case of letters; Tag is a whole
	// one. "" is any.
	Model, GPU, Tag string
	// Since and Until are a date or a moment; Since is in, Until is not. "" is no limit.
	Since, Until string
	// Sort is a key of runs.Orders, with "-" for the largest first.
	Sort string
}

// Compared is what is asked of a comparison. Both sides have at least one run.
type Compared struct {
	// Base and New are the runs of the two sides: names, paths, packs or baselines.
	Base, New []string
	Of        string // kind of rows to keep; "" keeps all
	// MinEffect is the least change that counts, as a person writes it: 2%, or 0.02.
	MinEffect  string
	AcrossGPUs bool // sides on different GPUs are no error
	// Rules are judged over every row, before Of leaves some out; none is no gate.
	Rules []compare.Rule
	Seed  uint64 // of the bootstrap; 0 is one of its own
}

// StoreViews are the questions to a store: its runs, its baselines, and a
// comparison of some of them.
func StoreViews() []View { return []View{RunsView(), BaselinesView(), CompareView()} }

// BaselinesView lists the baselines of a store, by name.
func BaselinesView() View {
	return View{
		Name: "baselines", Store: true, Short: "Baselines of the store: runs that were kept under a name, to compare with",
		Example: "  deepprof baseline list --json",
		Tables:  []report.Declared{report.BaselineView}, answer: listBaselines,
	}
}

// listBaselines reads each: one that cannot be read is an error, because a comparison with it
// would be one too.
func listBaselines(_ context.Context, r *Request) (*Answer, error) {
	names, err := compare.Baselines(r.Listing.Store)
	if err != nil {
		return nil, usage(err)
	}
	rows := make([]report.BaselineLine, len(names))
	for i, name := range names {
		b, err := compare.NamedBaseline(r.Listing.Store, name)
		if err != nil {
			return nil, usage(err)
		}
		rows[i] = report.NewBaselineLine(name, b)
	}
	return &Answer{Printable: report.BaselineView.Table(rows)}, nil
}

// RunsView lists the runs of a store, newest first unless asked otherwise.
func RunsView() View {
	return View{
		Name: "runs", Store: true, Short: "Find runs of the store, newest first: by model, GPU, status, tag, date",
		Example: "  deepprof runs list --status failed --json\n  deepprof runs list --model llama --gpu H200 --since 2026-11-01 --sort=-seconds",
		Params: []Param{
			{"status", "only runs that are running, done, failed or interrupted; several with commas between them", func(r *Request) any { return &r.Status }},
			{"model", "only runs whose label, which names the model or the program, holds `TEXT`", func(r *Request) any { return &r.Model }},
			{"gpu", "only runs on GPUs whose name holds `TEXT`", func(r *Request) any { return &r.GPU }},
			{"tag", "only runs that have this `TAG`", func(r *Request) any { return &r.Tag }},
			{"since", "only runs created at this `DATE` (2026-11-01, UTC) or moment (RFC 3339), or later", func(r *Request) any { return &r.Since }},
			{"until", "only runs created before this `DATE` or moment", func(r *Request) any { return &r.Until }},
			{"sort", "order by `KEY`: " + strings.Join(runs.Orders(), ", ") + "; -KEY has the largest first", func(r *Request) any { return &r.Sort }},
			{"top", "the first `N`; 0 lists all", func(r *Request) any { return &r.Top }},
		},
		Tables: []report.Declared{report.RunView}, answer: listRuns,
	}
}

// listRuns checks the parameters before it reads the store. Runs that cannot be read are
// warnings, not errors.
func listRuns(_ context.Context, r *Request) (*Answer, error) {
	f := runs.Filter{Label: r.Model, GPU: r.GPU, Tag: r.Tag, Order: r.Sort}
	for _, st := range strings.FieldsFunc(strings.Join(r.Status, ","), func(c rune) bool { return c == ',' }) {
		if !slices.Contains(runs.Statuses, runs.Status(st)) {
			return nil, usagef("--status %s: a run is %v", st, runs.Statuses)
		}
		f.Status = append(f.Status, runs.Status(st))
	}
	var err error
	if f.Since, err = moment("since", r.Since); err != nil {
		return nil, err
	}
	if f.Until, err = moment("until", r.Until); err != nil {
		return nil, err
	}
	if !slices.Contains(runs.Orders(), strings.TrimPrefix(r.Sort, "-")) {
		return nil, usagef("--sort %q: runs are sorted by %s", r.Sort, strings.Join(runs.Orders(), ", "))
	}
	rows, warnings, err := runs.List(r.Listing.Store, f)
	if err != nil {
		return nil, err
	}
	return &Answer{Printable: first(report.RunView.Table(rows, report.WordWarnings(warnings)...), r.Top)}, nil
}

// moment reads a date or a moment; zero where none is given.
// A date is its first moment in UTC.
func moment(name, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, usagef("--%s %q: want a date such as 2026-11-01, or a moment such as 2026-11-01T12:00:00Z", name, text)
}

// CompareView compares runs and baselines: every value as a row.
func CompareView() View {
	return View{
		Name: "compare", Store: true, Short: "Compare two sides, each one or several runs: every value with its change, interval and verdict",
		Example: "  deepprof compare BASE NEW --json",
		Params: []Param{
			{"base", "a `RUN` or baseline of the base side; may be repeated", func(r *Request) any { return &r.Base }},
			{"new", "a `RUN` or baseline of the new side; may be repeated", func(r *Request) any { return &r.New }},
			{"of", "only rows of this `KIND`: " + strings.Join(compare.Kinds(), ", "), func(r *Request) any { return &r.Of }},
			{"min-effect", "smaller `CHANGES` do not count", func(r *Request) any { return &r.MinEffect }},
			{"across-gpus", "compare sides that ran on different GPUs", func(r *Request) any { return &r.AcrossGPUs }},
			partialParam,
		},
		Tables: []report.Declared{report.CompareRowView}, answer: compareRuns,
	}
}
