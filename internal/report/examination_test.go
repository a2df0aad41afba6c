package report

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/doctor"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/message"
)

// examination has a check that blocks, with a fix, and one that is fine.
func examination() doctor.Report {
	places := fact.Names("places", fact.KindFile, []string{"PATH", "/opt/nvidia/nsight-systems/*/bin/nsys"})
	return doctor.Report{Rows: []doctor.Row{
		{Check: "nsys", Status: doctor.Blocker, Seen: fact.New("tool-not-found", places, fact.Count("more", 13),
			fact.ErrorText("hint", "install Nsight Systems (it comes with the CUDA toolkit), or set DEEPPROF_NSYS"))},
		{Check: "temp", Status: doctor.OK, Seen: fact.New("folder-fine", fact.File("dir", "/tmp"), fact.Bytes("free", 9e11))},
	}}
}

// The keys of the JSON form are a contract; code and parameters stand beside the
// words.
func TestExaminationJSON(t *testing.T) {
	data, err := json.Marshal(NewExamination(examination()))
	if err != nil {
		t.Fatal(err)
	}
	var back struct {
		Schema  int
		Blocked bool
		Rows    []map[string]any
	}
	if err := json.Unmarshal(data, &back); err != nil || back.Schema != 1 || !back.Blocked || len(back.Rows) != 2 {
		t.Fatalf("%v %s", err, data)
	}
	for _, row := range back.Rows {
		for _, key := range []string{"check", "name", "status", "evidence", "code", "params"} {
			if row[key] == nil || row[key] == "" {
				t.Errorf("no %s in %v", key, row)
			}
		}
	}
	if _, ok := back.Rows[1]["fix"]; ok || back.Rows[0]["fix"] == "" {
		t.Errorf("fixes in %s", data)
	}
}

// Every row is data: with messages replaced by their codes it has the same status,
// code and parameters, and is still written.
func TestExaminationCodesOnly(t *testing.T) {
	want := NewExamination(examination())
	defer message.CodesOnly()()
	got := NewExamination(examination())
	for i, row := range got.Rows {
		if row.Status != want.Rows[i].Status || !row.Fact.Equal(want.Rows[i].Fact) || !strings.HasPrefix(row.Evidence, string(row.Code)) || row.Name != row.Check {
			t.Errorf("%+v", row)
		}
	}
	var text bytes.Buffer
	if err := got.Write(&text, 80); err != nil || text.Len() == 0 || got.Blocked != want.Blocked {
		t.Errorf("%v %s", err, &text)
	}
}

// On a terminal evidence and fix stay under their column; where that is too
// narrow, under the name. Words are not cut.
func TestExaminationWrapped(t *testing.T) {
	e := NewExamination(examination())
	const least = 9 // "blocker" and two blanks
	wide := least + len(e.Rows[1].Name) + 2
	for _, c := range []struct{ width, column int }{{0, wide}, {90, wide}, {70, least}} {
		var text bytes.Buffer
		if err := e.Write(&text, c.width); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(text.String()) {
			line = strings.TrimSuffix(line, "\n")
			if c.width > 0 && len(line) > c.width {
				t.Errorf("width %d: %q", c.width, line)
			}
			named := strings.HasPrefix(line, "blocker  "+e.Rows[0].Name) || strings.HasPrefix(line, "ok       "+e.Rows[1].Name)
			if !named && (strings.TrimSpace(line[:c.column]) != "" || line[c.column] == ' ') {
				t.Errorf("width %d: not in column %d: %q", c.width, c.column, line)
			}
		}
		if flat := strings.Join(strings.Fields(text.String()), " "); !strings.Contains(flat, e.Rows[0].Evidence+" fix: "+e.Rows[0].Fix) {
			t.Errorf("width %d:\n%s", c.width, &text)
		}
		if rows := strings.Count(text.String(), "\n"); c.width == 0 && rows != 3 {
			t.Errorf("%d lines without a terminal", rows)
		}
	}
}
