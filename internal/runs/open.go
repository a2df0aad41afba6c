package runs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/format"
	"github.com/deepprof/deepprof/internal/suggest"
)

// Open opens a run directory or a pack for reading. Close removes what
// unpacking left in a temporary folder.
// The Run is read-only: every method that changes it gives errReadOnly. The caller
// closes it. A path that holds no run gives ErrNotRun.
func Open(ctx context.Context, path string) (*Run, error) {
	return OpenWith(ctx, path, UnpackOptions{})
}

// Find opens the run that a person means by ref for reading: see Resolve.
func Find(ctx context.Context, root, ref string) (*Run, error) {
	path, err := Resolve(root, ref)
	if err != nil {
		return nil, err
	}
	return Open(ctx, path)
}

// OpenData is Open for the content of a pack.
func OpenData(ctx context.Context, pack []byte) (*Run, error) {
	f, err := os.CreateTemp("", format.TempName("pack")+"*"+PackExt)
	if err != nil {
		return nil, fmt.Errorf("unpack a run: %w", err)
	}
	defer os.Remove(f.Name()) // it is unpacked by then
	_, err = f.Write(pack)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("unpack a run: %w", err)
	}
	return Open(ctx, f.Name())
}

// OpenWith is Open with limits and a cache folder of the caller's.
func OpenWith(ctx context.Context, path string, o UnpackOptions) (*Run, error) {
	fi, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("open run: %w", err)
	}
	if fi.IsDir() {
		return openDir(path)
	}
	if !fi.Mode().IsRegular() {
		return nil, fmt.Errorf("open run %s: %w", path, ErrNotRun)
	}
	r, err := unpack(ctx, path, o)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("open pack %s: it ends early, as a copy does that broke off; copy or pack it again: %w", path, err)
	}
	if err != nil {
		return nil, fmt.Errorf("open pack %s: %w", path, err)
	}
	return r, nil
}

// openDir opens dir itself. A path to the run.json in it is not a run.
func openDir(dir string) (*Run, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open run: %w", err)
	}
	m, err := ReadManifest(abs)
	if err != nil {
		return nil, fmt.Errorf("open run: %w", err)
	}
	r := &Run{dir: abs, source: abs, m: m}
	r.liveness, err = liveness(abs, &m)
	if err != nil {
		r.note = err.Error()
	}
	return r, nil
}

// lockWait is how long Reopen waits for a reader that looks at the lock.
const lockWait = time.Second

// Reopen opens a run for writing, to resume it. It takes the lock (ErrRunning
// if another process has it), closes what was under way as interrupted, and
// marks the run as running under this process.
func Reopen(ctx context.Context, dir string) (*Run, error) {
	r, err := lockDir(ctx, dir)
	if err != nil {
		return nil, fmt.Errorf("resume run %s: %w", dir, err)
	}
	if err := r.takeOver(); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// Amend opens a run for writing while it changes something that a run which has
// ended may change, its reports for example. Status and owner stay. The error is
// ErrRunning if another process works in the run.
func Amend(ctx context.Context, dir string, change func(*Run) error) error {
	r, err := lockDir(ctx, dir)
	if err != nil {
		return fmt.Errorf("change run %s: %w", dir, err)
	}
	return errors.Join(change(r), r.Close())
}

// lockDir opens a run that nobody works in for writing.
func lockDir(ctx context.Context, dir string) (*Run, error) {
	r, err := openDir(dir)
	if err != nil {
		return nil, err
	}
	if r.m.Pack != nil {
		return nil, fmt.Errorf("it came out of a pack and can only be read: %w", errReadOnly)
	}
	lock := flock.New(r.Path(lockName))
	wait, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	ok, err := lock.TryLockContext(wait, 20*time.Millisecond)
	if err != nil && !errors.Is(err, context.DeadlineExceeded) && !noLocks(err) {
		return nil, fmt.Errorf("lock: %w", err)
	}
	if !ok && !noLocks(err) {
		return nil, fmt.Errorf("%w (process %d on %s)", ErrRunning, r.m.Owner.PID, r.m.Owner.Host)
	}
	claim, stale, err := takeClaim(ctx, r.dir)
	if err != nil {
		lock.Close()
		return nil, err
	}
	// The manifest may have changed between the first read and the lock.
	if r.m, err = ReadManifest(r.dir); err == nil && r.m.Status == StatusRunning && (r.liveness == ownerUnknown && !stale || processAlive(r.m.Owner)) {
		err = fmt.Errorf("%w (%s)", ErrRunning, cmp.Or(r.note, fmt.Sprintf("process %d", r.m.Owner.PID)))
	}
	if err != nil {
		claim.release()
		lock.Close()
		return nil, err
	}
	r.lock, r.claim, r.liveness, r.note = lock, claim, ownerAlive, ""
	return r, nil
}

// processAlive checks the process alone: once this process holds the lock, the
// lock says nothing about the former owner.
func processAlive(o Owner) bool {
	if o.BootID == "" || o.BootID != bootID() || ownedByUs(o) {
		return false
	}
	start, err := processStart(o.PID)
	return err == nil && start == o.Start
}

// ownedByUs: a run that this process made and closed may be opened again by it.
func ownedByUs(o Owner) bool {
	me := self()
	return o.PID == me.PID && o.Start == me.Start && o.BootID == me.BootID
}

// takeOver counts the resume and makes this process the owner.
func (r *Run) takeOver() error {
	r.SweepFolder(".")
	if err := writeReserve(r.dir, reserveSize); err != nil && !IsDiskFull(err) {
		return fmt.Errorf("resume run %s: %w", r.dir, err)
	}
	return r.Update(func(m *Manifest) error {
		for i := range m.Steps {
			s := &m.Steps[i]
			if s.State != StateRunning {
				continue
			}
			s.State, s.Reason = StateInterrupted, fact.Stored{Fact: fact.New(processEnded)}
			if a := s.Last(); a != nil && a.Outcome == nil {
				a.Outcome = &Outcome{Kind: string(StateInterrupted), Text: s.Reason.Fact}
			}
		}
		m.Status, m.Reason, m.Finished = StatusRunning, fact.Stored{}, nil
		m.Owner = self()
		m.Resumed++
		return nil
	})
}

// Resolve finds the run that a person means by ref: a path to a run directory
// or a pack, a run id of the store, the start of one that is unique, or
// "latest". The answer is a path for Open.
// A path that exists goes before an id; "latest" is never taken as a path.
func Resolve(root, ref string) (string, error) {
	root = cmp.Or(root, DefaultRoot)
	if _, err := os.Stat(ref); err == nil && ref != "latest" {
		return ref, nil
	}
	ids := idsIn(root)
	if ref == "latest" {
		return newest(root, ids)
	}
	var hits []string
	for _, id := range ids {
		if id == ref {
			return filepath.Join(root, id), nil
		}
		if ref != "" && strings.HasPrefix(id, ref) {
			hits = append(hits, id)
		}
	}
	switch {
	case len(hits) == 1:
		return filepath.Join(root, hits[0]), nil
	case len(hits) > 1:
		return "", fmt.Errorf("find run %q: %d runs in %s start like this: %s", ref, len(hits), root, strings.Join(hits[:min(len(hits), 5)], ", "))
	}
	if hint := suggest.DidYouMean(ref, ids); hint != "" {
		return "", fmt.Errorf("find run %q: no such path, and no such run in %s%s", ref, root, hint)
	}
	return "", fmt.Errorf("find run %q: no such path, and no such run in %s; see `deepprof runs list`", ref, root)
}

// idsIn are the names of folders that may be runs, without links; nil for no store.
func idsIn(root string) []string {
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil
	}
	var ids []string
	for _, e := range entries {
		if e.IsDir() && isRunName(e.Name()) {
			ids = append(ids, e.Name())
		}
	}
	return ids
}

// isRunName tells names that may be a run from the store's own temporary ones.
func isRunName(name string) bool {
	return !strings.HasPrefix(name, tempPrefix) && !strings.HasPrefix(name, trashPrefix)
}
