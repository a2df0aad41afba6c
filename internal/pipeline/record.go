package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/ncurep"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/tool"
)

// recorded translates a verdict into the form of the manifest.
func recorded(o capture.Outcome) runs.Outcome {
	out := runs.Outcome{Kind: string(o.Kind), Usable: o.Usable, Text: o.What, Evidence: o.Evidence, Cause: o.Cause}
	for _, w := range o.Warnings {
		out.Warnings = append(out.Warnings, runs.Note(w))
	}
	return out
}

// played translates the verdict of a manifest back.
func played(o runs.Outcome) capture.Outcome {
	out := capture.Outcome{Kind: capture.Kind(o.Kind), Usable: o.Usable, What: o.Text, Evidence: o.Evidence, Cause: o.Cause}
	for _, w := range o.Warnings {
		out.Warnings = append(out.Warnings, capture.Warning(w))
	}
	return out
}

// recordVerdict puts the verdict on a step into its last attempt, where it says
// more than that of the attempt alone.
func recordVerdict(store *runs.Run, name string, o capture.Outcome) error {
	return store.Update(func(m *runs.Manifest) error {
		a := m.Step(name).Last()
		if a == nil || a.Outcome == nil {
			return nil
		}
		if verdict := recorded(o); verdict.Kind != a.Outcome.Kind || verdict.Usable != a.Outcome.Usable || !verdict.Cause.Equal(a.Outcome.Cause) || len(verdict.Warnings) > len(a.Outcome.Warnings) {
			a.Outcome = &verdict
		}
		return nil
	})
}

// recordWork records an attempt that starts no program: what it wrote, and how
// that went.
func recordWork(ctx context.Context, store *runs.Run, name string, o capture.Outcome, files ...string) error {
	hashed, err := store.HashFiles(context.WithoutCancel(ctx), files...)
	if err != nil {
		return err
	}
	if err := store.StartAttempt(name, ""); err != nil {
		return err
	}
	return store.EndAttempt(name, runs.Result{Outcome: recorded(o), Files: hashed})
}

// recordProgram runs a program without a profiler as an attempt of a step. Shown
// is its command, left gives the files that it wrote beside its logs.
func recordProgram(ctx context.Context, store *runs.Run, name string, p capture.Program, shown []string, judge func(*capture.Outcome, *tool.Exit), left func() []string) (capture.Outcome, error) {
	if err := store.StartAttempt(name, p.Command.Dir, shown...); err != nil {
		return capture.Outcome{}, err
	}
	o, exit := capture.RunProgram(ctx, p)
	judge(&o, exit)
	result := runs.Result{Outcome: recorded(o)}
	if exit == nil {
		return o, store.EndAttempt(name, result)
	}
	if exit.Signal == 0 {
		result.ExitCode = &exit.Code
	} else {
		result.Signal = capture.SignalName(exit.Signal)
	}
	var err error
	if result.Files, err = store.HashFiles(context.WithoutCancel(ctx), append(within(store, []string{p.Stdout, p.Stderr}), left()...)...); err != nil {
		return capture.Outcome{}, err
	}
	return o, store.EndAttempt(name, result)
}

// recordCapture writes the attempts of a capture into the manifest, each with
// its own logs and the last with what was captured; its folder is that of the
// step, or one within.
func recordCapture(ctx context.Context, store *runs.Run, folder, dir string, result capture.Result, paths []string) error {
	name, _, _ := strings.Cut(folder, "/")
	files := make([][]runs.File, len(result.Attempts))
	for i, a := range result.Attempts {
		own := []string{a.Stdout, a.Stderr}
		if i == len(files)-1 {
			own = slices.Concat(paths, []string{store.Path(folder + "/cmd.txt")}, own)
		}
		// One that was refused wrote none.
		own = slices.DeleteFunc(own, func(path string) bool { return !exists(path) })
		var err error
		if files[i], err = store.HashFiles(context.WithoutCancel(ctx), within(store, own)...); err != nil {
			return err
		}
		identify(store, name, files[i])
	}
	return store.Update(func(m *runs.Manifest) error {
		s := m.Step(name)
		for i, a := range result.Attempts {
			code, seconds, outcome := a.Code, a.Seconds, recorded(a.Outcome)
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

// recordFiles adds files to those of the last attempt of a step.
func recordFiles(ctx context.Context, store *runs.Run, name string, paths ...string) error {
	files, err := store.HashFiles(context.WithoutCancel(ctx), paths...)
	if err != nil {
		return err
	}
	return store.Update(func(m *runs.Manifest) error {
		if last := m.Step(name).Last(); last != nil {
			last.Files = append(last.Files, files...)
		}
		return nil
	})
}

// within gives paths by their place in a run.
func within(store *runs.Run, paths []string) []string {
	var out []string
	for _, path := range paths {
		abs, err := filepath.Abs(path)
		if err != nil {
			continue
		}
		if rel, err := filepath.Rel(store.Dir(), abs); err == nil && filepath.IsLocal(rel) {
			out = append(out, filepath.ToSlash(rel))
		}
	}
	return out
}

// recorder writes what each profiler printed into a folder, in a form that can
// be played again; nil where none is named.
func recorder(o Options) (func(capture.Tool, capture.Recording), error) {
	if o.Recording == "" {
		return nil, nil
	}
	if err := os.MkdirAll(o.Recording, 0o777); err != nil {
		return nil, err
	}
	count := map[capture.Tool]int{}
	return func(profiler capture.Tool, r capture.Recording) {
		name := string(profiler)
		if count[profiler]++; count[profiler] > 1 {
			name += fmt.Sprintf(".%d", count[profiler])
		}
		if err := os.WriteFile(filepath.Join(o.Recording, name+".rec"), []byte(r.String()), 0o666); err != nil {
			o.tellError("warning", err)
		}
	}, nil
}

// A RecordingError says that a run has no recording. The run itself is there.
type RecordingError struct{ Err error }

func (e *RecordingError) Error() string { return "no recording: " + e.Err.Error() }

func (e *RecordingError) Unwrap() error { return e.Err }

// packRecording packs a run for 'deepprof demo --from', without what is the
// machine's own business.
func packRecording(ctx context.Context, j *job, s *Summary) error {
	if s.Status == runs.StatusInterrupted {
		return &RecordingError{errors.New("the run was interrupted; deepprof runs pack --strip-cubins --redact makes one of what there is")}
	}
	r, err := runs.Open(ctx, s.Dir)
	if err != nil {
		return &RecordingError{err}
	}
	defer r.Close()
	path := filepath.Join(j.Recording, "recording"+runs.PackExt)
	packed, err := runs.Pack(ctx, r, path, runs.PackOptions{StripCubins: true, Redact: true, Overwrite: true, Strip: func(in io.ReaderAt, size int64, w io.Writer) error {
		_, err := ncurep.Strip(in, size, w)
		return err
	}})
	if err != nil {
		return &RecordingError{err}
	}
	j.tell(recordingWritten, fact.File("file", path), fact.Bytes("size", packed.Bytes))
	return nil
}
