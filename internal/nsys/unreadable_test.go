package nsys

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/timeline"
)

const makeCopies = `CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
	streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL)`

// TestUnreadableTable: a table that cannot be read is named, and the others are
// read all the same.
func TestUnreadableTable(t *testing.T) {
	kernel := `INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10, 20, 0, 1, 7, 1, 16777216, 1, 1, 1, 1, 1)`
	call := `INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (5, 6, 16777217, 1, 1, 0)`
	nvtx := `INSERT INTO NVTX_EVENTS VALUES (0, 100, 59, 'a', 16777217, NULL, NULL, 0)`
	whole := makeFile(t, makeStrings, makeKernels, makeCalls, makeNVTX, makeCopies, kernel, call, nvtx)
	noRowID := makeFile(t, makeStrings, makeKernels, makeCalls, makeNVTX, kernel, call, nvtx,
		strings.Replace(makeCopies, "start INTEGER NOT NULL", "start INTEGER PRIMARY KEY", 1)+" WITHOUT ROWID")
	view := makeFile(t, makeStrings, makeKernels, makeCalls, makeNVTX, kernel, call, nvtx,
		strings.Replace(makeCopies, "MEMCPY", "OTHER", 1), `CREATE VIEW CUPTI_ACTIVITY_KIND_MEMCPY AS SELECT * FROM CUPTI_ACTIVITY_KIND_OTHER`)
	for _, test := range []struct{ name, path, want string }{
		{"damaged statement", damage(t, whole, "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start", "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (,tart"), "not understood"},
		{"WITHOUT ROWID", noRowID, "WITHOUT ROWID"},
		{"view", view, "it is a view"},
	} {
		t.Run(test.name, func(t *testing.T) {
			ctx := context.Background()
			f := openFile(t, test.path)
			regions, err := f.RegionRows(ctx, timeline.Query{})
			if err != nil {
				t.Fatal(err)
			}
			if len(regions.Rows) != 1 || regions.Rows[0].KernelCalls != 1 {
				t.Errorf("regions %+v", regions.Rows)
			}
			wantWarning(t, regions.Warnings, timeline.CodeTableLost, "CUPTI_ACTIVITY_KIND_MEMCPY", test.want)
			if !f.Damaged() {
				t.Error("the loss is not told")
			}
			gapRows(t, f, timeline.Query{})
			if _, err := f.Info(ctx); err != nil {
				t.Error(err)
			}
		})
	}
}

// damage replaces a text in a copy of a file by one of the same length.
func damage(t *testing.T, path, old, with string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil || len(old) != len(with) || !bytes.Contains(data, []byte(old)) {
		t.Fatalf("%q is not in %s: %v", old, path, err)
	}
	out := filepath.Join(t.TempDir(), "damaged.sqlite")
	if err := os.WriteFile(out, bytes.Replace(data, []byte(old), []byte(with), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestKernelView(t *testing.T) {
	path := makeFile(t, strings.Replace(makeKernels, "KIND_KERNEL", "KIND_OTHER", 1),
		`CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS SELECT * FROM CUPTI_ACTIVITY_KIND_OTHER`)
	f := openFile(t, path)
	rows, err := f.KernelRows(context.Background(), timeline.Query{})
	if err != nil || len(rows.Rows) != 0 || !f.Damaged() {
		t.Errorf("%d rows, damaged %v, %v", len(rows.Rows), f.Damaged(), err)
	}
	wantWarning(t, rows.Warnings, timeline.CodeTableLost, "CUPTI_ACTIVITY_KIND_KERNEL", "it is a view")
	for _, w := range rows.Warnings {
		if w.Is(timeline.CodeNoKernels, timeline.CodeNoCalls, timeline.CodeNoRanges) {
			t.Errorf("warning %v about kernels that are there", w)
		}
	}
}

// TestDamagedStatements: whatever byte of a CREATE statement is hit, the rest
// of the file can be asked for everything.
func TestDamagedStatements(t *testing.T) {
	data, err := os.ReadFile(export(t, "multi_node"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "damaged.sqlite")
	for _, table := range []string{tableCopy, tableSet, tableSync, "StringIds", "PROCESSES"} {
		start := bytes.Index(data, []byte("CREATE TABLE "+table))
		if start < 0 {
			t.Fatalf("no table %s", table)
		}
		for at := start; at < start+300; at += 7 {
			broken := bytes.Clone(data)
			broken[at] ^= 0x55
			if err := os.WriteFile(path, broken, 0o600); err != nil {
				t.Fatal(err)
			}
			f, err := OpenSQLite(path)
			if err != nil {
				t.Errorf("%s+%d: %v", table, at-start, err)
				continue
			}
			if tl, err := f.Timeline(context.Background(), Everything); err != nil || len(tl.Kernels) != 143 {
				t.Errorf("%s+%d: %v", table, at-start, err)
			}
			f.Close()
		}
	}
}
