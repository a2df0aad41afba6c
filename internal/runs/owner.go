package runs

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gofrs/flock"
)

// Liveness says whether the process that owns a run is still there.
type Liveness int

// Unknown is a run of another machine on a shared file system whose lock
// cannot be trusted from here; it is treated as running.
const (
	Unknown Liveness = iota
	Alive
	Dead
)

// self identifies this process.
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
// says from what. The lock decides where it is held; a free lock on this boot
// is cross-checked with the process, because some network file systems grant
// every lock.
func liveness(dir string, m *Manifest) (state Liveness, why error) {
	if m.Status != StatusRunning {
		return Dead, nil
	}
	held, err := lockHeld(dir)
	if held {
		return Alive, nil
	}
	o := m.Owner
	here := bootID()
	switch {
	case o.BootID != "" && o.BootID == here:
		if start, serr := processStart(o.PID); serr == nil && start == o.Start {
			return Alive, nil
		}
		return Dead, fmt.Errorf("process %d is gone", o.PID)
	case o.BootID != "" && here != "" && sameHost(o.Host):
		return Dead, errors.New("the machine was restarted since")
	case err == nil && o.BootID == "":
		return Dead, errors.New("no process holds its lock")
	default:
		return Unknown, fmt.Errorf("started on host %s; whether it still runs cannot be told from here", cmp.Or(o.Host, "(unknown)"))
	}
}

// sameHost compares names, which is all that another machine leaves.
func sameHost(host string) bool {
	h, err := os.Hostname()
	return err == nil && h != "" && h == host
}

// lockHeld reports whether some process holds the run's lock. It takes the
// lock shared and only for a moment, and never creates the file.
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
