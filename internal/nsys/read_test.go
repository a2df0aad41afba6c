package nsys

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	sqlite3 "github.com/ncruces/go-sqlite3"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/timeline"
)

// The least tables that versions from 2022 on have in common.
const (
	makeStrings = `CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL)`
	makeKernels = `CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
		contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
		demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, gridX INTEGER, gridY INTEGER, gridZ INTEGER)`
	makeCalls = `CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, globalTid INTEGER,
		correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER)`
	makeNVTX = `CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, text TEXT,
		globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER)`
)

// makeFile builds an export with SQLite itself.
func makeFile(t testing.TB, statements ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "made.sqlite")
	conn, err := sqlite3.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range statements {
		if err := conn.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// wantWarning looks for a code, and for a parameter's value as people read it
// where one is given.
func wantWarning(t *testing.T, warnings []fact.Fact, code fact.Code, values ...string) {
	t.Helper()
	if !slices.ContainsFunc(warnings, func(w fact.Fact) bool { return w.Is(code) && hasValues(w, values) }) {
		t.Errorf("warnings %v lack %s %q", warnings, code, values)
	}
}

func hasValues(w fact.Fact, values []string) bool {
	for _, want := range values {
		found := false
		for _, v := range w.Params {
			found = found || strings.Contains(message.Value(v), want)
		}
		if !found {
			return false
		}
	}
	return true
}

func TestAbsentTablesAndColumns(t *testing.T) {
	ctx := context.Background()
	t.Run("no kernels", func(t *testing.T) {
		f := openExport(t, "nvtx_2022")
		rows, err := f.KernelRows(ctx, timeline.Query{})
		if err != nil || len(rows.Rows) != 0 {
			t.Errorf("%d rows, %v", len(rows.Rows), err)
		}
		wantWarning(t, rows.Warnings, timeline.CodeNoKernels)
	})
	t.Run("kernels without times", func(t *testing.T) {
		f := openFile(t, makeFile(t, `CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (begin INTEGER, end INTEGER, demangledName INTEGER)`))
		rows, err := f.KernelRows(ctx, timeline.Query{})
		if err != nil || len(rows.Rows) != 0 {
			t.Errorf("%d rows, %v", len(rows.Rows), err)
		}
		wantWarning(t, rows.Warnings, timeline.CodeColumnMissing, "start")
		wantWarning(t, rows.Warnings, timeline.CodeColumnsUnknown, "begin")
	})
	t.Run("kernels with little else", func(t *testing.T) {
		f := openFile(t, makeFile(t, `CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, flavour TEXT)`,
			`INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1, 5, 'x')`))
		rows := launchRows(t, f, timeline.Query{})
		if len(rows.Rows) != 1 || rows.Rows[0].DurationNS != 4 {
			t.Errorf("%+v", rows.Rows)
		}
		wantWarning(t, rows.Warnings, timeline.CodeColumnsUnknown, "flavour")
		wantWarning(t, rows.Warnings, timeline.CodeNoCalls)
	})
	t.Run("known versions have no unknown columns", func(t *testing.T) {
		for _, name := range []string{"toy", "graph_node", "graph_whole", "multi_node", "llm", "nvtx_2022", "nvtx_2023"} {
			tl, err := openExport(t, name).Timeline(ctx, Everything)
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range tl.Warnings {
				if w.Is(timeline.CodeColumnsUnknown, timeline.CodeColumnMissing, timeline.CodeRowsSkipped) {
					t.Errorf("%s: %v", name, w)
				}
			}
		}
	})
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	write := func(name, data string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	parquet := filepath.Join(dir, "run_pqtdir")
	if err := os.Mkdir(parquet, 0o700); err != nil {
		t.Fatal(err)
	}
	write("run_pqtdir/KERNEL.parquet", "PAR1")
	tests := []struct{ name, path, want string }{
		{"missing", filepath.Join(dir, "nothing.sqlite"), "no such file"},
		{"directory", dir, "it is a directory"},
		{"parquet directory", parquet, "nsys export --type=sqlite --force-overwrite=true --output=run.sqlite run.nsys-rep"},
		{"empty", write("empty.sqlite", ""), "it is empty"},
		{"text", write("notes.txt", "hello"), "neither an SQLite export"},
		{"not a report", write("x.nsys-rep", "hello"), "damaged or not one of Nsight Systems"},
		{"ncu report", write("x.ncu-rep", "NVR\x00abc"), "deepprof show metrics"},
		{"raw stream", write("x.qdstrm", "U3w[END]..."), "QdstrmImporter"},
		{"unfinished stream", write("y.qdstrm", "\x00\xff\x00\xff\x00\xff\x00\xff"), "capture again"},
		{"compressed", write("x.sqlite.gz", "\x1f\x8b\x08"), "gzip data that cannot be read"},
		{"another database", makeFile(t, `CREATE TABLE notes (x)`), "none of Nsight Systems"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f, err := Open(context.Background(), test.path, OpenOptions{})
			if err == nil {
				f.Close()
				t.Fatal("it opened")
			}
			if !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), filepath.Base(test.path)) && test.name != "missing" {
				t.Errorf("error %q lacks %q or the name", err, test.want)
			}
		})
	}
}

// TestStreamEqualsTimeline: the summary that streams and the one over the whole
// model are the same, in every split and with every filter.
func TestStreamEqualsTimeline(t *testing.T) {
	ctx := context.Background()
	for _, name := range []string{"toy", "multi_node", "llm"} {
		tl, err := openExport(t, name).Timeline(ctx, Kernels)
		if err != nil {
			t.Fatal(err)
		}
		f := openExport(t, name)
		for by := range timeline.By(16) {
			if by&timeline.ByRegion != 0 {
				continue
			}
			for _, q := range []timeline.Query{{}, {Top: 3}, {Devices: []int{0}}, {Devices: []int{5}}, {Kernel: regexp.MustCompile("gemm|work")}} {
				q.By = by
				got, err := f.KernelRows(ctx, q)
				if err != nil {
					t.Fatal(err)
				}
				want := tl.KernelRows(q)
				if text(got.Rows) != text(want.Rows) || got.Cut != want.Cut {
					t.Errorf("%s by %d: stream and model differ:\n%s\n%s", name, by, text(got.Rows), text(want.Rows))
				}
			}
		}
	}
}

func text(rows []timeline.KernelRow) string {
	var b strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&b, "%s|%s|%d|%d|%v|%v|%d|%d|%v|%v", r.Name, r.ShortName, r.TotalNS, r.Calls, r.MeanNS, r.MedianNS, r.MinNS, r.MaxNS, r.StddevNS, r.TimePct)
		if r.Device != nil {
			fmt.Fprintf(&b, "|dev %d", *r.Device)
		}
		if r.Process != nil {
			fmt.Fprintf(&b, "|pid %d", *r.Process)
		}
		if r.Grid != nil {
			fmt.Fprintf(&b, "|%v %v %d %d %d", *r.Grid, *r.Block, *r.Registers, *r.StaticShared, *r.DynamicShared)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestNVTXDetails(t *testing.T) {
	for _, name := range []string{"nvtx_2022", "nvtx_2023"} {
		t.Run(name, func(t *testing.T) {
			f := openExport(t, name)
			rows, err := f.RangeRows(context.Background(), timeline.Query{})
			if err != nil {
				t.Fatal(err)
			}
			byName := map[string]timeline.RangeRow{}
			for _, r := range rows.Rows {
				byName[r.Name] = r
			}
			for _, want := range []struct{ name, kind, value string }{
				{"payload u64", "uint64", "18446744073709551615"}, {"payload i64", "int64", "-5"}, {"payload double", "double", "2.5"},
				{"payload u32", "uint32", "7"}, {"payload i32", "int32", "-7"}, {"payload float", "float", "0.5"},
			} {
				if r := byName[want.name]; r.PayloadType != want.kind || r.Payload != want.value {
					t.Errorf("%s: %s %s", want.name, r.PayloadType, r.Payload)
				}
			}
			if r := byName["coloured"]; r.Category != "io" || r.Color != "#80FF0000" || r.Path != "outer/coloured" {
				t.Errorf("colored: %+v", r)
			}
			if r := byName["registered"]; r.Domain != "engine" || r.Path != "engine@registered" || r.Category != "math" {
				t.Errorf("registered: %+v", r)
			}
			if r := byName["slash/and@at, and \"quotes\""]; r.Path != `slash\/and@at, and "quotes"` {
				t.Errorf("slash: %+v", r)
			}
			if r := byName["wïde"]; r.RangeNS <= 0 {
				t.Errorf("wide name: %+v", r)
			}
			if r := byName["crossing threads"]; r.Style != "StartEnd" {
				t.Errorf("crossing threads: %+v", r)
			}
			info, err := f.Info(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if info.Counts.Marks != 2 || info.Counts.Ranges != len(rows.Rows) || len(info.Processes) != 1 || info.Source.Tool == "" || info.Source.Schema == "" {
				t.Errorf("info %+v", info)
			}
		})
	}
}

func TestNewerSchema(t *testing.T) {
	path := makeFile(t, `CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT)`,
		`INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '4.1.0'), ('EXPORT_PRODUCT_VERSION', '2031.1')`,
		`CREATE TABLE DIAGNOSTIC_EVENT (timestamp INTEGER, severity INTEGER, source INTEGER, text TEXT)`,
		`INSERT INTO DIAGNOSTIC_EVENT VALUES (1, 1, 1, 'all is well'), (2, 3, 1, 'events were dropped')`)
	info, err := openFile(t, path).Info(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	wantWarning(t, info.Warnings, timeline.CodeSchema, "4.1.0", "3")
	wantWarning(t, info.Warnings, timeline.CodeProfilerSays, "events were dropped")
	if info.Source.Tool != "2031.1" || len(info.Diagnostics) != 2 || len(info.Warnings) != 5 {
		t.Errorf("info %+v", info)
	}
}

func TestInfo(t *testing.T) {
	info, err := openExport(t, "multi_node").Info(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	c := info.Counts
	if c.Kernels != 143 || c.GraphKernels != 24 || c.KernelNames != 4 || c.Calls == 0 || len(info.GPUs) != 1 || info.GPUs[0].Name != "NVIDIA H200" {
		t.Errorf("info %+v", info)
	}
	tl, err := openExport(t, "multi_node").Timeline(context.Background(), Everything)
	if err != nil {
		t.Fatal(err)
	}
	if all := tl.Info(); all.Counts != c || tl.Calls.Len() != c.Calls {
		t.Errorf("counted %+v, read %+v and %d calls", c, all.Counts, tl.Calls.Len())
	}
	if len(info.Devices) != 1 || info.Devices[0].KernelNS != 610689 || info.Devices[0].Streams < 2 {
		t.Errorf("devices %+v", info.Devices)
	}
	for _, p := range slices.Concat(info.System, info.Capture) {
		if strings.Contains(p.Name, "ENVIRONMENT") || strings.Contains(p.Name, "Environment") {
			t.Errorf("the environment is shown: %s", p.Name)
		}
	}
}

// Values that no GPU can have are absent, with a warning each. The table is
// synthetic.
func TestImpossibleGPU(t *testing.T) {
	path := makeFile(t, `CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT)`, `CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, smCount INTEGER, totalMemory INTEGER, memoryBandwidth INTEGER, clockRate INTEGER, l2CacheSize INTEGER, computeMajor INTEGER, computeMinor INTEGER, cuDevice INTEGER)`,
		`INSERT INTO TARGET_INFO_GPU VALUES (0, 'broken', 0, -1, -2, -1980000000, -3, 0, 0, 0), (1, 'sound', 132, 0, 0, 1980000000, 0, 9, 0, 1)`)
	info, err := openFile(t, path).Info(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if want := (timeline.GPU{Name: "broken"}); len(info.GPUs) != 2 || info.GPUs[0] != want {
		t.Errorf("GPUs %+v, want the first %+v", info.GPUs, want)
	}
	if g := info.GPUs[1]; g.SMs != 132 || g.ClockHz != 1_980_000_000 || g.ComputeMajor != 9 {
		t.Errorf("the sound GPU became %+v", g)
	}
	said := 0
	for _, w := range info.Warnings {
		if w.Is(timeline.CodeGPUImpossible) {
			said++
		}
	}
	for _, column := range []string{"smCount", "totalMemory", "memoryBandwidth", "clockRate", "l2CacheSize", "computeMajor"} {
		wantWarning(t, info.Warnings, timeline.CodeGPUImpossible, column)
	}
	if said != 6 {
		t.Errorf("%d warnings of impossible values, want 6", said)
	}
}
