package runs

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/klauspost/compress/zstd"
)

// writePack writes the archive under a temporary name and moves it to out.
func writePack(ctx context.Context, index PackIndex, tmp, out string) (int64, error) {
	f, err := os.Create(tmp)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	z, err := zstd.NewWriter(f, zstd.WithEncoderLevel(zstd.SpeedDefault))
	if err != nil {
		return 0, err
	}
	err = writeMembers(ctx, tar.NewWriter(z), index)
	if err = errors.Join(err, z.Close()); err != nil {
		return 0, err
	}
	if err := f.Sync(); err != nil {
		return 0, err
	}
	fi, err := f.Stat()
	if err != nil {
		return 0, err
	}
	if err := f.Chmod(0o644); err != nil {
		return 0, err
	}
	if err := os.Rename(tmp, out); err != nil {
		return 0, err
	}
	return fi.Size(), syncDir(filepath.Dir(out))
}

// The index comes first, so that a reader can check names and sizes before it writes.
func writeMembers(ctx context.Context, t *tar.Writer, index PackIndex) error {
	head, err := json.MarshalIndent(index, "", "  ")
	if err != nil {
		return err
	}
	if err := t.WriteHeader(member(packIndex, int64(len(head)), index.Created)); err != nil {
		return err
	}
	if _, err := t.Write(head); err != nil {
		return err
	}
	for _, e := range index.entries {
		if err := t.WriteHeader(member(packRoot+e.Path, e.Size, index.Created)); err != nil {
			return err
		}
		if err := writeMember(ctx, t, e); err != nil {
			return fmt.Errorf("%s: %w", e.Path, err)
		}
	}
	return t.Close()
}

// member leaves out owner and times of the files, which say who and where.
func member(name string, size int64, when time.Time) *tar.Header {
	return &tar.Header{Name: name, Size: size, Mode: 0o644, ModTime: when, Typeflag: tar.TypeReg, Format: tar.FormatPAX}
}

// A file that changed since it was hashed is an error.
func writeMember(ctx context.Context, t *tar.Writer, e packEntry) error {
	f, err := os.Open(e.src)
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(t, h), io.LimitReader(readerCtx{ctx, f}, e.Size))
	if err != nil {
		return err
	}
	if n != e.Size || hex.EncodeToString(h.Sum(nil)) != e.SHA256 {
		return errors.New("it changed while it was packed")
	}
	return nil
}
