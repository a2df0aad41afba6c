package runs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/deepprof/deepprof/internal/fact"
)

// CleanPlan says which runs may go. A run goes when it meets every condition
// given; at least one must be.
type CleanPlan struct {
	Root       string
	Keep       *int          // the newest so many stay, whatever they are
	OlderThan  time.Duration // created longer ago; 0: any age
	LargerThan int64         // more bytes on disk; 0: any size
	Now        time.Time     // zero: the present
}

// CleanReport says what Clean did, or would do.
type CleanReport struct {
	DryRun  bool      `json:"dry_run"`
	Removed []Summary `json:"removed"` // on a dry run: what would go
	// what stays whatever the conditions say, with the reason: runs that may be running, and what is no run
	Kept   []Kept    `json:"kept"`
	Failed []Warning `json:"failed,omitempty"`
	Bytes  int64     `json:"bytes"`  // freed, or what would be
	Others int       `json:"others"` // runs that did not meet the conditions
}

// Kept is a run, or another thing in the store, that Clean spared.
type Kept struct {
	ID   string `json:"id"`
	Path string `json:"path"`
	// Reason is Why in words; internal/report fills it.
	Reason string    `json:"reason"`
	Why    fact.Fact `json:"why"`
}

// Check refuses a plan without conditions, which every run would meet.
func (p CleanPlan) Check() error {
	if p.Keep == nil && p.OlderThan <= 0 && p.LargerThan <= 0 {
		return errors.New("runs clean: say what may go: --keep, --older-than or --larger-than")
	}
	if p.Keep != nil && *p.Keep < 0 {
		return fmt.Errorf("runs clean --keep %d: a number of runs is not negative", *p.Keep)
	}
	return nil
}

// Clean removes runs of a store. It never touches a run that is or may be
// running, nor anything that is not a run directory directly in the store: no
// link, no foreign folder, no directory whose manifest cannot be read.
// A run that cannot be removed is in Failed and does not stop the others; the error is
// for a plan without conditions or a store that cannot be read.
func Clean(plan CleanPlan, dryRun bool) (CleanReport, error) {
	rep := CleanReport{DryRun: dryRun, Removed: []Summary{}, Kept: []Kept{}}
	if err := plan.Check(); err != nil {
		return rep, err
	}
	if plan.Now.IsZero() {
		plan.Now = time.Now()
	}
	found, warnings, err := summaries(plan.Root)
	if err != nil {
		return rep, err
	}
	if !dryRun {
		sweepTrash(plan.Root)
	}
	for _, w := range warnings {
		rep.Kept = append(rep.Kept, keptUnread(w))
	}
	rep.Kept = append(rep.Kept, foreign(plan.Root, found, warnings)...)
	for i, s := range found {
		if !plan.matches(s, i) {
			rep.Others++
			continue
		}
		clean1(&rep, s, dryRun)
	}
	return rep, nil
}

// keptUnread is a folder that ought to be a run and cannot be read as one.
func keptUnread(w Warning) Kept {
	return Kept{ID: filepath.Base(w.Path), Path: w.Path, Why: fact.New(leftAlone, fact.Because("why", w.Why))}
}

// running says that a run is or may be running.
func (r *Run) running() fact.Fact {
	if r.note == "" {
		return fact.New(runIsRunning)
	}
	return fact.New(runIsRunning, fact.Name("note", r.note))
}

// foreign names everything in the store that is no run: it is not touched.
func foreign(root string, found []Summary, warnings []Warning) []Kept {
	root = cmp.Or(root, DefaultRoot)
	known := map[string]bool{indexName: true}
	for _, s := range found {
		known[filepath.Base(s.Path)] = true
	}
	for _, w := range warnings {
		known[filepath.Base(w.Path)] = true
	}
	var out []Kept
	entries, _ := os.ReadDir(root)
	for _, e := range entries {
		if known[e.Name()] || strings.HasPrefix(e.Name(), tempPrefix) || strings.HasPrefix(e.Name(), trashPrefix) {
			continue
		}
		what := noRunFolder
		switch {
		case e.Type()&os.ModeSymlink != 0:
			what = noRunLink
		case !e.IsDir():
			what = noRunFile
		}
		out = append(out, Kept{ID: e.Name(), Path: filepath.Join(root, e.Name()), Why: fact.New(leftAlone, fact.Because("why", fact.New(what)))})
	}
	return out
}

// rank counts from 0 for the newest run of the store.
func (p CleanPlan) matches(s Summary, rank int) bool {
	return (p.Keep == nil || rank >= *p.Keep) &&
		(p.OlderThan <= 0 || p.Now.Sub(s.Created) > p.OlderThan) &&
		(p.LargerThan <= 0 || s.Bytes > p.LargerThan)
}

// clean1 looks at the run again: since the list was made it may have gone, or
// been resumed.
func clean1(rep *CleanReport, s Summary, dryRun bool) {
	r, warning := openListed(s.Path, s.ID)
	if warning != nil {
		rep.Failed = append(rep.Failed, *warning)
	}
	if r == nil {
		return
	}
	keep := func(why fact.Fact) { rep.Kept = append(rep.Kept, Kept{ID: s.ID, Path: s.Path, Why: why}) }
	if r.Status() == StatusRunning {
		keep(r.running())
		return
	}
	if held, _ := lockHeld(r.dir); held {
		keep(fact.New(runLocked))
		return
	}
	var err error
	if !dryRun {
		err = deleteRun(r)
	}
	switch {
	case errors.Is(err, ErrRunning):
		keep(fact.New(runTakenUp))
	case err != nil:
		rep.Failed = append(rep.Failed, Warning{Path: s.Path, Why: fact.New(runNotRemoved, fact.Error("error", err))})
	default:
		rep.Removed = append(rep.Removed, s)
		rep.Bytes += s.Bytes
	}
}

// deleteRun takes the run's lock, so that nobody resumes it meanwhile, moves the
// directory out of sight in one step, and deletes it there: a deletion that
// stops half way leaves no half run.
// The error is ErrRunning if another process took over the run in between.
func deleteRun(r *Run) error {
	lock := flock.New(r.Path(lockName))
	ok, err := lock.TryLock()
	if err == nil && !ok {
		return ErrRunning
	}
	if err == nil {
		defer lock.Close()
	} // else: a directory that cannot be locked cannot be renamed or emptied either; that error is the clearer one
	if claim, _, err := takeClaim(context.Background(), r.dir); errors.Is(err, ErrRunning) {
		return err
	} else if err == nil {
		defer claim.release()
	}
	if now, err := ReadManifest(r.dir); err != nil || now.ID != r.m.ID {
		return errors.New("it changed while it was looked at")
	}
	trash := filepath.Join(filepath.Dir(r.dir), trashPrefix+r.m.ID)
	if err := os.Rename(r.dir, trash); err != nil {
		return err
	}
	return os.RemoveAll(trash)
}

// sweepTrash finishes removals that were cut off earlier.
func sweepTrash(root string) {
	entries, _ := os.ReadDir(cmp.Or(root, DefaultRoot))
	for _, e := range entries {
		id, ok := strings.CutPrefix(e.Name(), trashPrefix)
		if ok && e.IsDir() && ValidID(id) {
			os.RemoveAll(filepath.Join(cmp.Or(root, DefaultRoot), e.Name()))
		}
	}
}

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
// hash in it was right. A folder stays if the pack lacks a file that nobody
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

// ParseAge reads a duration that may also count days.
// "" is 0, which means any age; a result is never negative.
func ParseAge(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		const day = 24 * float64(time.Hour)
		if n, err := strconv.ParseFloat(days, 64); err == nil && n*day >= 1 && n*day < math.MaxInt64 {
			return time.Duration(n * day), nil
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q is no age such as 12h or 30d", text)
	}
	return d, nil
}

// ParseSize reads a number of bytes with an SI unit. Without one it is refused:
// who forgets it means anything but bytes.
// "" is 0, which means any size.
func ParseSize(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	for _, u := range []struct {
		suffix string
		bytes  float64
	}{{"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1}} {
		if number, ok := strings.CutSuffix(text, u.suffix); ok {
			n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
			if err == nil && n*u.bytes >= 1 && n*u.bytes < 1<<62 {
				return int64(n * u.bytes), nil
			}
			break
		}
	}
	return 0, fmt.Errorf("%q is no size with a unit, such as 500MB or 2GB", text)
}
