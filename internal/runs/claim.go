package runs

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gofrs/flock"
)

// claimName is a file that the process which may write into a run creates, and
// removes when it is done. Creating it fails if it is there, on every file
// system; locks of files do not hold between hosts on some.
const claimName = ".claim"

// The owner of a claim changes it once a beat. Another host takes a run over
// whose claim did not change for claimSilence: its host is gone.
var (
	claimBeat    = 5 * time.Second
	claimSilence = 30 * time.Second
)

// A claim is held while a process may write into a run.
type claim struct {
	path  string
	every time.Duration // see claimBeat
	// held while a beat is written, so that none comes after release
	mu   sync.Mutex
	stop chan struct{}
}

// claimText is what a claim says.
type claimText struct {
	Owner Owner `json:"owner"`
	// Beat changes while the owner lives. It has always as many digits: the file is
	// written over in place, which a full disk allows.
	Beat string `json:"beat"`
}

// takeClaim creates the claim of a run, and tells whether it replaces that of a
// process that is gone. The error is ErrRunning if that process lives.
// The caller calls release once. A claim of another host can make it wait for claimSilence;
// the end of ctx ends the wait.
func takeClaim(ctx context.Context, dir string) (c *claim, stale bool, err error) {
	c = newClaim(dir)
	if err = c.create(); errors.Is(err, fs.ErrExist) {
		stale = true
		if err = giveWay(ctx, c.path); err == nil {
			err = c.create()
		}
	}
	if errors.Is(err, fs.ErrExist) {
		return nil, false, ErrRunning
	}
	if err != nil {
		return nil, false, err
	}
	go c.beat()
	return c, stale, nil
}

// newClaim does not touch the disk; create does.
func newClaim(dir string) *claim {
	return &claim{path: filepath.Join(dir, claimName), every: claimBeat, stop: make(chan struct{})}
}

// create fails with fs.ErrExist if another process has the claim.
func (c *claim) create() error {
	f, err := os.OpenFile(c.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(c.text(0))
	return errors.Join(err, f.Close())
}

// text has the same length for every beat below ten billion.
func (c *claim) text(beat int) []byte {
	text, _ := json.Marshal(claimText{Owner: self(), Beat: fmt.Sprintf("%010d", beat)})
	return text
}

// beat runs until release, in a goroutine of its own.
func (c *claim) beat() {
	tick := time.NewTicker(c.every)
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case <-c.stop:
			return
		case <-tick.C:
		}
		c.mu.Lock()
		select {
		case <-c.stop:
		default:
			// Not created anew: who removed it took the run over, or removed the run.
			if f, err := os.OpenFile(c.path, os.O_WRONLY, 0); err == nil {
				_, _ = f.Write(c.text(n))
				_ = f.Close()
			}
		}
		c.mu.Unlock()
	}
}

// release gives the claim back; nil has none.
// It is called once; the run may be taken by others as soon as it returns.
func (c *claim) release() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.stop)
	_ = os.Remove(c.path)
}

// giveWay removes the claim of a process that is gone. If several try, one succeeds.
// It may wait for claimSilence. nil also if the claim is gone already.
func giveWay(ctx context.Context, path string) error {
	before, err := os.ReadFile(path)
	if err != nil {
		return notThere(err)
	}
	var c claimText
	_ = json.Unmarshal(before, &c) // one that says nothing is watched
	switch {
	case c.Owner.BootID != "" && c.Owner.BootID == bootID():
		if processAlive(c.Owner) {
			return fmt.Errorf("%w (process %d)", ErrRunning, c.Owner.PID)
		}
	case c.Owner.BootID != "" && sameHost(c.Owner.Host): // it was restarted
	default:
		if err := watchClaim(ctx, path, before, c.Owner); err != nil {
			return err
		}
	}
	return removeClaim(path, before)
}

// removeClaim removes a claim that says text. One that says something else is of a
// process that came first: it is put back, which fails if a third has created
// its own by then.
// The check and the removal cannot be one step on a shared file system; the rename
// makes sure that only one process removes a given claim.
func removeClaim(path string, text []byte) error {
	var name [6]byte
	_, _ = rand.Read(name[:])
	aside := filepath.Join(filepath.Dir(path), tempPrefix+"claim-"+hex.EncodeToString(name[:]))
	if err := os.Rename(path, aside); err != nil {
		return notThere(err)
	}
	var err error
	if now, read := os.ReadFile(aside); read != nil || !bytes.Equal(now, text) {
		err = errors.Join(ErrRunning, os.Link(aside, path))
	}
	return errors.Join(err, os.Remove(aside))
}

// watchClaim waits until a claim of another host, which says before, was silent for long
// enough. nil also if the claim is gone by now.
func watchClaim(ctx context.Context, path string, before []byte, owner Owner) error {
	for end := time.Now().Add(claimSilence); time.Now().Before(end); {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(claimBeat / 5):
		}
		now, err := os.ReadFile(path)
		if err != nil {
			return notThere(err)
		}
		if !bytes.Equal(now, before) {
			return fmt.Errorf("%w (process %d on %s)", ErrRunning, owner.PID, cmp.Or(owner.Host, "another host"))
		}
	}
	return nil
}

// notThere takes a file that is gone for success: somebody else was quicker.
func notThere(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// madeElsewhere tells that the claim in a folder is one of another host, or of
// another start of this one.
func madeElsewhere(dir string) bool {
	var c claimText
	text, err := os.ReadFile(filepath.Join(dir, claimName))
	return err == nil && json.Unmarshal(text, &c) == nil && c.Owner.BootID != bootID()
}

// tryLock takes a lock if the file system has any: what may be done is
// decided by claims, and a lock only tells readers of this host.
func tryLock(lock *flock.Flock) (bool, error) {
	ok, err := lock.TryLock()
	if noLocks(err) {
		return true, nil
	}
	return ok, err
}

// noLocks tells the errors of file systems without locks.
func noLocks(err error) bool {
	return errors.Is(err, syscall.ENOLCK) || errors.Is(err, syscall.ENOSYS) || errors.Is(err, syscall.ENOTSUP)
}

// ownerState says whether the process that owns a run is still there.
type ownerState int

// ownerUnknown is a run of another machine on a shared file system whose lock
// cannot be trusted from here; it is treated as running.
const (
	ownerUnknown ownerState = iota
	ownerAlive
	ownerDead
)

// self identifies this process.
// Fields that this system does not tell are zero, as Start outside Linux.
func self() Owner {
	o := Owner{PID: os.Getpid(), BootID: bootID()}
	o.Start, _ = processStart(o.PID)
	o.Host, _ = os.Hostname()
	if u, err := user.Current(); err == nil {
		o.User = u.Username
	}
	return o
}

// bootID is "" outside Linux.
func bootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// processStart returns the start time of a process in clock ticks since boot.
func processStart(pid int) (uint64, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, err
	}
	return parseStart(b)
}

// parseStart reads field 22 of /proc/PID/stat. The second field is the name of
// the program in parentheses and may itself hold spaces and parentheses.
func parseStart(stat []byte) (uint64, error) {
	i := bytes.LastIndexByte(stat, ')')
	if i < 0 {
		return 0, fmt.Errorf("parse process stat: no program name in %.40q", stat)
	}
	f := bytes.Fields(stat[i+1:])
	if len(f) < 20 {
		return 0, fmt.Errorf("parse process stat: %d fields after the name, want 20 or more", len(f))
	}
	return strconv.ParseUint(string(f[19]), 10, 64)
}

// liveness decides whether the owner of the run in dir still works in it, and
// says from what. A lock that is held decides; a free lock on this boot
// is cross-checked with the process, because some network file systems grant
// every lock.
// why is for people. It is nil for ownerAlive, and for a run that has ended.
func liveness(dir string, m *Manifest) (state ownerState, why error) {
	if m.Status != StatusRunning {
		return ownerDead, nil
	}
	held, err := lockHeld(dir)
	if held {
		return ownerAlive, nil
	}
	o := m.Owner
	here := bootID()
	switch {
	case o.BootID != "" && o.BootID == here:
		if start, serr := processStart(o.PID); serr == nil && start == o.Start {
			return ownerAlive, nil
		}
		return ownerDead, fmt.Errorf("process %d is gone", o.PID)
	case o.BootID != "" && here != "" && sameHost(o.Host):
		return ownerDead, errors.New("the machine was restarted since")
	case err == nil && o.BootID == "":
		return ownerDead, errors.New("no process holds its lock")
	default:
		return ownerUnknown, fmt.Errorf("started on host %s; whether it still runs cannot be told from here", cmp.Or(o.Host, "(unknown)"))
	}
}

// sameHost compares names, which is all that another machine leaves.
func sameHost(host string) bool {
	h, err := os.Hostname()
	return err == nil && h != "" && h == host
}

// lockHeld reports whether some process holds the run's lock. It takes the
// lock shared and only for a moment, and never creates the file.
// An error means that it cannot be told, as on a file system without locks.
func lockHeld(dir string) (bool, error) {
	path := filepath.Join(dir, lockName)
	if fi, err := os.Lstat(path); err != nil {
		return false, err
	} else if !fi.Mode().IsRegular() {
		return false, fmt.Errorf("%s is not a plain file", path)
	}
	l := flock.New(path, flock.SetFlag(os.O_RDONLY))
	ok, err := l.TryRLock()
	if err != nil {
		return false, err
	}
	if !ok {
		return true, nil
	}
	return false, l.Close()
}
