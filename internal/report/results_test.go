package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/deepprof/deepprof/internal/analysis"
)

func TestResultTables(t *testing.T) {
	for name, r := range cases(t) {
		for _, table := range []struct {
			name string
			make func() Printable
		}{
			{"stages", func() Printable { return Stages(r) }},
			{"operators", func() Printable { return Operators(r) }},
			{"roofline", func() Printable { return RooflinePoints(r) }},
		} {
			t.Run(name+"/"+table.name, func(t *testing.T) {
				var text, md, rows, object bytes.Buffer
				p := table.make()
				for _, err := range []error{p.WriteText(&text, 100), table.make().WriteMarkdown(&md), table.make().WriteCSV(&rows), table.make().WriteJSON(&object)} {
					if err != nil {
						t.Fatal(err)
					}
				}
				if name == "llm" { // a real capture; of the others facts are compared
					pinned(t, name, "show_"+table.name+".txt", text.Bytes())
					pinned(t, name, "show_"+table.name+".csv", rows.Bytes())
				}
				lines, err := csv.NewReader(&rows).ReadAll()
				if err != nil {
					t.Fatal(err)
				}
				var got struct {
					Schema string
					Rows   []map[string]any
				}
				if err := json.Unmarshal(object.Bytes(), &got); err != nil {
					t.Fatal(err)
				}
				if len(got.Rows) != len(lines)-1 || len(got.Rows) != p.Written() || got.Schema != "deepprof."+table.name {
					t.Errorf("JSON has %d rows of %s, CSV %d, text %d", len(got.Rows), got.Schema, len(lines)-1, p.Written())
				}
				for _, row := range got.Rows {
					for _, column := range lines[0] {
						if _, ok := row[column]; !ok {
							t.Errorf("column %s of CSV is not in JSON", column)
						}
					}
				}
				if p.Written() == 0 && (name != "empty" || table.name == "operators") && len(p.Footnotes()) == 0 {
					t.Error("no rows, and not a word why")
				}
			})
		}
	}
}

func TestAContradictionIsNoRow(t *testing.T) {
	row := stageRow(doubtful(), &doubtful().Stages[0])
	if row.MFU != nil || row.MFUCounters == nil {
		t.Errorf("got %v and %v", row.MFU, row.MFUCounters)
	}
}

// TestResultSchemasArePublished fails when docs/schemas is stale; run with
// -update.
func TestResultSchemasArePublished(t *testing.T) {
	for _, s := range []struct {
		name, about string
		row         reflect.Type
	}{
		{"stages", "deepprof show stages --json", reflect.TypeFor[StageRow]()},
		{"operators", "deepprof show operators --json", reflect.TypeFor[operatorRow]()},
		{"roofline", "deepprof show roofline --json", reflect.TypeFor[rooflineRow]()},
		{"ncu_regions", "", reflect.TypeFor[regionIndex]()},
	} {
		schema, err := jsonschema.ForType(s.row, withFacts)
		if err != nil {
			t.Fatal(err)
		}
		if s.about != "" {
			schema = envelope(s.name, s.about, schema)
		} else {
			schema.Schema, schema.Title, schema.Description = "https://json-schema.org/draft/2020-12/schema", "deepprof."+s.name, "ncu/regions/report.json of a run"
		}
		text, err := json.MarshalIndent(schema, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		golden(t, filepath.Join("..", "..", "docs", "schemas", s.name+".v1.json"), append(text, '\n'))
	}
}

func TestRegionReports(t *testing.T) {
	r := hostile()
	for _, name := range []string{"a/b", "a_b", "A_B", "..", "", "CON", "report.md", "Ä", strings.Repeat("x/", 300), strings.Repeat("x/", 301)} {
		g := r.Regions[1]
		g.Path, g.Name, g.Parent = name, name, -1
		r.Regions = append(r.Regions, g)
	}
	device := 1
	r.Regions = append(r.Regions, r.Regions[2])
	r.Regions[len(r.Regions)-1].Device = &device
	dir := filepath.Join(t.TempDir(), "regions")
	paths, err := WriteRegionReports(dir, r)
	if err != nil {
		t.Fatal(err)
	}
	if want := 2 + 2*len(r.Regions); len(paths) != want {
		t.Errorf("wrote %d files, want %d", len(paths), want)
	}
	var index regionIndex
	text, err := os.ReadFile(filepath.Join(dir, "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &index); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for i, e := range index.Regions {
		if e.Region.Path != r.Regions[i].Path {
			t.Errorf("path %q became %q", r.Regions[i].Path, e.Region.Path)
		}
		if seen[strings.ToLower(e.Folder)] || len(e.Folder) > 100 || strings.ContainsAny(e.Folder, `/\:*?"<>| `) || strings.HasPrefix(e.Folder, ".") {
			t.Errorf("folder %q of %q", e.Folder, e.Region.Path)
		}
		seen[strings.ToLower(e.Folder)] = true
		if info, err := os.Stat(filepath.Join(dir, e.Folder)); err != nil || !info.IsDir() {
			t.Errorf("folder %q: %v", e.Folder, err)
		}
	}
	if index.Regions[2].Folder != "prefill" {
		t.Errorf("a plain name became %q", index.Regions[2].Folder)
	}
	for _, p := range paths {
		if strings.HasSuffix(p, ".md") {
			text, err := os.ReadFile(p)
			if err != nil {
				t.Fatal(err)
			}
			checkMarkdown(t, string(text))
		}
	}
}

// What graphs save is the bound of the clean time where there is one, as in the
// findings.
func TestStagesSaveOfTheCleanTime(t *testing.T) {
	clean := int64(217_801_350)
	s := analysis.Stage{Name: "decode", Split: analysis.Split{WallNS: 291_169_087, LaunchBound: true, LaunchNS: 260_266_947}}
	if row := stageRow(sample(), &s); row.GainNS != nil {
		t.Errorf("waits under nsys are no bound: %v", row.GainNS)
	}
	s.LaunchGain = &analysis.Bound{NS: clean, OfNS: 245_000_000, Times: "clean"}
	if row := stageRow(sample(), &s); row.GainNS == nil || *row.GainNS != clean {
		t.Errorf("with a clean time it is %v", row.GainNS)
	}
}

// The plain table of stages has one base: the clean time, or a note that says
// otherwise.
func TestPlainStagesNameTheirBase(t *testing.T) {
	busy, ms := 0.165, 10.3
	r := sample()
	r.Stages = []analysis.Stage{{Name: "prefill", CleanMS: &ms, CleanBusy: &busy, Split: analysis.Split{WallNS: 100, BusyNS: 19, IdleNS: 81}}}
	page := func() string {
		r.Derive()
		var b bytes.Buffer
		if err := WriteStakeholder(&b, r); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	if text := page(); !strings.Contains(text, "16.5 %") || strings.Contains(text, "19.0 %") {
		t.Errorf("the share is not of the clean time:\n%s", text)
	}
	r.Stages[0].CleanBusy = nil
	if text := page(); !strings.Contains(text, "19.0 %[^") || !strings.Contains(text, "Of the stage under the profiler") {
		t.Errorf("the share under the profiler is not named:\n%s", text)
	}
}

func TestRegionPage(t *testing.T) {
	r := sample()
	for i := range r.Regions {
		var b bytes.Buffer
		if err := regionPage(&b, r, i); err != nil {
			t.Fatal(err)
		}
		golden(t, filepath.Join("testdata", "golden", "full", "region_"+r.Regions[i].Name+".md"), b.Bytes())
	}
}
