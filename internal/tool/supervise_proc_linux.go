package tool

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// A proc is one line of the process table. A pid may be given to another
// process; with the start time it names one process for ever.
type proc struct {
	pid, ppid, pgid, sid int
	name                 string // the kernel's short name, at most 15 bytes
	state                byte
	start                uint64 // ticks since boot
	cpu                  time.Duration
	forked               bool // and has not called exec since
}

func (p proc) dead() bool { return p.state == 'Z' || p.state == 'X' }

// forkNoExec is the kernel's PF_FORKNOEXEC among the flags of a process.
const forkNoExec = 0x40

// clockTick is USER_HZ, which is 100 on every architecture Linux runs on today.
const clockTick = 10 * time.Millisecond

// processTable reads /proc. Processes that end meanwhile are left out.
func processTable() (map[int]proc, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	table := make(map[int]proc, len(names))
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if p, ok := readProc(pid); ok {
			table[pid] = p
		}
	}
	return table, nil
}

func readProc(pid int) (proc, bool) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return proc{}, false
	}
	return parseStat(pid, data)
}

// parseStat reads /proc/PID/stat. The name stands in parentheses and may
// itself hold blanks and parentheses, so the last one ends it.
func parseStat(pid int, data []byte) (proc, bool) {
	open, shut := bytes.IndexByte(data, '('), bytes.LastIndexByte(data, ')')
	if open < 0 || shut < open {
		return proc{}, false
	}
	f := strings.Fields(string(data[shut+1:]))
	if len(f) < 20 {
		return proc{}, false
	}
	num := func(i int) int { n, _ := strconv.Atoi(f[i]); return n }
	start, _ := strconv.ParseUint(f[19], 10, 64)
	ticks := num(11) + num(12)
	return proc{
		pid: pid, name: string(data[open+1 : shut]), state: f[0][0],
		ppid: num(1), pgid: num(2), sid: num(3),
		start: start, cpu: time.Duration(ticks) * clockTick, forked: num(6)&forkNoExec != 0,
	}, true
}

// signalProc sends sig to exactly the process p, never to another one that got
// its pid.
func signalProc(p proc, sig unix.Signal) {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil {
		if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
			if now, ok := readProc(p.pid); ok && now.start == p.start {
				_ = unix.Kill(p.pid, sig)
			}
		}
		return
	}
	defer unix.Close(fd)
	if now, ok := readProc(p.pid); ok && now.start == p.start {
		_ = unix.PidfdSendSignal(fd, sig, nil, 0)
	}
}

// hasMarker reports whether a process was started with NAME=value in its
// environment, and whether it carries NAME at all.
func hasMarker(pid int, value string) (mine, any bool) {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false, false
	}
	prefix := []byte(RunMarker + "=")
	for v := range bytes.SplitSeq(env, []byte{0}) {
		if bytes.HasPrefix(v, prefix) {
			any = true
			mine = mine || string(v[len(prefix):]) == value
		}
	}
	return mine, any
}

// becomeSubreaper makes orphaned descendants children of this process instead
// of init's, so that a daemon cannot leave the tree.
var becomeSubreaper = sync.OnceValue(func() error {
	return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
})

// active holds the supervised runs of this process, to tell which of them an
// orphan belongs to.
var active struct {
	sync.Mutex
	trees map[*tree]bool
}
