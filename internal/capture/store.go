package capture

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/format"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/redact"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/timeline"
	"github.com/deepprof/deepprof/internal/tool"
	"github.com/deepprof/deepprof/internal/workload"
)

// State is the state of a step by what came of it. A capture that was cut off
// is not done, however good the part is that there is.
func (o *Outcome) State() runs.State {
	switch {
	case o.Kind == Interrupted:
		return runs.StateInterrupted
	case !o.Usable, slices.Contains([]Kind{TimedOut, Stalled, HungCollective, LoadFailed, SessionLost}, o.Kind), o.CutShort():
		return runs.StateFailed
	}
	return runs.StateDone
}

// Stored is a verdict in the form of the manifest.
func (o *Outcome) Stored() runs.Outcome {
	out := runs.Outcome{Kind: string(o.Kind), Usable: o.Usable, Text: o.What, Evidence: o.Evidence, Cause: o.Cause}
	for _, w := range o.Warnings {
		out.Warnings = append(out.Warnings, runs.Note(w))
	}
	return out
}

// FromStored is the verdict that a manifest holds.
func FromStored(o runs.Outcome) Outcome {
	out := Outcome{Kind: Kind(o.Kind), Usable: o.Usable, What: o.Text, Evidence: o.Evidence, Cause: o.Cause}
	for _, w := range o.Warnings {
		out.Warnings = append(out.Warnings, Warning(w))
	}
	return out
}

// StoreVerdict puts the verdict on a step into its last attempt, where it says
// more than that of the attempt alone.
func StoreVerdict(store *runs.Run, name string, o Outcome) error {
	return store.Update(func(m *runs.Manifest) error {
		a := m.Step(name).Last()
		if a == nil || a.Outcome == nil {
			return nil
		}
		if verdict := o.Stored(); verdict.Kind != a.Outcome.Kind || verdict.Usable != a.Outcome.Usable || !verdict.Cause.Equal(a.Outcome.Cause) || len(verdict.Warnings) > len(a.Outcome.Warnings) {
			a.Outcome = &verdict
		}
		return nil
	})
}

// StoreWork records an attempt that starts no program: what it wrote, and how
// that went.
func StoreWork(ctx context.Context, store *runs.Run, name string, o Outcome, files ...string) error {
	hashed, err := store.HashFiles(context.WithoutCancel(ctx), files...)
	if err != nil {
		return err
	}
	identify(store, name, hashed)
	if err := store.StartAttempt(name, ""); err != nil {
		return err
	}
	return store.EndAttempt(name, runs.Result{Outcome: o.Stored(), Files: hashed})
}

// StoreProgram runs a program without a profiler as an attempt of a step.
// The attempt is ended also where ctx has ended: an interrupted step keeps its logs.
func StoreProgram(ctx context.Context, store *runs.Run, name string, p Program) (Outcome, error) {
	if err := store.StartAttempt(name, p.Command.Dir, p.Shown...); err != nil {
		return Outcome{}, err
	}
	o, exit := runProgram(ctx, p)
	if p.Judge != nil {
		p.Judge(&o, exit)
	}
	result := runs.Result{Outcome: o.Stored()}
	if exit == nil {
		return o, store.EndAttempt(name, result)
	}
	if exit.Signal == 0 {
		result.ExitCode = &exit.Code
	} else {
		result.Signal = signalName(exit.Signal)
	}
	files := store.Within(p.Stdout, p.Stderr)
	if p.Wrote != nil {
		files = append(files, p.Wrote()...)
	}
	var err error
	if result.Files, err = store.HashFiles(context.WithoutCancel(ctx), files...); err != nil {
		return Outcome{}, err
	}
	return o, store.EndAttempt(name, result)
}

// Store writes the attempts of a capture into the manifest, each with
// its own logs and the last with what was captured; its folder is that of the
// step, or one within.
func (result *Result) Store(ctx context.Context, store *runs.Run, folder, dir string, paths []string) error {
	name, _, _ := strings.Cut(folder, "/")
	files := make([][]runs.File, len(result.Attempts))
	for i, a := range result.Attempts {
		own := []string{a.Stdout, a.Stderr}
		if i == len(files)-1 {
			own = slices.Concat(paths, []string{store.Path(folder + "/" + runs.CommandName)}, own)
		}
		// One that was refused wrote none.
		own = slices.DeleteFunc(own, func(path string) bool { _, err := os.Stat(path); return err != nil })
		var err error
		if files[i], err = store.HashFiles(context.WithoutCancel(ctx), store.Within(own...)...); err != nil {
			return err
		}
		identify(store, name, files[i])
	}
	return store.Update(func(m *runs.Manifest) error {
		s := m.Step(name)
		for i, a := range result.Attempts {
			code, seconds, outcome := a.Code, a.Seconds, a.Outcome.Stored()
			command := a.Command
			if command == "" { // it was refused before it had one
				command = result.Command
			}
			s.Attempts = append(s.Attempts, runs.Attempt{
				Command: []string{command}, Dir: dir, Started: a.Started.UTC(), Seconds: &seconds, ExitCode: &code, Outcome: &outcome, Files: files[i],
			})
		}
		return nil
	})
}

// Refuse records that a command was not started at all.
func Refuse(store *runs.Run, name, dir string, o Outcome, command ...string) error {
	if err := store.StartAttempt(name, dir, command...); err != nil {
		return err
	}
	return store.EndAttempt(name, runs.Result{Outcome: o.Stored()})
}

// Repeatedly runs a program some times, until it fails. The outcome is the first
// that is not plain success.
func Repeatedly(times int, one func(n int) (Outcome, error)) (Outcome, error) {
	all := Outcome{Kind: Captured, What: fact.New(WorkloadRan), Usable: true}
	for i := range times {
		o, err := one(i + 1)
		if err != nil || !o.Usable {
			return o, err
		}
		if o.Kind != all.Kind {
			all = o
		}
	}
	return all, nil
}

// A begunRank is what the script of ranks wrote when a rank began.
type begunRank struct {
	Rank, Local, World, Process int
	Host, Chosen                string
}

// begunRanks reads the ranks of a step that began.
func begunRanks(store *runs.Run, step string) map[int]begunRank {
	all := map[int]begunRank{}
	for _, file := range store.FilesIn(path.Join(step, runs.RanksFolder)) {
		var b begunRank
		if data, err := os.ReadFile(store.Path(file)); runs.KindOf(file) == runs.RankFile && err == nil && json.Unmarshal(data, &b) == nil {
			all[b.Rank] = b
		}
	}
	return all
}

// identify tells of files of a capture behind a launcher which rank they are of.
func identify(store *runs.Run, step string, files []runs.File) {
	ranks := begunRanks(store, step)
	if len(ranks) == 0 {
		return
	}
	counted := -1 // of counters there is one report
	for r, b := range ranks {
		if b.Chosen == "yes" {
			counted = r
		}
	}
	for i := range files {
		var rank int
		switch id := timeline.IdentityOfName(format.BaseName(files[i].Path)); runs.KindOf(files[i].Path) {
		case runs.TimelineFile, runs.TimelineReportFile:
			if id.Rank == nil {
				continue
			}
			rank = *id.Rank
		case runs.CountersFile:
			rank = counted
		default:
			continue
		}
		if b, ok := ranks[rank]; ok {
			files[i].Of = &timeline.Identity{Rank: &b.Rank, Local: &b.Local, World: b.World, Host: b.Host}
		}
	}
}

// causeOfSession: the session itself says why it failed.
const causeOfSession fact.Code = "cause-session" // kind, file, next

// ExplainSession puts what a session itself says of its end into the outcome.
func ExplainSession(o *Outcome, v workload.Verdict, dir string) {
	for _, f := range v.Warnings {
		o.Warn(Warning{Fact: f})
	}
	if v.OK || v.Kind == "" && o.Kind == WorkloadCrashed { // a signal says more than an exit code
		return
	}
	o.Kind, o.What, o.Usable = WorkloadFailed, v.What, false
	if !v.Evidence.IsZero() || v.Kind != "" {
		o.Evidence = v.Evidence
	}
	o.Cause = causeOf(v, dir)
}

// causeOf is why a session failed, by its own words.
func causeOf(v workload.Verdict, dir string) fact.Fact {
	var params []fact.Param
	if v.Kind != "" {
		params = append(params, fact.Name("kind", v.Kind))
	}
	if v.Partial {
		params = append(params, fact.File("file", filepath.Join(dir, runs.MetricsName)))
	}
	if !v.Next.IsZero() {
		params = append(params, fact.Because("next", v.Next))
	}
	return fact.New(causeOfSession, params...)
}

// ExplainFailure tells a session that failed under a profiler from a profiler
// that failed. A capture of a session that failed stays readable.
func ExplainFailure(o *Outcome, dir string) {
	failure, err := workload.ReadFailure(dir)
	if err != nil || failure == nil || o.Kind == Interrupted {
		return
	}
	usable, reports := o.Usable, o.Reports
	ExplainSession(o, workload.Judge(tool.Exit{Code: 1}, dir, workload.ModeProfile), dir)
	o.Usable, o.Reports = usable, reports
}

// ShellLine is a command to paste into a shell, without the values of secrets:
// what the configuration sets of them is left out.
func ShellLine(c tool.Command) string {
	c.Env = slices.DeleteFunc(slices.Clone(c.Env), func(kv string) bool {
		name, value, _ := strings.Cut(kv, "=")
		return redact.Secret(name, value)
	})
	return c.Line(os.Environ())
}

// CommandFile is cmd.txt of a program that runs without a profiler.
func CommandFile(c tool.Command) []byte {
	return []byte(unrecorded(c.Env, redact.Secret) + ShellLine(c) + "\n")
}

// FindTarget looks at a workload as execve would and returns the program that
// its first word stands for, by the PATH of env. The outcome says why it could
// not be started; it is nil where it can.
func FindTarget(target []string, dir string, env []string) (string, *Outcome) {
	c := Capture{Target: target, Command: tool.Command{Dir: dir, Env: env}}
	if o := c.checkTarget(); o != nil {
		o.What = fact.New(workloadNotStarted)
		return "", o
	}
	if strings.Contains(target[0], "/") {
		return target[0], nil
	}
	found, _ := c.program()
	return found, nil
}

const (
	ranksKept      fact.Code = "ranks-kept"      // n, of
	rankUnreadable fact.Code = "rank-unreadable" // rank, error
)

// KeptRanks finds the timelines that ranks left before the step was cut off: by a
// time limit, a preemption, a lost node. Files are its reports and exports within
// the run; none where no rank left a timeline that can be read.
func KeptRanks(ctx context.Context, store *runs.Run, t tool.Tool, n plan.Nsys) (o Outcome, files []string, err error) {
	ranks, world := begunRanks(store, plan.StepNsys), 0
	o = Outcome{Kind: WithWarnings, Usable: true}
	for _, file := range store.FilesIn(plan.StepNsys) {
		id := timeline.IdentityOfName(format.BaseName(file))
		if runs.KindOf(file) != runs.TimelineReportFile || id.Rank == nil {
			continue
		}
		report := store.Path(file)
		world = max(world, ranks[*id.Rank].World)
		if err := os.Remove(strings.TrimSuffix(report, ".nsys-rep") + ".sqlite"); err != nil && !os.IsNotExist(err) { // it may be half written
			return o, nil, fmt.Errorf("remove an earlier export: %w", err)
		}
		_, export, err := CheckTimeline(ctx, t, n, report, store.Path(plan.StepNsys+"/"+runs.CommandName))
		if ctx.Err() != nil {
			return o, nil, ctx.Err()
		}
		if err != nil {
			o.Warnings = append(o.Warnings, Warning{Fact: fact.New(rankUnreadable, fact.Count("rank", *id.Rank), fact.Error("error", err))})
			continue
		}
		o.Reports = append(o.Reports, report)
		files = append(files, store.Within(report, export)...)
	}
	o.What = fact.New(ranksKept, fact.Count("n", len(o.Reports)), fact.Count("of", max(world, len(o.Reports))))
	return o, files, nil
}

// reportSecrets: more is how many variables are not named.
const reportSecrets fact.Code = "report-secrets" // file, names, more

// mostSecrets is how many variables SecretsInside names.
const mostSecrets = 5

// SecretsInside says that a report cannot be given away, where an environment has
// secrets: nsys stores that of every process it sees, and cleaning that of the
// workload does not help against it. Zero where there are none.
func SecretsInside(report string, env []string) fact.Fact {
	found := redact.SecretNames(env)
	if len(found) == 0 {
		return fact.Fact{}
	}
	params := []fact.Param{fact.File("file", filepath.Base(report)), fact.Name("names", strings.Join(found[:min(mostSecrets, len(found))], ", "))}
	if len(found) > mostSecrets {
		params = append(params, fact.Count("more", len(found)-mostSecrets))
	}
	return fact.New(reportSecrets, params...)
}
