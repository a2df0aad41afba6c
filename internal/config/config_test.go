package config

import (
	"bytes"
	"fmt"
	"io/fs"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
)

func mustCompose(t *testing.T, files map[string]string, overrides ...string) *Config {
	t.Helper()
	cfg, err := composeFiles(t, files, overrides...)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

var exampleFiles = map[string]string{
	"config.yaml":    "# Example\ndefaults:\n  - db: mysql\n  - _self_\nname: app\nurl: ${db.host}:${db.port}\nlist: [1, 2]\n",
	"db/mysql.yaml":  "# MySQL, the default\nhost: localhost\nport: 3306\n",
	"db/sqlite.yaml": "# @package db\n\n# A file\nhost: ''\nport: 0\n",
	"db/x/y.yaml":    "z: 1\n",
}

func TestOrigins(t *testing.T) {
	cfg := mustCompose(t, exampleFiles, "db.port=5", "+extra={a: [1]}", "list.1=7")
	resolved, err := cfg.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"name":      "conf/config.yaml:5:7",
		"db.host":   "conf/db/mysql.yaml:2:7",
		"db.port":   "override db.port=5",
		"url":       "conf/config.yaml:6:6",
		"list.0":    "conf/config.yaml:7:8",
		"list.1":    "override list.1=7",
		"extra.a.0": "override +extra={a: [1]}",
	} {
		for which, tree := range map[string]*Node{"composed": cfg.Root, "resolved": resolved} {
			n := tree.Lookup(path)
			if n == nil {
				t.Errorf("%s: %s is not there", which, path)
			} else if got := n.Origin().String(); got != want {
				t.Errorf("%s: origin of %s is %s, want %s", which, path, got, want)
			}
		}
	}
	if text, _ := resolved.Lookup("url").Text(); text != "localhost:5" {
		t.Errorf("url is %q", text)
	}
}

func TestNodeAccess(t *testing.T) {
	cfg := mustCompose(t, map[string]string{"config.yaml": "b: true\ni: 3\nbig: 123456789012345678901234567890\nf: 1.0\ns: x\nn:\nm:\n  k: ???\nl: [1]\nr: ${i}\n"})
	kinds := map[string]Kind{"b": Bool, "i": Int, "big": Int, "f": Float, "s": String, "n": Null, "m": Map, "m.k": String, "l": List, "r": String}
	for path, kind := range kinds {
		if n := cfg.Root.Lookup(path); n == nil || n.Kind() != kind {
			t.Errorf("%s is %v, want %v", path, n, kind)
		}
	}
	if v, ok := cfg.Root.Get("b").Bool(); !v || !ok {
		t.Error("b is not true")
	}
	if v, ok := cfg.Root.Get("i").Int(); v != 3 || !ok {
		t.Error("i is not 3")
	}
	if _, ok := cfg.Root.Get("big").Int(); ok {
		t.Error("big fits 64 bits")
	}
	if v := cfg.Root.Get("big").Digits(); v != "123456789012345678901234567890" {
		t.Errorf("big is %v", v)
	}
	if v, ok := cfg.Root.Get("f").Float(); v != 1 || !ok {
		t.Error("f is not 1.0")
	}
	if _, ok := cfg.Root.Get("i").Float(); ok {
		t.Error("an int is a float")
	}
	if !cfg.Root.Lookup("m.k").Missing() {
		t.Error("m.k is not missing")
	}
	if !cfg.Root.Get("r").Interpolation() || cfg.Root.Get("s").Interpolation() {
		t.Error("r alone is an interpolation")
	}
	if cfg.Root.Lookup("l.3") != nil || cfg.Root.Lookup("s.x") != nil || cfg.Root.Get("zz") != nil {
		t.Error("found what is not there")
	}
	if got := strings.Join(Keys(cfg.Root), " "); got != "b i big f s n m m.k l l.0 r" {
		t.Errorf("keys %s", got)
	}
}

// Goroutines may share a tree, so looking a key up changes nothing: every large mapping
// has its index from the start.
func TestLookupChangesNothing(t *testing.T) {
	var text strings.Builder
	for i := range 3 * indexFrom {
		fmt.Fprintf(&text, "k%d: %d\n", i, i)
	}
	cfg := mustCompose(t, map[string]string{"config.yaml": text.String() + "small: {a: 1}\n"}, "~k3", "+new=1")
	resolved, err := cfg.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	view, err := cfg.View(true, true)
	if err != nil {
		t.Fatal(err)
	}
	for name, tree := range map[string]*Node{"composed": cfg.Root, "resolved": resolved, "view": view} {
		for i, e := range tree.entries {
			if got, ok := tree.index[keyOf(e.Key)]; !ok || got != i {
				t.Errorf("%s: the index has %d, %v for key %d, %s", name, got, ok, i, pyStr(e.Key))
			}
		}
		if len(tree.index) != len(tree.entries) || tree.Get("small").index != nil || tree.Get("k3") != nil || tree.Get("new") == nil {
			t.Errorf("%s: %d keys, %d in the index", name, len(tree.entries), len(tree.index))
		}
	}
}

func TestGroups(t *testing.T) {
	tree := fstest.MapFS{}
	for name, text := range exampleFiles {
		tree[name] = &fstest.MapFile{Data: []byte(text)}
	}
	user := fstest.MapFS{"db/mysql.yaml": {Data: []byte("# Mine\nport: 1\n")}, "db/mine.yaml": {Data: []byte("port: 2\n")}}
	got := Groups([]Source{{Provider: "user", Path: "user", FS: user}, {Provider: "main", Path: "conf", FS: tree}})
	want := []Group{
		{"", []Option{{"config", "conf/config.yaml", "Example"}}},
		{"db", []Option{{"mine", "user/db/mine.yaml", ""}, {"mysql", "user/db/mysql.yaml", "Mine"}, {"sqlite", "conf/db/sqlite.yaml", "A file"}}},
		{"db/x", []Option{{"y", "conf/db/x/y.yaml", ""}}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("groups %+v\nwant %+v", got, want)
	}
}

func TestOverlay(t *testing.T) {
	shipped := fstest.MapFS{"config.yaml": {Data: []byte("defaults: [db: a, _self_]\nn: 1\n")}, "db/a.yaml": {Data: []byte("from: shipped\n")}}
	user := fstest.MapFS{"db/a.yaml": {Data: []byte("from: user\n")}}
	cfg, err := Compose(Options{Sources: []Source{{Provider: "user", Path: "./conf", FS: user}, {Provider: "main", Path: "deepprof", FS: shipped}}, ConfigName: "config", Cwd: "/"})
	if err != nil {
		t.Fatal(err)
	}
	if from, _ := cfg.Root.Lookup("db.from").Text(); from != "user" {
		t.Errorf("the user's file does not win: %s", from)
	}
	if f := cfg.Root.Lookup("db.from").Origin().File; f != "conf/db/a.yaml" {
		t.Errorf("file %s", f)
	}
}

func TestNoPrimaryConfig(t *testing.T) {
	cfg, err := Compose(Options{Overrides: []string{"+a.b=1", "+c=[x]"}, Cwd: "/"})
	if err != nil {
		t.Fatal(err)
	}
	if got := string(cfg.Root.JSON(false)); got != `{"a":{"b":1},"c":["x"]}` {
		t.Errorf("config %s", got)
	}
}

func TestRun(t *testing.T) {
	cfg := mustCompose(t, exampleFiles, "hydra.run.dir=runs/${name}-${now:%H%M}", "hydra.job.chdir=true", "db.port=1")
	run, err := cfg.Run()
	if err != nil {
		t.Fatal(err)
	}
	if run.Path != "/work/runs/app-0304" {
		t.Errorf("path %s", run.Path)
	}
	if got := string(run.Record[".hydra/overrides.yaml"]); got != "- db.port=1\n" {
		t.Errorf("overrides.yaml %q", got)
	}
	if got := string(run.Record[".hydra/config.yaml"]); !strings.Contains(got, "url: ${db.host}:${db.port}\n") || strings.Contains(got, "hydra") {
		t.Errorf("config.yaml %q", got)
	}
	if got := string(run.Record[".hydra/hydra.yaml"]); !strings.HasPrefix(got, "hydra:\n") || !strings.Contains(got, "output_dir: /work/runs/app-0304\n") {
		t.Errorf("hydra.yaml %q", got)
	}
	view, err := cfg.View(true, true)
	if err != nil {
		t.Fatal(err)
	}
	if dir, _ := view.Lookup("hydra.run.dir").Text(); dir != "runs/app-0304" {
		t.Errorf("hydra.run.dir %s", dir)
	}
	if none, err := mustCompose(t, exampleFiles, "hydra.output_subdir=null").Run(); err != nil || none.Record != nil {
		t.Errorf("record %v where none is wanted, %v", none.Record, err)
	}
}

func TestRunDirMustBeSet(t *testing.T) {
	cfg := mustCompose(t, exampleFiles, "hydra.run.dir=???")
	_, err := cfg.Resolve()
	wantError(t, err, "run-dir-missing", "hydra.run.dir is not set")
}

func TestSearchPathFolder(t *testing.T) {
	extra := fstest.MapFS{"g/o.yaml": {Data: []byte("x: 1\n")}}
	tree := fstest.MapFS{"config.yaml": {Data: []byte("hydra: {searchpath: [more]}\n")}}
	opened := ""
	cfg, err := Compose(Options{
		Sources: []Source{{Provider: "main", Path: "conf", FS: tree}}, ConfigName: "config", Overrides: []string{"+g=o"}, Cwd: "/work",
		OpenDir: func(dir string) fs.FS { opened = dir; return extra },
	})
	if err != nil {
		t.Fatal(err)
	}
	if opened != "/work/more" {
		t.Errorf("opened %q", opened)
	}
	if got := string(cfg.Root.JSON(false)); got != `{"g":{"x":1}}` {
		t.Errorf("config %s", got)
	}
}

// What is written reads back as the same tree; strings that other rules would
// take for something else are quoted.
func TestYAMLReadsBack(t *testing.T) {
	text := "a: '1'\nb: 'yes'\nc: ''\nd: null\ne: x y\nf: 'x: y'\ng: \"a\\tb\"\nh: 1.0e-07\ni:\n- - 1\n  - 2\n- a: 1\n  b: []\nj: {}\n" +
		"k: \"two\\nlines \"\nl: '2024-01-02'\nm: ' x'\n'': .inf\n1: one\ntrue: yes\nn: \"\\n\"\no: 0o17\np: 1:30\nq: \"a\\n  b\\n\"\n"
	cfg := mustCompose(t, map[string]string{"config.yaml": text})
	written := cfg.Root.YAML()
	back, err := readYAML("back", written)
	if err != nil || !bytes.Equal(back.JSON(false), cfg.Root.JSON(false)) {
		t.Errorf("%s\nreads back as\n%s (%v), want\n%s", written, back.JSON(false), err, cfg.Root.JSON(false))
	}
	for _, line := range []string{"a: '1'\n", "b: 'yes'\n", "i:\n- - 1\n", "j: {}\n", "h: 1.0e-07\n", "e: x y\n"} {
		if !strings.Contains(string(written), line) {
			t.Errorf("%s\nlacks %q", written, line)
		}
	}
	if got := string(newMap().YAML()); got != "{}\n" {
		t.Errorf("an empty mapping is %q", got)
	}
}

func TestCanonicalJSON(t *testing.T) {
	cfg := mustCompose(t, map[string]string{"config.yaml": "a: [1, 1.0, true, 1e-5, 1e22, .nan, -.inf, 1000000.0]\nm: {1: x, on: y}\nu: \"\\u2028é\\x01\"\n"})
	want := `{"a":[1,1.0,true,1e-05,1e+22,{"$float":"nan"},{"$float":"-inf"},1000000.0],"m":{"$map":[[1,"x"],[true,"y"]]},"u":"\u2028é\u0001"}`
	if got := string(cfg.Root.JSON(false)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := string(mustCompose(t, map[string]string{"config.yaml": "a: {b: [1, {}]}\nc: []\n"}).Root.JSON(true)); got != "{\n  \"a\": {\n    \"b\": [\n      1,\n      {}\n    ]\n  },\n  \"c\": []\n}\n" {
		t.Errorf("indented %s", got)
	}
}

func TestSweepNamesTheRuns(t *testing.T) {
	_, err := composeFiles(t, map[string]string{"config.yaml": "a: 1\nb: 1\n"}, "a=1,2", "b=x,y")
	wantError(t, err, "sweep-needs-multirun", "4", "a=1 b=x")
	_, err = composeFiles(t, map[string]string{"config.yaml": "a: 1\n"}, "a="+strings.Repeat("1,", 2000)+"1")
	wantError(t, err, "sweep-needs-multirun", "one run per value")
}
