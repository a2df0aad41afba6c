package pipeline

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/redact"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/tool"
)

// capture fills in what both profilers share.
func (r *run) capture(kind capture.Tool, command tool.Command, output string, timeout time.Duration) capture.Capture {
	s := r.Plan.Pipeline.Supervision
	var record func(capture.Recording)
	if r.Record != nil {
		record = func(rec capture.Recording) { r.Record(string(kind), rec) }
	}
	return capture.Capture{
		Record: record, Tool: kind, Command: command, Output: r.store.Path(output), Target: r.Plan.Pipeline.Workload.Command,
		Limits: r.limits(timeout), Interrupts: r.Interrupts, Retries: s.Retries, Backoff: s.Backoff,
		Secret: redact.Secret, KeepEnv: sortedKeys(r.Plan.Pipeline.Workload.Env),
		Notice:   func(line string) { r.Say(string(kind) + ": " + line) },
		Progress: func(p capture.Progress) { r.live(fmt.Sprintf("%s: %s", kind, p)) },
	}
}

// add sums what the reports of a capture hold.
func add(got map[string]int64, content *capture.Content) {
	if content == nil {
		return
	}
	for name, n := range content.Rows {
		got[name] += n
	}
}

// judgeMissing tells a capture that lacks part of what was asked for from one
// that has nothing of it: that one is not usable.
func judgeMissing(result *capture.Result, asked []string, got map[string]int64) {
	if result.Outcome.Kind != capture.MissingData || slices.ContainsFunc(asked, func(name string) bool { return got[name] > 0 }) {
		return
	}
	result.Outcome.Usable = false
	result.Outcome.What += ", which holds nothing of what was asked for"
	if n := len(result.Attempts); n > 0 {
		result.Attempts[n-1].Outcome = result.Outcome
	}
}

// setNext gives better advice, in the manifest as on the screen.
func setNext(result *capture.Result, next string) {
	result.Outcome.Next = next
	if n := len(result.Attempts); n > 0 {
		result.Attempts[n-1].Outcome.Next = next
	}
}

// record writes the attempts of a capture into the manifest, each with its own
// logs and the last with what was captured; its folder is that of the stage, or
// one within.
func (r *run) record(ctx context.Context, folder string, result capture.Result, paths []string) error {
	stage, _, _ := strings.Cut(folder, "/")
	files := make([][]runs.File, len(result.Attempts))
	for i, a := range result.Attempts {
		own := []string{a.Stdout, a.Stderr}
		if i == len(files)-1 {
			own = slices.Concat(paths, []string{r.store.Path(folder + "/cmd.txt")}, own)
		}
		// One that was refused wrote none.
		own = slices.DeleteFunc(own, func(path string) bool { return !exists(path) })
		var err error
		if files[i], err = r.store.HashFiles(context.WithoutCancel(ctx), within(r.store, own)...); err != nil {
			return err
		}
	}
	return r.store.Update(func(m *runs.Manifest) error {
		s := m.Step(stage)
		for i, a := range result.Attempts {
			code, seconds, outcome := a.Code, a.Seconds, record(a.Outcome)
			command := a.Command
			if command == "" { // it was refused before it had one
				command = result.Command
			}
			s.Attempts = append(s.Attempts, runs.Attempt{
				Command: []string{command}, Dir: r.dir, Started: a.Started.UTC(), Seconds: &seconds, ExitCode: &code, Outcome: &outcome, Files: files[i],
			})
		}
		return nil
	})
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// record translates a verdict into the form of the manifest.
func record(o capture.Outcome) runs.Outcome {
	out := runs.Outcome{Kind: string(o.Kind), Usable: o.Usable, Text: o.What, Evidence: o.Evidence, Cause: o.Cause, Next: o.Next}
	for _, w := range o.Warnings {
		out.Warnings = append(out.Warnings, runs.Note{Code: w.ID, Text: w.Text, Next: w.Next})
	}
	return out
}
