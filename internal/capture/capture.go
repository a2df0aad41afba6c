package capture

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/tool"
)

// A Capture is one prepared run of nsys profile or ncu.
type Capture struct {
	Tool Tool // Nsys or Ncu

	// Command is complete: program, arguments, directory, environment (nil:
	// that of this process). Run adds LC_ALL=C and, for nsys, a private TMPDIR,
	// and takes secrets out; see KeepEnv.
	Command tool.Command

	// Output is the path of the report without extension, absolute or relative
	// to Command.Dir. Files of an earlier run of that name are removed.
	Output string

	// Logs is the directory of cmd.txt, stdout.log and stderr.log; "" is that of
	// Output. Later attempts get a number: stdout.2.log.
	Logs string

	Target []string // the workload, where it can be checked before the run
	// Behind tells that Command is a launcher which starts the profiler in each
	// rank: its arguments are no options of the profiler, and each rank leaves a
	// report.
	Behind bool
	// Stop asks ranks behind a launcher to finish; nil elsewhere. See tool.Job.
	Stop func()

	Gated      bool // a capture range is set
	EndsTarget bool // the profiler will end the workload; see Evidence
	Expect     Expect

	// Check opens a finished report with our own reader; Diagnostics gives the
	// messages that nsys stored in it. Nil skips the step.
	Check       func(ctx context.Context, report string) (*Content, error)
	Diagnostics func(ctx context.Context, report string) ([]Diagnostic, error)

	Importer string // QdstrmImporter of this nsys; "" looks beside nsys

	TempRoot string // where private temporary directories are made; "" is the system's
	// bytes that must be free for output and TMPDIR; 0 is 64 MiB, negative is no limit
	MinFree int64

	// Variables that look like secrets are kept from a workload under nsys, which
	// stores the whole environment in its report. KeepEnv names exceptions.
	// Secret decides; nil keeps none back. What is recorded of a command leaves them
	// out with either tool.
	KeepEnv []string
	Secret  func(name, value string) bool

	Limits     tool.Limits
	Interrupts <-chan os.Signal // see tool.Job

	Retries int           // further attempts after a failure that passes by itself
	Backoff time.Duration // before the second attempt, then doubled; 0 is 2 s

	// Notice receives a fact when the engine does more than was asked for.
	Notice func(fact.Fact)

	Record func(Recording) // receives each attempt in a form that Play understands

	Progress func(Progress) // called about once a second and at each change of stage
	// called for each launch that ncu has counted, with the name that it prints; may be nil
	Counted func(kernel string)
}

// A Result is what came of a capture.
type Result struct {
	Outcome  Outcome // of the last attempt
	Attempts []Attempt
	Reports  []string // good ones, in place
	Kept     []string // raw streams and files that could not be moved
	Command  string   // the line of cmd.txt
}

// An Attempt is one start of the profiler.
type Attempt struct {
	Command string // as Result.Command
	Started time.Time
	Seconds float64 // wall time
	Code    int     // as a shell shows it
	Outcome Outcome
	Stdout  string
	Stderr  string
}

// Run makes a capture: check, clean, run, judge, put the report in its place,
// once more where the failure passes by itself, and once more with forked
// children followed where they did the work unseen. It always returns an outcome;
// nothing that it started is alive afterwards.
func Run(ctx context.Context, c Capture) Result {
	c = c.withDefaults()
	r := Result{}
	if o := c.prepare(); o != nil {
		r.Outcome = *o
		return r
	}
	c.attempts(ctx, &r)
	if r.Outcome.unfollowed && ctx.Err() == nil {
		c.followForks(ctx, &r)
	}
	return r
}

// attempts starts the profiler until it succeeds or fails for good.
func (c *Capture) attempts(ctx context.Context, r *Result) {
	for n := 1; ; n++ {
		a := c.attempt(ctx, len(r.Attempts)+1, r)
		r.Attempts = append(r.Attempts, a)
		r.Outcome = a.Outcome
		again := a.Outcome.Retryable && !a.Outcome.Usable && len(r.Kept) == 0
		if !again || n > c.Retries {
			return
		}
		if !c.pause(ctx, c.Backoff<<(n-1)) {
			r.Outcome.verdict(Interrupted, nil)
			r.Outcome.Evidence = fact.New(whileWaiting, fact.ID("kind", KindDomain, string(a.Outcome.Kind)), fact.Because("why", a.Outcome.What))
			return
		}
	}
}

// withDefaults gives zero fields the values that their comments name.
func (c Capture) withDefaults() Capture {
	if c.MinFree == 0 {
		c.MinFree = 64 << 20
	}
	if c.Backoff == 0 {
		c.Backoff = 2 * time.Second
	}
	if c.Command.Env == nil {
		c.Command.Env = os.Environ()
	}
	if !filepath.IsAbs(c.Output) {
		c.Output = filepath.Join(c.Command.Dir, c.Output)
	}
	if abs, err := filepath.Abs(c.Output); err == nil {
		c.Output = abs
	}
	if c.Logs == "" {
		c.Logs = filepath.Dir(c.Output)
	}
	if c.Notice == nil {
		c.Notice = func(fact.Fact) {}
	}
	if c.Secret == nil {
		c.Secret = func(string, string) bool { return false }
	}
	if c.Limits.Timeout > 0 && c.Expect.Reports > 1 {
		c.Limits.Timeout += time.Duration(c.Expect.Reports) * repeatCost
	}
	return c
}

// repeatCost is what each window of a repeated capture adds to the run: nsys
// writes a report and holds the workload meanwhile.
const repeatCost = 2 * time.Second

// want is the report that the profiler is to write.
func (c *Capture) want() string { return c.Output + "." + string(c.Tool) + "-rep" }

// pause is false where it was cut short by the user or the context.
func (c *Capture) pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-c.Interrupts:
		return false
	case <-time.After(d):
		return true
	}
}

// LimitsOf bound a supervised program, which may take a time as well; 0 is no limit.
func LimitsOf(s plan.Supervision, timeout time.Duration) tool.Limits {
	l := tool.Limits{Timeout: timeout, Stall: s.Stall, Grace: s.StopGrace, Finish: timeout}
	if timeout == 0 { // null is no limit, in any phase
		l.Finish = -1
	}
	return l
}
