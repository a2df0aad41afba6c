package capture

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// siblings lists the files that a run named base leaves: reports, numbered
// reports, exports, raw streams and tables.
func siblings(base string) []string {
	var all []string
	for _, tail := range []string{
		".nsys-rep", ".[0-9]*.nsys-rep", ".qdrep", ".qdstrm", ".[0-9]*.qdstrm", ".sqlite", ".[0-9]*.sqlite",
		".ncu-rep", "_*.csv",
	} {
		found, _ := filepath.Glob(globEscape(base) + tail)
		all = append(all, found...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// globEscape makes every character of a path stand for itself.
func globEscape(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
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

// generated finds the paths that nsys lists under "Generated:", and ncu after
// "Report:".
var generated = regexp.MustCompile(`(?m)^(?:[ \t]+|==PROF== Report: )(/.*\.(?:nsys-rep|qdstrm|ncu-rep))\s*$`)

// look gathers every file that the run may have produced: those of the name
// asked for, those that its output names, and what lies in TMPDIR.
func look(base, temp, stdout string, since time.Time) []File {
	paths := siblings(base)
	for _, m := range generated.FindAllStringSubmatch(stdout, -1) {
		paths = append(paths, m[1])
	}
	if temp != "" {
		left, _ := filepath.Glob(filepath.Join(globEscape(temp), "nsys-report-*"))
		paths = append(paths, left...)
	}
	var files []File
	seen := map[string]bool{}
	for _, p := range paths {
		if seen[p] {
			continue
		}
		seen[p] = true
		if f := Sniff(p, since); f.Format != MissingFile {
			files = append(files, f)
		}
	}
	return files
}

// move puts a file in its place, also from another file system. The target
// appears complete or not at all.
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

// readLog reads what the patterns look at: a log may be gigabytes long, and
// what the profiler says stands at its beginning and end.
func readLog(path string) string {
	const head, tail = 256 << 10, 1 << 20
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	if info.Size() <= head+tail {
		data, _ := io.ReadAll(f)
		return string(data)
	}
	begin, end := make([]byte, head), make([]byte, tail)
	n, _ := f.ReadAt(begin, 0)
	m, _ := f.ReadAt(end, info.Size()-tail)
	return string(begin[:n]) + "\n" + string(end[:m])
}
