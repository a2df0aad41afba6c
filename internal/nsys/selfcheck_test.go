package nsys

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/timeline"
	"github.com/deepprof/deepprof/internal/tool"
)

// TestRecordedStats compares with what nsys stats of three versions printed of
// the exports in testdata.
func TestRecordedStats(t *testing.T) {
	paths, err := filepath.Glob("testdata/stats/*.txtar.gz")
	if err != nil || len(paths) < 19 {
		t.Fatalf("found %d recordings: %v", len(paths), err)
	}
	for _, path := range paths {
		name, version, _ := strings.Cut(strings.TrimSuffix(filepath.Base(path), ".txtar.gz"), ".")
		t.Run(name+" "+version, func(t *testing.T) {
			v, err := tool.ParseVersion(tool.Nsys, "NVIDIA Nsight Systems version "+version+".0")
			if err != nil {
				t.Fatal(err)
			}
			o := readOurs(t, openExport(t, name))
			reports := recorded(t, path)
			if len(reports) == 0 {
				t.Fatal("the recording holds no report")
			}
			for _, c := range comparisons {
				vendor, ok := reports[c.reportName(v)]
				if !ok {
					continue
				}
				for _, d := range c.differences(v, vendor, o) {
					t.Errorf("%s: %s", c.reportName(v), d)
				}
			}
		})
	}
}

func readOurs(t *testing.T, f *File) *ours {
	t.Helper()
	ctx := context.Background()
	tl, err := f.Timeline(ctx, Kernels|Memory|Calls|NVTX)
	if err != nil {
		t.Fatal(err)
	}
	kernels, err := f.KernelRows(ctx, timeline.Query{})
	if err != nil {
		t.Fatal(err)
	}
	return &ours{t: tl, kernels: kernels.Rows}
}

// TestSelfCheck runs the real tools.
func TestSelfCheck(t *testing.T) {
	for _, nsys := range realTools(t) {
		for _, name := range []string{"toy", "graph_node", "graph_whole", "multi_node", "multi_graph", "llm", "nvtx_2022", "nvtx_2023", "nvtx_badname"} {
			t.Run(nsys.Version.String()+" "+name, func(t *testing.T) {
				checks, err := openExport(t, name).SelfCheck(context.Background(), nsys)
				if err != nil {
					t.Fatal(err)
				}
				rows := 0
				for _, c := range checks {
					rows += c.Rows
					for _, d := range c.Differences {
						t.Errorf("%s: %s", c.Report, d)
					}
				}
				if rows == 0 && name != "nvtx_badname" {
					t.Error("nothing was compared")
				}
			})
		}
	}
}

// realTools finds the nsys of the folder that DEEPPROF_NSIGHT names.
func realTools(t *testing.T) []tool.Tool {
	t.Helper()
	dir := os.Getenv("DEEPPROF_NSIGHT")
	if dir == "" {
		t.Skip("DEEPPROF_NSIGHT names no folder with Nsight Systems")
	}
	var tools []tool.Tool
	for _, release := range []string{"bookworm", "trixie"} {
		found, err := tool.Find(context.Background(), tool.Spec{Name: tool.Nsys, Path: filepath.Join(dir, release, "nsys")})
		if err != nil {
			t.Fatal(err)
		}
		tools = append(tools, found)
	}
	return tools
}

func TestCompareFindsDifferences(t *testing.T) {
	report := func(rows ...[]string) vendorTable {
		return vendorTable{Columns: []string{"Total Time (ns)", "Avg (ns)", "Name"}, Rows: rows}
	}
	base := [][]string{{"10", "5.0", "a"}, {"6", "3.0", "b"}}
	tests := []struct {
		name string
		ours vendorTable
		want []string
	}{
		{"equal", report(base...), nil},
		{"cell", report(base[0], []string{"6", "3.1", "b"}), []string{`b, Avg (ns): nsys "3.0", deepprof "3.1"`}},
		{"missing row", report(base[0]), []string{"b: nsys has the row 6,3.0,b, deepprof has not"}},
		{"extra row", report(base[0], base[1], []string{"1", "1.0", "c"}), []string{"c: nsys has not, deepprof has the row 1,1.0,c"}},
		{"order", report(base[1], base[0]), []string{`row 1, Name: nsys "a", deepprof "b"`}},
		{"columns", vendorTable{Columns: []string{"Name"}}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			vendor := report(base...)
			if test.name == "columns" {
				vendor.Columns = []string{"x", "y", "z"}
				test.want = []string{"columns: nsys , deepprof Name"}
			}
			var got []string
			for _, d := range compareTables(vendor, test.ours, "Name") {
				got = append(got, d.String())
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestParseStats(t *testing.T) {
	tests := []struct {
		name, data string
		want       [][]string
	}{
		{"empty", "", nil},
		{"quotes within quotes", "Time (%),Range\n1.0,\"a, \"b\"\"\n", [][]string{{"1.0", `a, "b"`}}},
		{"quote and comma in the last cell", "Time (%),Style,Range\n0.0,PushPop,wide\n0.1,PushPop,\"<b>x</b>&\"q\",'\"\n",
			[][]string{{"0.0", "PushPop", "wide"}, {"0.1", "PushPop", `<b>x</b>&"q",'`}}},
		{"quote and comma in the first cell", "Range,Style,Total\n\"a\",b\",PushPop,3\n\",\",StartEnd,4\n",
			[][]string{{`a",b`, "PushPop", "3"}, {",", "StartEnd", "4"}}},
		{"commas at both ends", "NVTX Range,Style,PID,Kernel Name\n\"a\", \"b\",PushPop,7,\"k<1, \"2\">(int, int)\"\n,,8,\"k<3,4>\"\n",
			[][]string{{`a", "b`, "PushPop", "7", `k<1, "2">(int, int)`}, {"", "", "8", "k<3,4>"}}},
		{"quotes without a comma belong to the name", "Time (%),Range\n1.0,\"a\"\n", [][]string{{"1.0", `"a"`}}},
		{"commas after a line end", "Time (%),Total,Range\n1.0,2,\"a\n,,b\"\n3.0,4,c\n", [][]string{{"1.0", "2", "a\n,,b"}, {"3.0", "4", "c"}}},
		{"what looks like a row within a name", "Time (%),Total,Style,Range\n1.0,2,PushPop,\"a\n3.0,4,b\"\n", [][]string{{"1.0", "2", "PushPop", "a\n3.0,4,b"}}},
		{"line end in the last cell", "Time (%),Range\n1.0,a\nb\n2.0,c\n", [][]string{{"1.0", "a\nb"}, {"2.0", "c"}}},
		{"line end in the first cell", "Range,Style\na\nb,PushPop\nc,StartEnd\n", [][]string{{"a\nb", "PushPop"}, {"c", "StartEnd"}}},
		{"empty last cell", "Time (%),Range\n1.0,\n", [][]string{{"1.0", ""}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := parseStats(test.data).Rows
			if !slices.EqualFunc(got, test.want, slices.Equal) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
