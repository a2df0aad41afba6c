package capture

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/tool"
)

const (
	tempPrefix = "deepprof-nsys-"
	tempLock   = ".deepprof-lock" // held by the run that a directory belongs to
)

// makeTemp gives nsys a fresh private TMPDIR: what one run breaks there,
// every later one trips over. ncu keeps the shared one, through which runs on
// one GPU wait for each other. The path is absolute: the workload may run in
// another directory. What runs left that died is removed on the way.
func (c *Capture) makeTemp() (dir string, release func(), bad *Outcome) {
	release = func() {}
	root, err := filepath.Abs(cmp.Or(c.TempRoot, os.TempDir()))
	if err != nil {
		return "", release, refuse(TempUnusable, ErrorFact(err), fact.Fact{})
	}
	if c.Tool == Nsys {
		sweepTemp(root)
	}
	if free, err := freeSpace(root); err != nil {
		return "", release, refuse(TempUnusable, fact.New(fileError, fact.File("file", root), errorText(err)), fact.Fact{})
	} else if need := max(c.MinFree, 30*c.ReportSize); c.Tool == Nsys && free < need {
		return "", release, refuse(DiskFull, shortOf(root, free, need), fact.New(causeTempSpace))
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
