package serving

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/engine"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/load"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/tool"
)

// A Setup is what every start of the server of a run is given.
type Setup struct {
	plan.Server // how it is measured
	Engine      engine.Engine
	Base        string   // URL of the server
	Step        string   // that starts it, for what is told
	Folder      string   // that is there and receives the logs
	Dir         string   // working directory of a load command
	Env         []string // of a load command
	// Tell receives what goes on, Tick how long the server runs.
	Tell func(fact.Code, ...fact.Param)
	Tick func(time.Duration)
	// Memory is the most memory in bytes that one GPU had in use since a moment; nil
	// where nothing tells it.
	Memory func(since time.Time) *float64
}

// Measured is what came of a start.
type Measured struct {
	Outcome  capture.Outcome
	Record   load.Record
	Requests []load.Request // nil where no client of deepprof's own drove it
	Files    []string       // reports and their exports, as the names of windows have them
}

// A served is one start of the server, and what was measured of it.
type served struct {
	Setup
	server  *Server
	session *Session   // nil without nsys
	load    *load.Load // nil where no client of our own drives it
	loader  *Server    // a load command; nil for none
	record  load.Record
	outcome capture.Outcome // of what went wrong first; its zero value is that nothing did
}

func (s Setup) begin() *served {
	return &served{Setup: s, record: load.Record{Schema: load.RecordSchema, Engine: s.Engine.Name, Load: s.Load.Kind}}
}

// Measure measures the server without nsys: what the session itself costs is told
// by it, and that the server works at all.
func (s Setup) Measure(ctx context.Context, command tool.Command) Measured {
	m := s.begin()
	if m.start(ctx, command, nil) {
		if err := m.measureUnprofiled(ctx); err != nil {
			m.failedLoad(ctx, err)
		}
	}
	m.stop(ctx)
	return m.measured(fact.New(serverMeasured))
}

func (s *served) measureUnprofiled(ctx context.Context) error {
	if err := s.drive(ctx, nil); err != nil {
		return err
	}
	if err := s.warmUp(ctx); err != nil {
		return err
	}
	return s.measure(ctx, "unprofiled", load.Unprofiled, time.Duration(s.Windows+1)*s.Idle, "")
}

// start starts the server as a command says and waits until it serves requests.
// False where it does not, which the outcome tells.
func (s *served) start(ctx context.Context, command tool.Command, before func(context.Context) error) bool {
	if o, taken := PortTaken(ctx, s.Base); taken {
		s.fail(o)
		return false
	}
	began := time.Now()
	s.server = Start(ctx, Options{
		Command: command, Stdout: filepath.Join(s.Folder, runs.StdoutName), Stderr: filepath.Join(s.Folder, runs.StderrName), Stop: s.Stop, OnTick: s.Tick, MaxLog: int64(s.MaxLog) * 1e6,
	})
	if before != nil {
		if err := before(ctx); err != nil {
			s.failed(ctx, err)
			return false
		}
	}
	if err := s.server.Ready(ctx, s.probe(), s.ReadyTimeout); err != nil {
		s.failed(ctx, err)
		return false
	}
	s.record.Ready = time.Since(began).Seconds()
	s.Tell(serverReady, fact.Name("step", s.Step), fact.Seconds("time", s.record.Ready))
	return true
}

// probe is what shows that the server is ready.
func (s *Setup) probe() string {
	switch {
	case s.Ready != "":
		return s.Ready
	case s.Engine.Ready != "":
		return s.at(s.Engine.Ready)
	}
	return "tcp:" + Address(s.Base)
}

// at is the URL of a path of the server.
func (s *Setup) at(path string) string { return strings.TrimSuffix(s.Base, "/") + path }

// fail keeps what went wrong first.
func (s *served) fail(o capture.Outcome) {
	if s.outcome.Kind == "" {
		o.Warnings = s.outcome.Warnings
		s.outcome = o
	}
}

// failed judges an error of a start or of a window: what the server did counts
// for more than what was waited for.
func (s *served) failed(ctx context.Context, err error) {
	var notReady *NotReady
	if s.server != nil && ctx.Err() == nil {
		s.await(deathTime) // a server that dies takes its window along, and is seen dead a moment later
	}
	switch died := s.server != nil && s.server.Died(); {
	case ctx.Err() != nil:
		s.fail(capture.Verdict(capture.Interrupted, fact.New(capture.StoppedBySignal)))
	case s.server != nil && s.server.Flooded():
		s.fail(s.quoted(capture.Verdict(capture.WorkloadFailed, fact.New(serverFlooded, fact.Bytes("limit", int64(s.MaxLog)*1e6)))))
	case died:
		s.fail(s.death())
	case errors.As(err, &notReady):
		s.fail(s.quoted(capture.Verdict(capture.NotReady, capture.ErrorFact(notReady))))
	case errors.Is(err, errSessionLost):
		s.fail(s.quoted(capture.Verdict(capture.SessionLost, capture.ErrorFact(err))))
	default:
		s.fail(capture.Verdict(capture.ToolCrashed, capture.ErrorFact(err)))
	}
}

// deathTime is how long nsys may take to notice that its program has ended.
const deathTime = 5 * time.Second

// death is the outcome of a server that ended by itself.
func (s *served) death() capture.Outcome {
	<-s.server.Ended()
	ended, err := s.server.Result()
	kind, what := capture.WorkloadFailed, fact.New(serverEnded, fact.Name("exit", ended.Exit.String()))
	switch {
	case err != nil:
		kind, what = capture.WorkloadMissing, fact.New(serverNoStart, fact.ErrorText("error", tool.Quote(err.Error())))
	case ended.Exit.Signal != 0:
		kind = capture.WorkloadCrashed
	}
	return s.quoted(capture.Verdict(kind, what))
}

// quoted adds what the server printed last.
func (s *served) quoted(o capture.Outcome) capture.Outcome {
	if lines := s.server.Output(); len(lines) > 0 {
		o.Evidence = fact.New(capture.ToolPrinted, fact.Vendor(capture.VendorText, tool.Quote(lines[len(lines)-1])))
	}
	code := causeServer
	if o.Kind == capture.NotReady {
		code = causeServerSlow
	}
	o.Cause = fact.New(code, fact.File("dir", s.Folder))
	return o
}

// stop ends the load, the session and the server, in this order, and whatever is
// left of them.
func (s *served) stop(ctx context.Context) {
	if s.load != nil {
		s.load.Stop()
	}
	if s.loader != nil {
		s.loader.Stop()
	}
	if s.server == nil {
		return
	}
	if s.session != nil && s.server.Alive() {
		if err := s.session.Shutdown(context.WithoutCancel(ctx), s.server); err == nil {
			s.await(s.Stop)
		}
	}
	s.server.Stop()
	if s.session != nil {
		if err := s.session.End(context.WithoutCancel(ctx)); err != nil {
			s.session.Log(err.Error())
		}
	}
	ended, _ := s.server.Result()
	if len(ended.Left) > 0 && !s.server.Died() && s.session == nil {
		s.warn("", serverOutlived, processesParam(ended.Left))
	}
	if ended.Killed {
		s.warn("", serverKilled, fact.NS("limit", s.Stop))
	}
	if len(ended.Alive) > 0 {
		s.warn("", serverAlive, processesParam(ended.Alive))
	}
}

// await waits for the end of the server.
func (s *served) await(limit time.Duration) {
	select {
	case <-s.server.Ended():
	case <-time.After(limit):
	}
}

// warn states a doubt about a window, or about the whole step where that is "".
func (s *served) warn(window string, code fact.Code, params ...fact.Param) {
	s.outcome.Warnings = append(s.outcome.Warnings, capture.Warning{Fact: fact.New(code, params...), Scope: window})
}

// measured is what came of the start: what went wrong, or what was measured.
func (s *served) measured(good fact.Fact, files ...string) Measured {
	if s.outcome.Kind == "" {
		warnings := s.outcome.Warnings
		if s.outcome = capture.Verdict(capture.Captured, good); len(warnings) > 0 {
			s.outcome.Kind = capture.WithWarnings
		}
		s.outcome.Warnings, s.outcome.Usable = warnings, true
	}
	m := Measured{Outcome: s.outcome, Record: s.record, Files: files}
	if s.load != nil {
		m.Requests = s.load.Requests()
	}
	return m
}
