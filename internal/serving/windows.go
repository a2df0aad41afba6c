package serving

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/load"
	"github.com/deepprof/deepprof/internal/nsys"
	"github.com/deepprof/deepprof/internal/tool"
)

// Profiling says how the windows of a session are made.
type Profiling struct {
	Session nsys.Session
	Launch  tool.Command // of the session with the server
	// Reports is the folder of reports by its name within the run, Place where a file
	// of the run lies.
	Reports string
	Place   func(name string) string
	Log     func(string) // receives each command of nsys and what it printed
	// Unsampled has later captures made without sampling, for what failed.
	Unsampled func(why fact.Fact) error
	// Check exports a report and says what it holds.
	Check func(ctx context.Context, report string) (*capture.Content, error)
}

// A profiled is one start of the server in a session of nsys.
type profiled struct {
	*served
	Profiling
}

// windowName is a profiled window, and its report.
func windowName(n int) string { return fmt.Sprintf("window-%d", n) }

// startupName is the window that covers the start of the server.
const startupName = "startup"

// report is the report of a window by its name within the run, without extension.
func (p *Profiling) report(window string) string { return p.Reports + "/" + window }

// Commands are those of nsys around a server, in their order: the windows after the
// first look alike.
func (s Setup) Commands(p Profiling) ([]tool.Command, error) {
	out := []tool.Command{p.Launch}
	add := func(args []string) { out = append(out, tool.Command{Path: p.Launch.Path, Args: args}) }
	names := []string{windowName(1)}
	if s.StartupWindow {
		names = append([]string{startupName}, names...)
	}
	for _, name := range names {
		session := p.Session
		if name == startupName {
			session.Options.SampleHz = 0
		}
		start, err := session.Start(p.Place(p.report(name)))
		if err != nil {
			return nil, err
		}
		add(start)
		add(p.Session.Stop())
	}
	add(p.Session.Shutdown())
	return out, nil
}

// Profile profiles the server in windows of one session.
func (s Setup) Profile(ctx context.Context, p Profiling) Measured {
	m := &profiled{served: s.begin(), Profiling: p}
	m.session = &Session{Session: p.Session, Program: p.Launch.Path, Env: p.Launch.Env, Limit: 10 * time.Minute, Log: p.Log}
	if m.start(ctx, p.Launch, m.openStartup) {
		if err := m.windows(ctx); err != nil {
			m.failedLoad(ctx, err)
		}
	}
	m.stop(ctx)
	files := m.readWindows(ctx)
	return m.measured(fact.New(serverProfiled, fact.Count("n", m.count())), files...)
}

// openStartup waits for the session and opens the window of the start, where one
// is asked for.
func (s *profiled) openStartup(ctx context.Context) error {
	if err := s.session.Launched(ctx, s.server, time.Minute); err != nil {
		return err
	}
	if !s.StartupWindow {
		return nil
	}
	hz := s.session.Options.SampleHz
	s.session.Options.SampleHz = 0 // it may last for minutes, and nothing is asked of its activity
	defer func() { s.session.Options.SampleHz = hz }()
	return s.open(ctx, s.report(startupName))
}

// open begins a window, without sampling where that is what fails.
func (s *profiled) open(ctx context.Context, report string) error {
	err := s.session.Start(ctx, s.Place(report))
	if err == nil || s.session.Options.SampleHz == 0 || ctx.Err() != nil || !s.server.Alive() || errors.Is(err, errSessionLost) {
		return err
	}
	s.session.Options.SampleHz = 0
	if err := s.Unsampled(capture.ErrorFact(err)); err != nil {
		return err
	}
	return s.session.Start(ctx, s.Place(report))
}

// windows alternates idle and profiled windows under load.
func (s *profiled) windows(ctx context.Context) error {
	if s.StartupWindow {
		if err := s.close(ctx, load.Window{Name: startupName, Kind: load.Startup, Report: s.report(startupName), To: int64(s.record.Ready * 1e9)}); err != nil {
			return err
		}
	}
	if err := s.drive(ctx, nil); err != nil {
		return err
	}
	if err := s.warmUp(ctx); err != nil {
		return err
	}
	for n := 1; n <= s.Windows; n++ {
		if err := s.measure(ctx, fmt.Sprintf("idle-%d", n), load.Idle, s.Idle, ""); err != nil {
			return err
		}
		if err := s.window(ctx, windowName(n)); err != nil {
			return err
		}
		if err := s.answers(ctx, windowName(n)); err != nil { // what nsys still does is in no window
			return err
		}
	}
	return s.measure(ctx, fmt.Sprintf("idle-%d", s.Windows+1), load.Idle, s.Idle, "")
}

// close ends a window that is no part of the load, and records it.
func (s *profiled) close(ctx context.Context, w load.Window) error {
	if err := s.session.Stop(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	s.record.Window = append(s.record.Window, w)
	return nil
}

// window profiles one window. Whatever ends it early, nsys is asked for its
// report.
func (s *profiled) window(ctx context.Context, name string) error {
	s.Tell(serverWindow, fact.Name("step", s.Step), fact.Name("window", name))
	report := s.report(name)
	if err := s.open(ctx, report); err != nil {
		return err
	}
	err := s.measure(ctx, name, load.Profiled, s.Window, report)
	return errors.Join(err, s.session.Stop(context.WithoutCancel(ctx)))
}

// count counts the windows of the load that have a timeline.
func (s *profiled) count() int {
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
func (s *profiled) readWindows(ctx context.Context) []string {
	ctx = context.WithoutCancel(ctx)
	var files []string
	for i := range s.record.Window {
		w := &s.record.Window[i]
		if w.Report == "" {
			continue
		}
		report := s.Place(w.Report + ".nsys-rep")
		content, err := s.Check(ctx, report)
		if err != nil {
			if _, missing := os.Stat(report); missing == nil {
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
	if s.outcome.Kind == "" && s.count() == 0 {
		s.fail(capture.Verdict(capture.NothingCollected, fact.New(noWindow)))
	}
	return files
}
