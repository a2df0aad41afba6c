package capture

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/tool"
)

// nsys does not look into children that are forked and go on without exec,
// unless it is told to. A workload that does its work in such children leaves a
// report without any of it, and no word about why.
const (
	forkOption  = "trace-fork-before-exec"
	forkSetting = "pipeline.nsys.trace_fork_before_exec=true"
)

// judgeForks explains data that is missing from a report of nsys. f is the
// message that explains it already; one that names the driver or another profiler
// knows better.
func (o *Outcome) judgeForks(e *Evidence, f *Finding) {
	if e.Tool != Nsys || e.Options == nil || slices.Contains(e.Options, forkOption) {
		return
	}
	if f != nil && (f.ID == "diag_driver" || f.ID == "cupti_two_clients") {
		return
	}
	if len(e.Forked) == 0 {
		o.Cause = fact.New(causeMaybeForks, fact.ID("what", dataDomain, e.lacking()), fact.Key("setting", forkSetting))
		return
	}
	o.unfollowed = true
	o.Cause = fact.New(causeForks, fact.Count("n", len(e.Forked)), fact.Name("child", e.Forked[0]), fact.Key("setting", forkSetting))
}

// followForks tries once more with forked children traced. What the first try
// left stays the result where the second one was disturbed and brought nothing
// more: tracing a forked child crashes or hangs some programs.
func (c *Capture) followForks(ctx context.Context, r *Result) {
	first := *r
	aside, err := putAside(c.Output)
	if err != nil {
		r.Outcome.Warnings = append(r.Outcome.Warnings, warningOf(warnNotFollowed, errorText(err), fact.Key("setting", forkSetting)))
		return
	}
	why := fact.Because("why", first.Outcome.Evidence, first.Outcome.Cause)
	c.Notice(fact.New(noticeForks, fact.Name("option", "--"+forkOption+"=true"), why))
	again := *c
	again.Command.Args = withOption(c.Command.Args, "--"+forkOption+"=true")
	again.Limits.Timeout = patienceFor(first.Attempts[len(first.Attempts)-1].Seconds, c.Limits.Timeout)
	second := Result{Attempts: slices.Clone(first.Attempts)}
	again.attempts(ctx, &second)
	*r = second
	note := warningOf(warnFollowed, fact.Key("setting", forkSetting), why)
	if o := second.Outcome; !o.Usable || (o.lacks && o.Kind != MissingData) {
		c.takeBack(r, first, aside)
		return
	}
	_ = os.RemoveAll(aside)
	switch o := &r.Outcome; {
	case o.Kind == MissingData:
		note.Code = warnInVain
	case o.Kind == Captured, o.Kind == WithWarnings && len(o.Warnings) > 0 && o.Evidence.Equal(o.Warnings[0].Fact):
		o.verdict(WithWarnings, nil)
		o.Evidence = note.Fact
	}
	r.Outcome.Warnings = slices.Insert(r.Outcome.Warnings, 0, note)
	r.Attempts[len(r.Attempts)-1].Outcome = r.Outcome
}

// patienceFor bounds the second try by what the first one took, in seconds, within
// the limit that was given.
// It is ten times as long as the first try, and a minute at least. A limit of 0 is none.
func patienceFor(took float64, limit time.Duration) time.Duration {
	bound := max(time.Minute, time.Duration(10*took*float64(time.Second)))
	if limit > 0 {
		return min(limit, bound)
	}
	return bound
}

// takeBack makes the first try the result again; the attempts of both stay.
func (c *Capture) takeBack(r *Result, first Result, aside string) {
	failed := r.Outcome
	r.Outcome, r.Reports, r.Command = first.Outcome, first.Reports, first.Command
	if failed.Kind == Interrupted {
		r.Outcome.Kind, r.Outcome.Evidence = Interrupted, failed.Evidence
	}
	r.Outcome.Warnings = slices.Insert(r.Outcome.Warnings, 0, warningOf(warnNothingMore, fact.Name("option", "--"+forkOption+"=true"),
		fact.ID("kind", KindDomain, string(failed.Kind)), fact.Because("why", failed.What)))
	if err := putBack(aside, c.Output); err != nil {
		r.Outcome.Usable, r.Reports, r.Outcome.Reports = false, nil, nil
		r.Kept = append(r.Kept, aside)
		r.Outcome.Warnings = append(r.Outcome.Warnings, warningOf(warnNotMoved, errorText(err), fact.File("file", aside)))
	}
}

// withOption adds an option of nsys profile.
// args is not changed.
func withOption(args []string, option string) []string {
	at := 0
	if len(args) > 0 && args[0] == "profile" {
		at = 1
	}
	return slices.Insert(slices.Clone(args), at, option)
}

// putAside moves the files of a run into a folder beside them.
// On an error it moves back what it has moved; nothing is removed.
func putAside(base string) (string, error) {
	dir, err := os.MkdirTemp(filepath.Dir(base), ".deepprof-first-")
	if err != nil {
		return "", err
	}
	if err := moveAll(siblings(base), dir); err != nil {
		return "", errors.Join(err, moveAll(tool.Match(dir, "*"), filepath.Dir(base)), os.Remove(dir))
	}
	return dir, nil
}

// putBack moves them where they were, over whatever stands there, and removes
// the folder.
func putBack(dir, base string) error {
	if err := removeOld(base); err != nil {
		return err
	}
	if err := moveAll(tool.Match(dir, "*"), filepath.Dir(base)); err != nil {
		return err
	}
	return os.Remove(dir)
}

// moveAll goes on after an error: what can be moved is moved.
func moveAll(paths []string, dir string) error {
	var errs []error
	for _, path := range paths {
		errs = append(errs, os.Rename(path, filepath.Join(dir, filepath.Base(path))))
	}
	return errors.Join(errs...)
}

// rescue imports a raw stream that nsys itself could not import.
func (c *Capture) rescue(ctx context.Context, stream, nsys string) error {
	if f := sniff(stream, time.Time{}); f.Format != Stream {
		return fmt.Errorf("import %s: the collection was cut, the file is %s", stream, f.Format)
	}
	importer, err := c.importer(nsys)
	if err != nil {
		return err
	}
	return Import(tool.WithLimits(ctx, c.Limits), importer, stream, c.want()) // the importer hangs on some input
}

// importer finds QdstrmImporter where nsys looks for it.
func (c *Capture) importer(nsys string) (string, error) {
	if c.Importer != "" {
		return c.Importer, nil
	}
	for _, path := range []string{nsys, c.Command.Path} {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			continue
		}
		if found := tool.Importer(tool.Tool{Real: real}); found != "" {
			return found, nil
		}
	}
	return "", fmt.Errorf("import: no QdstrmImporter beside %s", c.Command.Path)
}

// Import turns a raw stream into a report with QdstrmImporter, which must be
// of the version that wrote the stream. It first asks the importer for its
// version, because the dynamic loader then names a missing library.
// A report that is not usable is removed.
func Import(ctx context.Context, importer, stream, report string) error {
	env := tool.Environ(os.Environ(), "LC_ALL=C")
	_, stderr, exit, err := tool.Output(ctx, tool.Command{Path: importer, Args: []string{"--version"}, Env: env})
	if err != nil {
		return fmt.Errorf("start importer: %w", err)
	}
	if !exit.OK() {
		return fmt.Errorf("start importer: %s: %s", exit, oneLine(stderr))
	}
	out, stderr, exit, err := tool.Output(ctx, tool.Command{Path: importer, Args: []string{"-i", stream, "-o", report}, Env: env})
	if err != nil {
		return fmt.Errorf("import %s: %w", stream, err)
	}
	e := Evidence{
		Tool: NsysImport, Code: exit.Shell(), Stdout: string(out), Stderr: string(stderr),
		Want: report, Files: []File{sniff(report, exit.Started)},
	}
	if o := judge(e); !o.OK() {
		_ = os.Remove(report)
		return &importError{stream, o}
	}
	return nil
}

// An importError says that the importer made no report of a stream, and why.
type importError struct {
	Stream  string
	Outcome Outcome
}

// Error names the verdict; its evidence goes into a warning, see importParams.
func (e *importError) Error() string { return "import " + e.Stream + ": " + string(e.Outcome.Kind) }

// importParams are what is known of a failed import.
func importParams(err error) []fact.Param {
	params := []fact.Param{errorText(err)}
	var failed *importError
	if errors.As(err, &failed) && !failed.Outcome.Evidence.IsZero() {
		params = append(params, fact.Because("why", failed.Outcome.Evidence))
	}
	return params
}

// oneLine is what a tool printed, fit for an error message.
func oneLine(text []byte) string { return tool.Quote(string(text)) }
