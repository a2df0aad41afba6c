package doctor

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/tool"
)

// Room that a run needs: a trace of a small program takes megabytes, nsys
// writes about thirty times its report into TMPDIR while it works.
const (
	// In bytes. Below a number that ends in Blocks a run is blocked; below Warns it may run out of room.
	gib          = 1 << 30
	runBlocks    = 1 * gib
	runWarns     = 10 * gib
	tempBlocks   = 1 * gib
	tempWarns    = 20 * gib
	shmBlocks    = 1 << 20
	processLimit = 32768 // entries of /proc that are read at most
)

// existing is the deepest folder of path that is there already.
// The run folder itself is often made later. The result is absolute.
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

// A place is a folder that a run writes into: an ID of the domains "folder" and
// "folder-other", what frees room in it, and below how many bytes it is too small
// or may be.
// clean is "" where no command frees room.
type place struct {
	id, clean     string
	blocks, warns int64
}

// room looks for a folder that can be written and has space. The remedy for the
// one is another folder, for the other it may also be to free space.
// It writes a file of one byte into the deepest folder that is there, and removes it.
func (e *exam) room(path string, p place) finding {
	dir := existing(path)
	of := []fact.Param{fact.ID("folder", "folder", p.id), fact.File("dir", dir), fact.ID("other", "folder-other", p.id)}
	if err := e.Writable(dir); err != nil {
		return problem(true, folderDenied, append(of, fact.Error("error", err))...)
	}
	bytes, err := e.Free(dir)
	if err != nil {
		return unknown(folderUnread, append(of, fact.Error("error", err))...)
	}
	free := fact.Bytes("free", bytes)
	of = append(of, free)
	if p.clean != "" {
		of = append(of, fact.Name("clean", p.clean))
	}
	switch {
	case bytes < p.blocks:
		return problem(true, folderFull, append(of, fact.Bytes("least", p.blocks))...)
	case bytes < p.warns:
		return warning(folderTight, of...)
	}
	return ok(folderFine, fact.File("dir", dir), free)
}

// checkRunStore: a run that fills its disk loses the report that was being written,
// so that too little room is found before anything starts.
func checkRunStore(_ context.Context, e *exam) finding {
	return e.room(e.RunDir, place{"run-store", "deepprof runs clean", runBlocks, runWarns})
}

// nsys and ncu write their raw data there before the report.
func checkTemp(_ context.Context, e *exam) finding {
	if _, err := os.Stat(e.TempDir); err != nil {
		return problem(e.Timeline || e.Counters, tempAbsent, fact.File("dir", e.TempDir), fact.Error("error", errors.Unwrap(err)))
	}
	return e.room(e.TempDir, place{"temp", "", tempBlocks, tempWarns})
}

// checkShm matters for nsys before 2023, which keeps its sessions there.
func checkShm(_ context.Context, e *exam) finding {
	if e.nsys.Path == "" {
		return absent("nsys")
	}
	if !e.Timeline || e.nsys.Version.IsZero() || e.nsys.Version.AtLeast(2023, 1) {
		return notApplicable(shmUnused)
	}
	free, err := e.Free(e.path("/dev/shm"))
	switch {
	case err != nil:
		return unknown(shmUnread, fact.Error("error", err))
	case free < shmBlocks:
		return problem(true, shmFull, fact.Bytes("free", free), fact.Name("nsys", e.nsys.Version.String()))
	}
	if stuck := tool.StuckSessions(e.path("/")); len(stuck) > 0 {
		return warning(shmLocked, fact.Names("files", fact.KindFile, stuck), fact.Name("nsys", e.nsys.Version.String()))
	}
	return ok(shmFine, fact.Bytes("free", free))
}

// ncu copies its sections below HOME; without it, it uses the stock ones.
func checkHome(_ context.Context, e *exam) finding {
	if e.ncu.Path == "" {
		return absent("ncu")
	}
	home := e.getenv("HOME")
	if home == "" {
		return warning(homeUnset)
	}
	if err := e.Writable(home); err != nil {
		return warning(homeDenied, fact.File("dir", home), fact.Error("error", err))
	}
	return ok(homeFine, fact.File("dir", home))
}

// checkLock looks at the file through which runs of ncu take turns. In a
// folder that all may write, the kernel keeps even root from opening another
// user's file for creation (fs.protected_regular).
// The lock is that of ncu, not of deepprof: nobody removes it here.
func checkLock(_ context.Context, e *exam) finding {
	if !e.Counters {
		return unwanted("counters")
	}
	path := filepath.Join(e.TempDir, "nsight-compute-lock")
	uid, mode, err := e.Owner(path)
	file, user := fact.File("file", path), fact.Name("user", strconv.Itoa(uid))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ok(lockFree, file)
	case err != nil:
		return unknown(lockUnread, file, fact.Error("error", err))
	case uid == *e.UID:
		return ok(lockOwn, file)
	}
	protected, err := e.read("/proc/sys/fs/protected_regular")
	if err == nil && strings.TrimSpace(protected) == "0" && (mode.Perm()&0o002 != 0 || *e.UID == 0) {
		return ok(lockOpen, file, user)
	}
	return problem(true, lockForeign, file, user)
}

// profilerNames are the programs that may hold the counters; what to do about
// each is a label of the domain "profiler".
// They are compared with the base name of the first argument, so a script that wraps one of them
// is not found.
var profilerNames = []string{"nv-hostengine", "dcgm-exporter", "dcgmproftester", "nsys", "nsys-launcher", "ncu", "nvprof", "cuda-gdb", "rocprof"}

// Only processes whose command line this user can read are seen.
func checkProfilers(_ context.Context, e *exam) finding {
	if !e.Timeline && !e.Counters {
		return unwanted("capture")
	}
	entries, err := os.ReadDir(e.path("/proc"))
	if err != nil {
		return unknown(procUnread, fact.Error("error", err))
	}
	var seen []fact.Fact
	var agents []string
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
		switch {
		case !slices.Contains(profilerNames, name):
		case name == "nsys" && len(args) > 1 && args[1] == "--start-agent":
			agents = append(agents, entry.Name())
		default:
			seen = append(seen, fact.New(profilerRuns, fact.Name("name", name), fact.Name("pid", entry.Name()), fact.ID("advice", "profiler", name)))
		}
	}
	if len(agents) > 0 {
		seen = append(seen, fact.New(agentsRun, fact.Names("pids", fact.KindName, agents), fact.Name("arguments", strings.Join(agents, " "))))
	}
	if len(seen) > 0 {
		return warning(othersRun, fact.Because("what", seen...))
	}
	return ok(noneRuns)
}
