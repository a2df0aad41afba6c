package config

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// corpusCase is one line of testdata/hydra.jsonl.gz: a tree of files with what
// Hydra 1.3.2 makes of it.
type corpusCase struct {
	ID         string            `json:"id"`
	Tier       string            `json:"tier"`
	Files      map[string]string `json:"files"`
	AltFiles   map[string]string `json:"alt_files"`
	ConfigName *string           `json:"config_name"`
	Overrides  []string          `json:"overrides"`
	Env        map[string]string `json:"env"`
	Multirun   bool              `json:"multirun"`
	ConfSubdir string            `json:"conf_subdir"`
	WantHydra  []string          `json:"want_hydra"`
	Expect     corpusExpect      `json:"expect"`
}

type corpusExpect struct {
	OK         bool            `json:"ok"`
	Config     json.RawMessage `json:"config"`
	Unresolved json.RawMessage `json:"unresolved"`
	Missing    []string        `json:"missing"`
	Choices    json.RawMessage `json:"choices"`
	Defaults   []struct {
		Config  string `json:"config"`
		Package string `json:"package"`
	} `json:"defaults"`
	Hydra     map[string]json.RawMessage `json:"hydra"`
	JobCwd    string                     `json:"job_cwd"`
	FilesMade []string                   `json:"files_made"`
	Warnings  []string                   `json:"warnings"`
	Jobs      []corpusJob                `json:"jobs"`
	Error     struct {
		Stage   string `json:"stage"`
		Kind    string `json:"kind"`
		Summary string `json:"summary"`
		Text    string `json:"text"`
	} `json:"error"`
}

type corpusJob struct {
	Num       int             `json:"num"`
	Overrides []string        `json:"overrides"`
	OutputDir string          `json:"output_dir"`
	Config    json.RawMessage `json:"config"`
}

func loadCorpus(tb testing.TB) []corpusCase {
	tb.Helper()
	f, err := os.Open("testdata/hydra.jsonl.gz")
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		tb.Fatal(err)
	}
	return readCases(tb, z)
}

func readCases(tb testing.TB, r io.Reader) []corpusCase {
	tb.Helper()
	var cases []corpusCase
	scanner := bufio.NewScanner(r)
	scanner.Buffer(nil, 16<<20)
	for scanner.Scan() {
		var c corpusCase
		if err := json.Unmarshal(scanner.Bytes(), &c); err != nil {
			tb.Fatal(err)
		}
		cases = append(cases, c)
	}
	if err := scanner.Err(); err != nil {
		tb.Fatal(err)
	}
	return cases
}

// corpusRun is a case laid out: on disk where folders matter, else in memory.
type corpusRun struct {
	c              corpusCase
	conf, cwd, alt string
	replace        *strings.Replacer
	options        Options
}

func (r *corpusRun) onDisk(t *testing.T, root string, files map[string]string) {
	t.Helper()
	if err := os.MkdirAll(root, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		p := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(r.replace.Replace(text)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func (r *corpusRun) inMemory(files map[string]string) fs.FS {
	tree := fstest.MapFS{}
	for name, text := range files {
		if dir, ok := strings.CutSuffix(name, "/"); ok {
			tree[dir] = &fstest.MapFile{Mode: fs.ModeDir | 0o755}
			continue
		}
		tree[name] = &fstest.MapFile{Data: []byte(r.replace.Replace(text))}
	}
	return tree
}

func layOut(t *testing.T, dir string, c corpusCase) *corpusRun {
	t.Helper()
	r := &corpusRun{c: c, conf: filepath.Join(dir, "conf"), cwd: filepath.Join(dir, "cwd"), alt: filepath.Join(dir, "alt")}
	r.replace = strings.NewReplacer("@@CONF@@", r.conf, "@@CWD@@", r.cwd, "@@ALT@@", r.alt)
	main := filepath.Join(r.conf, c.ConfSubdir)
	source := Source{Provider: "main", Path: main, Check: true}
	if c.ConfSubdir != "" || c.AltFiles != nil {
		r.onDisk(t, r.conf, c.Files)
		r.onDisk(t, r.alt, c.AltFiles)
		source.FS = os.DirFS(main)
	} else {
		source.FS = r.inMemory(c.Files)
	}
	env := map[string]string{"PATH": "/usr/bin:/bin", "HOME": "/home/user", "USER": "user", "LANG": "C.UTF-8", "TZ": "UTC"}
	for k, v := range c.Env {
		env[k] = r.replace.Replace(v)
	}
	r.options = Options{
		Sources: []Source{source},
		Env:     func(name string) (string, bool) { v, ok := env[name]; return v, ok },
		Now:     time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC),
		Cwd:     r.cwd,
		JobName: "app",
	}
	if c.ConfigName != nil {
		r.options.ConfigName = *c.ConfigName
	}
	for _, o := range c.Overrides {
		r.options.Overrides = append(r.options.Overrides, r.replace.Replace(o))
	}
	return r
}

// sameJSON compares canonical JSON: numbers by their text, mappings in order.
func (r *corpusRun) sameJSON(got []byte, want json.RawMessage) bool {
	return bytes.Equal(compactJSON(got), compactJSON([]byte(r.replaceJSON(string(want)))))
}

func (r *corpusRun) replaceJSON(s string) string { return r.replace.Replace(s) }

// compactJSON rewrites JSON without blanks and with one spelling of strings.
func compactJSON(data []byte) []byte {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var out bytes.Buffer
	var last rune
	for {
		token, err := decoder.Token()
		if err != nil {
			return out.Bytes()
		}
		d, isDelim := token.(json.Delim)
		if last != 0 && (!isDelim || d == '{' || d == '[') && last != '{' && last != '[' {
			out.WriteByte(',')
		}
		last = 'v'
		switch v := token.(type) {
		case json.Delim:
			out.WriteRune(rune(v))
			if v == '{' || v == '[' {
				last = rune(v)
			}
		case json.Number:
			out.WriteString(v.String())
		default:
			text, _ := json.Marshal(v)
			out.Write(text)
		}
	}
}

// problem compares a run with what is expected; "" where it fits.
func (r *corpusRun) problem() string {
	if r.c.Multirun {
		return r.sweepProblem()
	}
	want := r.c.Expect
	cfg, err := Compose(r.options)
	if err != nil {
		if !want.OK && want.Error.Stage != "compose" {
			return fmt.Sprintf("composing fails, it should fail later: %v", err)
		}
		return r.errorProblem(err)
	}
	if want.Unresolved != nil {
		if got := cfg.Root.JSON(false); !r.sameJSON(got, want.Unresolved) {
			return fmt.Sprintf("unresolved differs: %s", got)
		}
	}
	if p := r.metaProblem(cfg); p != "" {
		return p
	}
	resolved, err := cfg.Resolve()
	if err != nil {
		return r.errorProblem(err)
	}
	for _, w := range want.Warnings {
		// The addresses that Hydra's warnings end with are left out.
		w, _, _ = strings.Cut(w, " See https://")
		if !slices.ContainsFunc(cfg.Warnings, func(got string) bool { return strings.HasPrefix(got, w) }) {
			return fmt.Sprintf("warnings %q, want %q", cfg.Warnings, w)
		}
	}
	if !want.OK {
		return "should fail: " + want.Error.Kind + ": " + want.Error.Summary
	}
	if got := resolved.JSON(false); !r.sameJSON(got, want.Config) {
		return fmt.Sprintf("config differs:\n got %s\nwant %s", got, r.replaceJSON(string(want.Config)))
	}
	if back, err := readYAML("back", cfg.Root.YAML()); err != nil || cfg.Root.Len() > 0 && !bytes.Equal(back.JSON(false), cfg.Root.JSON(false)) {
		return fmt.Sprintf("what YAML writes reads back differently (%v):\n%s", err, cfg.Root.YAML())
	}
	return r.hydraProblem(cfg)
}

func (r *corpusRun) errorProblem(err error) string {
	want := r.c.Expect
	e, ok := err.(*Error)
	if !ok {
		return fmt.Sprintf("error of type %T: %v", err, err)
	}
	if want.OK {
		return "should work: " + err.Error()
	}
	if e.Kind != want.Error.Kind && want.Error.Kind != "internal" {
		return fmt.Sprintf("error kind %s, want %s: %v", e.Kind, want.Error.Kind, err)
	}
	if want.Error.Kind == "override-function" {
		return "" // the summary repeats the cause, which is said once here
	}
	if want.Error.Text == "exact" && !strings.Contains(e.Message, r.replace.Replace(want.Error.Summary)) {
		return fmt.Sprintf("error text %q, want %q", e.Message, want.Error.Summary)
	}
	return ""
}

func (r *corpusRun) metaProblem(cfg *Config) string {
	want := r.c.Expect
	var missing []string
	cfg.Root.Walk(func(_ string, n *Node) bool {
		if n.Missing() {
			missing = append(missing, n.fullKey())
		}
		return true
	})
	if want.OK && !slices.Equal(missing, want.Missing) {
		return fmt.Sprintf("missing %v, want %v", missing, want.Missing)
	}
	if want.Choices != nil {
		choices := newMap()
		for _, e := range cfg.Hydra.Lookup("runtime.choices").Entries() {
			if !strings.HasPrefix(e.Key.text, "hydra/") {
				choices.put(e.Key, e.Value.clone())
			}
		}
		if got := choices.JSON(false); !r.sameJSON(got, want.Choices) {
			return fmt.Sprintf("choices %s, want %s", got, want.Choices)
		}
	}
	if want.Defaults != nil {
		var wanted []string
		for _, d := range want.Defaults {
			wanted = append(wanted, d.Config+"@"+d.Package)
		}
		if got := r.finalDefaults(); !slices.Equal(got, wanted) {
			return fmt.Sprintf("defaults %v, want %v", got, wanted)
		}
	}
	return ""
}

// finalDefaults builds the final defaults list of a case that composes.
func (r *corpusRun) finalDefaults() []string {
	overrides, _ := parseOverrides(r.options.Overrides)
	c := newComposer(r.options, overrides)
	if err := c.extendSearchPath(); err != nil {
		return []string{err.Error()}
	}
	groups, err := newGroupOverrides(c.repo, overrides)
	if err != nil {
		return []string{err.Error()}
	}
	list, err := (&defaultsBuilder{repo: c.repo, overrides: groups, resolve: c.resolve}).build(r.options.ConfigName)
	if err != nil {
		return []string{err.Error()}
	}
	var got []string
	for _, d := range list {
		if c.repo.loaded[d.path].source.Provider != "hydra" {
			got = append(got, d.path+"@"+d.pkg)
		}
	}
	return got
}

func (r *corpusRun) hydraProblem(cfg *Config) string {
	run, err := cfg.Run()
	if err != nil {
		return err.Error()
	}
	resolver := cfg.resolver()
	for _, key := range r.c.WantHydra {
		want, ok := r.c.Expect.Hydra[key]
		if !ok || key == "mode" {
			continue
		}
		v, err := resolver.selectValue(cfg.Hydra, "."+key, selectOptions{throwFailure: true})
		if err != nil {
			if !strings.Contains(string(want), "$error") {
				return fmt.Sprintf("hydra.%s: %v", key, err)
			}
			continue
		}
		if v == nil {
			v = newNull()
		}
		if v, err = resolver.content(v, map[*Node]bool{}); err != nil {
			return fmt.Sprintf("hydra.%s: %v", key, err)
		}
		if got := v.JSON(false); !r.sameJSON(got, want) {
			return fmt.Sprintf("hydra.%s is %s, want %s", key, got, want)
		}
	}
	if r.c.Expect.JobCwd != "" {
		cwd := r.cwd
		if chdir, err := cfg.hydraValue("job.chdir"); err == nil && chdir.text == "true" {
			cwd = run.Path
		}
		if want := r.replace.Replace(r.c.Expect.JobCwd); cwd != want {
			return fmt.Sprintf("job cwd %s, want %s", cwd, want)
		}
	}
	if r.c.Expect.FilesMade != nil {
		made := []string{}
		for name := range run.Record {
			if rel, err := filepath.Rel(r.cwd, filepath.Join(run.Path, name)); err == nil {
				made = append(made, rel)
			}
		}
		slices.Sort(made)
		want := slices.DeleteFunc(r.c.Expect.FilesMade, func(s string) bool { return strings.HasSuffix(s, "/") })
		if !slices.Equal(made, want) {
			return fmt.Sprintf("files made %v, want %v", made, want)
		}
	}
	return ""
}

// sweepProblem performs the runs of a sweep one by one, as the error of a sweep
// advises, each in the folder that Hydra would use.
func (r *corpusRun) sweepProblem() string {
	want := r.c.Expect
	overrides, err := parseOverrides(r.options.Overrides)
	if err != nil {
		return r.errorProblem(err)
	}
	runs, err := sweepRuns(overrides)
	if err != nil {
		return r.errorProblem(err)
	}
	var configs []*Config
	for i, run := range runs {
		o := r.options
		o.Overrides = []string{"hydra.run.dir='${hydra.sweep.dir}/${hydra.sweep.subdir}'", fmt.Sprintf("hydra.job.num=%d", i)}
		for _, override := range overrides {
			if override.isHydra() {
				o.Overrides = append(o.Overrides, override.line)
			}
		}
		o.Overrides = append(o.Overrides, run...)
		cfg, err := Compose(o)
		if err != nil {
			return r.errorProblem(err)
		}
		configs = append(configs, cfg)
	}
	switch {
	case !want.OK:
		return "should fail: " + want.Error.Kind + ": " + want.Error.Summary
	case len(configs) != len(want.Jobs):
		return fmt.Sprintf("%d jobs, want %d", len(configs), len(want.Jobs))
	}
	for i, cfg := range configs {
		resolved, err := cfg.Resolve()
		if err != nil {
			return fmt.Sprintf("job %d: %v", i, err)
		}
		dir, err := cfg.Run()
		if err != nil {
			return fmt.Sprintf("job %d: %v", i, err)
		}
		w := want.Jobs[i]
		if !slices.Equal(runs[i], w.Overrides) {
			return fmt.Sprintf("job %d overrides %q, want %q", i, runs[i], w.Overrides)
		}
		if got := resolved.JSON(false); !r.sameJSON(got, w.Config) {
			return fmt.Sprintf("job %d config %s, want %s", i, got, w.Config)
		}
		if w.OutputDir != "" && dir.Path != r.replace.Replace(w.OutputDir) {
			return fmt.Sprintf("job %d output dir %s, want %s", i, dir.Path, w.OutputDir)
		}
	}
	return ""
}

// TestCorpus compares with the real Hydra: all core cases and at least 97 % of
// the edge cases must agree. Quirks are accidents of Hydra's implementation.
func TestCorpus(t *testing.T) {
	dir := t.TempDir()
	pass, total := map[string]int{}, map[string]int{}
	for i, c := range loadCorpus(t) {
		total[c.Tier]++
		switch p := layOut(t, filepath.Join(dir, fmt.Sprint(i)), c).problem(); {
		case p == "":
			pass[c.Tier]++
		case c.Tier == "core":
			t.Errorf("core %s: %s", c.ID, p)
		case c.Tier == "edge":
			t.Logf("edge %s: %s", c.ID, p)
		}
	}
	for _, tier := range []string{"core", "edge", "quirk"} {
		t.Logf("%s %d of %d agree", tier, pass[tier], total[tier])
	}
	if total["core"] < 543 || total["edge"] < 952 {
		t.Errorf("%d core and %d edge cases: the corpus is not complete", total["core"], total["edge"])
	}
	page, err := os.ReadFile("../../docs/hydra.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, words := range []string{fmt.Sprintf("%d of %d edge cases", pass["edge"], total["edge"]),
		fmt.Sprintf("Of %d accidents\nof Hydra's implementation %d agree", total["quirk"], pass["quirk"])} {
		if !strings.Contains(string(page), words) {
			t.Errorf("docs/hydra.md does not say %q", words)
		}
	}
	if share := float64(pass["edge"]) / float64(total["edge"]); share < 0.97 {
		t.Errorf("%.1f %% of the edge cases agree, want at least 97 %%", 100*share)
	}
}
