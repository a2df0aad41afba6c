package nsys

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"al.essio.dev/pkg/shellescape"

	"github.com/deepprof/deepprof/internal/tool"
)

// OpenOptions says how a report becomes an SQLite file.
type OpenOptions struct {
	// Nsys names the nsys that exports; "" looks around. It is only needed for
	// reports that are not in the cache.
	Nsys string
	// CacheDir keeps exports; "" is deepprof/nsys in the user's cache
	// directory, or .deepprof-cache beside the report where that cannot be
	// written.
	CacheDir string
	System   tool.System
}

// The kinds of files that are told apart by how they begin.
var magics = []struct {
	head string
	kind string
}{
	{"SQLite format 3\x00", "sqlite"},
	{reportMagic, "report"},
	{"NVR\x00", "ncu"},
	{"U3w[END]", "stream"},
	{"\x00\xff\x00\xff\x00\xff\x00\xff", "unfinished"},
	{"\x1f\x8b", "gzip"},
	{"\x28\xb5\x2f\xfd", "zstd"},
	{"PAR1", "parquet"},
}

const reportMagic = "NVIDIA Tegra Profiler Report "

// Open opens an SQLite export, or a report (.nsys-rep, .qdrep) by way of one.
func Open(ctx context.Context, path string, o OpenOptions) (*File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("open capture: %w", err)
	}
	if info.IsDir() {
		return nil, directoryError(path)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("open %s: it is no regular file", path)
	}
	kind, err := sniff(path)
	if err != nil {
		return nil, fmt.Errorf("open capture: %w", err)
	}
	switch kind {
	case "sqlite":
		return OpenSQLite(path)
	case "report":
		return openReport(ctx, path, o)
	}
	return nil, fmt.Errorf("open %s: %w", path, kindError(kind, path, info.Size()))
}

func sniff(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	head := make([]byte, 64)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return "", err
	}
	for _, m := range magics {
		if bytes.HasPrefix(head[:n], []byte(m.head)) {
			return m.kind, nil
		}
	}
	return "", nil
}

func kindError(kind, path string, size int64) error {
	switch kind {
	case "ncu":
		return errors.New("it is a report of Nsight Compute, which has no timeline; look at it with deepprof show metrics")
	case "stream":
		return fmt.Errorf("it is the raw stream of a capture that was never imported; run QdstrmImporter --input-file=%s, which Nsight Systems installs in its host folder, and open the .nsys-rep", shellescape.Quote(path))
	case "unfinished":
		return errors.New("it is the raw stream of a capture that was cut off while it was written; nothing can read it, so capture again")
	case "gzip":
		return fmt.Errorf("it is compressed; run gunzip --keep %s and open the result", shellescape.Quote(path))
	case "zstd":
		return fmt.Errorf("it is compressed; run zstd -d %s and open the result", shellescape.Quote(path))
	case "parquet":
		return parquetError(path)
	}
	if size == 0 {
		return errors.New("it is empty; an export to a full disk leaves that")
	}
	if ext := strings.ToLower(filepath.Ext(path)); ext == ".nsys-rep" || ext == ".qdrep" {
		return fmt.Errorf("it does not begin with %q: the report is damaged or not one of Nsight Systems", reportMagic)
	}
	return errors.New("it is neither an SQLite export (.sqlite) nor a report (.nsys-rep, .qdrep) of Nsight Systems")
}

func directoryError(path string) error {
	if found, _ := filepath.Glob(filepath.Join(path, "*.parquet")); len(found) > 0 {
		return fmt.Errorf("open %s: %w", path, parquetError(path))
	}
	return fmt.Errorf("open %s: it is a directory; name the .sqlite, .nsys-rep or .qdrep in it", path)
}

// parquetError refuses Parquet exports: a reader for them would double the
// size of this program.
func parquetError(path string) error {
	base := strings.TrimSuffix(filepath.Base(filepath.Clean(path)), filepath.Ext(path))
	base = strings.TrimSuffix(base, "_pqtdir")
	return fmt.Errorf("a Parquet export is not read; make an SQLite export of the report instead: %s", exportLine(base+".nsys-rep"))
}

// exportLine is what to type to export a report by hand.
func exportLine(report string) string {
	target := strings.TrimSuffix(report, filepath.Ext(report)) + ".sqlite"
	return fmt.Sprintf("nsys export --type=sqlite --force-overwrite=true --output=%s %s", shellescape.Quote(target), shellescape.Quote(report))
}
