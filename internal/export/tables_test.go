package export

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/parquet-go/parquet-go"
	"golang.org/x/perf/benchfmt"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/ncurep"
)

// counted is a source with a timeline and counters of the same program.
func counted(t *testing.T) *Source {
	t.Helper()
	s := &Source{Run: "toy", Timelines: []string{"../nsys/testdata/exports/toy.sqlite.gz"}, Counters: []string{"../ncurep/testdata/toy_full.ncu-rep.zst"}}
	var result *analysis.Result
	s.Result = func(ctx context.Context) (_ *analysis.Result, err error) {
		if result == nil {
			var in analysis.Input
			for _, path := range append(s.Timelines, s.Counters...) {
				if err := in.Add(path); err != nil {
					return nil, err
				}
			}
			result, err = analysis.Analyze(ctx, in)
		}
		return result, err
	}
	return s
}

func csvRows(t *testing.T, s *Source, table string) []map[string]string {
	t.Helper()
	var b bytes.Buffer
	if _, err := formatNamed(t, "csv").WriteTable(context.Background(), s, table, &b); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatalf("%s: %v", table, err)
	}
	var rows []map[string]string
	for _, line := range lines[1:] {
		row := map[string]string{}
		for i, key := range lines[0] {
			row[key] = line[i]
		}
		rows = append(rows, row)
	}
	return rows
}

// TestKeysJoin follows every launch to its kernel and region, and every counter to
// its kernel.
func TestKeysJoin(t *testing.T) {
	s := counted(t)
	kernels, regions := map[string]bool{}, map[string]bool{"": true}
	var total, sum int64
	for _, r := range csvRows(t, s, "kernels") {
		if kernels[r["kernel_id"]+r["device"]] {
			t.Errorf("kernel %s is there twice", r["kernel_id"])
		}
		kernels[r["kernel_id"]+r["device"]] = true
		total += number(t, r["total_ns"])
	}
	for _, r := range csvRows(t, s, "regions") {
		regions[r["region"]] = true
	}
	launches := csvRows(t, s, "launches")
	for _, r := range launches {
		if !kernels[r["kernel_id"]+r["device"]] || !regions[r["region"]] || r["run"] != "toy" || r["timeline"] != "toy.sqlite.gz" {
			t.Fatalf("launch %v joins nothing", r)
		}
		sum += number(t, r["duration_ns"])
	}
	if sum != total || sum == 0 {
		t.Errorf("launches take %d ns and kernels %d", sum, total)
	}
	metrics := 0
	for _, r := range csvRows(t, s, "metrics") {
		if kernels[r["kernel_id"]+"0"] {
			metrics++
		}
	}
	if metrics == 0 {
		t.Error("no counter joins a kernel of the timeline")
	}
}

func number(t *testing.T, s string) (n int64) {
	t.Helper()
	if _, err := fmt.Sscan(s, &n); err != nil {
		t.Fatalf("%q: %v", s, err)
	}
	return n
}

// TestMetricsAreComplete has every metric of the report once.
func TestMetricsAreComplete(t *testing.T) {
	s := counted(t)
	want := 0
	r, err := ncurep.Open(s.Counters[0], ncurep.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for result := range r.All() {
		want += len(result.Metrics)
	}
	if got := len(csvRows(t, s, "metrics")); got != want || got == 0 {
		t.Errorf("%d rows, want %d", got, want)
	}
}

// TestParquetEqualsCSV reads both back: the same columns in the same order, the
// same values.
func TestParquetEqualsCSV(t *testing.T) {
	sources := []*Source{counted(t), source("graph_node"), source("gpu_metrics"), source("nvtx_badname")}
	for _, s := range sources {
		dir := t.TempDir()
		for _, f := range []string{"csv", "parquet"} {
			if _, err := formatNamed(t, f).WriteFolder(context.Background(), s, filepath.Join(dir, f)); err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range TableNames() {
			header, want := readCSV(t, filepath.Join(dir, "csv", name+".csv"))
			gotHeader, got := readParquet(t, filepath.Join(dir, "parquet", name+".parquet"))
			if !reflect.DeepEqual(header, gotHeader) {
				t.Errorf("%s %s: columns %v, want %v", s.Run, name, gotHeader, header)
			}
			if len(got) != len(want) {
				t.Fatalf("%s %s: %d rows, want %d", s.Run, name, len(got), len(want))
			}
			for i := range want {
				for j := range header {
					if !sameCell(got[i][j], want[i][j]) {
						t.Fatalf("%s %s row %d %s: %q, want %q", s.Run, name, i, header[j], got[i][j], want[i][j])
					}
				}
			}
		}
	}
}

// sameCell compares a value of Parquet with the text of CSV.
func sameCell(got, want string) bool {
	if got == want || "'"+got == want {
		return true
	}
	var a, b float64
	_, errA := fmt.Sscan(got, &a)
	_, errB := fmt.Sscan(want, &b)
	return errA == nil && errB == nil && a == b
}

func readCSV(t *testing.T, path string) ([]string, [][]string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return lines[0], lines[1:]
}

func readParquet(t *testing.T, path string) (header []string, rows [][]string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range f.Schema().Fields() {
		header = append(header, c.Name())
	}
	r := parquet.NewReader(f)
	buf := make([]parquet.Row, 100)
	for {
		n, err := r.ReadRows(buf)
		for _, row := range buf[:n] {
			var cells []string
			for _, v := range row {
				text := ""
				if !v.IsNull() {
					text = v.String()
				}
				cells = append(cells, text)
			}
			rows = append(rows, cells)
		}
		if err != nil || n == 0 {
			return header, rows
		}
	}
}

// TestFolderOfOthersIsKept refuses to replace what no export wrote.
func TestFolderOfOthersIsKept(t *testing.T) {
	dir := t.TempDir()
	mine := filepath.Join(dir, "thesis.csv")
	if err := os.WriteFile(mine, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := formatNamed(t, "csv").WriteFolder(context.Background(), source("toy"), dir); err == nil {
		t.Error("a folder with another file was taken")
	}
	if _, err := os.Stat(mine); err != nil {
		t.Error(err)
	}
}

// TestNothingIsLeftOfAFailure leaves neither a part of the output nor a temporary
// file.
func TestNothingIsLeftOfAFailure(t *testing.T) {
	dir := t.TempDir()
	s := source("toy")
	s.Timelines = append(s.Timelines, "no-such.sqlite")
	for _, f := range Formats() {
		if f.Needs == "" && f.codec == nil { // made from the analysis
			continue
		}
		path := filepath.Join(dir, "out")
		var err error
		if f.Folder {
			_, err = f.WriteFolder(context.Background(), s, path)
		} else {
			_, err = f.WriteFile(context.Background(), s, path)
		}
		if err == nil {
			t.Errorf("%s: a file that is not there was exported", f.Name)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestBenchIsRead(t *testing.T) {
	s := counted(t)
	r := benchfmt.NewReader(bytes.NewReader(exported(t, "bench", s)), "toy")
	found := 0
	for r.Scan() {
		switch x := r.Result().(type) {
		case *benchfmt.SyntaxError:
			t.Error(x)
		case *benchfmt.Result:
			found++
			if _, ok := x.Value("sec/op"); !ok || x.GetConfig("run") != "toy" {
				t.Errorf("%s has no time or no run", x.Name)
			}
		}
	}
	result, _ := s.Result(context.Background())
	if r.Err() != nil || found < len(result.Kernels) {
		t.Errorf("%d results of %d kernels: %v", found, len(result.Kernels), r.Err())
	}
}

func TestJSONFollowsItsSchema(t *testing.T) {
	text, err := os.ReadFile(fmt.Sprintf("../../docs/schemas/result.v%d.json", analysis.Schema))
	if err != nil {
		t.Fatal(err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	var got any
	if err := json.Unmarshal(exported(t, "json", counted(t)), &got); err != nil {
		t.Fatal(err)
	}
	if err := resolved.Validate(got); err != nil {
		t.Error(err)
	}
}

// TestHostileNames writes names that try to break out of each format.
func TestHostileNames(t *testing.T) {
	for in, want := range map[string]string{
		"a\x1b[31mb": "a\uFFFD[31mb", "x\u202Ey": "x\uFFFDy", "\xff": "\uFFFD", "plain<T>": "plain<T>",
	} {
		if got := clean(in); got != want {
			t.Errorf("clean(%q) = %q, want %q", in, got, want)
		}
	}
	m := metrics{lines: map[string][]string{}}
	m.add("m", 1, label{"kernel", "a\"} 2\nevil{x=\"\\"})
	if got := m.lines["m"][0]; strings.Count(got, "\n") != 0 || !strings.Contains(got, `kernel="a\"} 2`+"\uFFFD"+`evil{x=\"\\"`) {
		t.Errorf("%s", got)
	}
	if got := benchName("a b/c\n"); got != "a_b_c\uFFFD" {
		t.Errorf("%q", got)
	}
}
