package pipeline

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/load"
	"github.com/deepprof/deepprof/internal/nsys"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/redact"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/serving"
	"github.com/deepprof/deepprof/internal/tool"
)

// interruptible is a context that the first interrupt ends as well.
func (j *job) interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	inner, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-j.Interrupts:
			cancel(context.Canceled)
		case <-inner.Done():
		}
	}()
	return inner, func() { cancel(nil) }
}

// serveUnprofiled measures the server without nsys: what the session itself costs
// is told by it, and that the server works at all.
func serveUnprofiled(ctx context.Context, j *job) (made, error) {
	s, err := newServed(j, plan.StepUnprofiled)
	if err != nil {
		return made{}, err
	}
	_, command := j.serverLine()
	if err := s.begin(command); err != nil {
		return made{}, err
	}
	flow, cancel := j.interruptible(ctx)
	defer cancel()
	if s.start(flow, command, nil) {
		if err := s.measureUnprofiled(flow); err != nil {
			s.failedLoad(flow, err)
		}
	}
	s.stop(ctx)
	return s.finish(ctx, fact.New(serverMeasured))
}

func (s *served) measureUnprofiled(ctx context.Context) error {
	p := s.plan.Pipeline.Server
	if err := s.drive(ctx, p.Load.Timeout); err != nil {
		return err
	}
	if err := s.warmUp(ctx); err != nil {
		return err
	}
	return s.measure(ctx, "unprofiled", load.Unprofiled, time.Duration(p.Windows+1)*p.Idle, "")
}

// begin records what is started, in the manifest and in cmd.txt.
func (s *served) begin(commands ...tool.Command) error {
	var lines []byte
	for _, c := range commands {
		lines = append(lines, commandFile(c)...)
	}
	if err := s.store.WriteFile(serverFolder(s.step)+"/cmd.txt", lines); err != nil {
		return err
	}
	return s.store.StartAttempt(s.step, s.dir, append([]string{commands[0].Path}, commands[0].Args...)...)
}

// windowName is a profiled window, and its report in nsys/.
func windowName(n int) string { return fmt.Sprintf("window-%d", n) }

// startupName is the window that covers the start of the server.
const startupName = "startup"

// sessionOf is the session of a run and the command that launches its server.
// Temp is the TMPDIR of nsys, "" for the one of the environment.
func (j *job) sessionOf(temp string) (nsys.Session, tool.Command, error) {
	_, server := j.serverLine()
	name := "deepprof"
	if j.store != nil {
		name += "-" + sessionWord(filepath.Base(j.store.Dir()))
	}
	session := nsys.Session{Name: name, Version: j.nsys.Version, Options: j.nsysOptions(append([]string{server.Path}, server.Args...))}
	args, set, err := session.Launch()
	if err != nil {
		return session, tool.Command{}, err
	}
	env := tool.Environ(server.Env, append(set, j.annotateOver(server.Env, plan.StepNsys)...)...)
	if temp != "" {
		env = tool.Environ(env, "TMPDIR="+temp)
	}
	env, _ = capture.WithoutSecrets(env, j.passedEnv(), redact.Secret)
	return session, tool.Command{Path: j.nsys.Path, Args: args, Dir: j.dir, Env: env}, nil
}

// sessionWord keeps what nsys takes in the name of a session.
func sessionWord(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '-' {
			return r
		}
		return '-'
	}, text)
}

// passedEnv names the variables that a workload under nsys gets even if they look
// secret: the configuration asks for them.
func (j *job) passedEnv() []string {
	w := j.plan.Pipeline.Workload
	return append(slices.Sorted(maps.Keys(w.Env)), w.PassEnv...)
}

// sessionCommands are the commands of nsys around a server, in their order: the
// windows after the first look alike.
func sessionCommands(j *job) ([]tool.Command, error) {
	session, launch, err := j.sessionOf("")
	if err != nil {
		return nil, err
	}
	out := []tool.Command{launch}
	add := func(args []string) { out = append(out, tool.Command{Path: j.nsys.Path, Args: args}) }
	names := []string{windowName(1)}
	if j.plan.Pipeline.Server.StartupWindow {
		names = append([]string{startupName}, names...)
	}
	for _, name := range names {
		start, err := session.Start(j.place("nsys/" + name))
		if err != nil {
			return nil, err
		}
		add(start)
		add(session.Stop())
	}
	add(session.Shutdown())
	return out, nil
}

// serveWindows profiles the server in windows of one session.
func serveWindows(ctx context.Context, j *job) (made, error) {
	var m made
	o, err := annotated(ctx, j, plan.StepNsys, func() (capture.Outcome, error) {
		var err error
		m, err = serveSession(ctx, j)
		return m.Outcome, err
	})
	m.Outcome = o
	return m, err
}

func serveSession(ctx context.Context, j *job) (made, error) {
	s, err := newServed(j, plan.StepNsys)
	if err != nil {
		return made{}, err
	}
	if err := os.MkdirAll(j.store.Path("nsys"), 0o777); err != nil {
		return made{}, err
	}
	temp, err := os.MkdirTemp("", "deepprof-nsys-")
	if err != nil {
		return made{}, err
	}
	defer os.RemoveAll(temp)
	session, launch, err := j.sessionOf(temp)
	if err != nil {
		return made{}, err
	}
	if err := s.begin(launch); err != nil {
		return made{}, err
	}
	s.session = &serving.Session{Session: session, Program: j.nsys.Path, Env: launch.Env, Limit: 10 * time.Minute, Log: func(text string) {
		if err := appendLine(j.store.Path(serverFolder(s.step)+"/session.log"), text); err != nil {
			j.tellError("warning", err)
		}
	}}
	flow, cancel := j.interruptible(ctx)
	defer cancel()
	if s.start(flow, launch, s.openStartup) {
		if err := s.windows(flow); err != nil {
			s.failedLoad(flow, err)
		}
	}
	s.stop(ctx)
	files := s.readWindows(ctx)
	_, server := j.serverLine()
	if _, removed := capture.WithoutSecrets(server.Env, j.passedEnv(), redact.Secret); s.outcome.Kind != "" && len(removed) > 0 {
		s.warn("", capture.SecretsKept, fact.Names("names", fact.KindName, removed))
	}
	return s.finish(ctx, fact.New(serverProfiled, fact.Count("n", s.profiled())), files...)
}

// openStartup waits for the session and opens the window of the start, where one
// is asked for.
func (s *served) openStartup(ctx context.Context) error {
	if err := s.session.Launched(ctx, s.server, time.Minute); err != nil {
		return err
	}
	if !s.plan.Pipeline.Server.StartupWindow {
		return nil
	}
	return s.open(ctx, "nsys/"+startupName)
}

// open begins a window, without sampling where that is what fails.
func (s *served) open(ctx context.Context, report string) error {
	err := s.session.Start(ctx, s.store.Path(report))
	if err == nil || s.session.Options.SampleHz == 0 || ctx.Err() != nil || !s.server.Alive() || errors.Is(err, serving.ErrSessionLost) {
		return err
	}
	s.session.Options.SampleHz = 0
	if err := s.giveUpSamples(errorFact(err)); err != nil {
		return err
	}
	return s.session.Start(ctx, s.store.Path(report))
}

// windows alternates idle and profiled windows under load.
func (s *served) windows(ctx context.Context) error {
	p := s.plan.Pipeline.Server
	if p.StartupWindow {
		if err := s.close(ctx, load.Window{Name: startupName, Kind: load.Startup, Report: "nsys/" + startupName, To: int64(s.record.Ready * 1e9)}); err != nil {
			return err
		}
	}
	if err := s.drive(ctx, p.Load.Timeout); err != nil {
		return err
	}
	if err := s.warmUp(ctx); err != nil {
		return err
	}
	for n := 1; n <= p.Windows; n++ {
		if err := s.measure(ctx, fmt.Sprintf("idle-%d", n), load.Idle, p.Idle, ""); err != nil {
			return err
		}
		if err := s.window(ctx, windowName(n)); err != nil {
			return err
		}
		if err := s.answers(ctx, windowName(n)); err != nil { // what nsys still does is in no window
			return err
		}
	}
	return s.measure(ctx, fmt.Sprintf("idle-%d", p.Windows+1), load.Idle, p.Idle, "")
}

// close ends a window that is no part of the load, and records it.
func (s *served) close(ctx context.Context, w load.Window) error {
	if err := s.session.Stop(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	s.record.Window = append(s.record.Window, w)
	return nil
}

// window profiles one window. Whatever ends it early, nsys is asked for its
// report.
func (s *served) window(ctx context.Context, name string) error {
	s.tell(serverWindow, fact.Name("step", s.step), fact.Name("window", name))
	report := "nsys/" + name
	if err := s.open(ctx, report); err != nil {
		return err
	}
	err := s.measure(ctx, name, load.Profiled, s.plan.Pipeline.Server.Window, report)
	return errors.Join(err, s.session.Stop(context.WithoutCancel(ctx)))
}

// profiled counts the windows of the load that have a timeline.
func (s *served) profiled() int {
	n := 0
	for _, w := range s.record.Window {
		if w.Kind == load.Profiled && w.Report != "" {
			n++
		}
	}
	return n
}

// readWindows exports the reports that nsys wrote, after the server is gone so
// that nothing disturbs its windows, and returns their files. A window without a
// report keeps its requests.
func (s *served) readWindows(ctx context.Context) []string {
	ctx = context.WithoutCancel(ctx)
	var files []string
	for i := range s.record.Window {
		w := &s.record.Window[i]
		if w.Report == "" {
			continue
		}
		report := s.store.Path(w.Report + ".nsys-rep")
		exports := map[string]string{}
		content, err := checkTimeline(ctx, s.job, report, exports)
		if err != nil {
			if exists(report) {
				files = append(files, w.Report+".nsys-rep")
			}
			s.warn(w.Name, windowLost, fact.Name("window", w.Name), fact.ErrorText("error", tool.Quote(err.Error())))
			w.Report = ""
			continue
		}
		files = append(files, w.Report+".nsys-rep", w.Report+".sqlite")
		for _, f := range content.Warnings {
			s.outcome.Warnings = append(s.outcome.Warnings, capture.Warning{Fact: f, Scope: w.Name})
		}
		w.Kernels = content.Rows[capture.DataKernels]
		s.outcome.Reports = append(s.outcome.Reports, report)
		s.outcome.Usable = s.outcome.Usable || w.Kind == load.Profiled
	}
	if exists(s.store.Path("nsys/cmd.txt")) {
		files = append(files, "nsys/cmd.txt")
	}
	if s.outcome.Kind == "" && s.profiled() == 0 {
		s.fail(capture.Verdict(capture.NothingCollected, fact.New(noWindow)))
	}
	s.noteWindows()
	return files
}

// noteWindows says what kept secrets out, once.
func (s *served) noteWindows() {
	for _, w := range s.record.Window {
		if w.Report != "" {
			s.noteSecrets(s.store.Path(w.Report + ".nsys-rep"))
			return
		}
	}
}

// windowTimeline is the export of the window that counters are chosen from: the
// first, which the reports are about, unless a later one has twice its kernels. ""
// where there is none.
func windowTimeline(store *runs.Run) string {
	r, err := load.ReadRecord(store.Path(serverFolder(plan.StepNsys) + "/" + load.RecordName))
	if err != nil {
		return ""
	}
	found, most := "", int64(-1)
	for _, w := range r.Window {
		if w.Kind == load.Profiled && w.Report != "" && w.Kernels > 2*most {
			found, most = w.Report+".sqlite", w.Kernels
		}
	}
	return found
}
