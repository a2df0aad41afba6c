package message

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// upperHalf are the packages whose results are worded here and nowhere else.
var upperHalf = []string{"analysis", "capture", "compare", "doctor", "experiment", "pick", "pipeline", "report", "report/folder", "report/html", "runs", "serving", "show", "workload"}

// Texts that are no words about a result. An error is worded where it happens, by
// design; a declared table has its titles in its own row, as has a command its help.
var (
	errorMakers = []string{"fmt.Errorf", "errors.New", "usagef", "usage", "cannot", "panic", "regexp.MustCompile", "byParam"}
	declared    = []string{"Title", "Help", "Legend", "Words", "Short", "Long", "Example"}
	paramTypes  = []string{"Param"} // flags of views: name and help
)

// otherText is why a file holds English all the same.
var otherText = map[string]string{
	"analysis/analyze.go":     "names of programs and libraries",
	"analysis/categories.go":  "names of categories are data: users write them into the categories file",
	"analysis/causerules.go":  "units of evidence",
	"analysis/collectives.go": "field of a range of NCCL",
	"analysis/counters.go":    "names of programs",
	"analysis/evidence.go":    "names of counters as NVIDIA prints them",
	"analysis/folder.go":      "parts of an error",
	"analysis/lanes.go":       "names of lanes are data, as those of the program",
	"analysis/limiter.go":     "units of evidence",
	"analysis/modelwork.go":   "kind of a file, part of an error",
	"analysis/operators.go":   "names of events of the torch profiler",
	"capture/attempt.go":      "comments of the shell script cmd.txt",
	"capture/files.go":        "lines of nsys",
	"capture/judge.go":        "lines of nsys and of PyTorch",
	"capture/kind.go":         "enumerated kinds of outcomes, as run.json holds them",
	"capture/progress.go":     "lines of nsys and ncu; enumerated phases",
	"compare/gate.go":         "parts of an error",
	"compare/requests.go":     "the load as data: equal or not, and shown beside the other",
	"doctor/gpu.go":           "lines of nvidia-smi",
	"doctor/machine.go":       "a command line",
	"doctor/permission.go":    "what gVisor writes into /proc/version",
	"doctor/python.go":        "a Python program",
	"doctor/tools.go":         "names of packages of distributions",
	"pick/choose.go":          "enumerated sources of a number, as targets.json holds them",
	"pick/counting.go":        "enumerated sources and outcomes, as targets.json holds them",
	"pick/sectioncost.go":     "the text of 'deepprof config sections', its only output",
	"pick/targets.go":         "enumerated ways and roles, as targets.json holds them",
	"pipeline/prepare.go":     "parts of an error",
	"pipeline/replay.go":      "a flag",
	"report/compare_ci.go":    "name of the suite in JUnit and SARIF",
	"report/html/compare.go":  "a style sheet",
	"report/html/html.go":     "a content security policy",
	"report/roofline_svg.go":  "markup and a style sheet",
	"report/view_result.go":   "legends of declared tables",
	"report/view_steps.go":    "legends of declared tables",
	"report/view_timeline.go": "help of declared columns",
	"report/view_use.go":      "help of declared columns",
	"runs/env_gpu.go":         "lines of nvidia-smi; why env.json lacks a value, for people alone",
	"runs/env_host.go":        "fields of /proc; why env.json lacks a value, for people alone",
	"runs/env_software.go":    "a Python program; why env.json lacks a value, for people alone",
	"runs/layout.go":          "enumerated kinds of files",
	"runs/manifest.go":        "parts of an error",
	"runs/open.go":            "part of an error",
	"runs/owner.go":           "evidence that a process lives, for people alone",
	"runs/pack_transform.go":  "enumerated changes, as run.json holds them",
	"serving/server.go":       "part of an error",
	"show/analysisinput.go":   "parts of an error",
	"show/input.go":           "parts of an error; enumerated kinds of paths",
	"show/metrics.go":         "parts of an error",
	"show/selfcheck.go":       "names of pages of ncu",
	"show/show.go":            "parts of an error",
	"show/stats.go":           "part of an error",
	"show/timeline.go":        "part of an error",
	"workload/launcher.go":    "a shell script",
	"workload/sbatch.go":      "a shell script",
}

// TestWordsHaveOneHome finds English of two words or more in packages that may
// only state codes.
func TestWordsHaveOneHome(t *testing.T) {
	used := map[string]bool{}
	for _, pkg := range upperHalf {
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
			name := pkg + "/" + filepath.Base(path)
			for _, found := range english(t, path, src) {
				if used[name] = true; otherText[name] == "" {
					t.Errorf("%s: the words of %s belong into internal/message", name, found)
				}
			}
		}
	}
	for name := range otherText {
		if !used[name] {
			t.Errorf("%s holds no English any more: it needs no reason", name)
		}
	}
}

func TestEnglishIsFound(t *testing.T) {
	const src = `package p
func f() error {
	say("the GPU waits")
	x := T{Title: "GPU time of all"}
	return fmt.Errorf("read the file: %w", err)
}`
	if got := english(t, "p.go", []byte(src)); len(got) != 1 || !strings.Contains(got[0], "the GPU waits") {
		t.Errorf("found %q", got)
	}
}

var twoWords = regexp.MustCompile(`[A-Za-z]{2,}[,;:.)']* +\(?[A-Za-z]{2,}`)

// english lists the literals of a file with two words in a row, with their line.
func english(t *testing.T, path string, src []byte) (found []string) {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec, *ast.Field:
			return false
		case *ast.FuncDecl:
			return n.Name.Name != "Error" // the text of an error
		case *ast.CallExpr:
			return !slices.Contains(errorMakers, calleeOf(n.Fun))
		case *ast.CompositeLit:
			return !slices.Contains(paramTypes, calleeOf(n.Type))
		case *ast.KeyValueExpr:
			key, ok := n.Key.(*ast.Ident)
			return !ok || !slices.Contains(declared, key.Name)
		case *ast.BasicLit:
			if n.Kind != token.STRING {
				return true
			}
			if s, err := strconv.Unquote(n.Value); err == nil && twoWords.MatchString(s) {
				found = append(found, strconv.Itoa(set.Position(n.Pos()).Line)+": "+strconv.Quote(s))
			}
		}
		return true
	})
	return found
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
