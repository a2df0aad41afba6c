package capture

import (
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/tool"
)

// A rowCase is one line of testdata/rows.tsv: a row of the catalog of
// failures and the verdict that its prose asks for.
type rowCase struct {
	row     string
	kind    Kind
	must    []string
	sources []string
}

func loadRows(t *testing.T) []rowCase {
	t.Helper()
	data, err := os.ReadFile("testdata/rows.tsv")
	if err != nil {
		t.Fatal(err)
	}
	var rows []rowCase
	for line := range strings.Lines(string(data)) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(line, "\t")
		if len(f) != 4 {
			t.Fatalf("rows.tsv: %d fields in %q", len(f), line)
		}
		rows = append(rows, rowCase{f[0], Kind(f[1]), strings.Fields(f[2]), strings.Split(f[3], " ; ")})
	}
	return rows
}

// rowEvidence gives the evidence that a source stands for: several where it is
// a pattern over recorded outputs.
func rowEvidence(t *testing.T, source string) map[string]Evidence {
	t.Helper()
	if strings.Count(source, "|") >= 3 {
		return map[string]Evidence{source: madeUp(t, source)}
	}
	glob, table, _ := strings.Cut(source, " +empty:")
	found := map[string]Evidence{}
	for name := range loadOutputs(t) {
		if ok, _ := path.Match(glob, name); !ok || strings.HasSuffix(name, ".diag.txt") {
			continue
		}
		e := evidenceOf(t, name)
		if table != "" {
			e.Expect.Tables, e.Content = []string{table}, &Content{}
		}
		found[name] = e
	}
	if len(found) == 0 {
		t.Errorf("no recorded output matches %q", glob)
	}
	return found
}

// madeUp builds evidence from "tool|code|state|text".
func madeUp(t *testing.T, source string) Evidence {
	t.Helper()
	f := strings.SplitN(source, "|", 4)
	code, err := strconv.Atoi(f[1])
	if err != nil {
		t.Fatalf("%q: %v", source, err)
	}
	text := strings.ReplaceAll(f[3], `\n`, "\n")
	text = strings.ReplaceAll(text, `\t`, "\t")
	e := Evidence{Tool: Tool(f[0]), Code: code, Stdout: text, Want: "/w/r." + f[0] + "-rep"}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	e.LastLine = lines[len(lines)-1]
	for state := range strings.SplitSeq(f[2], ",") {
		switch name, arg, _ := strings.Cut(state, ":"); name {
		case "":
		case "report":
			e.Files = append(e.Files, File{Path: e.Want, Size: 1 << 20, Format: e.Tool.report(), Fresh: true})
			if e.Tool == Ncu {
				e.Stdout += "\n==PROF== Report: " + e.Want
			}
		case "cutreport":
			e.Files = append(e.Files, File{Path: e.Want, Size: 1 << 20, Format: e.Tool.report(), Fresh: true})
		case "stream":
			e.Files = append(e.Files, File{Path: "/w/r.qdstrm", Size: 1 << 20, Format: Stream, Fresh: true})
		case "cut":
			e.Files = append(e.Files, File{Path: "/w/r.qdstrm", Size: 1 << 20, Format: CutStream, Fresh: true})
		case "empty":
			e.Expect.Tables, e.Content = []string{arg}, &Content{Launches: 1}
		case "diag":
			e.Diagnostics, e.Stdout = []Diagnostic{{"Warning", text}}, ""
		case "stderr":
			e.Stderr, e.Stdout = text, ""
		case "gated":
			e.Gated = true
		case "timeout":
			e.Stopped = tool.TimedOut
		case "stalled":
			e.Stopped = tool.Stalled
		default:
			t.Fatalf("%q: unknown state %q", source, state)
		}
	}
	return e
}

// seen collects everything that a row may ask for by name.
func seen(e Evidence, o Outcome) []string {
	var ids []string
	for _, f := range e.find() {
		ids = append(ids, f.ID)
	}
	for _, w := range o.Warnings {
		ids = append(ids, string(w.Code))
	}
	for name, on := range map[string]bool{
		"usable": o.Usable, "unusable": !o.Usable, "retry": o.Retryable,
		"stream": len(o.Streams) > 0, "stale": len(o.Stale) > 0,
	} {
		if on {
			ids = append(ids, name)
		}
	}
	return ids
}

func TestEveryRow(t *testing.T) {
	for _, row := range loadRows(t) {
		t.Run(row.row, func(t *testing.T) {
			for _, source := range row.sources {
				for name, e := range rowEvidence(t, source) {
					o := judge(e)
					if o.Kind != row.kind {
						t.Errorf("%s: %s, want %s\n%s", name, o.Kind, row.kind, o.explain())
					}
					have := seen(e, o)
					for _, id := range row.must {
						if !slices.Contains(have, id) {
							t.Errorf("%s: %s not seen, only %v", name, id, have)
						}
					}
					checkOutcome(t, name, o)
				}
			}
		})
	}
}

// checkOutcome: every verdict but a plain success explains itself.
func checkOutcome(t *testing.T, name string, o Outcome) {
	t.Helper()
	if o.What.IsZero() {
		t.Errorf("%s: says not what happened", name)
	}
	if o.Kind == Captured {
		// What an nsys killed by an earlier case left behind is none of this one's.
		warnings := slices.DeleteFunc(slices.Clone(o.Warnings), func(w Warning) bool { return w.Code == "sessions-freed" })
		if !o.Evidence.IsZero() || len(warnings) > 0 {
			t.Errorf("%s: captured, yet %v %v", name, o.Evidence, warnings)
		}
		return
	}
	if message.Text(o.Cause) == "" || message.Next(o.Cause) == "" {
		t.Errorf("%s: %s without cause or next step", name, o.Kind)
	}
	if o.OK() && !o.Usable {
		t.Errorf("%s: %s but not usable", name, o.Kind)
	}
}

// TestCatalogIsCovered: each row of the catalog has a case, and each
// recorded output is judged by one.
func TestCatalogIsCovered(t *testing.T) {
	data, err := os.ReadFile("testdata/catalogue.txt")
	if err != nil {
		t.Fatal(err)
	}
	rows := loadRows(t)
	n := 0
	for line := range strings.Lines(string(data)) {
		id, _, _ := strings.Cut(line, "\t")
		n++
		if !slices.ContainsFunc(rows, func(r rowCase) bool { return r.row == id || strings.HasPrefix(r.row, id+" (") }) {
			t.Errorf("no case for row %s", id)
		}
	}
	if n != 180 {
		t.Errorf("%d rows in the catalog", n)
	}
	exempt := map[string]bool{
		"NS252-22.4.txt": true, "h200/H05-batch.log": true, // several runs in one log
		"NS03h-hang-rate.txt": true, "LOC1-24.1.txt": true, // measurements
	}
	for name := range loadOutputs(t) {
		if exempt[name] || strings.HasSuffix(name, ".diag.txt") {
			continue
		}
		covered := slices.ContainsFunc(rows, func(r rowCase) bool {
			return slices.ContainsFunc(r.sources, func(s string) bool {
				glob, _, _ := strings.Cut(s, " ")
				ok, _ := path.Match(glob, name)
				return ok
			})
		})
		if !covered {
			t.Errorf("%s is judged by no case", name)
		}
	}
}

func TestPatterns(t *testing.T) {
	all := loadOutputs(t)
	ids := map[string]bool{}
	for _, p := range patterns() {
		if ids[p.ID] {
			t.Errorf("%s twice", p.ID)
		}
		ids[p.ID] = true
		switch p.Effect {
		case Fact:
		case Hint, Warn, Fail, Always:
			if p.Kind != Captured && !message.Known(p.Kind.Cause().Code) {
				t.Errorf("%s: unknown kind %q", p.ID, p.Kind)
			}
		default:
			t.Errorf("%s: unknown effect %q", p.ID, p.Effect)
		}
		for _, name := range p.Fixtures {
			if !p.Regexp.MatchString(all[name]) {
				t.Errorf("%s does not match %s", p.ID, name)
			}
		}
	}
}

func TestGoodRunsAreCaptured(t *testing.T) {
	for _, name := range []string{
		"NS01-23.4.txt", "NS01c-22.4.txt", "NS10-stop-22.4.txt", "NS10-stop-23.4.txt",
		"h200/H06-ncu-ok-kernel-replay.log", "h200/H07-ncu-app-range-ok.log",
	} {
		e := evidenceOf(t, name)
		if o := judge(e); o.Kind != Captured || !o.Usable || !o.OK() {
			t.Errorf("%s: %s", name, o.explain())
		}
		for _, f := range e.find() {
			if f.Effect != Fact {
				t.Errorf("%s: %s matches %q", name, f.ID, f.Line)
			}
		}
	}
}
