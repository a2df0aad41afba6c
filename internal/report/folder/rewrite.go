package folder

import (
	"context"
	"errors"
	"time"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/runs"
)

// reportsAgain is the verdict on an analysis that was made again.
const reportsAgain fact.Code = "reports-written-again"

// Rewrite is Write for a run, whose manifest learns of the new files. In a
// run that cannot be changed, because it goes on for example, it is Write.
func Rewrite(ctx context.Context, dir string, r *analysis.Result) ([]string, error) {
	var made []string
	var written error
	err := runs.Amend(ctx, dir, func(store *runs.Run) error {
		started := time.Now()
		made, written = Write(dir, r)
		m := store.Manifest()
		if s := m.Step(plan.StepReport); written != nil || s == nil || s.State != runs.StateDone {
			return nil // nothing there vouches for the files
		}
		files, err := store.HashFiles(ctx, store.Within(made...)...)
		if err != nil {
			return err
		}
		seconds := time.Since(started).Seconds()
		outcome := runs.Outcome{Kind: string(capture.Captured), Usable: true, Text: fact.New(reportsAgain)}
		return store.Update(func(m *runs.Manifest) error {
			s := m.Step(plan.StepReport)
			for i := range s.Attempts {
				s.Attempts[i].Files = nil // they are replaced
			}
			s.Attempts = append(s.Attempts, runs.Attempt{
				Command: []string{"deepprof", "analyze", dir}, Dir: dir, Started: started.UTC(), Seconds: &seconds, Outcome: &outcome, Files: files,
			})
			return nil
		})
	})
	if made == nil && written == nil {
		return Write(dir, r)
	}
	return made, errors.Join(written, err)
}
