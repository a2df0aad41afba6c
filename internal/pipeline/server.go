package pipeline

import (
	"cmp"
	"context"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/engine"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/nsys"
	"github.com/deepprof/deepprof/internal/pick"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/redact"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/serving"
	"github.com/deepprof/deepprof/internal/tool"
	"github.com/deepprof/deepprof/internal/workload"
)

// serverLine is the server as its engine wants to be started, without a profiler.
func (j *job) serverLine() (engine.Engine, tool.Command) {
	e, argv, set := workload.ServerCommand(j.plan, workload.Places{Python: j.pythonPath(), Program: j.place(runs.ProgramFolder), Start: j.start}, j.env)
	return e, tool.Command{Path: argv[0], Args: argv[1:], Dir: j.dir, Env: tool.Environ(j.env, set...)}
}

// setup is what a start of the server by a step is given.
// Base is the URL of the configuration, or the one that the command line gives.
func (j *job) setup(step string) serving.Setup {
	e, server := j.serverLine()
	return serving.Setup{
		Server: j.plan.Pipeline.Server, Engine: e, Base: cmp.Or(j.plan.Pipeline.Server.URL, e.URL(server.Argv())), Step: step, Folder: j.place(runs.ServerOf(step)),
		Dir: j.dir, Env: j.env, Tell: j.tell, Tick: j.elapsed(step),
		Memory: func(since time.Time) *float64 { return runs.MemoryInUse(j.store.Dir(), since) },
	}
}

// prepareServer makes the folder of a step, and the program where it is ours.
func prepareServer(j *job, step string) error {
	if err := os.MkdirAll(j.store.Path(runs.ServerOf(step)), 0o777); err != nil {
		return err
	}
	return workload.PrepareServer(j.plan, j.store.Path(runs.ProgramFolder), j.start)
}

// serve makes a start of the server an attempt of a step.
// The attempt is ended whatever came of it, with the files that there are.
func serve(ctx context.Context, j *job, step string, command tool.Command, measure func(context.Context) serving.Measured) (capture.Outcome, error) {
	if err := j.store.WriteFile(runs.ServerOf(step)+"/"+runs.CommandName, capture.CommandFile(command)); err != nil {
		return capture.Outcome{}, err
	}
	if err := j.store.StartAttempt(step, j.dir, command.Argv()...); err != nil {
		return capture.Outcome{}, err
	}
	var m serving.Measured
	// Whether it was interrupted shows in the outcome.
	_ = tool.UntilInterrupted(ctx, j.Interrupts, func(ctx context.Context) error { m = measure(ctx); return nil })
	return m.Outcome, m.Store(ctx, j.store, step)
}

// serveUnprofiled measures the server without nsys.
func serveUnprofiled(ctx context.Context, j *job) (capture.Outcome, error) {
	if err := prepareServer(j, plan.StepUnprofiled); err != nil {
		return capture.Outcome{}, err
	}
	_, command := j.serverLine()
	return serve(ctx, j, plan.StepUnprofiled, command, func(ctx context.Context) serving.Measured {
		return j.setup(plan.StepUnprofiled).Measure(ctx, command)
	})
}

// profiling is how windows of the server are made. Temp is the TMPDIR of nsys, ""
// for the one of the environment.
// A dry run has no run whose name the session could get, and writes nothing.
func (j *job) profiling(temp string) (serving.Profiling, error) {
	_, server := j.serverLine()
	name := "deepprof"
	if j.store != nil {
		name += "-" + filepath.Base(j.store.Dir())
	}
	session := nsys.Session{Name: nsys.SessionName(name), Version: j.nsys.Version, Options: j.nsysOptions(server.Argv())}
	args, set, err := session.Launch()
	if err != nil {
		return serving.Profiling{}, err
	}
	env := tool.Environ(server.Env, append(set, j.annotateOver(server.Env, plan.StepNsys)...)...)
	if temp != "" {
		env = tool.Environ(env, "TMPDIR="+temp)
	}
	env, _ = capture.WithoutSecrets(env, workload.PassedEnv(j.plan), redact.Secret)
	return serving.Profiling{
		Session: session, Launch: tool.Command{Path: j.nsys.Path, Args: args, Dir: j.dir, Env: env}, Reports: plan.StepNsys, Place: j.place, Unsampled: j.giveUpSamples,
		Check: func(ctx context.Context, report string) (*capture.Content, error) {
			content, _, err := capture.CheckTimeline(ctx, j.nsys, j.plan.Pipeline.Nsys, report, j.store.Path(plan.StepNsys+"/"+runs.CommandName))
			return content, err
		},
		Log: func(text string) {
			if err := runs.AppendLine(j.store.Path(runs.ServerOf(plan.StepNsys)+"/"+runs.SessionLog), text); err != nil {
				j.tellError("warning", err)
			}
		},
	}, nil
}

// sessionCommands are the commands of nsys around a server.
func sessionCommands(j *job) ([]tool.Command, error) {
	p, err := j.profiling("")
	if err != nil {
		return nil, err
	}
	return j.setup(plan.StepNsys).Commands(p)
}

// serveSession profiles the server in windows of one session.
func serveSession(ctx context.Context, j *job) (capture.Outcome, error) {
	if err := prepareServer(j, plan.StepNsys); err != nil {
		return capture.Outcome{}, err
	}
	if err := os.MkdirAll(j.store.Path(plan.StepNsys), 0o777); err != nil {
		return capture.Outcome{}, err
	}
	temp, err := os.MkdirTemp("", "deepprof-nsys-")
	if err != nil {
		return capture.Outcome{}, err
	}
	defer os.RemoveAll(temp)
	p, err := j.profiling(temp)
	if err != nil {
		return capture.Outcome{}, err
	}
	return serve(ctx, j, plan.StepNsys, p.Launch, func(ctx context.Context) serving.Measured {
		m := j.setup(plan.StepNsys).Profile(ctx, p)
		if len(m.Outcome.Reports) > 0 {
			j.noteSecrets(m.Outcome.Reports[0])
		}
		_, server := j.serverLine()
		if _, removed := capture.WithoutSecrets(server.Env, workload.PassedEnv(j.plan), redact.Secret); !m.Outcome.OK() && len(removed) > 0 {
			m.Outcome.Warnings = append(m.Outcome.Warnings, capture.Warning{Fact: fact.New(capture.SecretsKept, fact.Names("names", fact.KindName, removed))})
		}
		m.Files = append(m.Files, j.store.Present(plan.StepNsys, runs.CommandName)...)
		return m
	})
}

// A beginning is where counting of a server begins.
type beginning struct {
	why    fact.Fact
	ranges []string             // that it is bounded to: its steps
	gate   string               // a file that opens the gate of an annotated server, in the run
	annex  *workload.Annotation // that opens it
	from   bool                 // at the start of the server: what it does before it serves is counted too
}

// beginning chooses where counting begins: where the server's own profiler is switched on, else
// in steps that the timeline names, else at ranges of modules of an annotated server, else at its
// start. Zero for other programs.
func (j *job) beginning(t *pick.Launches) (beginning, error) {
	if !workload.Serves(j.plan) {
		return beginning{}, nil
	}
	s, cli := j.setup(plan.StepNcu), j.plan.Pipeline.Ncu.CLI
	if start, _, own := s.Engine.ProfileURLs(s.Base); own {
		return beginning{why: fact.New(beginsByURL, fact.Name("url", start))}, nil
	}
	if t != nil && len(cli.NVTXInclude) == 0 {
		if ranges := t.StepRanges(); len(ranges) > 0 {
			return beginning{why: fact.New(beginsInSteps), ranges: ranges}, nil
		}
	}
	if cli.ProfileFromStart {
		told, err := workload.ReadAnnotated(j.store.Path(runs.AnnotationOf(plan.StepNsys)))
		if err != nil {
			return beginning{}, err
		}
		a := workload.GateOf(j.plan, j.place(runs.AnnotateFolder), j.place(runs.AnnotationOf(plan.StepNcu)))
		if a != nil && slices.ContainsFunc(told.Processes, func(p workload.AnnotatedProcess) bool { return p.Mode != "" }) {
			return beginning{why: fact.New(beginsAtModules), gate: j.store.Path(runs.GateFile), annex: a}, nil
		}
	}
	return beginning{why: fact.New(beginsAtStart), from: true}, nil
}

// foretellServer says in a dry run where counting will begin.
func (j *job) foretellServer() {
	s := j.setup(plan.StepNcu)
	if start, _, own := s.Engine.ProfileURLs(s.Base); own {
		j.tell(beginsByURL, fact.Name("url", start))
		return
	}
	j.tell(beginsLater)
}

// driven is what a server is counted with.
type driven struct {
	counted func(kernel string)
	gate    string
	set     []string // variables that have it open its gate
}

// countServer has ncu count launches of a server.
// The server is started by ncu and ends with it: nobody stops it here.
func countServer(ctx context.Context, j *job, target []string, r pick.Request, b beginning) (capture.Outcome, error) {
	if err := prepareServer(j, plan.StepNcu); err != nil {
		return capture.Outcome{}, err
	}
	s := j.setup(plan.StepNcu)
	if o, taken := serving.PortTaken(ctx, s.Base); taken {
		return o, capture.Refuse(j.store, plan.StepNcu, j.dir, o)
	}
	d := driven{gate: b.gate}
	if b.annex != nil {
		if err := b.annex.Install(); err != nil {
			return capture.Outcome{}, err
		}
		_, server := j.serverLine()
		d.set = b.annex.Variables(server.Env)
	}
	n := serving.Counting{
		Expected: r.Expected, Logs: j.store.Path(path.Dir(r.Output)), Batch: r.Serving.Batch, Gate: b.gate,
		Take: func(ctx context.Context, counted func(string)) (capture.Outcome, error) {
			d.counted = counted
			return countWith(ctx, j, target, r, &d)
		},
	}
	if !b.from && (len(b.ranges) == 0 || r.Narrow) {
		n.Kernels, n.Asked = r.Kernels, r.Asked
	}
	for i, lengths := range r.Serving.Lengths() {
		n.Prompts = append(n.Prompts, serving.Prompting{Lengths: lengths, Decoding: r.Serving.Prompts[i].Decoding})
	}
	m, err := s.Count(ctx, n)
	if len(m.Record.Window) > 0 {
		if err := j.store.WriteJSON(runs.ServerOf(plan.StepNcu)+"/"+runs.WindowsName, m.Record); err != nil {
			j.tellError("warning", err)
		}
	}
	if b.annex != nil && err == nil {
		err = j.store.AddFiles(ctx, plan.StepNcu, annotateFiles(j, plan.StepNcu)...)
	}
	return m.Outcome, err
}
