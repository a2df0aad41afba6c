package pipeline

import (
	"bytes"
	"context"
	"encoding/csv"
	"os"
	"slices"
	"testing"

	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/tool"
)

func csvRows(t *testing.T, j *job, name string) [][]string {
	t.Helper()
	f, err := os.Open(j.store.Path(name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func recordedFile(j *job, step, name string) bool {
	m := j.store.Manifest()
	return slices.ContainsFunc(m.Step(step).Files(), func(f runs.File) bool { return f.Path == name && f.SHA256 != "" })
}

func TestRawCSVOfCounters(t *testing.T) {
	for _, asked := range []bool{true, false} {
		j, _ := counting(t, func(p *plan.Pipeline) { p.Ncu.RawCSV = asked }, "toy_full", "toy_full", "toy_full", "toy_full")
		j.lists = &tool.Capabilities{Sets: []string{"full"}, Sections: []string{"LaunchStats"}}
		if _, err := captureCounters(context.Background(), j); err != nil {
			t.Fatal(err)
		}
		if recordedFile(j, plan.StepNcu, "ncu/raw.csv") != asked {
			t.Fatalf("raw_csv=%v, but recorded is %v", asked, !asked)
		}
		text, err := os.ReadFile(j.store.Path("ncu/sections.txt"))
		if err != nil || !bytes.Contains(text, []byte("LaunchStats")) || !recordedFile(j, plan.StepNcu, "ncu/sections.txt") {
			t.Errorf("sections.txt: %v %s", err, text)
		}
		if asked {
			if rows := csvRows(t, j, "ncu/raw.csv"); len(rows) != 2+31 { // names, units, launches
				t.Errorf("%d rows", len(rows))
			}
		}
	}
}

func TestSummariesOfTimeline(t *testing.T) {
	j, _ := counting(t, func(*plan.Pipeline) {})
	if err := exportTimeline(context.Background(), j); err != nil {
		t.Fatal(err)
	}
	for name, least := range map[string]int{"nsys/summary_kernels.csv": 4, "nsys/summary_regions.csv": 5, "nsys/summary_launches.csv": 32} {
		if rows := csvRows(t, j, name); len(rows) < least {
			t.Errorf("%s has %d rows, want %d or more", name, len(rows), least)
		}
		if !recordedFile(j, plan.StepNsys, name) || runs.KindOf(name) != runs.SummaryFile {
			t.Errorf("%s is not recorded", name)
		}
	}
}
