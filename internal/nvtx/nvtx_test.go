package nvtx

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/deepprof/deepprof/internal/fixture"
)

// A recording holds the launches that Nsight Compute 2024.1 selected of a
// report whose launches have the given NVTX states, for each expression. The
// reports lie beside it.
type recording struct {
	Report string
	States []State
	Rows   []struct {
		Expr     string
		Exit     int
		Launches []int
	}
}

func readRecordings(t testing.TB) []recording {
	t.Helper()
	data, err := os.ReadFile("testdata/ncu-2024.1.json")
	if err != nil {
		t.Fatal(err)
	}
	var out []recording
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// refused are expressions that select something in Nsight Compute and are
// errors here, with the reason.
var refused = map[string]string{
	`A/+/+/B`: "the first quantifier is ignored", `A/+/*/B`: "the first quantifier is ignored",
	`A/*/+/B`: "the first quantifier is ignored", `A/*/*/B`: "the first quantifier is ignored",
	`//A`: "empty name", `A//`: "empty name", `A//B`: "empty name",
	`regex:A//[B]/`: "empty name", `regex:A//[B/]`: "empty name",
	`*`: "looks like a quantifier", `regex:`: "selects every start/end range", `regex:,`: "selects every start/end range",
	`regex:(A)\1/`: "not checkable", `regex:^A(?=A)/`: "not checkable", `regex:A++/`: "not checkable",
}

func TestSelectsWhatNsightComputeSelects(t *testing.T) {
	compared := 0
	for _, rec := range readRecordings(t) {
		for _, row := range rec.Rows {
			e, err := Parse(row.Expr)
			if err != nil {
				if len(row.Launches) > 0 && refused[row.Expr] == "" {
					t.Errorf("%s: %q selects %v in Nsight Compute, here: %v", rec.Report, row.Expr, row.Launches, err)
				}
				continue
			}
			if row.Exit != 0 && !strings.Contains(row.Expr, "A[A-Z") {
				t.Errorf("%s: %q is an error in Nsight Compute and accepted here", rec.Report, row.Expr)
			}
			var got, want []int
			for i, s := range rec.States {
				if repeats(s) {
					continue
				}
				if e.As(StartEnd).Match(s) {
					got = append(got, i)
				}
				if slices.Contains(row.Launches, i) {
					want = append(want, i)
				}
			}
			compared++
			if !slices.Equal(got, want) {
				t.Errorf("%s: %q selects %v, Nsight Compute %v", rec.Report, row.Expr, got, row.Launches)
			}
			again, err := Parse(e.As(StartEnd).String())
			if err != nil {
				t.Errorf("%q is written as %q: %v", row.Expr, e, err)
				continue
			}
			for i, s := range rec.States {
				was, is := e.As(StartEnd).Match(s), again.As(StartEnd).Match(s)
				if was && !is || was != is && !e.needsRegex() {
					t.Errorf("%q is written as %q, which differs in state %d", row.Expr, e, i)
				}
			}
		}
	}
	if compared < 150 {
		t.Errorf("only %d expressions were compared", compared)
	}
}

// repeats reports whether a name is open within itself, where versions of
// Nsight Compute differ: of the stack A, A, B 2024.1 selects A/B and 2025.3
// does not.
func repeats(s State) bool {
	return slices.ContainsFunc(s.Stacks, func(stack []Range) bool {
		seen := map[string]bool{}
		return slices.ContainsFunc(stack, func(r Range) bool {
			was := seen[r.Name]
			seen[r.Name] = true
			return was
		})
	})
}

// What Nsight Compute 2025.3.1 profiled of a program on an H200, one launch
// in each of these stacks and ranges.
func TestSelectsWhatNcu2025Profiles(t *testing.T) {
	var states []State
	push := func(names ...string) {
		var stack []Range
		for _, n := range names {
			stack = append(stack, Range{Name: n})
		}
		states = append(states, State{Stacks: [][]Range{stack}})
	}
	for _, s := range []string{"A", "B", "AB", "BA", "AXB", "ABC"} {
		push(strings.Split(s, "")...)
	}
	for _, s := range []string{"a/b", "a*b", "*", "a@b", "a,b", "a[b]", "a+b", `a\b`, "regex:a", `a\`} {
		push(s)
	}
	states = append(states, State{Open: []Range{{Name: "A"}}}, State{Open: []Range{{Name: "A"}, {Name: "B"}}})
	for expr, want := range map[string][]int{
		"A/": {0, 2, 3, 4, 5}, "A": {16, 17}, "A/B": {2, 5}, "A]": {0, 3}, "[A/B]": {2}, "A/+": {2},
		"A/+/B": {4}, "A/*/B": {2, 4, 5}, "A,B": {17}, `a\/b/`: {6}, "a*b/": {7}, `\*/`: {8}, `a\@b/`: {9},
		`a\,b/`: {10}, `a\[b\]/`: {11}, `a\b/`: {13}, "regex:^a.b$/": {6, 7, 9, 10, 12, 13},
		"regex:^regex:a$/": {14}, "regex:^a.$/": {15}, `regex:^a\\b$/`: {13}, "regex:/[AB]/": {0, 1, 2, 3, 4, 5}, "regex:^A$/": {0, 2, 3, 4, 5},
	} {
		e, err := Parse(expr)
		if err != nil {
			t.Error(err)
			continue
		}
		var got []int
		for i, s := range states {
			if e.As(StartEnd).Match(s) {
				got = append(got, i)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q selects %v, ncu 2025.3.1 %v", expr, got, want)
		}
	}
}

// The recordings again, against the tools themselves: what String writes
// selects the same launches.
func TestWrittenFormsInRealNcu(t *testing.T) {
	folder := os.Getenv("DEEPPROF_NSIGHT")
	if folder == "" {
		t.Skip("DEEPPROF_NSIGHT is not set: needs the real ncu")
	}
	for _, rec := range readRecordings(t) {
		report := fixture.Unpack(t, filepath.Join("testdata", rec.Report+".ncu-rep.gz"))
		var exprs []string
		for _, s := range rec.States {
			for _, stack := range s.Stacks {
				exprs = append(exprs, literal(stack[len(stack)-1], PushPop))
			}
			for _, r := range s.Open {
				exprs = append(exprs, literal(r, StartEnd))
			}
		}
		slices.Sort(exprs)
		for _, text := range slices.Compact(exprs) {
			e, err := Parse(text)
			if err != nil {
				t.Errorf("%q: %v", text, err)
				continue
			}
			var want []int
			for i, s := range rec.States {
				if e.As(StartEnd).Match(s) {
					want = append(want, i)
				}
			}
			if len(want) == 0 {
				t.Errorf("%q selects nothing here", text)
			}
			if got := askNcu(t, filepath.Join(folder, "trixie", "ncu"), report, text); !slices.Equal(got, want) {
				t.Errorf("%s: %q selects %v, ncu %v", rec.Report, text, want, got)
			}
		}
	}
}

func askNcu(t *testing.T, ncu, report, expr string) []int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, ncu, "--config-file", "off", "--import", report, "--page", "raw", "--csv", "--nvtx-include", expr)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("ncu %q: %v: %s", expr, err, out)
		return nil
	}
	if len(bytes.TrimSpace(out)) == 0 {
		return nil
	}
	r := csv.NewReader(bytes.NewReader(out))
	r.LazyQuotes = true // ncu leaves quotes within names as they are
	rows, err := r.ReadAll()
	if err != nil {
		t.Errorf("ncu %q: %v", expr, err)
		return nil
	}
	var ids []int
	for _, row := range rows[min(2, len(rows)):] {
		id, err := strconv.Atoi(row[0])
		if err != nil {
			t.Errorf("ncu %q: launch id %q", expr, row[0])
		}
		ids = append(ids, id)
	}
	return ids
}

func TestParseErrors(t *testing.T) {
	for _, tt := range []struct {
		expr   string
		column int
		reason string
	}{
		{"", 1, "empty"},
		{"regex:", 7, "empty"},
		{"/", 2, "empty range name"},
		{"@A", 1, "domain before"},
		{"A@", 3, "no range name"},
		{"A@B@C", 4, `second "@"`},
		{"[A@B", 1, "DOMAIN@[RANGE"},
		{"A/[B", 3, "only allowed"},
		{"x[0]", 2, "only allowed"},
		{"A/B]/C", 4, "only allowed"},
		{"A]]", 2, "only allowed"},
		{"[A]", 2, "both ends"},
		{"regex:[AB]", 8, "both ends"},
		{"A/]", 4, "empty range name"},
		{"[/A", 2, "empty range name"},
		{"A//B", 3, "empty range name"},
		{"*/A", 1, "cannot begin"},
		{"[+/A", 2, "cannot begin"},
		{"A/*/+/B", 5, "two quantifiers"},
		{"A/+]", 3, "quantifier before"},
		{"A/*/A", 5, "second time"},
		{"*", 1, "lone"},
		{"A,", 3, "empty range name"},
		{",A", 1, "empty range name"},
		{"A,,B", 3, "empty range name"},
		{"ünï[", 4, "only allowed"},
		{`a\\b`, 2, "two backslashes"},
		{"regex:(/", 7, "missing closing )"},
		{"regex:a/(?=b)/", 9, "regular expression"},
		{"a\x00b", 2, "NUL"},
	} {
		_, err := Parse(tt.expr)
		var pe *parseError
		if !errors.As(err, &pe) {
			t.Errorf("%q: error %v", tt.expr, err)
			continue
		}
		if pe.Column != tt.column || !strings.Contains(pe.Reason, tt.reason) {
			t.Errorf("%q: column %d: %s; want column %d: %s", tt.expr, pe.Column, pe.Reason, tt.column, tt.reason)
		}
	}
}

func TestBareNameMatchesBothStyles(t *testing.T) {
	e, err := Parse("decode")
	if err != nil {
		t.Fatal(err)
	}
	r := Range{Name: "decode"}
	for _, s := range []State{{Stacks: [][]Range{{{Name: "x"}, r}}}, {Open: []Range{r}}} {
		if !e.Match(s) {
			t.Errorf("no match in %v", s)
		}
	}
	if e.Match(State{Open: []Range{{Name: "decode", Domain: "LLM"}}}) {
		t.Error("matches another domain")
	}
	if e.Style() != Either || e.As(PushPop).String() != "decode/" || e.As(StartEnd).String() != "decode" {
		t.Errorf("style %v, forms %q %q", e.Style(), e.As(PushPop), e.As(StartEnd))
	}
}

func TestList(t *testing.T) {
	got := SplitList(` prefill ; LLM@step/;;a\;b;x\\;regex:a;`)
	want := []string{"prefill", "LLM@step/", `a\;b`, `x\\`, "regex:a"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if _, err := ParseList("a;b;[c]"); err == nil || !strings.Contains(err.Error(), `"[c]": column 2`) {
		t.Errorf("error %v", err)
	}
	if list, err := ParseList("a;b/"); err != nil || len(list) != 2 {
		t.Errorf("%v, %v", list, err)
	}
	for _, empty := range []string{"", " ", " ; "} {
		if _, err := ParseList(empty); err == nil || !strings.Contains(err.Error(), "the expression is empty") {
			t.Errorf("ParseList(%q): %v; a filter of nothing must not mean no filter", empty, err)
		}
	}
}

// A configuration splits its lists and Resolve splits them again.
func TestSemicolonInName(t *testing.T) {
	split := SplitList(`a\;b; c`)
	if got, err := Resolve(split, nil); err != nil || !slices.Equal(Values(got), []string{"a;b/", "a;b", "c/", "c"}) {
		t.Errorf("Resolve(%q) = %q, %v", split, Values(got), err)
	}
	seen := []Seen{{PushPop, []Range{{Name: "a;b"}}}}
	for _, text := range []string{"a;b", `a\;b`, `regex:^a\;b$/`} {
		if got, err := Resolve([]string{text}, seen); err != nil || len(got) != 1 || len(got[0].Values) != 1 {
			t.Errorf("Resolve(%q) = %+v, %v", text, got, err)
		}
	}
	if _, err := Resolve([]string{""}, seen); err == nil {
		t.Error("an empty expression is accepted")
	}
}

func FuzzParse(f *testing.F) {
	var states []State
	for _, rec := range readRecordings(f) {
		states = append(states, rec.States...)
		for _, row := range rec.Rows {
			f.Add(row.Expr)
		}
	}
	f.Fuzz(func(t *testing.T, expr string) {
		e, err := Parse(expr)
		if err != nil {
			var pe *parseError
			if !errors.As(err, &pe) || pe.Column < 1 || pe.Column > len([]rune(expr))+1 {
				t.Fatalf("%q: %v", expr, err)
			}
			return
		}
		text := e.String()
		again, err := Parse(text)
		if err != nil {
			t.Fatalf("%q is written as %q: %v", expr, text, err)
		}
		for _, s := range states {
			if was, is := e.Match(s), again.Match(s); was && !is || was != is && !e.needsRegex() {
				t.Fatalf("%q is written as %q, which selects other launches", expr, text)
			}
		}
	})
}

func FuzzLiteral(f *testing.F) {
	for _, s := range []string{"a", "a/b", `a\`, `\[`, "regex:x", "<default domain>", "*", "a;b", "a,b", " "} {
		f.Add(s, "")
		f.Add("x", s)
	}
	f.Fuzz(func(t *testing.T, name, domain string) {
		if name == "" || strings.ContainsRune(name+domain, 0) || domain == DefaultDomain {
			t.Skip()
		}
		r := Range{Name: name, Domain: domain}
		for style, s := range map[Style]State{PushPop: {Stacks: [][]Range{{r}}}, StartEnd: {Open: []Range{r}}} {
			text := literal(r, style)
			e, err := Parse(text)
			if err != nil {
				t.Fatalf("%+v is written as %q: %v", r, text, err)
			}
			if !e.As(style).Match(s) {
				t.Fatalf("%+v is written as %q, which does not select it", r, text)
			}
		}
	})
}
