package nsys

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"al.essio.dev/pkg/shellescape"

	"github.com/deepprof/deepprof/internal/format"
	"github.com/deepprof/deepprof/internal/tool"
)

// OpenOptions says how a report becomes an SQLite file.
type OpenOptions struct {
	// Nsys names the nsys that exports; "" looks around. It is only needed for
	// reports that are not in the cache.
	Nsys string
	// CacheDir keeps exports; "" is deepprof/nsys in the user's cache
	// directory, or .deepprof-cache beside the report if that cannot be
	// written.
	CacheDir string
	System   tool.System
}

// Open opens an SQLite export, or a report (.nsys-rep, .qdrep) by way of one. A
// file that gzip or zstd has compressed is read through a temporary copy, which
// Close removes.
// The error says what the file is instead and what to do with it. The caller closes
// the File.
func Open(ctx context.Context, path string, o OpenOptions) (*File, error) {
	kind, err := format.Recognize(path)
	switch {
	case err != nil:
		return nil, fmt.Errorf("open capture: %w", err)
	case kind.Holds == format.Captures && kind.Kind != format.Pack:
		return nil, directoryError(path)
	case kind.Holds != format.Timeline:
		return nil, fmt.Errorf("open %s: %w", path, kindError(kind))
	}
	plain, done, err := format.Plain(ctx, path)
	if err != nil {
		return nil, err
	}
	var f *File
	if kind.Kind == format.SQLite {
		f, err = OpenSQLite(plain)
	} else {
		f, err = openReport(ctx, plain, o)
	}
	if err != nil {
		done()
		return nil, err
	}
	f.Path, f.done = path, done
	if f.SQLite == path {
		f.SQLite = plain
	}
	return f, nil
}

// kindError says what to do with a file that has no timeline.
// It never returns nil.
func kindError(f format.File) error {
	switch f.Kind {
	case format.NcuReport:
		return errors.New("it is a report of Nsight Compute, which has no timeline; look at it with deepprof show metrics")
	case format.Stream:
		return fmt.Errorf("it is the raw stream of a capture that was never imported; run QdstrmImporter --input-file=%s, which Nsight Systems installs in its host folder, and open the .nsys-rep", shellescape.Quote(f.Path))
	case format.CutStream:
		return errors.New("it is the raw stream of a capture that was cut off while it was written; nothing can read it, so capture again")
	case format.Parquet:
		return parquetError(f.Path)
	case format.Empty:
		return errors.New("it is empty; an export to a full disk leaves that")
	}
	if format.Named(f.Path) == format.NsysReport {
		return fmt.Errorf("it does not begin with %q: the report is damaged or not one of Nsight Systems", format.NsysMagic)
	}
	return fmt.Errorf("it is %s, and neither an SQLite export (.sqlite) nor a report (.nsys-rep, .qdrep) of Nsight Systems", f.Description)
}

// directoryError: a Parquet export is a folder of files.
func directoryError(path string) error {
	entries, _ := os.ReadDir(path)
	if slices.ContainsFunc(entries, func(e os.DirEntry) bool { return format.Named(e.Name()) == format.Parquet }) {
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
// Paths are quoted for a shell; the export lies beside the report.
func exportLine(report string) string {
	target := strings.TrimSuffix(report, filepath.Ext(report)) + ".sqlite"
	return fmt.Sprintf("nsys export --type=sqlite --force-overwrite=true --output=%s %s", shellescape.Quote(target), shellescape.Quote(report))
}
