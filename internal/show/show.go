// Package show answers the views of deepprof: it opens what a path names, takes
// the rows of a view out of it and hands them to the declaration of the view in
// internal/report. The table Views has everything that a command line, a REST
// API or a tool for agents needs to offer them.
//
// Each view has some 100 lines that open its input and choose its rows; finding what
// a path holds takes 500.
package show

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/cxx"
	"github.com/deepprof/deepprof/internal/flops"
	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/nsys"
	"github.com/deepprof/deepprof/internal/nvtx"
	"github.com/deepprof/deepprof/internal/report"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/timeline"
)

// A View is one row of the table of views. Everything that a command line, a REST API or an
// MCP server needs to offer it is here; answer makes the rows and knows none of them.
type View struct {
	// Name is that of the command, of the path of REST and of the tool of MCP.
	Name    string
	Short   string // one line of help
	Long    string // what more there is to say; may be empty
	Example string // command lines
	Many    bool   // it takes several paths
	Store   bool   // it asks the store, and takes no path
	Sums    bool   // its rows are sums: Request.All asks for each
	// Params are in the order of the help; names are unique in a view.
	Params []Param
	// Pages are the parameters that ask for a page in place of rows; only commands have
	// them.
	Pages []string
	// Tables are the columns of the answer, by kind of input: an answer has those of one.
	Tables []report.Declared
	// answer may leave the file open: Close of the answer gives it back.
	answer func(context.Context, *Request) (*Answer, error)
}

// A Request is what is asked of a view. NewRequest has the defaults.
// It serves one answer: NewRequest makes another. Not safe for concurrent use.
type Request struct {
	// Answer replaces names by paths in place; views of the store ignore it
	Paths []string // files, runs, or names of runs in the store
	// Resolve gives the path that a name of a file or a run stands for; nil takes
	// the path as a person means it: a file, a run of ./runs, or "latest".
	Resolve func(name string) (string, error)
	Listing // for views of the store
	Compared

	Top int // rows to keep; 0 keeps all, and less is refused
	// Region has NVTX expressions in ncu's syntax, with ; between: one that matches nothing
	// is refused. Kernel is a regular expression over names. "" passes everything.
	Region, Kernel string
	Devices        []int // CUDA ordinals; empty is all
	Processes      []int // pids; empty is all
	// By is what rows are split by, with commas between; each view has its own words and
	// refuses others.
	By     string
	Part   string // of several timelines: a rank or the name of a file
	MinGap string // a duration of Go such as 1us
	// Streams: gaps of streams too, not of whole GPUs alone.
	Streams bool
	// Captured: work of CUDA graphs counts where it was captured, not where it was launched.
	Captured bool
	// Distribution of steps, where their rows would be given; All asks for each layer, step
	// or gap, not their sums. Distribution goes first.
	Distribution, All bool
	Whole             bool   // the whole timeline, not the scope of the run
	Metric            string // regular expression over names of metrics; "" is all
	Instances         bool   // with the values that a metric is made of
	Dump, Raw         bool   // a page in place of rows; at most one
	Units             string // of Raw: auto or base
	// Shape is what the FLOPs of a model are counted for; a run has its own.
	Shape flops.Shape
	// Partial: what is left of a damaged file is enough. Else After returns an error.
	Partial bool
	// Given are the names of the parameters that were given, which some views tell from
	// defaults.
	Given map[string]bool
	Data  bool // JSON, CSV or Markdown is asked for: rows are not summed up for people
	// Grouped, for people: regions that differ by a number alone are one row.
	Grouped bool
	Analyze Analyzer // for views of a result; may be nil for others

	metricsSeen     map[string]bool // names that --metric was held against
	anyMetricPassed bool            // a name matched --metric
	// losses are what the answer lacks of a damaged file, asked once it was written.
	losses []func() []string
}

// A partialError says that an answer lacks what a damaged file lost.
// It comes from Answer.After, when the rest has been written. Lost is never empty.
type partialError struct {
	Path string
	Lost []string
}

// Error says what is lost and how to get it, or to do without.
func (e *partialError) Error() string {
	return fmt.Sprintf("read %s: a part of it is lost, and what is printed is of the rest: %s; copy, export or capture it again, or take the rest with --partial", e.Path, strings.Join(e.Lost, "; "))
}

// whole fails where the answer lacks something of the files, unless Partial says that this is
// enough. It is asked last, because damage is found while rows are read.
// It never returns notes. Losses are in the order in which the files were opened.
func (r *Request) whole() ([]string, error) {
	var lost []string
	for _, f := range r.losses {
		lost = append(lost, f()...)
	}
	if len(lost) == 0 || r.Partial {
		return nil, nil
	}
	return nil, &partialError{strings.Join(r.Paths, ", "), lost}
}

// lacks notes what the answers of a timeline lack. f is asked after the answer was written
// and may be closed then: what it lost stays known.
func (r *Request) lacks(f *nsys.File) {
	r.losses = append(r.losses, func() []string {
		var out []string
		for _, d := range f.Lost() {
			out = append(out, message.Text(d.What))
		}
		return out
	})
}

// An Analyzer makes the result of files that have none. command is what was
// asked for, for its messages.
type Analyzer func(ctx context.Context, command string, paths []string) (*analysis.Result, error)

// NewRequest has the defaults of all parameters. A front end sets what was given, and its
// names in Given.
// The zero Request is of no use: an empty MinGap or Sort is refused, and Given must not be
// nil.
func NewRequest() *Request {
	return &Request{MinGap: "1us", Listing: Listing{Store: runs.DefaultRoot, Sort: "-created"}, Compared: Compared{MinEffect: "2%"}, Units: "auto", Shape: flops.Shape{Prompt: 512, New: 32, Batch: 1}, Given: map[string]bool{}}
}

// An Answer is a table, with what is around it.
// The caller writes it, asks After and then calls Close, in this order.
type Answer struct {
	report.Printable
	// Head stands above a table for people.
	Head string
	// Page writes the answer where it is no table; nil where it is.
	Page func(io.Writer) error

	// after are asked in order, once the answer was written; the first error ends them.
	after []func() ([]string, error)
	// close is nil where nothing stays open.
	close func()
}

// Close gives back what the answer reads from. Rows may be read while they are
// written, so it comes last.
func (a *Answer) Close() {
	if a.close != nil {
		a.close()
	}
}

// After is what there is to say once the answer was written: notes, or that
// nothing could be found and why.
// Ask it after the table or the page was written: before that, no rows count as written. Notes
// of the steps before an error come back with it.
func (a *Answer) After() (notes []string, err error) {
	for _, f := range a.after {
		more, err := f()
		if err != nil {
			return notes, err
		}
		notes = append(notes, more...)
	}
	return notes, nil
}

// A UsageError is the caller's: a wrong parameter, or a path that does not hold
// what the view shows.
// Commands end with exit code 2 for it, and the REST API answers 400, or 404 where the cause
// is a path that does not exist.
type UsageError struct{ err error }

// Error is that of the mistake itself.
func (e *UsageError) Error() string { return e.err.Error() }

// Unwrap lets errors.Is and errors.As see the mistake.
func (e *UsageError) Unwrap() error { return e.err }

// usage makes an error the caller's.
func usage(err error) error { return &UsageError{err} }

// usagef is fmt.Errorf for a mistake of the caller.
func usagef(format string, args ...any) error { return usage(fmt.Errorf(format, args...)) }

// Answer answers the view.
// It replaces names in r.Paths by paths. An error leaves nothing open; mistakes of the
// caller are UsageErrors.
func (v *View) Answer(ctx context.Context, r *Request) (*Answer, error) {
	if r.Top < 0 {
		return nil, usagef("--top %d: a number of rows is not negative", r.Top)
	}
	if err := r.resolve(r.Paths); err != nil {
		return nil, err
	}
	a, err := v.answer(ctx, r)
	if err != nil {
		return nil, err
	}
	if set := r.filters(); set != "" && a.Page == nil {
		a.after = append([]func() ([]string, error){func() ([]string, error) {
			if a.Written() > 0 {
				return nil, nil
			}
			return []string{message.Phrase("nothing-passes", set)}, nil
		}}, a.after...)
	}
	a.after = append(a.after, r.whole)
	return a, nil
}

// resolve puts paths in the place of names, in names itself.
func (r *Request) resolve(names []string) (err error) {
	if r.Resolve == nil {
		return NameAll(names)
	}
	for i := range names {
		if names[i], err = r.Resolve(names[i]); err != nil {
			return usage(err)
		}
	}
	return nil
}

// filters names the filters that are set, as they were given, for the note of an answer
// without rows; "" where none is.
func (r *Request) filters() string {
	var set []string
	for _, x := range []struct {
		name, value string
		on          bool
	}{
		{"--region", r.Region, r.Region != ""}, {"--kernel", r.Kernel, r.Kernel != ""},
		{"--device", fmt.Sprint(r.Devices), len(r.Devices) > 0}, {"--process", fmt.Sprint(r.Processes), len(r.Processes) > 0},
	} {
		if x.on {
			set = append(set, x.name+" "+x.value)
		}
	}
	return strings.Join(set, ", ")
}

// query translates the parameters of views of launches; everything wrong with
// them is found here.
// Errors are UsageErrors. That an expression of Region matches nothing is found later, when
// the ranges are known.
func (r *Request) query() (timeline.Query, error) {
	q := timeline.Query{Top: r.Top, Devices: r.Devices, Processes: r.Processes, Captured: r.Captured, Shorten: cxx.Short}
	var err error
	if r.Kernel != "" {
		if q.Kernel, err = regexp.Compile(r.Kernel); err != nil {
			return q, usagef("--kernel %q: %w", r.Kernel, err)
		}
	}
	if r.Region != "" {
		exprs, err := nvtx.ParseList(r.Region)
		if err != nil {
			return q, usagef("--region: %w", err)
		}
		q.Region = func(s nvtx.State) bool {
			for _, e := range exprs {
				if e.Match(s) {
					return true
				}
			}
			return false
		}
	}
	if r.By != "" {
		if q.By, err = timeline.ParseBy(r.By); err != nil {
			return q, usagef("--by: %w", err)
		}
	}
	return q, nil
}

// wrongInput words the refusal of an input that lacks what a view shows, and names what has
// it.
// It is never nil. For CSV it reads the file again, to tell CSV of a tool from any other text.
func wrongInput(path string, kind Kind, view string) error {
	if kind == CSV {
		if err := noReport("show "+view, path); err != nil {
			return err
		}
	}
	switch kind {
	case Counters:
		return usagef("show %s %s: this view needs a timeline: name the .sqlite or .nsys-rep of an Nsight Systems capture", view, path)
	case Timeline:
		return usagef("show %s %s: this view needs counters: name the .ncu-rep of an Nsight Compute capture", view, path)
	case CSV:
		return usagef("show %s %s: this view needs more than this CSV holds: name the report that it was printed from", view, path)
	default:
		return usagef("show %s %s: this view needs another kind of file than %s", view, path, kind)
	}
}
