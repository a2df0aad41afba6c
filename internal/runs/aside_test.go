package runs

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/fact"
)

func TestSetAside(t *testing.T) {
	r := mustCreate(t, t.TempDir(), CreateOptions{Steps: []Step{{Name: "nsys"}}})
	if aside, err := r.SetAside("nsys", "nsys"); aside != "" || err != nil {
		t.Errorf("nothing there: %q, %v", aside, err)
	}
	for _, want := range []string{"nsys/attempt-1", "nsys/attempt-2"} {
		must(t, r.StartStep("nsys"))
		must(t, r.WriteFile("nsys/run.nsys-rep", []byte(want)))
		must(t, os.WriteFile(r.Path("nsys/.export-1"), nil, 0o600))
		must(t, r.StartAttempt("nsys", ""))
		files, err := r.HashFiles(context.Background(), "nsys/run.nsys-rep")
		must(t, err)
		must(t, r.EndAttempt("nsys", Result{Outcome: Outcome{Kind: "interrupted", Text: fact.FromText("x")}, Files: files}))
		aside, err := r.SetAside("nsys", "nsys")
		if aside != want || err != nil {
			t.Fatalf("SetAside = %q, %v; want %q", aside, err, want)
		}
		if exists(r.Path("nsys/.export-1")) || exists(r.Path("nsys/run.nsys-rep")) {
			t.Error("the folder is not empty")
		}
	}
	// Each attempt still names its own files, with their content.
	m := r.Manifest()
	for i, a := range m.Step("nsys").Attempts {
		if len(a.Files) != 1 || !strings.HasPrefix(a.Files[0].Path, "nsys/attempt-") {
			t.Fatalf("attempt %d: %+v", i, a.Files)
		}
		if problem := contentProblem(context.Background(), r, a.Files[0]); !problem.IsZero() {
			t.Errorf("attempt %d: %s: %s", i, a.Files[0].Path, problem.Code)
		}
	}
	if _, err := r.SetAside("nsys", "../x"); err == nil {
		t.Error("a folder outside the run is accepted")
	}
}

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                             "plain",
		"a\tb\nc":                           "a b c",
		"\x1b[31mred\x00":                   "\uFFFD[31mred\uFFFD",
		"\xff\xfe":                          "\uFFFD\uFFFD",
		strings.Repeat("\u00e9", 2*maxText): strings.Repeat("\u00e9", maxText) + "...",
	} {
		if got := Text(in); got != want {
			t.Errorf("Text(%.40q) = %.60q, want %.60q", in, got, want)
		}
	}
}
