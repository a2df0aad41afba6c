package format

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/deepprof/deepprof/internal/suggest"
)

// errNotFile is in the chain of errors about pipes, devices and sockets: opening
// one may wait for ever.
var errNotFile = errors.New("not a file")

// ErrPath is in the chain of errors about paths that are not UTF-8: no JSON and
// no page could name them.
var ErrPath = errors.New("the path is not UTF-8")

// ErrHoles is in the chain of errors about large files most of which was never
// written.
var ErrHoles = errors.New("most of the file was never written")

// File is what a path holds.
type File struct {
	Format
	Path        string
	Size        int64  // bytes on disk
	Compression string // "gzip" or "zstd", around the format; a pack is not wrapped so
}

// Inspect looks at a path before anything opens it. It is a folder or a regular
// file.
// Links are followed. The file is not opened.
func Inspect(path string) (fs.FileInfo, error) {
	if !utf8.ValidString(path) {
		return nil, fmt.Errorf("read %q: %w; rename it", path, ErrPath)
	}
	st, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w%s", err, near(path))
	case err != nil:
		return nil, err
	case st.IsDir() || st.Mode().IsRegular():
		return st, nil
	case st.Mode()&fs.ModeNamedPipe != 0:
		return nil, fmt.Errorf("read %s: it is a pipe, %w; write it to a file and name that", path, errNotFile)
	}
	return nil, fmt.Errorf("read %s: it is a device or a socket, %w; name a report, or a run", path, errNotFile)
}

// near ends an error about a path that is not there: it suggests what lies beside it
// under a name like it; "" for nothing.
func near(path string) string {
	dir := filepath.Dir(path)
	entries, _ := os.ReadDir(dir) // a folder that cannot be read suggests nothing
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = filepath.Join(dir, e.Name())
	}
	return suggest.DidYouMean(filepath.Clean(path), names)
}

// Recognize tells what a path holds. It reads little of the file and never
// blocks; an error means that the path cannot be read at all.
func Recognize(path string) (File, error) {
	f := File{Path: path}
	st, err := Inspect(path)
	if err != nil {
		return f, err
	}
	if st.IsDir() {
		f.Format = Format{Kind: Folder, Description: "a folder", Holds: Captures}
		if st, err := os.Lstat(filepath.Join(path, RunManifest)); err == nil && st.Mode().IsRegular() {
			f.Format = Format{Kind: Run, Description: "a run", Holds: Captures}
		}
		return f, nil
	}
	f.Size = st.Size()
	file, err := os.Open(path)
	if err != nil {
		return f, err
	}
	defer file.Close()
	if err := checkHoles(file, f.Size); err != nil {
		return f, fmt.Errorf("read %s: %w", path, err)
	}
	return f, f.recognize(file)
}

// recognize fills in Format and Compression; the error is one of reading.
func (f *File) recognize(r io.Reader) error {
	head, err := readHead(r)
	if err != nil {
		return fmt.Errorf("read %s: %w", f.Path, err)
	}
	if len(head) == 0 {
		f.Format = Format{Kind: Empty, Description: "an empty file"}
		return nil
	}
	c := compressionOf(head)
	if c == nil {
		f.Format = recognize(head, filepath.Base(f.Path))
		return nil
	}
	f.Compression = c.name
	inner, _ := c.head(head) // a cut head still tells the format
	if len(inner) == 0 {
		f.Format = Format{Kind: Unknown, Description: c.name + " data that cannot be read"}
		return nil
	}
	f.Format = recognize(inner, uncompressedName(f.Path))
	if f.Kind == Pack {
		f.Compression = ""
	}
	return nil
}

// readHead is shorter than headBytes only at the end of the file.
func readHead(r io.Reader) ([]byte, error) {
	head := make([]byte, headBytes)
	n, err := io.ReadFull(r, head)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return head[:n], err
}

// sparseBytes is the size from which a file is searched for holes: below, reading
// zeros takes no time.
const sparseBytes = 1 << 30

// checkHoles refuses a large file of which less than half was written: a copy or
// a download that broke off leaves one, and reading its zeros takes minutes. The
// vendors' tools and SQLite write every byte.
func checkHoles(f *os.File, size int64) error {
	if size < sparseBytes {
		return nil
	}
	written := writtenBytes(f, size)
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if written >= size/2 {
		return nil
	}
	return fmt.Errorf("%w: %d of its %d bytes are there; copy it again", ErrHoles, written, size)
}

// BaseName is the name of a file without its folder, its ending and that of a
// compression: "report" for a/report.sqlite.gz.
func BaseName(path string) string {
	name := uncompressedName(path)
	return strings.TrimSuffix(name, filepath.Ext(name))
}

// uncompressedName is the name of a file without the ending of a compression.
func uncompressedName(path string) string {
	name := filepath.Base(path)
	switch filepath.Ext(name) {
	case ".gz", ".zst":
		return strings.TrimSuffix(name, filepath.Ext(name))
	}
	return name
}
