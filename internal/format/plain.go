package format

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// compression is a way to wrap a file.
type compression struct {
	name, magic string
	open        func(io.Reader) (io.ReadCloser, error)
}

var compressions = []compression{
	{"gzip", "\x1f\x8b", func(r io.Reader) (io.ReadCloser, error) { return gzip.NewReader(r) }},
	{"zstd", "\x28\xb5\x2f\xfd", func(r io.Reader) (io.ReadCloser, error) {
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(128<<20))
		if err != nil {
			return nil, err
		}
		return z.IOReadCloser(), nil
	}},
}

// compressionOf is nil for what is not compressed.
func compressionOf(head []byte) *compression {
	for i := range compressions {
		if bytes.HasPrefix(head, []byte(compressions[i].magic)) {
			return &compressions[i]
		}
	}
	return nil
}

// head decompresses as much as the compressed head gives.
func (c *compression) head(head []byte) ([]byte, error) {
	r, err := c.open(bytes.NewReader(head))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return readHead(r)
}

// ErrTooLarge is in the chain of errors about packed data that would take more
// room than there is, or than data that deepprof reads ever does.
var ErrTooLarge = errors.New("it would take too much room")

// Bounds of what packed data may become. Reports of Nsight Compute shrink to a
// fiftieth; data that shrinks to less than a thousandth is made to fill disks.
const (
	maxRatio  = 1000
	freeRatio = 256 << 20 // below this many bytes the ratio does not matter
)

// MaxUnpacked is how many bytes packed data of a size may become in a folder: at
// most four fifths of the free space, and at most a thousand times its size.
// The folder must exist. Small data may always become 256 MiB.
func MaxUnpacked(dir string, packed int64) (int64, error) {
	most := max(int64(freeRatio), maxRatio*min(packed, 1<<50/maxRatio))
	free, err := FreeSpace(dir)
	if err != nil {
		return 0, fmt.Errorf("ask for the free space of %s: %w", dir, err)
	}
	return min(most, free/5*4), nil
}

// Plain gives the path of the uncompressed content: path itself, or a temporary
// file with the same ending that done removes. A pack stays as it is.
// done is never nil and may be called more than once.
func Plain(ctx context.Context, path string) (plain string, done func(), err error) {
	done = func() {}
	f, err := Recognize(path)
	if err != nil || f.Compression == "" {
		return path, done, err
	}
	dir, err := tempFolder()
	if err != nil {
		return "", done, fmt.Errorf("decompress %s: %w", path, err)
	}
	done = func() { os.RemoveAll(dir) }
	plain = filepath.Join(dir, uncompressedName(path))
	if err := decompress(ctx, f, plain); err != nil {
		done()
		return "", func() {}, fmt.Errorf("decompress %s: %w", path, err)
	}
	return plain, done, nil
}

// Open opens a file for reading from its beginning, decompressed.
// The caller closes it. How much comes out is not bounded: read with a limit.
func Open(path string) (io.ReadCloser, error) {
	f, err := Recognize(path)
	if err != nil {
		return nil, err
	}
	file, err := os.Open(path)
	if err != nil || f.Compression == "" {
		return file, err
	}
	c := compressionNamed(f.Compression)
	r, err := c.open(file)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("decompress %s: %w", path, err), file.Close())
	}
	return &opened{r, file}, nil
}

type opened struct {
	io.ReadCloser
	file *os.File
}

func (o *opened) Close() error { return errors.Join(o.ReadCloser.Close(), o.file.Close()) }

func compressionNamed(name string) *compression {
	for i := range compressions {
		if compressions[i].name == name {
			return &compressions[i]
		}
	}
	panic("no compression " + name)
}

func decompress(ctx context.Context, f File, to string) error {
	most, err := MaxUnpacked(filepath.Dir(to), f.Size)
	if err != nil {
		return err
	}
	in, err := Open(f.Path)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	n, err := io.Copy(out, io.LimitReader(contextReader{ctx, in}, most+1))
	if err = errors.Join(err, out.Close()); err != nil {
		return err
	}
	if n > most {
		return fmt.Errorf("%w: more than %d bytes out of %d; decompress it by hand if you trust it, or set TMPDIR to a larger disk", ErrTooLarge, most, f.Size)
	}
	return nil
}

type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}

// tempPrefix begins the names of temporary folders and files; a word for what
// they hold and the id of the process follow.
const tempPrefix = "deepprof-"

// TempName is a pattern for os.MkdirTemp and os.CreateTemp whose results
// SweepTemp removes once this process is gone.
func TempName(what string) string { return fmt.Sprintf("%s%s-%d-", tempPrefix, what, os.Getpid()) }

// SweepTemp removes what processes that were killed left under names of TempName.
// A folder of a process that lives, also one that took over the number, stays.
func SweepTemp() {
	root := os.TempDir()
	entries, _ := os.ReadDir(root)
	for _, e := range entries {
		rest, ours := strings.CutPrefix(e.Name(), tempPrefix)
		parts := strings.Split(rest, "-")
		if !ours || len(parts) < 3 {
			continue
		}
		if n, err := strconv.Atoi(parts[1]); err == nil && n > 0 && gone(n) {
			os.RemoveAll(filepath.Join(root, e.Name()))
		}
	}
}

// tempFolder makes a private folder.
func tempFolder() (string, error) {
	SweepTemp()
	return os.MkdirTemp("", TempName("plain"))
}
