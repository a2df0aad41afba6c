package tool

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A tree is the set of processes that one supervised run has started, however
// far they moved away: into other groups, other sessions, other parents.
type tree struct {
	root   int
	marker string
	self   int // this process
	ownSID int
	began  time.Time

	known    map[int]proc // every live member seen at the last scan
	ever     map[int]uint64
	sessions map[int]bool // sessions that belong to the tree alone
	peak     map[int]time.Duration
	forked   []proc // members at the last scan, ended ones too, that have not called exec
}

// startTree starts cmd and registers its tree in one step: another run that
// looks for strays in between would take the new process for one.
func startTree(cmd *exec.Cmd, marker string) (*tree, error) {
	active.Lock()
	defer active.Unlock()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	sid, _ := unix.Getsid(0)
	root := cmd.Process.Pid
	t := newTree(root, marker, os.Getpid(), sid)
	if active.trees == nil {
		active.trees = map[*tree]bool{}
	}
	active.trees[t] = true
	return t, nil
}

func newTree(root int, marker string, self, ownSID int) *tree {
	return &tree{
		root: root, marker: marker, self: self, ownSID: ownSID, began: time.Now(),
		known: map[int]proc{}, ever: map[int]uint64{}, sessions: map[int]bool{root: true}, peak: map[int]time.Duration{},
	}
}

func (t *tree) forget() {
	active.Lock()
	defer active.Unlock()
	delete(active.trees, t)
}

// scan refreshes the set of live members and reaps the orphans among them that
// have ended. The root is reaped by whoever started it.
func (t *tree) scan() error {
	table, err := processTable()
	if err != nil {
		return err
	}
	active.Lock()
	defer active.Unlock()
	member := t.members(table)
	t.known, t.forked = map[int]proc{}, nil
	for pid := range member {
		p := table[pid]
		if p.forked && pid != t.root {
			t.forked = append(t.forked, p)
		}
		if p.dead() {
			if p.ppid == t.self && pid != t.root {
				_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
			}
			continue
		}
		t.known[pid] = p
		t.ever[pid] = p.start
		t.peak[pid] = max(t.peak[pid], p.cpu)
		if p.sid != t.ownSID {
			t.sessions[p.sid] = true
		}
	}
	return nil
}

// members finds the tree in the process table. The caller holds active.
func (t *tree) members(table map[int]proc) map[int]bool {
	children := map[int][]int{}
	for pid, p := range table {
		children[p.ppid] = append(children[p.ppid], pid)
	}
	var queue []int
	for pid, p := range table {
		switch start, seen := t.ever[pid]; {
		case pid == t.root, seen && start == p.start:
			queue = append(queue, pid)
		case t.adopted(p) && t.owns(p):
			queue = append(queue, pid)
		}
	}
	member := map[int]bool{}
	for len(queue) > 0 {
		pid := queue[0]
		queue = queue[1:]
		if member[pid] || pid == t.self {
			continue
		}
		member[pid] = true
		queue = append(queue, children[pid]...)
	}
	return member
}

// adopted reports whether p is a stray of some run: a child of this process
// that it did not start itself. Supervised programs get a session of their own,
// so what shares ours is somebody else's.
func (t *tree) adopted(p proc) bool {
	if p.sid == t.ownSID || p.ppid != t.self {
		return false
	}
	for other := range active.trees {
		if other.root == p.pid {
			return false
		}
	}
	return true
}

// owns decides which run a stray belongs to: by its session, by the marker in
// its environment, and where it has neither, to the only run there is.
func (t *tree) owns(p proc) bool {
	if t.sessions[p.sid] {
		return true
	}
	mine, any := hasMarker(p.pid, t.marker)
	return mine || (!any && len(active.trees) == 1)
}

// live lists the members that run now, the root first, then by pid.
func (t *tree) live() []proc {
	var all []proc
	for _, p := range t.known {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b proc) int {
		if (a.pid == t.root) != (b.pid == t.root) {
			if a.pid == t.root {
				return -1
			}
			return 1
		}
		return a.pid - b.pid
	})
	return all
}

// cpu is the time the tree has used so far. A member that ended unwaited keeps
// the time it had at the last scan.
func (t *tree) cpu() time.Duration {
	var sum time.Duration
	for _, d := range t.peak {
		sum += d
	}
	return sum
}

// rest lists the live members other than the root.
func (t *tree) rest() []proc {
	all := t.live()
	return slices.DeleteFunc(all, func(p proc) bool { return p.pid == t.root })
}

// kill ends every member and waits until none is left. It returns those that
// survive SIGKILL for the time given: they are stuck in the kernel.
func (t *tree) kill(patience time.Duration) []proc {
	deadline := time.Now().Add(patience)
	for {
		_ = t.scan()
		all := t.live()
		if len(all) == 0 || time.Now().After(deadline) {
			return all
		}
		for _, p := range all {
			signalProc(p, unix.SIGKILL)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// ofProfiler reports whether a process is part of the profiler rather than of
// the program it profiles. The short name of a process says little (the workload
// may be called nsysbench), so the file it runs decides.
func (s *supervisor) ofProfiler(p proc) bool {
	if !profilerName(s.job.Profiler, p.name) {
		return false
	}
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", p.pid))
	if err != nil {
		return true // it has just ended, or belongs to another user
	}
	base := strings.TrimSuffix(filepath.Base(exe), " (deleted)")
	if slices.Contains(profilerPrograms[s.job.Profiler], base) || strings.HasPrefix(base, "TreeLauncher") {
		return true
	}
	// A program that other versions have, beside those that are known.
	real := s.ended.Real
	return filepath.Base(real) == s.job.Profiler && filepath.Dir(exe) == filepath.Dir(real)
}

// profilerPrograms are the files a profiler is made of.
var profilerPrograms = map[string][]string{
	Nsys: {"nsys", "nsys-launcher", "nsys-agent", "QdstrmImporter", "CrashReporter"},
	Ncu:  {"ncu", "CrashReporter"},
}

func profilerName(profiler, name string) bool {
	var prefixes []string
	switch profiler {
	case Nsys:
		prefixes = []string{"nsys", "Qdstrm", "TreeLauncher", "CrashReporter"}
	case Ncu:
		prefixes = []string{"ncu", "TreeLauncher", "CrashReporter"}
	}
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}
