package capture

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"al.essio.dev/pkg/shellescape"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/format"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/tool"
)

// attempt starts the profiler once and brings its report home.
func (c *Capture) attempt(ctx context.Context, n int, r *Result) (a Attempt) {
	a = Attempt{Started: time.Now(), Stdout: c.log(runs.StdoutName, n), Stderr: c.log(runs.StderrName, n)}
	defer func() { a.Seconds = time.Since(a.Started).Seconds() }()
	if err := removeOld(c.Output); err != nil {
		a.Outcome = *refuse(OutputUnwritable, ErrorFact(err), fact.New(causeOldFile))
		a.Outcome.What = c.notStarted()
		return a
	}
	temp, release, bad := c.makeTemp()
	if bad != nil {
		a.Outcome = *bad
		a.Outcome.What = c.notStarted()
		return a
	}
	defer release()
	env, removed := c.environment(temp)
	r.Command = c.line(env)
	a.Command = r.Command
	if err := os.WriteFile(filepath.Join(c.Logs, runs.CommandName), []byte(c.remarks(env)+r.Command+"\n"), 0o644); err != nil {
		a.Outcome = *refuse(OutputUnwritable, ErrorFact(err), fact.Fact{})
		a.Outcome.What = c.notStarted()
		_ = os.RemoveAll(temp)
		return a
	}

	freed := c.freeSessions()
	watch := &spaceWatch{dirs: []string{cmp.Or(temp, os.TempDir()), filepath.Dir(c.Output)}}
	rec := &Recorder{}
	ended, err := c.supervise(ctx, &a, env, watch, rec)
	if err != nil {
		a.Outcome = *refuse(BrokenInstall, ErrorFact(err), fact.New(causeNoStart, c.Tool.param()))
		if ctx.Err() != nil {
			a.Outcome = *refuse(Interrupted, ErrorFact(err), fact.Fact{})
		}
		a.Outcome.What = c.notStarted()
		_ = os.RemoveAll(temp)
		return a
	}
	a.Code = ended.Exit.Shell()
	e := c.evidence(ctx, &a, ended, temp, watch)
	if c.Record != nil {
		c.Record(rec.Finish(c, ended, temp, e.Files))
	}
	o := c.settle(ctx, &a, &e, ended, temp, r)
	a.Outcome = o
	a.Outcome.Warnings = append(a.Outcome.Warnings, freed...)
	c.keep(&a, &e, temp, r)
	if len(removed) > 0 && !o.OK() {
		a.Outcome.Warnings = append(a.Outcome.Warnings, warningOf(SecretsKept, fact.Names("names", fact.KindName, removed)))
	}
	return a
}

// freeSessions undoes what a killed nsys did to all later ones.
func (c *Capture) freeSessions() []Warning {
	if c.Tool != Nsys {
		return nil
	}
	removed, err := tool.ClearStuckSessions()
	var notes []Warning
	for _, path := range removed {
		notes = append(notes, Warning{Fact: ofFile(warnFreed, path)})
	}
	if err != nil {
		notes = append(notes, warningOf(warnStuck, errorText(err)))
	}
	return notes
}

// log is the path of a log of attempt n; the first has no number.
func (c *Capture) log(name string, n int) string {
	if n > 1 {
		name = runs.NumberedLog(name, n)
	}
	return filepath.Join(c.Logs, name)
}

// environment is what the profiler and the workload get, and the names of the
// variables that were left out.
func (c *Capture) environment(temp string) (env, removed []string) {
	env = c.Command.Env
	if c.Tool == Nsys { // ncu stores no environment
		env, removed = WithoutSecrets(env, c.KeepEnv, c.Secret)
	}
	set := []string{"LC_ALL=C"}
	if temp != "" {
		set = append(set, "TMPDIR="+temp)
	}
	return tool.Environ(env, set...), removed
}

// WithoutSecrets takes out of an environment what nsys would store in its report,
// save the names to keep, and gives the names of what it took, sorted.
func WithoutSecrets(env, keep []string, secret func(name, value string) bool) (rest, removed []string) {
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		if secret(name, value) && !slices.Contains(keep, name) {
			removed = append(removed, name)
			continue
		}
		rest = append(rest, kv)
	}
	slices.Sort(removed)
	return rest, slices.Compact(removed)
}

// line is the command as it can be pasted into a shell. Variables that this
// process has as well are not repeated, so neither are its secrets.
func (c *Capture) line(env []string) string {
	show := c.Command
	show.Dir, show.Env = "", nil
	private := ""
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		switch {
		case name == "TMPDIR" && c.Tool == Nsys:
			private = `TMPDIR="$(mktemp -d)" `
		case name == tool.RunMarker || c.Secret(name, value):
		default:
			show.Env = append(show.Env, kv)
		}
	}
	line := private + show.Line(os.Environ())
	if c.Command.Dir != "" {
		line = "cd " + shellescape.Quote(c.Command.Dir) + " && " + line
	}
	return line
}

// remarks are the comments above the line in cmd.txt: what whoever pastes it must
// know. They hold nothing that a shell without comments would act on.
func (c *Capture) remarks(env []string) string {
	option := "--output"
	if c.Tool == Ncu {
		option = "--export"
	}
	return "# As it stands, this replaces files of the run, which then no longer fit its reports. To repeat the capture put another path after " + option +
		" first, and for the same path wherever it stands below\n" + unrecorded(env, c.Secret)
}

// unrecorded is a comment for cmd.txt that names the variables which its line
// ought to set and does not because they look secret; "" where there are none.
func unrecorded(env []string, secret func(name, value string) bool) string {
	base := os.Environ()
	var names []string
	for _, kv := range env {
		if name, value, _ := strings.Cut(kv, "="); secret(name, value) && !slices.Contains(base, kv) {
			names = append(names, strings.NewReplacer("\n", " ", "\r", " ").Replace(name))
		}
	}
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	return "# Not recorded, because it looks secret. Export before you paste: " + strings.Join(names, " ") + "\n"
}

// supervise starts the profiler and returns when the whole tree of processes is gone.
// The error is that of the start. Progress and the recorder hear of every line.
func (c *Capture) supervise(ctx context.Context, a *Attempt, env []string, watch *spaceWatch, rec *Recorder) (tool.Ended, error) {
	p := newTracker(c.Tool, c.Gated, c.Expect.Launches, c.Progress)
	p.counted = c.Counted
	cmd := c.Command
	cmd.Env = env
	repeated := false // a launch that waits for others
	ended, err := tool.Supervise(ctx, tool.Job{
		Command: cmd, Stdout: a.Stdout, Stderr: a.Stderr,
		Profiler: string(c.Tool), Limits: c.Limits, Interrupts: c.Interrupts, Stop: c.Stop,
		Patience: func(last string) time.Duration { return c.patience(last, repeated) },
		OnLine: func(l tool.Line) {
			p.line(l)
			repeated = repeated || c.Tool == Ncu && repeatsCollective(l.Text)
			if c.Record != nil {
				rec.Line(l)
			}
		},
		OnTick: func(t tool.Tick) {
			watch.look()
			p.tick(t)
		},
	})
	p.done()
	return ended, err
}

// patience applies the stall limit also to a busy tree where ncu makes a rank
// wait for good: the host spins, so the CPU is no sign of life. That is inside a
// launch that waits for others, or at any time once such a launch was repeated:
// its rank has counted further than the others ever will.
func (c *Capture) patience(last string, repeated bool) time.Duration {
	if c.Tool == Ncu && (repeated || repeatsCollective(last) || strings.HasPrefix(last, "==") && printed("ncu_slow").MatchString(last) || c.Behind && unfinished(last)) {
		return c.Limits.Stall
	}
	return 0
}

// evidence gathers what judge looks at once the profiler has ended: its logs, the files
// that it left, and what our own readers find in them.
func (c *Capture) evidence(ctx context.Context, a *Attempt, ended tool.Ended, temp string, watch *spaceWatch) Evidence {
	e := Evidence{
		Tool: c.Tool, Code: ended.Exit.Shell(), Killer: int(ended.Exit.Signal),
		Stopped: ended.Stopped, TargetSeen: ended.TargetSeen, LastLine: ended.LastLine.Text,
		Stdout: readLog(c.Tool, a.Stdout), Stderr: readLog(c.Tool, a.Stderr),
		Want: c.want(), Gated: c.Gated, EndsTarget: c.EndsTarget, Expect: c.Expect, LowSpace: watch.low(),
		Options: c.options(), Ranks: c.Behind, requests: ended.Requests,
	}
	if e.requests > 0 && ended.Stopped != tool.Interrupted {
		e.requests-- // that one was a limit, not the user
	}
	for _, p := range ended.Forked {
		e.Forked = append(e.Forked, tool.Quote(p.String()))
	}
	for _, p := range append(ended.Left, ended.Alive...) {
		e.Left = append(e.Left, p.String())
	}
	if ended.Killed {
		e.Left = nil
	}
	e.Files = look(c.Output, temp, e.Stdout, a.Started)
	c.open(ctx, &e)
	return e
}

// addContent sums over the reports of one capture; nil is one that was not opened.
func (e *Evidence) addContent(c *Content) {
	if c == nil {
		return
	}
	if e.Content == nil {
		e.Content = &Content{Rows: map[string]int64{}}
	}
	for table, n := range c.Rows {
		e.Content.Rows[table] += n
	}
	e.Content.Launches += c.Launches
	e.Content.Warnings = append(e.Content.Warnings, c.Warnings...)
}

// settle judges, and judges again after what can be fixed was fixed: a
// report elsewhere is moved, a raw stream imported.
func (c *Capture) settle(ctx context.Context, a *Attempt, e *Evidence, ended tool.Ended, temp string, r *Result) Outcome {
	o := judge(*e)
	var notes []Warning
	// Only what lies in our own TMPDIR is ours to move.
	if here, elsewhere := e.good(); len(here) == 0 && len(elsewhere) == 1 && temp != "" && filepath.Dir(elsewhere[0].Path) == temp {
		from := elsewhere[0].Path
		if err := move(from, c.want()); err != nil {
			r.Kept = append(r.Kept, from)
			o.Warnings = append(o.Warnings, warningOf(warnNotMoved, errorText(err), fact.File("file", from)))
			return o
		}
		notes = append(notes, Warning{Fact: ofFile(warnMoved, from)})
	}
	if len(o.Reports) == 0 && len(o.Streams) > 0 {
		err := c.rescue(ctx, o.Streams[0], ended.Real)
		if err != nil {
			o.Warnings = append(o.Warnings, warningOf(warnNotImported, importParams(err)...))
			return o
		}
		notes = append(notes, warningOf(warnImported, fact.Because("why", o.Cause)))
	}
	if len(notes) == 0 {
		r.Reports = o.Reports
		return o
	}
	e.Files = look(c.Output, "", "", a.Started)
	c.open(ctx, e)
	o = judge(*e)
	o.Warnings = append(notes, o.Warnings...)
	if o.Kind == Captured {
		o.verdict(WithWarnings, nil)
		o.Evidence = notes[0].Fact
	}
	r.Reports = o.Reports
	return o
}

// keep brings raw streams out of the temporary directory before that goes. If
// the output disk is full they stay, and so does the directory.
func (c *Capture) keep(a *Attempt, e *Evidence, temp string, r *Result) {
	stay := false
	if bad := e.unreadable(); bad != nil && len(a.Outcome.Reports) == 0 {
		r.Kept = append(r.Kept, bad.Path)
	}
	for i, path := range a.Outcome.Streams {
		if temp == "" || !strings.HasPrefix(path, temp+"/") {
			if len(a.Outcome.Reports) == 0 {
				r.Kept = append(r.Kept, path)
			}
			continue
		}
		if len(a.Outcome.Reports) > 0 {
			continue
		}
		to := c.Output + ".qdstrm"
		if i > 0 {
			to = fmt.Sprintf("%s.%d.qdstrm", c.Output, i+1)
		}
		if err := move(path, to); err != nil {
			stay, to = true, path
		}
		a.Outcome.Streams[i] = to
		r.Kept = append(r.Kept, to)
	}
	for _, path := range r.Kept {
		stay = stay || strings.HasPrefix(path, temp+"/")
	}
	switch {
	case temp == "":
	case stay:
		keepTemp(temp)
	default:
		_ = os.RemoveAll(temp)
	}
}

// A spaceWatch remembers how little space was seen on a few file systems.
type spaceWatch struct {
	dirs  []string
	least int64
	where string
	any   bool
}

// look is called with every tick: a disk that was full for a moment counts.
func (w *spaceWatch) look() {
	for _, dir := range w.dirs {
		if free, err := format.FreeSpace(dir); err == nil && (!w.any || free < w.least) {
			w.least, w.where, w.any = free, dir, true
		}
	}
}

// low names the file system that had less than a MiB left.
func (w *spaceWatch) low() string {
	w.look()
	if w.any && w.least < 1<<20 {
		return w.where
	}
	return ""
}
