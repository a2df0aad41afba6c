package nsys

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/fact"
)

// What nsys stats of three versions printed; the names are VERSION.REPORT.csv.
func TestReadStatsCSV(t *testing.T) {
	renamed := map[string]string{"gpukernsum": "cuda_gpu_kern_sum", "nvtxkernsum": "nvtx_kern_sum", "nvtxsum": "nvtx_sum"}
	files, err := filepath.Glob("testdata/statscsv/*.csv")
	if err != nil || len(files) < 10 {
		t.Fatalf("fixtures are missing: %v %v", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			tables, err := ReadStatsCSVFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if len(tables) != 1 {
				t.Fatalf("%d tables", len(tables))
			}
			tab := tables[0]
			want := strings.Split(filepath.Base(file), ".")[2]
			if n, ok := renamed[want]; ok {
				want = n
			}
			if tab.Report != want {
				t.Errorf("report %q, want %q", tab.Report, want)
			}
			if tab.Lost != 0 || len(tab.Warnings) != 0 || len(tab.Rows) == 0 {
				t.Errorf("%d rows, %d lost, warnings %v", len(tab.Rows), tab.Lost, tab.Warnings)
			}
			for _, c := range tab.Columns {
				if c.Name == c.Header {
					t.Errorf("column %q is not known", c.Header)
				}
			}
			for i := range tab.Rows {
				if n, ok := tab.Number(i, "instances"); !ok || n < 1 {
					t.Errorf("row %d: instances %v %v", i, n, ok)
				}
			}
		})
	}
}

func TestStatsCSVAgreesAcrossVersions(t *testing.T) {
	read := func(name string) *StatsTable {
		tables, err := ReadStatsCSVFile("testdata/statscsv/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return tables[0]
	}
	old, mid := read("2022.4.gpukernsum.csv"), read("2023.4.cuda_gpu_kern_sum.csv")
	if len(old.Rows) != 4 || len(mid.Rows) != 4 {
		t.Fatalf("%d and %d rows, want 4", len(old.Rows), len(mid.Rows))
	}
	if got := mid.Text(0, "name"); got != "void gemm_tile<(int)32>(int, const float *, const float *, float *)" {
		t.Errorf("name %q", got)
	}
	if n, ok := mid.Number(0, "total_ns"); !ok || n != 1678213 {
		t.Errorf("total %v", n)
	}
	for i := range old.Rows {
		for _, c := range []string{"time_pct", "total_ns", "instances", "mean_ns", "median_ns", "min_ns", "max_ns", "stddev_ns"} {
			a, okA := old.Number(i, c)
			b, okB := mid.Number(i, c)
			if a != b || !okA || !okB {
				t.Errorf("row %d %s: %v and %v", i, c, a, b)
			}
		}
	}
}

func TestStatsCSVBadInput(t *testing.T) {
	const head = "Time (%),Total Time (ns),Instances,Avg (ns),Name\n"
	for _, tt := range []struct {
		name, text string
		rows, lost int
		warning    fact.Code
	}{
		{"short row", head + "1.0,5,1,5.0\n1.0,5,1,5.0,k\n", 1, 1, statsRowCells},
		{"stray quote", head + "\"1.0,5,1,5.0,k\n", 0, 1, statsRowLost},
		{"quote in a name", head + "1.0,5,1,5.0,a\"b\n1.0,5,1,5.0,\"a\"b, \"c\"\"\n", 2, 0, ""},
		{"not a number", head + "1.0,many,1,5.0,k\n", 1, 0, statsNumberLost},
		{"separators", "\n" + head + "1.0,\"1,234,567\",1,5.0,k\n", 1, 0, ""},
		{"decimal commas", head + "\"1,0\",\"1.234.567\",1,\"5,0\",k\n", 1, 0, ""},
		{"ambiguous", head + "\"1,0\",1234,1,\"5.0\",k\n", 1, 0, ""},
		{"empty cells", head + ",,1,,k\n", 1, 0, ""},
		{"microseconds", "Time (%),Total Time (us),Instances,Avg (ms),Name\n1.0,5.5,1,2.0,k\n", 1, 0, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tables, err := readStatsCSV(strings.NewReader(tt.text))
			if err != nil {
				t.Fatal(err)
			}
			tab := tables[0]
			if len(tab.Rows) != tt.rows || tab.Lost != tt.lost {
				t.Errorf("%d rows, %d lost", len(tab.Rows), tab.Lost)
			}
			if tt.warning != "" && (len(tab.Warnings) == 0 || tab.Warnings[0].Code != tt.warning || tab.Warnings[0].Number("line") != 2) {
				t.Errorf("warnings %v, want %q", tab.Warnings, tt.warning)
			}
			switch tt.name {
			case "quote in a name":
				if a, b := tab.Text(0, "name"), tab.Text(1, "name"); a != `a"b` || b != `a"b, "c"` {
					t.Errorf("names %q and %q", a, b)
				}
			case "separators", "decimal commas":
				if n, _ := tab.Number(0, "total_ns"); n != 1234567 {
					t.Errorf("total %v", n)
				}
			case "microseconds":
				if n, _ := tab.Number(0, "total_ns"); n != 5500 {
					t.Errorf("total %v", n)
				}
				if n, _ := tab.Number(0, "mean_ns"); n != 2e6 {
					t.Errorf("mean %v", n)
				}
			}
		})
	}
	if _, err := readStatsCSV(strings.NewReader("Processing [x]...\nSKIPPED: x does not contain CUDA kernel data.\n")); !errors.Is(err, ErrNoStats) {
		t.Errorf("no table: %v", err)
	}
}

func TestStatsCSVSeveralTables(t *testing.T) {
	a, err := os.ReadFile("testdata/statscsv/2023.4.cuda_gpu_kern_sum.csv")
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile("testdata/statscsv/2023.4.nvtx_sum.csv")
	if err != nil {
		t.Fatal(err)
	}
	tables, err := readStatsCSV(strings.NewReader(string(a) + string(b)))
	if err != nil || len(tables) != 2 || tables[1].Report != "nvtx_sum" {
		t.Fatalf("%v %v", tables, err)
	}
}

func FuzzStatsCSV(f *testing.F) {
	files, _ := filepath.Glob("testdata/statscsv/*.csv")
	for _, file := range files {
		if b, err := os.ReadFile(file); err == nil {
			f.Add(string(b))
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		tables, err := readStatsCSV(strings.NewReader(text))
		if err != nil {
			return
		}
		for _, tab := range tables {
			for _, r := range tab.Rows {
				if len(r.Cells) != len(tab.Columns) {
					t.Fatalf("%d cells under %d columns", len(r.Cells), len(tab.Columns))
				}
			}
			if tab.Lost > 0 && len(tab.Warnings) == 0 {
				t.Fatal("rows were lost in silence")
			}
		}
	})
}

// Synthetic: names of columns that other tools and releases use.
func TestStatsCSVSynonyms(t *testing.T) {
	for _, name := range []string{"Name", "Kernel Name", "Function Name"} {
		tables, err := readStatsCSV(strings.NewReader("Time (%),Total Time (ns),Instances,Avg (ns)," + name + "\n1.0,5,1,5.0,k\n"))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if tab := tables[0]; tab.Report != "cuda_gpu_kern_sum" || tab.Text(0, "name") != "k" {
			t.Errorf("%s: report %q, name %q", name, tab.Report, tab.Text(0, "name"))
		}
	}
	_, err := readStatsCSV(strings.NewReader("Percent,Total Time (ns),How many,Name\n1.0,5,1,k\n"))
	var unknown *UnknownColumnsError
	if !errors.As(err, &unknown) || !errors.Is(err, ErrNoStats) || !slices.Contains(unknown.Found, "How many") || !slices.Contains(unknown.Expected, "Instances") {
		t.Errorf("error %v", err)
	}
}
