package capture

import (
	"context"
	"encoding/json"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/format"
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

// StoreProgram runs a program without a profiler as an attempt of a step. Shown
// is its command, left gives the files that it wrote beside its logs.
func StoreProgram(ctx context.Context, store *runs.Run, name string, p Program, shown []string, judge func(*Outcome, *tool.Exit), left func() []string) (Outcome, error) {
	if err := store.StartAttempt(name, p.Command.Dir, shown...); err != nil {
		return Outcome{}, err
	}
	o, exit := RunProgram(ctx, p)
	judge(&o, exit)
	result := runs.Result{Outcome: o.Stored()}
	if exit == nil {
		return o, store.EndAttempt(name, result)
	}
	if exit.Signal == 0 {
		result.ExitCode = &exit.Code
	} else {
		result.Signal = SignalName(exit.Signal)
	}
	var err error
	if result.Files, err = store.HashFiles(context.WithoutCancel(ctx), append(store.Within(p.Stdout, p.Stderr), left()...)...); err != nil {
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
			own = slices.Concat(paths, []string{store.Path(folder + "/cmd.txt")}, own)
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
	for _, file := range tool.Match(store.Path(path.Join(step, workload.RanksFolder)), "*.json") {
		var b begunRank
		if data, err := os.ReadFile(file); err == nil && json.Unmarshal(data, &b) == nil {
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
