package message

import (
	"go/ast"
	"go/parser"
	"go/token"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// upperHalf are the packages whose results are worded here and nowhere else. In those that
// write for people a single word beside a blank is a part of a sentence: no such part may
// stand there, or the sentence would be made there.
var (
	upperHalf = []string{"analysis", "capture", "compare", "doctor", "measure", "pick", "pipeline", "runs", "serving", "workload"}
	renderers = []string{"experiment", "export", "report", "report/folder", "report/html", "show", "terminal", "web"}
)

// Texts that are no words about a result, by where they stand. An error is worded
// where it happens, by design; a declared table has titles, help and legend in its
// own row, as have a command, a metric and a route of the API their help.
var (
	errorMakers = []string{"fmt.Errorf", "errors.New", "usagef", "usage", "cannot", "refused", "noReport", "panic", "regexp.MustCompile", "byParam"}
	declared    = []string{"Title", "Help", "Legend", "Words", "Short", "Long", "Example", "help", "description", "Description"}
	paramTypes  = []string{"Param", "route", "problem"} // flags of views and routes: name and help; errors of the API
	// matchers hold a text against what another program printed.
	matchers = []string{"strings.Contains", "strings.HasPrefix", "strings.HasSuffix", "strings.EqualFold", "strings.CutPrefix", "strings.CutSuffix", "strings.TrimPrefix", "strings.TrimSuffix", "strings.Cut", "strings.Index"}
)

// otherText are the literals that are no words about a result, by why.
var otherText = map[string][]string{
	"names of counters and sections as NVIDIA prints them": {
		"GPU Speed Of Light Throughput/DRAM Throughput",
		"GPU Speed Of Light Throughput/L2 Cache Throughput", "GPU Speed Of Light Throughput/L1/TEX Cache Throughput",
		"GPU Speed Of Light Throughput/Memory Throughput", "GPU Speed Of Light Throughput/Compute (SM) Throughput", "GPU Speed Of Light Throughput/Duration",
		"GPU Speed Of Light Throughput/SM Frequency", "GPU Speed Of Light Throughput/DRAM Frequency", "Occupancy/Achieved Occupancy",
		"Occupancy/Theoretical Occupancy", "Occupancy/Block Limit Registers", "Occupancy/Block Limit Shared Mem", "Occupancy/Block Limit Warps",
		"Occupancy/Block Limit SM", "Occupancy/Block Limit Barriers", "Launch Statistics/Waves Per SM", "Launch Statistics/Registers Per Thread",
		"Launch Statistics/# SMs", "Scheduler Statistics/Issue Slots Busy", "Scheduler Statistics/One or More Eligible",
		"Compute Workload Analysis/Issue Slots Busy", "Memory Workload Analysis/Memory Throughput",
	},
	"events that the torch profiler records about itself": {
		"Activity Buffer Request", "Buffer Flush", "Command Buffer Full", "Driver Compiler", "Force Int", "Lazy Function Loading",
		"Runtime Triggered Module Loading", "UVM Activity Init",
	},
	"beginnings of lines that nsys prints, and what gVisor writes into /proc/version": {
		"Capture range ", "Importer error", "FATAL ERROR", "Failed to ", "The target application terminated", "Connection to ", "Collecting data",
		"Processing events", "Waiting for termination", "Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016",
	},
	"values of enumerations in run.json": {"secrets removed", "removed by redaction"},
	"parts of an error": {
		"name another with pipeline.workload.python=PATH", "turn its step off with pipeline.", "no line of its output holds the text", " in another folder",
		"a packed run", "unpack it (tar --zstd -xf) and ", "nsys/*.sqlite, nsys/*.nsys-rep, *.sqlite, *.nsys-rep",
		"ncu/*.ncu-rep, ncu/*/*.ncu-rep, *.ncu-rep", "raw page", "an unknown report", "show regions", "--output DIR",
	},
	"command lines, package names, a policy of HTTP, the name of a test suite": {
		"deepprof runs clean", "deepprof compare", "analyze --baseline", "export ", "libdw1 or elfutils-libs", "libelf1 or elfutils-libelf", "libssh-4 or libssh", "libglib2.0-0 or glib2",
		"img-src data:", "show ", "metrics --dump", "metrics --raw",
	},
	"units":               {" ms", " ns", " ms)", "%.1f GB", "%.0f GB/s", "%.1f MB", "Hz"},
	"names of benchmarks": {"Kernel", "Stage", "Rank", "Step", "Sampled", "Requests"},
	"names of processes of a run, which baselines store": {"%s, repeat %s"},
	"what formats and protocols ask for": {
		"# EOF\n", "# HELP %s %s\n# TYPE %s gauge\n", "# UNIT %s %s\n", "::%s title=%s::%s\n", "Problem", "text/javascript; charset=utf-8", "text/html; charset=utf-8",
		"const words = %s;\n", "GET /", "GET /words.js", "POST /login", "Bearer", "Origin", "Location", "deepprof cookie\x00",
	},
	"policies of pages": {
		"default-src 'none'", "script-src '", "style-src '", "base-uri 'none'", "form-action 'none'", "require-trusted-types-for 'script'", "trusted-types 'none'",
		"sandbox allow-scripts allow-downloads; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
		"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
	},
	"lines of shell scripts that deepprof writes": {
		"# As it stands, this replaces files of the run, which then no longer fit its reports. To repeat the capture put another path after ",
		" first, and for the same path wherever it stands below\n",
		"# Not recorded, because it looks secret. Export before you paste: ",
		"# Written by deepprof: puts the profiler behind the launcher, one report for each rank.",
		`[ -n "$rank" ] || { echo "deepprof: the launcher tells no rank: this process is not profiled" >&2; exec "$@"; }`,
		`, in *",$rank,"*) chosen=yes;; esac`, `[ -d "${TMPDIR:-/}" ] || unset TMPDIR`, "( while kill -0 $$ 2>/dev/null; do",
		`[ -n "$world" ] || { echo "deepprof: the launcher tells no number of ranks: collectives cannot be counted" >&2; exit 1; }`,
		`while [ -z "$first" ] && [ $tries -lt 60 ]; do first=$(sed -n 's/.*"host": "\([^"]*\)".*/\1/p' `,
		` 2>/dev/null); tries=$((tries + 1)); [ -n "$first" ] || sleep 0.5; done`,
		`[ -n "$first" ] || { echo "deepprof: rank 0 did not begin within 30 s" >&2; exit 1; }`,
		"# %d seconds before the time limit deepprof is asked to finish: it keeps what it has, and 'deepprof runs resume latest' goes on.",
	},
}

// TestWordsHaveOneHome finds English of two words or more in packages that may
// only state codes.
func TestWordsHaveOneHome(t *testing.T) {
	used := map[string]bool{}
	for _, pkg := range slices.Concat(upperHalf, renderers) {
		said := twoWords
		if slices.Contains(renderers, pkg) {
			said = anyWord
		}
		files, err := filepath.Glob(filepath.Join("..", pkg, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pkg, len(files), err)
		}
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			src, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for line, text := range english(t, path, src, said) {
				if used[text] = true; !slices.ContainsFunc(slices.Collect(maps.Values(otherText)), func(list []string) bool { return slices.Contains(list, text) }) {
					t.Errorf("%s:%d: the words of %q belong into internal/message", path, line, text)
				}
			}
		}
	}
	for why, list := range otherText {
		for _, text := range list {
			if !used[text] {
				t.Errorf("%q (%s) is nowhere any more: it needs no reason", text, why)
			}
		}
	}
}

func TestEnglishIsFound(t *testing.T) {
	const src = `package p
const enumerated Kind = "written in full"
const legend = "not an enumeration"
func f(line string) error {
	say("the GPU waits")
	x := T{Title: "GPU time of all"}
	if line == "Not Supported" || strings.Contains(line, "Importer error") {
		return fmt.Errorf("read the file: %w", err)
	}
}`
	var got []string
	for _, text := range english(t, "p.go", []byte(src), twoWords) {
		got = append(got, text)
	}
	if !slices.Equal(got, []string{"not an enumeration", "the GPU waits"}) {
		t.Errorf("found %q", got)
	}
	for text, want := range map[string]bool{
		", %d registers a thread": true, " waves": true, ", by ": true, " of a part": true, "%d rows": true, "NVIDIA's rule, %s%s: %s": true, "idle: ": true, "None.": true, "Counted": true,
		"%s: %s": false, "%dx%dx%d": false, "_ns": false, "short_name": false, "%-9s %s\n": false, " (": false, "kernel": false, "MFU": false,
	} {
		if anyWord(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}

var (
	wordPair     = regexp.MustCompile(`[A-Za-z]{2,}[,;:.)']* +\(?[A-Za-z]{2,}`)
	verb         = regexp.MustCompile(`%[-+# 0]*[0-9*]*(\.[0-9*]+)?[a-zA-Z%]`)
	wordAndBlank = regexp.MustCompile(`[A-Za-z]{2,}[,;:.)']* | \(?[A-Za-z]{2,}|^[A-Z][a-z]+[.:]?$`)
)

// twoWords tells a text that says something by itself.
func twoWords(s string) bool { return wordPair.MatchString(s) }

// anyWord tells also a part of a sentence, such as ", %d waves", and a word that a sentence or
// a cell begins with. A word in lower case alone is a key or a code.
func anyWord(s string) bool {
	return wordAndBlank.MatchString(strings.TrimRight(verb.ReplaceAllString(s, "%"), "\n"))
}

// english yields the literals of a file that say something, by their line.
// Text that the program compares with is read, not said; a constant of a declared
// type is a value of an enumeration; a literal of several lines is a program or a
// style sheet, and one that begins with "<" is markup.
func english(t *testing.T, path string, src []byte, said func(string) bool) iter.Seq2[int, string] {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return func(yield func(int, string) bool) {
		var visit func(n ast.Node) bool
		visit = func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ImportSpec, *ast.Field:
				return false
			case *ast.FuncDecl:
				return n.Name.Name != "Error" // the text of an error
			case *ast.CallExpr:
				return !slices.Contains(errorMakers, calleeOf(n.Fun)) && !slices.Contains(matchers, calleeOf(n.Fun))
			case *ast.BinaryExpr:
				return n.Op != token.EQL && n.Op != token.NEQ
			case *ast.CaseClause:
				for _, statement := range n.Body {
					ast.Inspect(statement, visit)
				}
				return false
			case *ast.CompositeLit:
				return !slices.Contains(paramTypes, calleeOf(n.Type))
			case *ast.ValueSpec:
				name := n.Names[0].Name
				return n.Type == nil && !strings.HasSuffix(name, "Legend") && !strings.HasSuffix(name, "Help")
			case *ast.AssignStmt:
				field, ok := n.Lhs[0].(*ast.SelectorExpr)
				return !ok || !slices.Contains(declared, field.Sel.Name)
			case *ast.KeyValueExpr:
				if key, ok := literal(n.Key); ok {
					return !slices.Contains(declared, key)
				}
				key, ok := n.Key.(*ast.Ident)
				return !ok || !slices.Contains(declared, key.Name)
			case *ast.BasicLit:
				s, err := strconv.Unquote(n.Value)
				program := strings.HasPrefix(n.Value, "`") && strings.Contains(s, "\n") || strings.HasPrefix(s, "<")
				if n.Kind == token.STRING && err == nil && !program && said(s) {
					yield(set.Position(n.Pos()).Line, s)
				}
			}
			return true
		}
		ast.Inspect(file, visit)
	}
}

// calleeOf is "pkg.Name" or "Name"; "" of anything else.
func calleeOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.ArrayType:
		return calleeOf(e.Elt)
	case *ast.SelectorExpr:
		if x, ok := e.X.(*ast.Ident); ok {
			return x.Name + "." + e.Sel.Name
		}
	}
	return ""
}
