package capture

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/format"
	"github.com/deepprof/deepprof/internal/tool"
)

// siblings lists the files that a run named base leaves: reports, numbered
// reports, exports, raw streams and tables.
// They are sorted by name.
func siblings(base string) []string {
	dir, name := filepath.Dir(base), filepath.Base(base)
	entries, _ := os.ReadDir(dir) // a folder that is not there holds nothing
	var all []string
	for _, e := range entries {
		if tail, ok := strings.CutPrefix(e.Name(), name); ok && isTail(tail) {
			all = append(all, filepath.Join(dir, e.Name()))
		}
	}
	return all
}

// isTail tells whether a profiler ends the name of a file so.
func isTail(tail string) bool {
	return slices.ContainsFunc([]string{
		".nsys-rep", ".[0-9]*.nsys-rep", ".qdrep", ".qdstrm", ".[0-9]*.qdstrm", ".sqlite", ".[0-9]*.sqlite",
		".ncu-rep", "_*.csv",
	}, func(pattern string) bool {
		ok, _ := path.Match(pattern, tail)
		return ok
	})
}

// removeOld takes the files of an earlier run away: the profilers keep, reuse
// or refuse them, each in its own way.
func removeOld(base string) error {
	var errs []error
	for _, path := range siblings(base) {
		if info, err := os.Lstat(path); err == nil && info.IsDir() {
			continue
		}
		errs = append(errs, os.Remove(path))
	}
	return errors.Join(errs...)
}

// look gathers every file that the run may have produced: those of the name
// asked for, those that its output names, and what lies in TMPDIR. Nothing stood
// at the first and in the last when the run began, so what stands there is fresh
// whatever its time says: clocks of file servers differ, and clocks are set back.
func look(base, temp, stdout string, since time.Time) []File {
	paths := siblings(base)
	for _, m := range printed("generated_path").FindAllStringSubmatch(stdout, -1) {
		paths = append(paths, m[1])
	}
	if temp != "" {
		paths = append(paths, tool.Match(temp, "nsys-report-*")...)
	}
	ours := siblings(base)
	mine := func(path string) bool {
		return slices.Contains(ours, path) || (temp != "" && strings.HasPrefix(path, temp+"/"))
	}
	var files []File
	seen := map[string]bool{}
	for _, p := range paths {
		if seen[p] {
			continue
		}
		seen[p] = true
		if f := sniff(p, since); f.Format != MissingFile {
			f.Fresh = f.Fresh || (mine(p) && f.Format != NotARegular)
			files = append(files, f)
		}
	}
	return files
}

// move puts a file in its place, also from another file system. The target
// appears complete or not at all.
// On an error from stays where it is.
func move(from, to string) error {
	if err := os.Rename(from, to); err == nil {
		return nil
	}
	in, err := os.Open(from)
	if err != nil {
		return fmt.Errorf("move report: %w", err)
	}
	defer in.Close()
	out, err := os.CreateTemp(filepath.Dir(to), ".deepprof-*")
	if err != nil {
		return fmt.Errorf("move report: %w", err)
	}
	_, err = io.Copy(out, in)
	err = errors.Join(err, out.Sync(), out.Chmod(0o644), out.Close())
	if err == nil {
		err = os.Rename(out.Name(), to)
	}
	if err != nil {
		_ = os.Remove(out.Name())
		return fmt.Errorf("move report: %w", err)
	}
	return os.Remove(from)
}

const (
	// all in bytes
	logHead, logTail = 256 << 10, 1 << 20
	logMiddle        = 1 << 30 // of it only what the profiler says is kept
	logKept          = 256 << 10
)

// readLog reads what the patterns look at. A log may be gigabytes long; its
// beginning and end are read whole, and in between the lines that begin as those
// of the profiler do.
// "" for a log that cannot be read: then nothing is known, which is no error.
func readLog(t Tool, path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	if info.Size() <= logHead+logTail {
		data, _ := io.ReadAll(f)
		return string(data)
	}
	begin, end := make([]byte, logHead), make([]byte, logTail)
	n, _ := f.ReadAt(begin, 0)
	m, _ := f.ReadAt(end, info.Size()-logTail)
	// The middle begins with the line that the head cuts, and ends with the one
	// that the tail cuts.
	from := int64(bytes.LastIndexByte(begin[:n], '\n') + 1)
	rest := min(info.Size()-logTail-from+logKept, logMiddle)
	return string(begin[:n]) + "\n" + profilerLines(t, io.NewSectionReader(f, from, rest)) + string(end[:m])
}

// profilerLines keeps the lines of a stream that begin like a message of the profiler.
func profilerLines(t Tool, r io.Reader) string {
	var kept strings.Builder
	in := bufio.NewReaderSize(r, 64<<10)
	times := map[int]int{}
	for fresh := true; kept.Len() < logKept; { // fresh: a line begins here
		line, err := in.ReadSlice('\n')
		if word := beginningOf(t, line); fresh && word >= 0 && times[word] < maxSame {
			times[word]++
			kept.Write(bytes.TrimRight(line, "\r\n"))
			kept.WriteByte('\n')
		}
		fresh = len(line) > 0 && line[len(line)-1] == '\n'
		if err != nil && err != bufio.ErrBufferFull {
			break
		}
	}
	return kept.String()
}

// maxSame bounds the lines that begin alike: the workload may print them too, and
// one kind must not crowd out the others.
const maxSame = 100

// beginningOf says which of the words a line begins with, -1 for none.
func beginningOf(t Tool, line []byte) int {
	words := nsysWords
	if t == Ncu {
		words = ncuWords
	}
	return slices.IndexFunc(words, func(w []byte) bool { return bytes.HasPrefix(line, w) })
}

// ncuWords begin the lines of ncu that explain a verdict.
var ncuWords = [][]byte{
	[]byte("==ERROR== "), []byte("==WARNING== "), []byte("==PROF== Report: "), []byte("==PROF== Connected"), []byte("==PROF== Disconnected"),
	[]byte("==PROF== Using"), []byte("==PROF== Trying"),
}

// nsysWords begin the lines of nsys that may stand in the middle of much output:
// what it says while the workload runs.
var nsysWords = [][]byte{
	[]byte("Capture range "), []byte("Generating '"), []byte("Generated:"), []byte("Importer error"), []byte("FATAL ERROR"), []byte("Failed to "),
	[]byte("The target application terminated"), []byte("Connection to "), []byte("Illegal --"), []byte("WARNING: "), []byte("CUPTI"),
}

const (
	tempPrefix = "deepprof-nsys-"
	tempLock   = ".deepprof-lock" // held by the run that a directory belongs to
)

// makeTemp gives nsys a fresh private TMPDIR: what one run breaks there,
// every later one trips over. ncu keeps the shared one, through which runs on
// one GPU wait for each other. The path is absolute: the workload may run in
// another directory. What runs left that died is removed on the way.
// dir is "" for ncu. release only gives up the lock; the caller removes the folder, or keeps
// it with keepTemp. bad is nil where all is well.
func (c *Capture) makeTemp() (dir string, release func(), bad *Outcome) {
	release = func() {}
	root, err := filepath.Abs(cmp.Or(c.TempRoot, os.TempDir()))
	if err != nil {
		return "", release, refuse(TempUnusable, ErrorFact(err), fact.Fact{})
	}
	if c.Tool == Nsys {
		sweepTemp(root)
	}
	if free, err := format.FreeSpace(root); err != nil {
		return "", release, refuse(TempUnusable, fact.New(fileError, fact.File("file", root), errorText(err)), fact.Fact{})
	} else if c.Tool == Nsys && free < c.MinFree {
		return "", release, refuse(DiskFull, shortOf(root, free, c.MinFree), fact.New(causeTempSpace))
	}
	if c.Tool != Nsys {
		return "", release, nil
	}
	if dir, err = os.MkdirTemp(root, tempPrefix); err != nil {
		return "", release, refuse(TempUnusable, ErrorFact(err), fact.Fact{})
	}
	lock, err := lockTemp(dir)
	if err != nil {
		_ = os.RemoveAll(dir)
		return "", release, refuse(TempUnusable, ErrorFact(err), fact.Fact{})
	}
	return dir, func() { _ = lock.Close() }, nil
}

// lockTemp marks a directory as that of a living run. The lock ends with this
// process, however that ends. It gets its name only once it is held: a directory
// without the name is nobody's to remove.
func lockTemp(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, tempLock+"-")
	if err != nil {
		return nil, err
	}
	if err := lockFile(f); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	if err := os.Rename(f.Name(), filepath.Join(dir, tempLock)); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// keepTemp leaves a directory to the user, for what is in it.
func keepTemp(dir string) { _ = os.Remove(filepath.Join(dir, tempLock)) }

// SweepTemp removes what captures that were killed left in the folder for temporary
// files; every command does.
func SweepTemp() { sweepTemp(os.TempDir()) }

// sweepTemp removes the temporary directories of runs that died, save those that
// a profiler still works in. A stream that nsys had begun goes too: nobody was told
// of it, and the run can be resumed. What a user was told of has no lock.
func sweepTemp(root string) {
	for _, dir := range tool.Match(root, tempPrefix+"*") {
		f, err := os.Open(filepath.Join(dir, tempLock))
		if err != nil {
			continue
		}
		if lockFile(f) == nil && !tempInUse(dir) {
			_ = os.RemoveAll(dir)
		}
		_ = f.Close()
	}
}

// tempInUse reports whether a process was started with this TMPDIR: nsys may
// finish its report after the run has died.
func tempInUse(dir string) bool {
	want := []byte("TMPDIR=" + dir)
	for _, path := range tool.Match("/proc", "[0-9]*/environ") {
		env, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		for kv := range bytes.SplitSeq(env, []byte{0}) {
			if bytes.Equal(kv, want) {
				return true
			}
		}
	}
	return false
}
