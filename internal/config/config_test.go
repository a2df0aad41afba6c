package config

import (
	"io/fs"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"
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
	cfg := mustCompose(t, map[string]string{"config.yaml": "b: true\ni: 3\nbig: 123456789012345678901234567890\nf: 1.0\ns: x\nn:\nm:\n  k: ???\nl: [1]\nr: ${i}\ny: !!binary aGk=\n"})
	kinds := map[string]Kind{"b": Bool, "i": Int, "big": Int, "f": Float, "s": String, "n": Null, "m": Map, "m.k": String, "l": List, "r": String, "y": Bytes}
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
	if v, ok := cfg.Root.Get("big").BigInt(); !ok || v.String() != "123456789012345678901234567890" {
		t.Errorf("big is %v", v)
	}
	if v, ok := cfg.Root.Get("f").Float(); v != 1 || !ok {
		t.Error("f is not 1.0")
	}
	if _, ok := cfg.Root.Get("i").Float(); ok {
		t.Error("an int is a float")
	}
	if v, ok := cfg.Root.Get("y").Bytes(); string(v) != "hi" || !ok {
		t.Errorf("y is %q", v)
	}
	if !cfg.Root.Lookup("m.k").Missing() || !slices.Equal(cfg.Missing(), []string{"m.k"}) {
		t.Error("m.k is not missing")
	}
	if !cfg.Root.Get("r").Interpolation() || cfg.Root.Get("s").Interpolation() {
		t.Error("r alone is an interpolation")
	}
	if cfg.Root.Lookup("l.3") != nil || cfg.Root.Lookup("s.x") != nil || cfg.Root.Get("zz") != nil {
		t.Error("found what is not there")
	}
	if got := strings.Join(Keys(cfg.Root), " "); got != "b i big f s n m m.k l l.0 r y" {
		t.Errorf("keys %s", got)
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
	if f := cfg.Defaults[0].File; f != "conf/db/a.yaml" {
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
	want := Run{Dir: "runs/app-0304", Path: "/work/runs/app-0304", Chdir: true, OutputDir: "/work/runs/app-0304/.hydra"}
	if run != want {
		t.Errorf("run %+v, want %+v", run, want)
	}
	record := cfg.Record()
	if got := string(record["overrides.yaml"]); got != "- db.port=1\n" {
		t.Errorf("overrides.yaml %q", got)
	}
	if got := string(record["config.yaml"]); !strings.Contains(got, "url: ${db.host}:${db.port}\n") || strings.Contains(got, "hydra") {
		t.Errorf("config.yaml %q", got)
	}
	if got := string(record["hydra.yaml"]); !strings.HasPrefix(got, "hydra:\n") || !strings.Contains(got, "output_dir: /work/runs/app-0304\n") {
		t.Errorf("hydra.yaml %q", got)
	}
	hydra, err := cfg.ResolveHydra()
	if err != nil {
		t.Fatal(err)
	}
	if dir, _ := hydra.Lookup("run.dir").Text(); dir != "runs/app-0304" {
		t.Errorf("hydra.run.dir %s", dir)
	}
	none := mustCompose(t, exampleFiles, "hydra.output_subdir=null")
	if none.Record() != nil {
		t.Error("a record where none is wanted")
	}
}

func TestRunDirMustBeSet(t *testing.T) {
	cfg := mustCompose(t, exampleFiles, "hydra.run.dir=???")
	_, err := cfg.Resolve()
	wantError(t, err, time.Now(), "run-dir-missing", "hydra.run.dir is not set")
}

// TestOptionsBringTypes tells Hydra's own launcher, whose keys are fixed, from
// another or none.
func TestOptionsBringTypes(t *testing.T) {
	files := map[string]string{
		"config.yaml":              "hydra: {launcher: {n_jobs: 2}}\n",
		"hydra/launcher/mine.yaml": "_target_: m\n",
	}
	_, err := composeFiles(t, files)
	wantError(t, err, time.Now(), "hydra-schema", "Key 'n_jobs' not in 'BasicLauncherConf'")
	if _, err = composeFiles(t, files, "~hydra/launcher"); err != nil {
		t.Errorf("without a launcher: %v", err)
	}
	files["config.yaml"] = "defaults: [override hydra/launcher: mine]\nhydra: {launcher: {n_jobs: 2}}\n"
	cfg := mustCompose(t, files)
	if n, _ := cfg.Hydra.Lookup("launcher.n_jobs").Int(); n != 2 {
		t.Errorf("n_jobs is %d", n)
	}
}

// TestColumnsOfAdaptedText counts columns as the file has them, whatever the
// parser was given.
func TestColumnsOfAdaptedText(t *testing.T) {
	text := "%FOO\n---\nx: {é:, b: [c:, \"\\/\", d], \"\\/e\": f, g: \"\\/\\/\", h: i}\ny: [j]\n"
	n, err := readYAML("f", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(text, "\n")
	for path, word := range map[string]string{"x.b": "[", "x.b.0": "c", "x.b.1": `"\/",`, "x.b.2": "d]", "x./e": "f", "x.g": `"\/\/"`, "x.h": "i", "y.0": "j"} {
		o := n.Lookup(path).Origin()
		if got := string([]rune(lines[o.Line-1])[o.Column-1:]); !strings.HasPrefix(got, word) {
			t.Errorf("%s is at %d:%d: %q", path, o.Line, o.Column, got)
		}
	}
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

func TestYAMLStyle(t *testing.T) {
	text := "a: '1'\nb: 'yes'\nc: ''\nd: null\ne: x y\nf: 'x: y'\ng: \"a\\tb\"\nh: 1.0e-07\ni:\n- - 1\n  - 2\n- a: 1\n  b: []\nj: {}\nk: 'two\n\n  lines'\nl: '2024-01-02'\n" +
		"m: word word word word word word word word word word word word word word word word\n  word word\n? ''\n: .inf\n"
	cfg := mustCompose(t, map[string]string{"config.yaml": text})
	if got := string(cfg.Root.YAML()); got != text {
		t.Errorf("got\n%s\nwant\n%s", got, text)
	}
	if got := string(newMap().YAML()); got != "{}\n" {
		t.Errorf("an empty mapping is %q", got)
	}
}

func TestCanonicalJSON(t *testing.T) {
	cfg := mustCompose(t, map[string]string{"config.yaml": "a: [1, 1.0, true, 1e-5, 1e22, .nan, -.inf, 1000000.0]\nm: {1: x, on: y}\nb: !!binary aGk=\nu: \"\\u2028é\\x01\"\n"})
	want := `{"a":[1,1.0,true,1e-05,1e+22,{"$float":"nan"},{"$float":"-inf"},1000000.0],"m":{"$map":[[1,"y"]]},"b":{"$bytes":"aGk="},"u":"\u2028é\u0001"}`
	if got := string(cfg.Root.JSON(false)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := string(mustCompose(t, map[string]string{"config.yaml": "a: {b: [1, {}]}\nc: []\n"}).Root.JSON(true)); got != "{\n  \"a\": {\n    \"b\": [\n      1,\n      {}\n    ]\n  },\n  \"c\": []\n}\n" {
		t.Errorf("indented %s", got)
	}
}

func TestSweepBounds(t *testing.T) {
	o := Options{Sources: []Source{{Provider: "main", Path: "conf", FS: fstest.MapFS{"config.yaml": {Data: []byte("a: 1\nb: 1\n")}}}}, ConfigName: "config", Cwd: "/"}
	for _, overrides := range [][]string{{"a=range(1e18)"}, {"a=range(200)", "b=range(200)"}, {"a=range(0,1,0)"}, {"a=range(inf)"}} {
		o.Overrides = overrides
		start := time.Now()
		_, err := Sweep(o)
		wantError(t, err, start, "sweep-unsupported")
	}
	o.Overrides = []string{"a=range(0,0.5,0.1)"}
	jobs, err := Sweep(o)
	if err != nil || len(jobs) != 5 {
		t.Errorf("%d jobs, %v", len(jobs), err)
	}
}

func TestResolverNames(t *testing.T) {
	for _, name := range resolverNames {
		if f, ok := findResolver(name); !ok || f.fn == nil {
			t.Errorf("%s is named but not known", name)
		}
	}
}
