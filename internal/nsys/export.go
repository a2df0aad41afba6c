package nsys

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/deepprof/deepprof/internal/tool"
)

// An exportCache holds SQLite exports under the hash of the report they were made
// from. The vendor's own rule, a .sqlite of the same name with a later time,
// takes stale and foreign files for good and good ones for stale. The hash is
// of the whole content, so nothing here can be stale; an export appears by a
// rename after it was checked, so nothing here is half-written.
type exportCache struct{ dir string }

// keepExports is how long an export stays after it was last used.
const keepExports = 30 * 24 * time.Hour

// openReport opens the cached export of a report, making it first if needed.
// Several processes may ask for the same report: one exports, the others wait for its
// lock until ctx ends.
func openReport(ctx context.Context, path string, o OpenOptions) (*File, error) {
	hash, err := hashFile(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	cache, err := findCache(path, o.CacheDir)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	target := filepath.Join(cache.dir, hash+".sqlite")
	if f, ok := cache.open(target, path); ok {
		return f, nil
	}
	lock := flock.New(lockOf(target))
	if ok, err := lock.TryLockContext(ctx, 100*time.Millisecond); !ok {
		return nil, fmt.Errorf("open %s: wait for another export of it: %w", path, err)
	}
	defer lock.Unlock()
	if f, ok := cache.open(target, path); ok {
		return f, nil
	}
	if err := cache.export(ctx, path, target, o); err != nil {
		return nil, err
	}
	cache.prune(time.Now())
	f, ok := cache.open(target, path)
	if !ok {
		return nil, fmt.Errorf("open %s: the export at %s cannot be read; remove it and try again", path, target)
	}
	return f, nil
}

// hashFile is the SHA-256 of the content in hex. It stops at the end of ctx: reports
// have gigabytes.
func hashFile(ctx context.Context, path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	buf := make([]byte, 1<<20)
	for {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		n, err := f.Read(buf)
		h.Write(buf[:n])
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// findCache takes the first place that can be written.
// A configured folder is the only one that is tried.
func findCache(report, configured string) (exportCache, error) {
	var places []string
	if configured != "" {
		places = []string{configured}
	} else {
		if user, err := os.UserCacheDir(); err == nil {
			places = append(places, filepath.Join(user, "deepprof", "nsys"))
		}
		places = append(places, filepath.Join(filepath.Dir(report), ".deepprof-cache"))
	}
	var problems []error
	for _, dir := range places {
		if err := writable(dir); err != nil {
			problems = append(problems, err)
			continue
		}
		return exportCache{dir}, nil
	}
	return exportCache{}, fmt.Errorf("no place to keep its SQLite export: %w", errors.Join(problems...))
}

// writable makes the folder and a probe in it; rights alone do not tell, because a
// full disk or a read-only mount refuse only the write.
func writable(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".probe-")
	if err != nil {
		return err
	}
	f.Close()
	return os.Remove(f.Name())
}

// open gives the export, if there is one that can be read. One that cannot is
// removed, whatever has happened to it.
func (c exportCache) open(target, report string) (*File, bool) {
	if _, err := os.Stat(target); err != nil {
		return nil, false
	}
	f, err := OpenSQLite(target)
	if err != nil || len(f.db.Warnings()) > 0 {
		if err == nil {
			f.Close()
		}
		os.Remove(target)
		return nil, false
	}
	touch(lockOf(target), time.Now())
	f.Path = report
	return f, true
}

// lockOf is the file beside an export that is locked while the export is made.
// Its time tells when the export was last used: the export itself never changes,
// or its readers would take it for a file that is being written.
func lockOf(target string) string { return strings.TrimSuffix(target, ".sqlite") + ".lock" }

// touch marks an export as used. Only prune looks at that, so a mark that
// cannot be set is no error.
func touch(lock string, now time.Time) {
	if err := os.Chtimes(lock, now, now); !errors.Is(err, fs.ErrNotExist) {
		return
	}
	if f, err := os.OpenFile(lock, os.O_CREATE|os.O_RDWR, 0o600); err == nil {
		f.Close()
	}
}

// export makes the SQLite file with each nsys that is found until one can.
// The caller holds the lock of target. Files under way lie in a folder of their own in the cache,
// so that the last step is a rename within one file system.
func (c exportCache) export(ctx context.Context, report, target string, o OpenOptions) error {
	found, err := tool.Find(ctx, tool.Spec{Name: tool.Nsys, Path: o.Nsys, System: o.System})
	if err != nil {
		return fmt.Errorf("open %s: a report has to be exported to SQLite first, and no nsys can do that here (%w); "+
			"on a machine with Nsight Systems run: %s; then open the .sqlite", report, err, exportLine(report))
	}
	dir, err := os.MkdirTemp(c.dir, "export-")
	if err != nil {
		return fmt.Errorf("export %s: %w", report, err)
	}
	defer os.RemoveAll(dir)
	var problems []error
	for _, nsys := range append([]tool.Tool{found}, found.Others...) {
		made := filepath.Join(dir, "export.sqlite")
		os.Remove(made)
		if err := exportWith(ctx, nsys, report, made, dir); err != nil {
			if ctx.Err() != nil {
				return fmt.Errorf("export %s: %w", report, ctx.Err())
			}
			problems = append(problems, err)
			continue
		}
		if err := os.Rename(made, target); err != nil {
			return fmt.Errorf("export %s: %w", report, err)
		}
		return nil
	}
	return fmt.Errorf("export %s: %w", report, errors.Join(problems...))
}

// What nsys export says when it fails, and what that means.
// Patterns are tried in order; the first that matches any output of nsys counts,
// whatever the exit code.
var exportProblems = []struct {
	pattern *regexp.Regexp
	meaning string
	command bool // the command that exports the report follows
}{
	{
		regexp.MustCompile(`Version not supported: \d+|Version number is invalid: \S+|ProtobufParseException|missing required fields`),
		"the report was written by a newer Nsight Systems than this one; export it with the version that wrote it: ", true,
	},
	{
		regexp.MustCompile(`Cannot read from stream|magic number mismatch|Section Table`),
		"the report is damaged or cut off; copy it again or capture again", false,
	},
	{
		regexp.MustCompile(`database or disk is full|No space left`),
		"the disk of the cache is full; free space or name another directory for it", false,
	},
	{
		regexp.MustCompile(`unable to open database file`),
		"the cache directory cannot be written", false,
	},
}

// exportWith runs one nsys and checks what it made. A failed export leaves a
// stub, and one on a full disk exits with 0, so neither the code nor the file
// alone is trusted.
func exportWith(ctx context.Context, nsys tool.Tool, report, made, dir string) error {
	path, err := filepath.Abs(report)
	if err != nil {
		return err
	}
	stdout, stderr, exit, err := tool.Output(ctx, tool.Command{
		Path: nsys.Path,
		Args: exportArgs(nsys.Version, path, made),
		Env:  tool.Environ(os.Environ(), "LC_ALL=C", "TMPDIR="+dir),
	})
	if err != nil {
		return err
	}
	printed := string(stdout) + "\n" + string(stderr)
	for _, p := range exportProblems {
		if found := p.pattern.FindString(printed); found != "" {
			hint := p.meaning
			if p.command {
				hint += exportLine(report)
			}
			return fmt.Errorf("%s failed (%s): %s", nsys, found, hint)
		}
	}
	if !exit.OK() {
		return fmt.Errorf("%s failed (%s): %s", nsys, exit, lastLine(printed))
	}
	f, err := OpenSQLite(made)
	if err != nil {
		return fmt.Errorf("%s left no usable file: %w", nsys, err)
	}
	defer f.Close()
	if len(f.db.Warnings()) > 0 {
		return fmt.Errorf("%s left a cut or damaged file", nsys)
	}
	return nil
}

// prune removes exports that were not used for long, and what a killed export
// has left.
// Exports go after keepExports, folders of exports under way after a day. Locks stay. What cannot
// be removed is left for the next time.
func (c exportCache) prune(now time.Time) {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			continue
		}
		age := now.Sub(info.ModTime())
		if lock, err := os.Stat(lockOf(filepath.Join(c.dir, e.Name()))); err == nil {
			age = min(age, now.Sub(lock.ModTime()))
		}
		stale := strings.HasSuffix(e.Name(), ".sqlite") && age > keepExports ||
			strings.HasPrefix(e.Name(), "export-") && age > 24*time.Hour
		if stale {
			os.RemoveAll(filepath.Join(c.dir, e.Name()))
		}
	}
}
