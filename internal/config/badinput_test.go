package config

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// composeFiles composes files in memory.
func composeFiles(t *testing.T, files map[string]string, overrides ...string) (*Config, error) {
	t.Helper()
	tree := fstest.MapFS{}
	for name, text := range files {
		tree[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return Compose(Options{
		Sources:    []Source{{Provider: "main", Path: "conf", FS: tree}},
		ConfigName: "config", Overrides: overrides,
		Env: func(string) (string, bool) { return "", false },
		Now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Cwd: "/work", JobName: "app",
	})
}

// wantError checks kind and words of an error.
func wantError(t *testing.T, err error, kind string, words ...string) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("error is %v, want one of kind %s", err, kind)
	}
	if e.Kind != kind {
		t.Errorf("kind %s, want %s: %v", e.Kind, kind, err)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error says\n%v\nwithout %q", err, w)
		}
	}
}

func aliasBomb() string {
	var b strings.Builder
	b.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 12; i++ {
		fmt.Fprintf(&b, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10), ", "))
	}
	return b.String()
}

func mergeBomb() string {
	var b strings.Builder
	b.WriteString("a0: &a0 {k0: 1, k1: 2}\n")
	for i := 1; i < 40; i++ {
		fmt.Fprintf(&b, "a%d: &a%d {<<: [*a%d, *a%d], m%d: 1}\n", i, i, i-1, i-1, i)
	}
	return b.String()
}

func TestBadYAML(t *testing.T) {
	for name, c := range map[string]struct {
		text, kind string
		words      []string
	}{
		"syntax":        {"a: 1\n b: 2\n", "yaml-syntax", []string{"conf/config.yaml:2:1", "mapping values are not allowed"}},
		"unclosed":      {"b: 1\na: [1, 2\n", "yaml-syntax", []string{"conf/config.yaml:2:1"}},
		"duplicate":     {"a: 1\nb: 2\na: 3\n", "yaml-syntax", []string{"conf/config.yaml:3:1", "duplicate key a", "    a: 3\n    ^", "line 1"}},
		"tab":           {"a:\n\tb: 1\n", "yaml-syntax", []string{"conf/config.yaml:2", "tabs"}},
		"tab after":     {"a:\n  b: 1\n\tc: 1\n", "yaml-syntax", []string{"conf/config.yaml:3:1", "tab", "     c: 1\n    ^", "blanks"}},
		"tab in blanks": {"a:\n  - b\n\n \t- c\n", "yaml-syntax", []string{"conf/config.yaml:4:2", "tab"}},
		"alias bomb":    {aliasBomb(), "yaml-syntax", []string{"200000 values"}},
		"merge bomb":    {mergeBomb(), "yaml-syntax", []string{"200000 values"}},
		"self alias":    {"a: &x [*x]\n", "yaml-syntax", []string{"contains itself"}},
		"unknown alias": {"b: 1\na: *x\n", "yaml-syntax", []string{"conf/config.yaml:2:4", "x"}},
		"deep flow":     {"a: " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000), "yaml-syntax", []string{"nested"}},
		"deep flow map": {strings.Repeat("{a: ", 3000) + strings.Repeat("}", 3000), "yaml-syntax", []string{"nested"}},
		"not UTF-8":     {"a: 1\nb: \xff\xfe\n", "yaml-syntax", []string{"conf/config.yaml:2:1", "UTF-8", "0xff"}},
		"two documents": {"a: 1\n---\nb: 2\n", "yaml-syntax", []string{"document"}},
		"unknown tag":   {"a: !!python/name:os.system x\n", "yaml-syntax", []string{"conf/config.yaml:1:4", "tag"}},
		"number":        {"5\n", "yaml-type", []string{"mapping"}},
		"list":          {"- 1\n", "primary-not-mapping", []string{"conf/config.yaml:1:1"}},
		"interpolation": {"a:\n  b: ${x\n", "interpolation-syntax", []string{"conf/config.yaml:2:6", "not closed"}},
		"null key":      {"~: 1\n", "merge-type", []string{"conf/config.yaml:1:1", "NoneType"}},
		"NUL":           {"a: \x00\n", "yaml-syntax", []string{"conf/config.yaml"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := composeFiles(t, map[string]string{"config.yaml": c.text})
			wantError(t, err, c.kind, c.words...)
		})
	}
}

func composeDir(dir, name string) error {
	_, err := Compose(Options{Sources: []Source{{Provider: "main", Path: dir, FS: os.DirFS(dir), Check: true}}, ConfigName: name, Cwd: dir})
	return err
}

func TestBadFiles(t *testing.T) {
	dir := t.TempDir()
	huge, err := os.Create(filepath.Join(dir, "huge.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := huge.Truncate(100 << 20); err != nil {
		t.Fatal(err)
	}
	huge.Close()
	if err := os.Mkdir(filepath.Join(dir, "folder.yaml"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := exec.Command("mkfifo", filepath.Join(dir, "pipe.yaml")).Run(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "config.yaml"), []byte("a: 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("loop.yaml", filepath.Join(dir, "loop.yaml")); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ dir, config, kind, words string }{
		"huge":       {dir, "huge", "config-unreadable", "104857600 bytes"},
		"a folder":   {dir, "folder", "primary-not-found", "folder"},
		"a pipe":     {dir, "pipe", "config-unreadable", "regular"},
		"a loop":     {dir, "loop", "primary-not-found", "loop"},
		"absent":     {dir, "confg", "primary-not-found", "did you mean 'config'?"},
		"no folder":  {filepath.Join(dir, "none"), "config", "config-dir-not-found", "exists and readable"},
		"file as it": {filepath.Join(dir, "config.yaml"), "config", "config-dir-not-found", "config.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			wantError(t, composeDir(c.dir, c.config), c.kind, c.words)
		})
	}
}

func TestCycles(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		kind  string
		words string
	}{
		"defaults": {map[string]string{"config.yaml": "defaults: [a]\n", "a.yaml": "defaults: [b]\n", "b.yaml": "defaults: [a]\n"},
			"defaults-cycle", "a -> b -> a"},
		"self": {map[string]string{"config.yaml": "defaults: [config]\n"}, "defaults-cycle", "config -> config"},
		"into packages": {map[string]string{"config.yaml": "defaults: [g/a]\n", "g/a.yaml": "defaults: [a@sub]\n"},
			"defaults-cycle", "g/a -> g/a"},
		"many": {map[string]string{"config.yaml": "defaults: [a1]\n", "a1.yaml": "defaults: [a2, a2, a2, a2]\n", "a2.yaml": "defaults: [a3, a3, a3, a3]\n",
			"a3.yaml": "defaults: [a4, a4, a4, a4]\n", "a4.yaml": "defaults: [a5, a5, a5, a5]\n", "a5.yaml": "defaults: [a6, a6, a6, a6]\n",
			"a6.yaml": "defaults: [a7, a7, a7, a7]\n", "a7.yaml": "defaults: [a8, a8, a8, a8]\n", "a8.yaml": "x: 1\n"}, "defaults-cycle", "more than"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := composeFiles(t, c.files)
			wantError(t, err, c.kind, c.words)
		})
	}
}

func TestResolveCycles(t *testing.T) {
	bomb := "a0: xxxxxxxxxx\n"
	for i := 1; i < 30; i++ {
		bomb += fmt.Sprintf("a%d: '%s'\n", i, strings.Repeat(fmt.Sprintf("${a%d}", i-1), 10))
	}
	tree := "m0: {x: 1, y: 2}\n"
	for i := 1; i < 40; i++ {
		tree += fmt.Sprintf("m%d: {l: '${m%d}', r: '${m%d}'}\n", i, i-1, i-1)
	}
	for name, c := range map[string]struct{ text, kind, words string }{
		"to itself":     {"a: ${a}\n", "interpolation-cycle", "a -> a"},
		"in a ring":     {"a: ${b}\nb: ${c}\nc: ${a}\n", "interpolation-cycle", "c -> a -> b -> c"},
		"to a parent":   {"a: {b: {c: '${a}'}}\n", "interpolation-cycle", "parent"},
		"through path":  {"a: ${a.b}\n", "interpolation-cycle", "Recursive"},
		"of containers": {"a: {x: '${b}'}\nb: {y: '${a}'}\n", "interpolation-cycle", "contains itself"},
		"by select":     {"a: {x: '${oc.select:a}'}\n", "interpolation-cycle", "contains itself"},
		"by decode":     {"a: ${oc.decode:'${a}'}\n", "interpolation-cycle", ""},
		"text bomb":     {bomb, "interpolation-other", "longer than"},
		"tree bomb":     {tree, "interpolation-cycle", "steps"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, err := composeFiles(t, map[string]string{"config.yaml": c.text})
			if err != nil {
				t.Fatal(err)
			}
			_, err = cfg.Resolve()
			wantError(t, err, c.kind, c.words)
		})
	}
}

func TestBadOverrides(t *testing.T) {
	deep := strings.Repeat("[", 100000)
	for name, c := range map[string]struct {
		override, kind string
		words          []string
	}{
		"no value":       {"a", "override-syntax", []string{"expecting '='", "\n    a\n     ^"}},
		"character":      {"a=x#y", "override-syntax", []string{"'#'", "\n    a=x#y\n       ^", "quote the value"}},
		"quote":          {"a='x", "override-syntax", []string{"quote ' is not closed", "\n    a='x\n      ^"}},
		"nesting":        {"a=" + deep, "override-syntax", []string{"nested deeper"}},
		"nested text":    {"a='" + strings.Repeat("${", 5000) + "'", "interpolation-syntax", []string{"nested"}},
		"not UTF-8":      {"a=\xff", "override-syntax", []string{"UTF-8"}},
		"sweep":          {"a=1,2", "sweep-needs-multirun", []string{"key=[value1,value2]", "\n    a=1,2\n      ^", "one run per value"}},
		"choice":         {"a=choice(1,2)", "sweep-needs-multirun", []string{"--multirun"}},
		"function":       {"a=int(1)", "override-function", []string{"int()", "left out"}},
		"unknown key":    {"bb.cold=1", "unknown-key", []string{"Key 'cold' is not in struct", "+bb.cold=1", "did you mean 'bb.colt'?", "\n    bb.cold=1\n       ^"}},
		"unknown root":   {"aaa.x=1", "unknown-key", []string{"Key 'aaa' is not in struct"}},
		"unknown option": {"g=onne", "option-not-found", []string{"Available options in 'g':\n\tone\n\ttwo", "did you mean 'one'?", "\n    g=onne\n      ^"}},
		"unknown group":  {"gg@x=one", "group-unknown-in-override", []string{"config group 'gg' does not exist"}},
		"group's folder": {"deap/h=x", "unknown-key", []string{"Key 'deap/h' is not in struct", "did you mean 'deep/h'?"}},
		"group's name":   {"deep/hh=x", "unknown-key", []string{"Key 'deep/hh' is not in struct", "did you mean 'deep/h'?"}},
		"group alone":    {"tophic=x", "unknown-key", []string{"Key 'tophic' is not in struct", "did you mean 'topic'?"}},
		"absent group":   {"~deep/hh", "delete-absent", []string{"'deep/hh' does not exist", "did you mean 'deep/h'?"}},
		"exists":         {"+a=2", "already-exists", []string{"'a=2'", "'++a=2'"}},
		"absent":         {"~bb.cold", "delete-absent", []string{"'bb.cold' does not exist", "did you mean 'bb.colt'?"}},
		"list item":      {"~l.0", "list-delete", []string{"set the whole list"}},
		"list end":       {"l.7=1", "list-index", []string{"out of range"}},
		"map on list":    {"l={x: 1}", "merge-type", []string{"Cannot merge"}},
		"hydra type":     {"hydra.job.chdir=maybe", "hydra-schema", []string{"not a valid bool"}},
		"plugin":         {"hydra/launcher=joblib", "option-not-found", []string{"hydra/launcher", "basic"}},
		"package path":   {"hydra.searchpath=[pkg://x]", "searchpath", []string{"pkg://x", "only folders"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := composeFiles(t, map[string]string{
				"config.yaml": "defaults:\n  - g: one\n  - _self_\na: 1\nbb: {colt: 2}\nl: [1, 2]\n",
				"g/one.yaml":  "x: 1\n", "g/two.yaml": "x: 2\n", "deep/h/x.yaml": "x: 3\n", "topic/x.yaml": "x: 4\n",
			}, c.override)
			wantError(t, err, c.kind, c.words...)
		})
	}
}

func TestErrorsPointAtFiles(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		kind  string
		words []string
	}{
		"option": {map[string]string{"config.yaml": "defaults:\n  - g: onne\n", "g/one.yaml": "x: 1\n"}, "option-not-found",
			[]string{"conf/config.yaml:2:5", "\n      - g: onne\n        ^", "did you mean 'one'?"}},
		"config": {map[string]string{"config.yaml": "defaults:\n  - bsae\n", "base.yaml": "x: 1\n"}, "config-not-found",
			[]string{"conf/config.yaml:2:5", "did you mean 'base'?"}},
		"extension": {map[string]string{"config.yaml": "defaults:\n  - g: one\n", "g/one.yml": "x: 1\n"}, "option-not-found",
			[]string{"rename conf/g/one.yml"}},
		"keyword": {map[string]string{"config.yaml": "defaults:\n  - optionl g: one\n", "g/one.yaml": "x: 1\n"}, "defaults-invalid",
			[]string{"conf/config.yaml:2:5", "optionl", "did you mean 'optional'?"}},
		"choice to make": {map[string]string{"config.yaml": "defaults:\n  - g: ???\n", "g/one.yaml": "x: 1\n"}, "group-option-missing",
			[]string{"conf/config.yaml:2:5", "g=<OPTION>", "one"}},
		"merge": {map[string]string{"config.yaml": "defaults: [base, _self_]\nx: {a: 1}\n", "base.yaml": "x: [1]\n"}, "merge-type",
			[]string{"In 'config'", "conf/config.yaml"}},
		"hydra key": {map[string]string{"config.yaml": "a: 1\nhydra:\n  runn: {dir: x}\n"}, "hydra-schema",
			[]string{"conf/config.yaml:3:9", "Key 'runn' not in 'hydra'", "did you mean 'run'?"}},
		"anchor": {map[string]string{"config.yaml": "a: &x 1\nb: &x 2\n"}, "yaml-syntax",
			[]string{"conf/config.yaml:2:4", "found duplicate anchor 'x'", "already on line 1"}},
		"header": {map[string]string{"config.yaml": "defaults: [g: one]\n", "g/one.yaml": "# @package a b\nx: 1\n"}, "package-header",
			[]string{"conf/g/one.yaml:1:1", "Too many components"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := composeFiles(t, c.files)
			wantError(t, err, c.kind, c.words...)
		})
	}
}

func TestResolveErrorsPointAtFiles(t *testing.T) {
	for name, c := range map[string]struct {
		text, kind string
		words      []string
	}{
		"key":      {"seed: 1\nb: {c: '${sead}'}\n", "interpolation-key", []string{"conf/config.yaml:2:8", "'sead' not found", "did you mean 'seed'?"}},
		"env":      {"a: ${oc.env:NOPE}\n", "interpolation-env", []string{"conf/config.yaml:1:4", "NOPE"}},
		"missing":  {"a: ???\nb: ${a}\n", "interpolation-missing", []string{"conf/config.yaml:2:4", "Missing mandatory value: a"}},
		"resolver": {"a: ${oc.envv:X}\n", "interpolation-resolver", []string{"oc.envv", "did you mean 'oc.env'?", "oc.select"}},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, err := composeFiles(t, map[string]string{"config.yaml": c.text})
			if err != nil {
				t.Fatal(err)
			}
			_, err = cfg.Resolve()
			wantError(t, err, c.kind, c.words...)
		})
	}
}
