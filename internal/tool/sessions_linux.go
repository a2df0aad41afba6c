package tool

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ClearStuckSessions removes what StuckSessions finds and returns what it
// removed.
func ClearStuckSessions() (removed []string, err error) {
	for _, table := range StuckSessions("/") {
		switch rerr := os.Remove(table); {
		case rerr == nil:
			removed = append(removed, table)
		case !errors.Is(rerr, fs.ErrNotExist): // of another user, as a rule
			err = errors.Join(err, rerr)
		}
	}
	return removed, err
}

// StuckSessions finds the session tables of Nsight Systems before 2023 that a
// killed agent left locked. Such versions keep one table for all sessions of
// the machine, /dev/shm/NSys-VERSION, with a lock in it that nobody opens
// again: every later start waits ten seconds and ends with "Agent launcher
// failed.". A table in use is none of them. Root is "/" save in tests.
func StuckSessions(root string) []string {
	shm, proc := filepath.Join(root, "dev/shm"), filepath.Join(root, "proc")
	tables := Match(shm, "NSys-[0-9]*")
	return slices.DeleteFunc(tables, func(table string) bool { return inUse(table, shm, proc) })
}

// startTime is how long an agent may take from mapping the table to writing the
// file by which it is known as working.
const startTime = 5 * time.Second

// inUse reports whether a process works with the table: an agent that has got
// past the lock, which its instance file shows, or one that only just started.
func inUse(table, shm, proc string) bool {
	for _, path := range Match(proc, "[0-9]*/maps") {
		if !mentions(path, table) {
			continue
		}
		pid := filepath.Base(filepath.Dir(path))
		if _, err := os.Stat(filepath.Join(shm, "quadd-agent-instance-"+pid)); err == nil {
			return true
		}
		if age, ok := ageOf(pid, proc); ok && age < startTime {
			return true
		}
	}
	return false
}

func mentions(path, name string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if strings.HasSuffix(lines.Text(), name) {
			return true
		}
	}
	return false
}

// ageOf is how long ago a process was started.
func ageOf(pid, proc string) (time.Duration, bool) {
	stat, err := os.ReadFile(filepath.Join(proc, pid, "stat"))
	if err != nil {
		return 0, false
	}
	p, ok := parseStat(0, stat)
	if !ok {
		return 0, false
	}
	text, err := os.ReadFile(filepath.Join(proc, "uptime"))
	if err != nil {
		return 0, false
	}
	first, _, _ := strings.Cut(string(text), " ")
	up, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return 0, false
	}
	return time.Duration(up*float64(time.Second)) - time.Duration(p.start)*clockTick, true
}
