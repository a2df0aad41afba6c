package plan

import (
	"flag"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/deepprof/deepprof/internal/config"
)

var update = flag.Bool("update", false, "accept the problems and docs/configuration.md as they are now")

// TestProblems holds the text of every kind of problem. Each case of the
// archive is one command line; a file named CASE/PATH overlays the tree.
func TestProblems(t *testing.T) {
	const golden = "testdata/problems.txtar"
	archive, err := txtar.ParseFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	var current string
	overlays := map[string]fstest.MapFS{}
	for i, f := range archive.Files {
		if name, ok := strings.CutSuffix(f.Name, "/overrides"); ok {
			current = name
			overlays[name] = fstest.MapFS{}
			continue
		}
		if f.Name != current+"/problems" {
			overlays[current][strings.TrimPrefix(f.Name, current+"/")] = &fstest.MapFile{Data: f.Data}
			continue
		}
		_, problems := decode(t, overlays[current], overridesOf(archive, current)...)
		got := problems.Error() + "\n"
		if *update {
			archive.Files[i].Data = []byte(got)
			continue
		}
		if want := string(f.Data); got != want {
			t.Errorf("%s:\ngot\n%swant\n%s", current, got, want)
		}
		if len(problems) == 0 {
			t.Errorf("%s: no problem found", current)
		}
	}
	if *update {
		if err := os.WriteFile(golden, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// overridesOf reads the command line of a case, one override a line.
func overridesOf(archive *txtar.Archive, name string) []string {
	for _, f := range archive.Files {
		if f.Name == name+"/overrides" {
			var out []string
			for line := range strings.Lines(string(f.Data)) {
				out = append(out, strings.TrimSuffix(line, "\n"))
			}
			return out
		}
	}
	return nil
}

// TestBadExpressions: the words are those of package nvtx.
func TestBadExpressions(t *testing.T) {
	_, problems := decode(t, nil, "pipeline.ncu.ncu_cli.nvtx_include=['regex:(',decode]", "pipeline.ncu.ncu_cli.nvtx_exclude=['regex:[']")
	if len(problems) != 2 || problems[0].Key != "pipeline.ncu.ncu_cli.nvtx_include" || problems[1].Key != "pipeline.ncu.ncu_cli.nvtx_exclude" {
		t.Errorf("got %v", problems)
	}
}

func TestDecodeOfNothing(t *testing.T) {
	if _, problems := Decode(nil); len(problems) != 1 {
		t.Errorf("got %d problems: %v", len(problems), problems)
	}
}

// TestEveryKeyIsNeeded: nothing is defaulted in code.
func TestEveryKeyIsNeeded(t *testing.T) {
	for _, key := range Keys() {
		_, problems := decode(t, nil, key+"=x", "~"+key) // a null cannot be deleted
		found := false
		for _, p := range problems {
			found = found || p.Key == key && strings.HasPrefix(p.Message, "no value")
		}
		if found == mayBeAbsent(key) {
			t.Errorf("%s is absent: a problem is reported: %v, want %v: %v", key, found, !found, problems)
		}
	}
}

// mayBeAbsent reads the tag of the field that a key belongs to.
func mayBeAbsent(key string) bool {
	t := reflect.TypeFor[Plan]()
	for part := range strings.SplitSeq(key, ".") {
		for _, f := range fieldsOf(t) {
			if f.key == part {
				if !isMapping(f.typ) {
					return f.absent
				}
				t = f.typ
				break
			}
		}
	}
	return false
}

// TestAnyValueAnywhere: whatever a key is set to, Decode returns, and a value
// of the wrong type is never taken silently.
func TestAnyValueAnywhere(t *testing.T) {
	for _, k := range Describe() {
		for _, value := range []string{"null", "-1", "''", "[[x]]", "{}", "???"} {
			root, err := tryCompose(k.Name + "=" + value)
			if err != nil {
				continue // composing refuses some of them, a list over a mapping for one
			}
			_, problems := Decode(root)
			if value == "[[x]]" && root.Lookup(k.Name).Kind() == config.List && !slices.ContainsFunc(problems, func(p Problem) bool {
				return strings.HasPrefix(p.Key, k.Name)
			}) {
				t.Errorf("%s=%s: nobody minds", k.Name, value)
			}
		}
	}
}
