package report

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/deepprof/deepprof/internal/analysis"
)

// A Page is one file that is made from a Result alone.
type Page struct {
	Name string // of the file, such as "report.md"
	// Write must not change the result: pages are written at the same time.
	Write func(io.Writer, *analysis.Result) error
}

// pages are the Markdown files of a run, in the order in which a newcomer
// should open them, and the files that they refer to.
var pages = []Page{
	{"stakeholder_summary.md", WriteStakeholder},
	{"report.md", WriteReport},
	{"kernels.md", WriteKernels},
	{"operators.md", WriteOperators},
	{"regions.md", WriteRegions},
	{"roofline.svg", RooflineSVG},
	{"roofline.csv", func(w io.Writer, r *analysis.Result) error { return RooflinePoints(r).WriteCSV(w) }},
}

// WriteAll writes the Markdown set and more pages, such as report.html, into dir and
// returns the paths of those that were written. Each file is replaced whole or not at
// all, and a page that cannot be written does not keep the others from being so.
// dir is made where it is missing. The result is read by several goroutines and not changed.
func WriteAll(dir string, r *analysis.Result, more ...Page) ([]string, error) {
	if err := readableSchema(r); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("write reports: %w", err)
	}
	var beside sync.WaitGroup
	var others []string
	var othersErr error
	beside.Go(func() { others, othersErr = writePages(dir, r, more) }) // report.html takes as long as all others
	paths, err := writePages(dir, r, pages)
	beside.Wait()
	return append(paths, others...), errors.Join(err, othersErr)
}

// writePages writes pages one after the other. The result is not changed, so that others
// may be written at the same time.
func writePages(dir string, r *analysis.Result, list []Page) (paths []string, err error) {
	var errs []error
	for _, p := range list {
		path := filepath.Join(dir, p.Name)
		if err := replaceFile(path, func(w io.Writer) error { return p.Write(w, r) }); err != nil {
			errs = append(errs, fmt.Errorf("write %s: %w", path, err))
			continue
		}
		paths = append(paths, path)
	}
	return paths, errors.Join(errs...)
}

// readableSchema refuses a result whose fields may mean something else.
func readableSchema(r *analysis.Result) error {
	switch {
	case r == nil:
		return errors.New("write reports: there is no result")
	case r.Schema > analysis.Schema:
		return fmt.Errorf("write reports: the result has schema %d, and this version of deepprof knows up to %d: use a newer deepprof", r.Schema, analysis.Schema)
	case r.Schema < 1:
		return fmt.Errorf("write reports: the result has schema %d, which never was: run deepprof analyze again", r.Schema)
	}
	return nil
}

// ReplaceFile gives path new content, whole or not at all.
func ReplaceFile(path string, data []byte) error {
	return replaceFile(path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// An Output is a file to write, with its content.
type Output struct {
	// Path may name a device or a pipe, which is written to and not replaced.
	Path string
	Data []byte
}

// WriteOutputs writes all files or none: each is whole on its disk before the first
// takes its place. A device or pipe gets its content after the files.
func WriteOutputs(files []Output) error {
	var places []func() error
	for _, f := range files {
		st, err := os.Stat(f.Path)
		switch {
		case err == nil && st.IsDir():
			return fmt.Errorf("write %s: it is a folder", f.Path)
		case err == nil && !st.Mode().IsRegular():
			places = append(places, func() error { return os.WriteFile(f.Path, f.Data, 0o666) })
			continue
		}
		tmp, err := writeBeside(f.Path, func(w io.Writer) error { _, err := w.Write(f.Data); return err })
		if err != nil {
			return fmt.Errorf("write %s: %w", f.Path, err)
		}
		defer os.Remove(tmp) // fails after the rename, which is fine
		places = append([]func() error{func() error { return os.Rename(tmp, f.Path) }}, places...)
	}
	for _, place := range places {
		if err := place(); err != nil {
			return fmt.Errorf("write: %w", err)
		}
	}
	return nil
}

// replaceFile writes path so that whoever opens it sees the old content or the
// new one, whole.
func replaceFile(path string, write func(io.Writer) error) error {
	tmp, err := writeBeside(path, write)
	if err != nil {
		return err
	}
	defer os.Remove(tmp) // fails after the rename, which is fine
	return os.Rename(tmp, path)
}

// writeBeside writes a file in the folder of path, which can be renamed to it. There
// is none after an error.
// The caller renames or removes it. Its mode is 0644, whatever the umask.
func writeBeside(path string, write func(io.Writer) error) (tmp string, err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".tmp-"+filepath.Base(path)+"-*")
	if err != nil {
		return "", err
	}
	out := bufio.NewWriterSize(f, 1<<16)
	err = write(out)
	if err == nil {
		err = out.Flush()
	}
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		os.Remove(f.Name())
		return "", err
	}
	return f.Name(), nil
}
