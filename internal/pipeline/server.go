package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/engine"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/load"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/serving"
	"github.com/deepprof/deepprof/internal/timeline"
	"github.com/deepprof/deepprof/internal/tool"
	"github.com/deepprof/deepprof/internal/workload"
	"github.com/deepprof/deepprof/workloads"
)

// serverFolder is where a step leaves what it measured of a server.
func serverFolder(step string) string { return runs.ServerFolder + "/" + step }

// byKind runs a step of a program that ends, or of a server.
func byKind(program, server func(context.Context, *job) (made, error)) func(context.Context, *job) (made, error) {
	return func(ctx context.Context, j *job) (made, error) {
		if workload.Serves(j.plan) {
			return server(ctx, j)
		}
		return program(ctx, j)
	}
}

// commandsOf is byKind for what a dry run shows.
func commandsOf(program, server func(*job) ([]tool.Command, error)) func(*job) ([]tool.Command, error) {
	return func(j *job) ([]tool.Command, error) {
		if workload.Serves(j.plan) {
			return server(j)
		}
		return program(j)
	}
}

// serverLine is the server as its engine wants to be started, without a profiler.
func (j *job) serverLine() (engine.Engine, tool.Command) {
	e, argv, set := workload.ServerCommand(j.plan, workload.Places{Python: j.pythonPath(), Program: j.place(programFolder), Start: j.start}, j.env)
	return e, tool.Command{Path: argv[0], Args: argv[1:], Dir: j.dir, Env: tool.Environ(j.env, set...)}
}

// serverCommands is the start without a profiler.
func serverCommands(j *job) ([]tool.Command, error) {
	_, c := j.serverLine()
	return []tool.Command{c}, nil
}

// A served is one start of the server of a run, and what was measured of it.
type served struct {
	*job
	step    string
	engine  engine.Engine
	url     string
	server  *serving.Server
	session *serving.Session // nil without nsys
	load    *load.Load       // nil where no client of our own drives it
	loader  *serving.Server  // a load command; nil for none
	record  load.Record
	outcome capture.Outcome // of what went wrong first; its zero value is that nothing did
}

// newServed prepares a start: folders, and the program where it is ours.
func newServed(j *job, step string) (*served, error) {
	e, _ := j.serverLine()
	s := &served{job: j, step: step, engine: e, url: cmp.Or(j.plan.Pipeline.Server.URL, e.URL(j.serverArgv()))}
	s.record = load.Record{Schema: load.RecordSchema, Engine: e.Name, Load: j.plan.Pipeline.Server.Load.Kind}
	if err := os.MkdirAll(j.store.Path(serverFolder(step)), 0o777); err != nil {
		return nil, err
	}
	if !workload.ShipsServer(j.plan) {
		return s, nil
	}
	if err := workload.Unpack(workloads.FS, j.store.Path(programFolder)); err != nil {
		return nil, err
	}
	name, text, err := workload.ServerModel(j.plan, j.start)
	if err != nil {
		return nil, err
	}
	return s, os.WriteFile(filepath.Join(j.store.Path(programFolder), name), text, 0o644)
}

func (j *job) serverArgv() []string {
	_, c := j.serverLine()
	return append([]string{c.Path}, c.Args...)
}

// start starts the server as a command says and waits until it serves requests.
// False where it does not, which the outcome tells.
func (s *served) start(ctx context.Context, command tool.Command, before func(context.Context) error) bool {
	if holder, taken := serving.Taken(ctx, s.url); taken {
		s.fail(portTaken(serving.Address(s.url), holder))
		return false
	}
	folder := s.store.Path(serverFolder(s.step))
	began := time.Now()
	s.server = serving.Start(ctx, serving.Options{
		Command: command, Stdout: filepath.Join(folder, "stdout.log"), Stderr: filepath.Join(folder, "stderr.log"),
		Stop: s.plan.Pipeline.Server.Stop, OnTick: func(d time.Duration) { s.display.line(fmt.Sprintf("%s: %s", s.step, d.Round(time.Second))) },
	})
	if before != nil {
		if err := before(ctx); err != nil {
			s.failed(ctx, err)
			return false
		}
	}
	if err := s.server.Ready(ctx, s.probe(), s.plan.Pipeline.Server.ReadyTimeout); err != nil {
		s.failed(ctx, err)
		return false
	}
	s.record.Ready = time.Since(began).Seconds()
	s.tell(serverReady, fact.Name("step", s.step), fact.Seconds("time", s.record.Ready))
	return true
}

// probe is what shows that the server is ready.
func (s *served) probe() string {
	switch ready := s.plan.Pipeline.Server.Ready; {
	case ready != "":
		return ready
	case s.engine.Ready != "":
		return strings.TrimSuffix(s.url, "/") + s.engine.Ready
	}
	return "tcp:" + serving.Address(s.url)
}

// fail keeps what went wrong first.
func (s *served) fail(o capture.Outcome) {
	if s.outcome.Kind == "" {
		s.outcome = o
	}
}

// failed judges an error of a start or of a window: what the server did counts
// for more than what was waited for.
func (s *served) failed(ctx context.Context, err error) {
	var notReady *serving.NotReady
	if s.server != nil && ctx.Err() == nil {
		s.await(deathTime) // a server that dies takes its window along, and is seen dead a moment later
	}
	switch died := s.server != nil && s.server.Died(); {
	case ctx.Err() != nil:
		s.fail(capture.Verdict(capture.Interrupted, fact.New(capture.StoppedBySignal)))
	case s.server != nil && s.server.Flooded():
		s.fail(s.quoted(capture.Verdict(capture.WorkloadFailed, fact.New(serverFlooded))))
	case died:
		s.fail(s.death())
	case errors.As(err, &notReady):
		s.fail(s.quoted(capture.Verdict(capture.NotReady, errorFact(notReady))))
	case errors.Is(err, serving.ErrSessionLost):
		s.fail(s.quoted(capture.Verdict(capture.SessionLost, errorFact(err))))
	default:
		s.fail(capture.Verdict(capture.ToolCrashed, errorFact(err)))
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
	if said := s.server.Output(); len(said) > 0 {
		o.Evidence = fact.New(capture.ToolPrinted, fact.Vendor(capture.VendorText, tool.Quote(said[len(said)-1])))
	}
	log := s.store.Path(serverFolder(s.step))
	if o.Kind != capture.NotReady {
		o.Cause = fact.New(causeServer, fact.File("dir", log))
		return o
	}
	o.Cause = fact.New(causeServerSlow, fact.File("dir", log))
	return o
}

// stop ends the load, the session and the server, in this order, and whatever is
// left of them.
func (s *served) stop(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
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
		if err := s.session.Shutdown(ctx, s.server); err == nil {
			s.await(s.plan.Pipeline.Server.Stop)
		}
	}
	s.server.Stop()
	ended, _ := s.server.Result()
	if len(ended.Left) > 0 && !s.server.Died() && s.session == nil {
		s.warn("", serverOutlived, processesParam(ended.Left))
	}
	if ended.Killed {
		s.warn("", serverKilled, fact.NS("limit", s.plan.Pipeline.Server.Stop))
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

// finish records the attempt with its files, and gives its outcome: what went
// wrong, or what was measured.
func (s *served) finish(ctx context.Context, good fact.Fact, files ...string) (made, error) {
	folder := serverFolder(s.step)
	if s.outcome.Kind == "" {
		warnings := s.outcome.Warnings
		if s.outcome = capture.Verdict(capture.Captured, good); len(warnings) > 0 {
			s.outcome.Kind = capture.WithWarnings
		}
		s.outcome.Warnings, s.outcome.Usable = warnings, true
	}
	if s.load != nil {
		if err := load.WriteRequests(s.store.Path(folder+"/"+load.RequestsName), s.load.Requests()); err != nil {
			return made{Outcome: s.outcome}, err
		}
	}
	if err := writeJSON(s.store, folder+"/"+load.RecordName, s.record); err != nil {
		return made{Outcome: s.outcome}, err
	}
	for _, name := range []string{"cmd.txt", "stdout.log", "stderr.log", "session.log", "load.stdout.log", "load.stderr.log", load.RecordName, load.RequestsName} {
		if exists(s.store.Path(folder + "/" + name)) {
			files = append(files, folder+"/"+name)
		}
	}
	hashed, err := s.store.HashFiles(context.WithoutCancel(ctx), files...)
	if err != nil {
		return made{Outcome: s.outcome}, err
	}
	for i := range hashed {
		hashed[i].Of = s.windowOf(hashed[i].Path)
	}
	return made{Outcome: s.outcome}, s.store.EndAttempt(s.step, runs.Result{Outcome: recorded(s.outcome), Files: hashed})
}

// windowOf is the window that a timeline is of, counted among those under load;
// nil for any other file.
func (s *served) windowOf(file string) *timeline.Identity {
	n := 0
	for _, w := range s.record.Window {
		if w.Kind != load.Profiled {
			continue
		}
		if n++; w.Report != "" && strings.TrimSuffix(file, path.Ext(file)) == w.Report {
			return &timeline.Identity{Window: n}
		}
	}
	return nil
}
