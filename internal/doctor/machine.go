package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/deepprof/deepprof/internal/tool"
)

// Room that a run needs: a trace of a small program takes megabytes, nsys
// writes about thirty times its report into TMPDIR while it works.
const (
	gib          = 1 << 30
	runBlocks    = 1 * gib
	runWarns     = 10 * gib
	tempBlocks   = 1 * gib
	tempWarns    = 20 * gib
	shmBlocks    = 1 << 20
	processLimit = 32768 // entries of /proc that are read at most
)

// existing is the deepest folder of path that is there already.
func existing(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		abs = path
	}
	for {
		if info, err := os.Stat(abs); err == nil && info.IsDir() {
			return abs
		}
		up := filepath.Dir(abs)
		if up == abs {
			return abs
		}
		abs = up
	}
}

// room looks for a folder that can be written and has space. The remedy for the
// one is another folder, for the other it may also be to free space.
func (e *exam) room(path, what, other, more string, blocks, warns uint64) finding {
	dir, fix := existing(path), "free space"+more+", or "+other
	if err := e.Writable(dir); err != nil {
		return problem(true, other, "%s %s cannot be written: %v", what, dir, err)
	}
	free, err := e.Free(dir)
	switch {
	case err != nil:
		return unknown("", "%s %s is writable; its free space could not be read: %v", what, dir, err)
	case free < blocks:
		return problem(true, fix, "%s %s has %s free, less than %s", what, dir, size(free), size(blocks))
	case free < warns:
		return warning(fix, "%s %s has %s free; a large trace may need more", what, dir, size(free))
	}
	return ok("%s, %s free", dir, size(free))
}

func size(n uint64) string {
	if n >= gib {
		return fmt.Sprintf("%.1f GiB", float64(n)/gib)
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}

func checkRunStore(_ context.Context, e *exam) finding {
	return e.room(e.RunDir, "the run store", "choose a folder of yours on another disk with hydra.run.dir=DIR", " (deepprof runs clean)", runBlocks, runWarns)
}

func checkTemp(_ context.Context, e *exam) finding {
	if _, err := os.Stat(e.TempDir); err != nil {
		return problem(e.Timeline || e.Counters, "create it, or set TMPDIR to a folder that exists", "TMPDIR %s: %v", e.TempDir, errors.Unwrap(err))
	}
	return e.room(e.TempDir, "TMPDIR", "set TMPDIR to a folder of yours on another disk: a program under nsys crashes when it fills", "", tempBlocks, tempWarns)
}

// checkShm matters for nsys before 2023, which keeps its sessions there.
func checkShm(_ context.Context, e *exam) finding {
	if e.nsys.Path == "" {
		return notApplicable("no nsys")
	}
	if !e.Timeline || e.nsys.Version.IsZero() || e.nsys.Version.AtLeast(2023, 1) {
		return notApplicable("this nsys does not use it")
	}
	free, err := e.Free(e.path("/dev/shm"))
	switch {
	case err != nil:
		return unknown("", "free space of /dev/shm could not be read: %v", err)
	case free < shmBlocks:
		return problem(true, "start the container with --shm-size=1g, or empty /dev/shm", "/dev/shm has %s free; nsys %s fails to start its agent", size(free), e.nsys.Version)
	}
	if stuck := tool.StuckSessions(e.path("/")); len(stuck) > 0 {
		return warning("none is needed: a run removes it", "%s was left locked by an nsys that was killed; every start of nsys %s fails until it is gone", strings.Join(stuck, ", "), e.nsys.Version)
	}
	return ok("/dev/shm has %s free", size(free))
}

func checkHome(_ context.Context, e *exam) finding {
	if e.ncu.Path == "" {
		return notApplicable("no ncu")
	}
	home := e.getenv("HOME")
	if home == "" {
		return warning("set HOME to a folder that can be written", "HOME is not set: ncu uses its stock sections")
	}
	if err := e.Writable(home); err != nil {
		return warning("set HOME to a folder that can be written", "%s: %v: ncu uses its stock sections", home, err)
	}
	return ok("%s", home)
}

// checkLock looks at the file through which runs of ncu take turns. In a
// folder that all may write, the kernel keeps even root from opening another
// user's file for creation (fs.protected_regular).
func checkLock(_ context.Context, e *exam) finding {
	if !e.Counters {
		return notApplicable("no counters wanted")
	}
	path := filepath.Join(e.TempDir, "nsight-compute-lock")
	uid, mode, err := e.Owner(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ok("%s is free", path)
	case err != nil:
		return unknown("ls -l "+path, "%s: %v", path, err)
	case uid == *e.UID:
		return ok("%s belongs to this user", path)
	}
	protected, err := e.read("/proc/sys/fs/protected_regular")
	if err == nil && strings.TrimSpace(protected) == "0" && (mode.Perm()&0o002 != 0 || *e.UID == 0) {
		return ok("%s belongs to user %d and can be opened", path, uid)
	}
	return problem(true, "have its owner remove it (rm "+path+"), or, if nobody else profiles on this GPU, set TMPDIR to a folder of your own", "%s belongs to user %d: ncu fails with InterprocessLockFailed", path, uid)
}

// profilerNames maps process names to what to do about them.
var profilerNames = map[string]string{
	"nv-hostengine":  "dcgmi profile --pause, and --resume afterwards",
	"dcgm-exporter":  "stop it, or dcgmi profile --pause on the host",
	"dcgmproftester": "stop it",
	"nsys":           "wait for it, or end it with nsys sessions list and nsys shutdown",
	"nsys-launcher":  "wait for it, or end it with nsys shutdown",
	"ncu":            "wait for it: runs of ncu on one GPU take turns",
	"nvprof":         "wait for it",
	"cuda-gdb":       "end the debugging session",
	"rocprof":        "wait for it",
}

func checkProfilers(_ context.Context, e *exam) finding {
	if !e.Timeline && !e.Counters {
		return notApplicable("no capture wanted")
	}
	entries, err := os.ReadDir(e.path("/proc"))
	if err != nil {
		return unknown("", "/proc cannot be read: %v", err)
	}
	var seen, fixes, agents []string
	for _, entry := range entries[:min(len(entries), processLimit)] {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		line, err := e.read(filepath.Join("/proc", entry.Name(), "cmdline"))
		if err != nil || line == "" {
			continue
		}
		args := strings.Split(strings.TrimRight(line, "\x00"), "\x00")
		name := filepath.Base(args[0])
		fix, known := profilerNames[name]
		switch {
		case !known:
		case name == "nsys" && len(args) > 1 && args[1] == "--start-agent":
			agents = append(agents, entry.Name())
		default:
			seen = append(seen, fmt.Sprintf("%s (%d)", name, pid))
			fixes = append(fixes, fix)
		}
	}
	if len(agents) > 0 {
		seen = append(seen, "nsys agent ("+strings.Join(agents, ", ")+")")
		fixes = append(fixes, "kill "+strings.Join(agents, " ")+" if no capture runs: a stuck agent blocks later ones")
	}
	if len(seen) > 0 {
		return warning(strings.Join(unique(fixes), "; "), "running: %s; they may hold the counters", strings.Join(seen, ", "))
	}
	return ok("none running")
}

func unique(list []string) []string {
	var out []string
	seen := map[string]bool{}
	for _, s := range list {
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}
