// Package runs owns the run store: directories that hold everything one
// profiling run captured, and the manifest (run.json) that says what happened.
//
// A run directory appears whole (it is built under a temporary name and
// renamed), its manifest is replaced atomically on every change, and a process
// claims it for as long as it works in it. A reader therefore always finds a
// valid manifest, and can tell a run whose process died from one that still
// works. Nothing depends on locks of files, which do not hold between hosts on
// some file systems.
//
// Files that come from elsewhere (a pack, a run copied from another machine)
// are not trusted: paths are confined to the run directory and contents are
// checked against their hashes before a pipeline step is taken as done.
//
// It is this large because a store must survive crashes, full disks, other hosts and
// files that nobody vouches for. The manifest with its older schemas, steps and attempts
// takes 1,200 lines, packing and unpacking 1,000, the inventory of the machine and of the
// inputs 1,100, opening, locks and resuming 750, list, index and statistics 850, the layout
// of the files 350, cleaning, tags and secrets the rest.
package runs

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/gofrs/flock"

	"github.com/deepprof/deepprof/internal/format"
	"github.com/deepprof/deepprof/internal/redact"
)

// Names inside a run directory that are no files of the layout: they serve the run
// while it is written.
const (
	lockName    = ".lock"
	reserveName = ".reserve"
	tempPrefix  = ".tmp-"
	trashPrefix = ".trash-"
)

// DefaultRoot is the store used when the configuration names none.
const DefaultRoot = "runs"

// reserveSize is what a full disk must still leave for the manifest at least.
const reserveSize = 64 << 10

var (
	// errReadOnly is returned by every method that changes a run opened for reading.
	errReadOnly = errors.New("the run is open for reading only")
	// ErrNotRun means that a path holds no run: neither a run directory nor a pack.
	ErrNotRun = errors.New("not a run directory or pack")
	// ErrRunning means that another process works in the run.
	ErrRunning = errors.New("another process is working in this run")
	// ErrGone means that somebody removed the folder of a run that this process
	// works in.
	ErrGone = errors.New("the folder of the run was removed while the run went on")
	// ErrExists means that the directory asked for already holds something.
	ErrExists = errors.New("already exists and is not empty")
)

// CreateOptions describes a new run. The zero value makes an unlabeled run
// with a fresh id in the store.
type CreateOptions struct {
	Dir     string   // explicit run directory; empty: a fresh id under the store
	Label   string   // what the run measures, for people
	Version string   // of the program that makes the run
	Command []string // the command line that started it
	Steps   []Step   // steps of the run, in order; name and needs count, each starts as pending
	Start   string   // folder that the run is started in
	// Files are there as soon as the run is, by name within it: what a run that is
	// cut off at once needs to be resumed.
	Files   map[string][]byte
	Secrets *redact.Values // removed from everything that is written into the run; nil for none
	// how a person chooses the directory, for messages; empty: hydra.run.dir=DIR
	Setting string
}

// Run is one run directory. Methods are safe for concurrent use.
type Run struct {
	dir      string
	source   string // what Open was given: dir itself, or a pack
	mu       sync.Mutex
	m        Manifest
	lock     *flock.Flock // held while this process may write; nil when reading
	claim    *claim       // with the lock
	liveness ownerState
	note     string
	cleanup  func() error
	secrets  *redact.Values // removed from every file that is written or entered
}

// idPattern: creation in UTC, process id, 48 random bits.
var idPattern = regexp.MustCompile(`^\d{8}T\d{6}Z-\d+-[0-9a-f]{12}$`)

// newID returns a run id, <time>-<pid>-<random>. Ids sort by time of creation
// to the second.
func newID(now time.Time) (string, error) {
	var b [6]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", fmt.Errorf("make run id: %w", err)
	}
	return now.UTC().Format("20060102T150405Z") + "-" + strconv.Itoa(os.Getpid()) + "-" + hex.EncodeToString(b[:]), nil
}

// ValidID reports whether s has the form of a run id.
func ValidID(s string) bool { return idPattern.MatchString(s) }

// Create makes a new run under root (DefaultRoot if empty), or in o.Dir, and
// takes its lock. The directory appears with a valid manifest in it or not at all; one that already
// holds something is refused, never reused. The caller ends the run with Finish.
func Create(root string, o CreateOptions) (*Run, error) {
	now := time.Now()
	o.Setting = cmp.Or(o.Setting, "hydra.run.dir=DIR")
	id, err := newID(now)
	if err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(cmp.Or(o.Dir, filepath.Join(cmp.Or(root, DefaultRoot), id)))
	if err != nil {
		return nil, fmt.Errorf("create run: %w", err)
	}
	if !utf8.ValidString(dir) { // no JSON of the run, and no reader of its files, takes it
		return nil, fmt.Errorf("create run %q: %w; choose another place with %s", dir, format.ErrPath, o.Setting)
	}
	parent := filepath.Dir(dir)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return nil, fmt.Errorf("create run in %s: %w; choose another place with %s", parent, err, o.Setting)
	}
	tmp := filepath.Join(parent, tempPrefix+id)
	r, err := build(tmp, dir, newManifest(id, now, o), o)
	if err != nil {
		os.RemoveAll(tmp)
		return nil, fmt.Errorf("create run %s: %w; choose another place with %s", dir, err, o.Setting)
	}
	return r, nil
}

// build fills tmp and renames it to dir. rename(2) replaces an empty directory
// and fails on any other, which makes two creators of one directory collide
// safely.
func build(tmp, dir string, m Manifest, o CreateOptions) (*Run, error) {
	if err := os.Mkdir(tmp, 0o755); err != nil {
		return nil, err
	}
	lock := flock.New(filepath.Join(tmp, lockName))
	if ok, err := tryLock(lock); err != nil {
		return nil, fmt.Errorf("lock %s: %w", lockName, err)
	} else if !ok {
		return nil, ErrRunning
	}
	r := &Run{dir: tmp, m: m, lock: lock, claim: newClaim(tmp), liveness: ownerAlive, secrets: o.Secrets}
	if err := errors.Join(r.claim.create(), r.fill(o.Files)); err != nil {
		lock.Close()
		return nil, err
	}
	if err := renameNew(tmp, dir); err != nil {
		lock.Close()
		return nil, err
	}
	r.dir, r.source = dir, dir
	r.claim.path = r.Path(claimName)
	go r.claim.beat()
	syncDir(filepath.Dir(dir))
	return r, nil
}

// The exact plan is kept privately if secrets had to be removed from the shown one.
func (r *Run) fill(files map[string][]byte) error {
	if err := writeReserve(r.dir, reserveSize); err != nil {
		return err
	}
	for name, exact := range files {
		data, err := r.secrets.Content(name, exact)
		if err == nil {
			err = r.write(name, data)
		}
		if err == nil && name == PlanName && !bytes.Equal(data, exact) {
			err = r.writePrivate(exact)
		}
		if err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	return r.save()
}

// The error is ErrExists if dir is a file or holds something.
func renameNew(tmp, dir string) error {
	if fi, err := os.Lstat(dir); err == nil && !fi.IsDir() {
		return fmt.Errorf("%s: %w", dir, ErrExists)
	}
	// Not os.Rename, which refuses every directory.
	err := syscall.Rename(tmp, dir)
	if errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s: %w", dir, ErrExists)
	}
	if err != nil {
		return &os.LinkError{Op: "rename", Old: tmp, New: dir, Err: err}
	}
	return nil
}

// Dir is the absolute path of the run directory. For a pack it is where the
// pack was unpacked.
func (r *Run) Dir() string { return r.dir }

// ID is the run's identity; it stays the same in a pack or a copy.
func (r *Run) ID() string { return r.m.ID }

// Path joins a slash-separated name to the run directory.
func (r *Run) Path(rel string) string { return filepath.Join(r.dir, filepath.FromSlash(rel)) }

// Has tells whether a file or folder is there, by its name within the run.
func (r *Run) Has(rel string) bool { return exists(r.Path(rel)) }

// Present are those of some names in a folder of the run that are there, by
// their names within the run; folder "." is the run itself.
func (r *Run) Present(folder string, names ...string) (rels []string) {
	for _, name := range names {
		if rel := path.Join(folder, name); r.Has(rel) {
			rels = append(rels, rel)
		}
	}
	return rels
}

// writable reports whether this process holds the run's lock.
func (r *Run) writable() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lock != nil
}

// Manifest returns a copy of the manifest as it stands.
// It shares nothing with the run and may be changed.
func (r *Run) Manifest() Manifest {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.m.clone()
}

// Status is the status to show: that of the manifest, except that a run left
// running by a process that is gone is interrupted.
func (r *Run) Status() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.m.Status.seen(r.liveness)
}

// Close gives back what the run holds: the lock, or the temporary folder that a
// pack was unpacked into. A run closed without Finish reads as interrupted.
func (r *Run) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var err error
	if r.lock != nil {
		r.claim.release()
		err = r.lock.Close()
		r.lock, r.claim = nil, nil
	}
	if r.cleanup != nil {
		err = errors.Join(err, r.cleanup())
		r.cleanup = nil
	}
	return err
}

// Update changes the manifest and writes it. If the write fails the change is
// kept in memory, the file keeps its last good content, and the next update
// that succeeds writes both.
// change works on a copy; an error of it, or a manifest that is not valid, changes
// nothing.
func (r *Run) Update(change func(*Manifest) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lock == nil {
		return fmt.Errorf("update %s: %w", ManifestName, errReadOnly)
	}
	next := r.m.clone()
	if err := change(&next); err != nil {
		return err
	}
	if err := next.validate(); err != nil {
		return fmt.Errorf("update %s: %w", ManifestName, err)
	}
	next.bound()
	r.m = next
	return r.save()
}

// save needs r.mu, except while the run is being made.
func (r *Run) save() error {
	r.m.Updated = time.Now().UTC()
	data, err := json.MarshalIndent(r.shown(), "", "  ")
	if err == nil {
		data, err = r.secrets.JSON(data)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", ManifestName, err)
	}
	if r.gone() {
		return fmt.Errorf("write %s: %w", r.Path(ManifestName), ErrGone)
	}
	if err := r.write(ManifestName, append(data, '\n')); err != nil {
		return fmt.Errorf("write %s: %w", r.Path(ManifestName), err)
	}
	if r.m.Status == StatusRunning {
		r.keepReserve(2 * int64(len(data)))
	}
	return nil
}

// shown is the manifest as it is written: command lines without their secrets.
func (r *Run) shown() Manifest {
	if r.secrets == nil {
		return r.m
	}
	m := r.m.clone()
	m.Command = r.secrets.Args(m.Command)
	for i := range m.Steps {
		for j := range m.Steps[i].Attempts {
			a := &m.Steps[i].Attempts[j]
			a.Command = r.secrets.Args(a.Command)
		}
	}
	return m
}

// keepReserve makes sure, as far as the disk allows, that the next manifest can
// still be written when the disk is full.
func (r *Run) keepReserve(need int64) {
	need = max(need, reserveSize)
	if fi, err := os.Lstat(r.Path(reserveName)); err == nil && fi.Size() >= need {
		return
	}
	_ = writeReserve(r.dir, need)
}

// gone tells whether the folder of the run was removed, or another one stands in
// its place: the lock that this process holds is not in it.
func (r *Run) gone() bool {
	if r.lock == nil {
		return false
	}
	held, err := r.lock.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(r.Path(lockName))
	return errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(held, there)
}

// write replaces a file of the run. On a full disk it gives up the reserve and
// tries once more, so that the outcome can still be recorded.
func (r *Run) write(rel string, data []byte) error {
	err := writeFileAtomic(r.Path(rel), data)
	if !IsDiskFull(err) {
		return err
	}
	if os.Remove(r.Path(reserveName)) != nil {
		return err
	}
	return writeFileAtomic(r.Path(rel), data)
}

// WriteFile writes a file of the run atomically, making its folder if needed.
// rel is relative to the run, with slashes. The secrets of the run are removed from
// data first.
func (r *Run) WriteFile(rel string, data []byte) error {
	if !r.writable() {
		return fmt.Errorf("write %s: %w", rel, errReadOnly)
	}
	if !localPath(rel) {
		return fmt.Errorf("write %q: the path leaves the run directory", rel)
	}
	if err := os.MkdirAll(filepath.Dir(r.Path(rel)), 0o755); err != nil {
		return fmt.Errorf("write %s: %w", rel, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	data, err := r.secrets.Content(rel, data)
	if err == nil {
		err = r.write(rel, data)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", r.Path(rel), err)
	}
	return nil
}

// WriteJSON is WriteFile for a value, as indented JSON.
func (r *Run) WriteJSON(rel string, value any) error {
	data, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", rel, err)
	}
	return r.WriteFile(rel, append(data, '\n'))
}

// localPath accepts clean slash-separated paths that stay inside the run.
func localPath(rel string) bool {
	return rel != "" && rel != "." && filepath.IsLocal(filepath.FromSlash(rel)) &&
		!strings.ContainsAny(rel, "\\\x00") && rel == filepath.ToSlash(filepath.Clean(filepath.FromSlash(rel)))
}
