package runs

import (
	"archive/tar"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/deepprof/deepprof/internal/format"
)

// UnpackOptions bounds what a pack may do to this machine.
type UnpackOptions struct {
	CacheDir string // where packs are unpacked; empty: the user's cache folder
	MaxBytes int64  // of all files together; 0: what format.MaxUnpacked gives
	MaxFiles int    // 0: defaultMaxFiles
	// Only names the kinds of files that are needed, beside the manifest: the
	// others are neither written nor checked, what comes after the last of them
	// is not read, and Close removes them all. Empty: the whole pack.
	Only []FileKind
}

// wants tells whether a file of a pack is needed.
func (o *UnpackOptions) wants(f File) bool {
	return len(o.Only) == 0 || f.Path == ManifestName || slices.Contains(o.Only, KindOf(f.Path))
}

// defaultMaxFiles is the limit of a pack unless the caller sets another.
const defaultMaxFiles = 100_000

// packIndexCopy is the pack's index beside the unpacked files; with it a later
// use checks them.
const packIndexCopy = ".pack.json"

// cacheAge is how long an unpacked pack stays without being used.
const cacheAge = 30 * 24 * time.Hour

// unpack unpacks a pack into the cache, or finds it there, and opens it for
// reading. Where the cache cannot be written it uses a temporary folder that
// Close removes.
// A pack that is in the cache already is checked file by file against its hashes.
func unpack(ctx context.Context, path string, o UnpackOptions) (*Run, error) {
	if o.MaxFiles <= 0 {
		o.MaxFiles = defaultMaxFiles
	}
	f, err := format.Recognize(path)
	if err != nil {
		return nil, err
	}
	if f.Kind != format.Pack {
		return nil, ErrNotRun
	}
	if len(o.Only) > 0 {
		return unpackPart(ctx, path, f.Size, o)
	}
	cache, temporary, err := cacheFolder(o.CacheDir)
	if err != nil {
		return nil, err
	}
	if o.MaxBytes <= 0 {
		if o.MaxBytes, err = format.MaxUnpacked(cache, f.Size); err != nil {
			return nil, err
		}
	}
	sum, err := hashFile(ctx, path)
	if err != nil {
		return nil, err
	}
	target := filepath.Join(cache, sum.SHA256[:32])
	err = intact(ctx, target)
	if err != nil {
		err = unpackTo(ctx, path, cache, target, o)
	}
	var r *Run
	if err == nil {
		r, err = openDir(target)
	}
	if err != nil {
		if temporary {
			os.RemoveAll(cache)
		}
		return nil, err
	}
	r.source = absolute(path)
	if temporary {
		r.cleanup = func() error { return os.RemoveAll(cache) }
	} else {
		now := time.Now()
		os.Chtimes(target, now, now)
		pruneCache(cache, target)
	}
	return r, nil
}

// absolute is path itself if the working directory is not known.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// unpackPart streams the files that are needed into a temporary folder.
func unpackPart(ctx context.Context, path string, size int64, o UnpackOptions) (*Run, error) {
	dir, err := os.MkdirTemp("", format.TempName("pack"))
	if err != nil {
		return nil, err
	}
	r := &Run{}
	if o.MaxBytes <= 0 {
		o.MaxBytes, err = format.MaxUnpacked(dir, size)
	}
	if err == nil {
		err = extract(ctx, path, dir, o)
	}
	if err == nil {
		r, err = openDir(dir)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	r.cleanup = func() error { return os.RemoveAll(dir) }
	r.source = absolute(path)
	return r, nil
}

// The folder is readable by its owner only. temporary tells that the caller removes it.
func cacheFolder(dir string) (cache string, temporary bool, err error) {
	if dir == "" {
		if base, err := os.UserCacheDir(); err == nil {
			dir = filepath.Join(base, "deepprof", "packs")
		}
	}
	if dir != "" && os.MkdirAll(dir, 0o700) == nil {
		if f, err := os.CreateTemp(dir, tempPrefix+"probe-*"); err == nil {
			f.Close()
			os.Remove(f.Name())
			return dir, false, nil
		}
	}
	cache, err = os.MkdirTemp("", format.TempName("pack"))
	return cache, true, err
}

// intact checks an unpacked pack against its index.
func intact(ctx context.Context, dir string) error {
	var index PackIndex
	if err := readInto(filepath.Join(dir, packIndexCopy), json.Unmarshal, &index); err != nil {
		return err
	}
	r := &Run{dir: dir}
	for _, f := range index.Files {
		if why := contentProblem(ctx, r, f); !why.IsZero() {
			return fmt.Errorf("%s is not as it was packed (%s)", f.Path, why.Code)
		}
	}
	return ctx.Err()
}

// unpackTo unpacks beside target and renames, so that target is whole or not
// there. A target that exists was found damaged, or has just been made by
// another process.
func unpackTo(ctx context.Context, path, cache, target string, o UnpackOptions) error {
	tmp := filepath.Join(cache, tempPrefix+rand.Text())
	if err := os.Mkdir(tmp, 0o700); err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	if err := extract(ctx, path, tmp, o); err != nil {
		return err
	}
	if os.Rename(tmp, target) == nil || intact(ctx, target) == nil {
		return nil
	}
	if err := os.RemoveAll(target); err != nil {
		return err
	}
	return os.Rename(tmp, target)
}

// extract writes the members of a pack below dir. Nothing outside dir can be
// written, and nothing that the index does not list with size and hash.
func extract(ctx context.Context, path, dir string, o UnpackOptions) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := zstd.NewReader(readerCtx{ctx, f}, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(128<<20))
	if err != nil {
		return err
	}
	defer z.Close()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	t := tar.NewReader(z)
	index, err := readPackIndex(t, o)
	if err != nil {
		return err
	}
	last := len(index.Files) - 1
	for last >= 0 && !o.wants(index.Files[last]) {
		last--
	}
	for _, want := range index.Files[:last+1] {
		if err := extractMember(t, root, want, o.wants(want)); err != nil {
			return fmt.Errorf("%s: %w", want.Path, err)
		}
	}
	if len(o.Only) > 0 {
		return nil
	}
	if h, err := t.Next(); err == nil {
		return fmt.Errorf("%q is not in the pack's index", h.Name)
	} else if err != io.EOF {
		return fmt.Errorf("read the pack: %w", err)
	}
	data, err := json.Marshal(index)
	if err != nil {
		return err
	}
	return writeFileAtomic(filepath.Join(dir, packIndexCopy), data)
}

// readPackIndex reads the first member and checks it before anything is written.
func readPackIndex(t *tar.Reader, o UnpackOptions) (PackIndex, error) {
	var index PackIndex
	h, err := t.Next()
	if err != nil || h.Name != format.PackIndex || h.Typeflag != tar.TypeReg {
		return index, fmt.Errorf("%w: it does not begin with %s", ErrNotRun, format.PackIndex)
	}
	if h.Size > maxManifest {
		return index, fmt.Errorf("%s is larger than %d bytes", format.PackIndex, int64(maxManifest))
	}
	if err := json.NewDecoder(io.LimitReader(t, maxManifest)).Decode(&index); err != nil {
		return index, fmt.Errorf("read %s: %w", format.PackIndex, err)
	}
	if index.Schema > PackSchemaVersion || index.Schema < 1 {
		return index, fmt.Errorf("pack of schema %d; this program reads up to %d", index.Schema, PackSchemaVersion)
	}
	if len(index.Files) > o.MaxFiles {
		return index, fmt.Errorf("it holds %d files, more than the limit of %d", len(index.Files), o.MaxFiles)
	}
	var total int64
	seen := map[string]bool{}
	for _, f := range index.Files {
		if !localPath(f.Path) || internalName(filepath.Base(f.Path)) || f.Path == packIndexCopy {
			return index, fmt.Errorf("%q is not a path that a run may have", f.Path)
		}
		if seen[f.Path] {
			return index, fmt.Errorf("%q is listed twice", f.Path)
		}
		seen[f.Path] = true
		if f.Size >= 0 && !o.wants(f) {
			continue
		}
		if f.Size < 0 || f.Size > o.MaxBytes-total {
			return index, fmt.Errorf("%w: its files take more than %d bytes, the limit for a pack of its size on this disk", format.ErrTooLarge, o.MaxBytes)
		}
		total += f.Size
	}
	if !seen[ManifestName] {
		return index, fmt.Errorf("%w: it holds no %s", ErrNotRun, ManifestName)
	}
	return index, nil
}

// extractMember reads the next member, which must be the one that the index
// lists, and writes it if it is needed.
func extractMember(t *tar.Reader, root *os.Root, want File, needed bool) error {
	h, err := t.Next()
	if err == io.EOF {
		return errors.New("the pack ends before this file: it is cut off")
	}
	if err != nil {
		return fmt.Errorf("read the pack: %w", err)
	}
	if h.Name != packRoot+want.Path || h.Typeflag != tar.TypeReg || h.Size != want.Size {
		return fmt.Errorf("the pack holds %q (%d bytes) in its place", h.Name, h.Size)
	}
	if !needed {
		return nil
	}
	name := filepath.FromSlash(want.Path)
	if dir := filepath.Dir(name); dir != "." {
		if err := root.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	sum := sha256.New()
	_, err = io.Copy(io.MultiWriter(f, sum), t)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != want.SHA256 {
		return fmt.Errorf("its content does not match the pack's index (sha256 %.12s, want %.12s): the pack is damaged", got, want.SHA256)
	}
	return nil
}

// pruneCache removes unpacked packs that nobody has used for long.
// Only folders that unpack made are removed.
func pruneCache(cache, current string) {
	entries, err := os.ReadDir(cache)
	if err != nil {
		return
	}
	for _, e := range entries {
		path := filepath.Join(cache, e.Name())
		fi, err := e.Info()
		if err != nil || !e.IsDir() || path == current || time.Since(fi.ModTime()) < cacheAge {
			continue
		}
		_, err = os.Lstat(filepath.Join(path, packIndexCopy))
		if strings.HasPrefix(e.Name(), tempPrefix) || !errors.Is(err, fs.ErrNotExist) {
			os.RemoveAll(path)
		}
	}
}
