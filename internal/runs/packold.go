package runs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/deepprof/deepprof/internal/fact"
)

// PackedRuns says what PackOld did.
type PackedRuns struct {
	Packs   []PackReport `json:"packs"`
	Removed []string     `json:"removed"` // folders of runs whose pack was verified
	Kept    []Kept       `json:"kept"`    // folders that stay, with the reason
	Bytes   int64        `json:"bytes"`   // freed: the removed folders less the packs
	Others  int          `json:"others"`  // runs that did not meet the conditions
}

// PackOld packs the runs of a store that meet the conditions into a folder, and
// with remove deletes the folder of each once its pack was unpacked and every
// hash in it was right. A folder stays where the pack lacks a file that nobody
// asked to leave out. What fails for one run does not stop the others.
// A pack that exists already keeps its run's folder in place, with the reason in Kept.
func PackOld(ctx context.Context, plan CleanPlan, into string, remove bool, o PackOptions) (PackedRuns, error) {
	rep := PackedRuns{Packs: []PackReport{}, Removed: []string{}, Kept: []Kept{}}
	if plan.Now.IsZero() {
		plan.Now = time.Now()
	}
	found, warnings, err := summaries(plan.Root)
	if err != nil {
		return rep, err
	}
	for _, w := range warnings {
		rep.Kept = append(rep.Kept, keptUnread(w))
	}
	for i, s := range found {
		if err := ctx.Err(); err != nil {
			return rep, err
		}
		if fi, err := os.Stat(s.Path); err != nil || !fi.IsDir() || !plan.matches(s, i) {
			rep.Others++
			continue
		}
		if err := rep.pack(ctx, s, filepath.Join(into, s.ID+PackExt), remove, o); err != nil {
			rep.Kept = append(rep.Kept, Kept{ID: s.ID, Path: s.Path, Why: notPacked(err)})
		}
	}
	return rep, nil
}

// notPacked says why the folder of a run stays.
func notPacked(err error) fact.Fact {
	if errors.Is(err, ErrRunning) {
		return fact.New(runIsRunning)
	}
	return fact.New(runNotPacked, fact.Error("error", err))
}

// pack packs one run. The error says why its folder stays.
func (rep *PackedRuns) pack(ctx context.Context, s Summary, out string, remove bool, o PackOptions) error {
	r, err := openDir(s.Path)
	if err != nil {
		return err
	}
	if held, _ := lockHeld(r.dir); held || s.Status == StatusRunning {
		return ErrRunning
	}
	packed, err := Pack(ctx, r, out, o)
	if err != nil {
		return err
	}
	rep.Packs = append(rep.Packs, packed)
	if !remove {
		return nil
	}
	if err := verifyPack(ctx, r, out); err != nil {
		return fmt.Errorf("the pack %s could not be verified: %w", out, err)
	}
	if len(packed.Omitted) > 0 && !o.Redact {
		return fmt.Errorf("the pack lacks %s", packed.Omitted[0].Path)
	}
	if err := deleteRun(r); err != nil {
		return err
	}
	rep.Removed = append(rep.Removed, s.Path)
	rep.Bytes += s.Bytes - packed.Bytes
	return nil
}

// verifyPack unpacks a pack into a folder of its own and checks every hash.
func verifyPack(ctx context.Context, r *Run, path string) (err error) {
	dir, err := os.MkdirTemp(filepath.Dir(path), tempPrefix+"verify-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	p, err := OpenWith(ctx, path, UnpackOptions{CacheDir: dir})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	if p.ID() != r.ID() {
		return fmt.Errorf("it holds the run %s", p.ID())
	}
	bad, err := Verify(ctx, p)
	if err != nil {
		return err
	}
	if len(bad) > 0 {
		return fmt.Errorf("%s differs", bad[0].Path)
	}
	return nil
}
