package runs

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/deepprof/deepprof/internal/fact"
)

// runAt writes a run as a finished process would have left it.
func runAt(t *testing.T, root string, m Manifest, files map[string]string) string {
	t.Helper()
	if m.Schema == 0 {
		m.Schema = schemaVersion
	}
	if m.Updated.IsZero() {
		m.Updated = m.Created
	}
	dir := filepath.Join(root, m.ID)
	must(t, os.MkdirAll(dir, 0o755))
	for rel, text := range files {
		p := filepath.Join(dir, rel)
		must(t, os.MkdirAll(filepath.Dir(p), 0o755))
		must(t, os.WriteFile(p, []byte(text), 0o644))
	}
	data, err := json.MarshalIndent(m, "", "  ")
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, ManifestName), data, 0o644))
	return dir
}

func ptr[T any](v T) *T { return &v }

const (
	idDone   = "20260301T100000Z-11-00000000000a"
	idFailed = "20260302T100000Z-12-00000000000b"
	idKilled = "20260303T100000Z-13-00000000000c"
)

// sampleStore holds a good run, a failed one and one whose process died, among
// things that are no runs.
func sampleStore(t *testing.T) string {
	t.Helper()
	root := filepath.Join(t.TempDir(), "runs")
	report := "report bytes"
	nsys := func(state State, attempts ...Attempt) Step {
		return Step{Name: "nsys", State: state, Started: ptr(at("2026-03-01T10:00:10Z")), Seconds: ptr(36.5), Attempts: attempts}
	}
	good := Attempt{
		Command: []string{"nsys", "profile", "--output=run", "./toy"}, Dir: "/w", Started: at("2026-03-01T10:00:10Z"), Seconds: ptr(36.25), ExitCode: ptr(143),
		Outcome: &Outcome{Kind: "captured-with-warnings", Usable: true, Text: fact.FromText("the report is good; the workload was stopped at the end of the range"), Evidence: fact.FromText("Capture range ended in the application.")},
		Files:   []File{{Path: "nsys/run.nsys-rep", Size: int64(len(report))}},
	}
	good.Files[0].SHA256 = sha(report)
	busy := Attempt{
		Command: []string{"nsys", "profile", "./toy"}, Started: at("2026-03-02T10:00:10Z"), Seconds: ptr(2.0), ExitCode: ptr(0),
		Outcome: &Outcome{Kind: "gate-never-opened", Text: fact.FromText("no report: the range nosuch never opened"), Cause: fact.New(fact.Text, fact.Vendor("text", ""), fact.Vendor("next", "choose one of: prefill, decode"))},
	}
	runAt(t, root, Manifest{
		ID: idDone, Status: StatusDone, Label: "llama decode", Version: "1.0", Command: []string{"deepprof", "run"},
		Created: at("2026-03-01T10:00:00Z"), Finished: ptr(at("2026-03-01T10:05:00Z")),
		Steps: []Step{{Name: "baseline", State: StateSkipped, Reason: fact.Stored{Fact: fact.FromText("pipeline.unprofiled.enable is false")}}, nsys(StateDone, good), {Name: "ncu", State: StateDone, Seconds: ptr(10.0)}},
	}, map[string]string{"nsys/run.nsys-rep": report, EnvName: `{"schema":1,"gpus":[{"index":0,"name":"NVIDIA H200"}]}`})
	runAt(t, root, Manifest{
		ID: idFailed, Status: StatusFailed, Label: "llama prefill", Reason: fact.Stored{Fact: fact.FromText("nsys captured nothing")},
		Created: at("2026-03-02T10:00:00Z"), Finished: ptr(at("2026-03-02T10:00:20Z")),
		Steps: []Step{nsys(StateFailed, busy, busy), {Name: "ncu", State: StatePending}}, Warnings: []fact.Stored{{Fact: fact.FromText("the clocks were held down")}},
	}, nil)
	// Its file is shorter than recorded.
	runAt(t, root, Manifest{
		ID: idKilled, Status: StatusRunning, Created: at("2026-03-03T10:00:00Z"),
		Owner: Owner{PID: 1, Start: 1 << 60, BootID: bootID()},
		Steps: []Step{nsys(StateDone, good), {Name: "ncu", State: StateRunning}},
	}, map[string]string{"nsys/run.nsys-rep": "repo"})

	must(t, os.Mkdir(filepath.Join(root, "notes"), 0o755))
	must(t, os.WriteFile(filepath.Join(root, "README"), []byte("mine"), 0o644))
	must(t, os.Symlink(filepath.Join(root, idDone), filepath.Join(root, "latest")))
	must(t, os.Symlink("/nowhere", filepath.Join(root, "broken")))
	must(t, os.Mkdir(filepath.Join(root, tempPrefix+idDone), 0o755))
	return root
}

// plain makes rows comparable: the place of the store is replaced.
func plain(t *testing.T, root string, v any) []byte {
	t.Helper()
	b, err := json.MarshalIndent(v, "", "  ")
	must(t, err)
	return []byte(strings.ReplaceAll(string(b), root, "RUNS") + "\n")
}

func TestListGolden(t *testing.T) {
	root := sampleStore(t)
	list, warnings, err := List(root, Filter{})
	must(t, err)
	golden(t, "list.json", plain(t, root, map[string]any{"runs": list, "warnings": warnings}))
}

func TestShowGolden(t *testing.T) {
	root := sampleStore(t)
	var all []Detail
	for _, id := range []string{idDone, idFailed, idKilled} {
		r, err := Open(ctx, filepath.Join(root, id))
		must(t, err)
		all = append(all, Show(r))
	}
	golden(t, "show.json", plain(t, root, all))
}

func TestStatsGolden(t *testing.T) {
	root := sampleStore(t)
	st, err := StoreStats(root)
	must(t, err)
	golden(t, "stats.json", plain(t, root, st))
}

// A stage in parts is not one that was done again.
func TestPartsAreNotRetries(t *testing.T) {
	attempt := func(kind string, usable bool, file string) Attempt {
		return Attempt{Outcome: &Outcome{Kind: kind, Usable: usable}, Files: []File{{Path: file}}}
	}
	good := attempt("captured", true, "ncu/run2/run.ncu-rep")
	for _, c := range []struct {
		name    string
		before  Attempt
		retried int
	}{
		{"a part", attempt("captured with warnings", true, "ncu/run.ncu-rep"), 0},
		{"failed", attempt("tool crashed", false, "ncu/stdout.log"), 1},
		{"incomplete", attempt("asked-for data missing", true, "nsys/stdout.log"), 1},
		{"set aside", attempt("captured", true, "ncu/attempt-1/run.ncu-rep"), 1},
		{"cut off", Attempt{}, 1},
	} {
		root := t.TempDir()
		m := Manifest{ID: idDone, Status: StatusDone, Created: at("2026-03-01T10:00:00Z"), Steps: []Step{{Name: "ncu", State: StateDone, Seconds: ptr(1.0), Attempts: []Attempt{c.before, good}}}}
		runAt(t, root, m, nil)
		st, err := StoreStats(root)
		must(t, err)
		if got := st.Steps[0].Retried; got != c.retried {
			t.Errorf("%s: retried %d, want %d", c.name, got, c.retried)
		}
		r, err := Open(ctx, filepath.Join(root, idDone))
		must(t, err)
		if got := len(Show(r).Steps[0].Outcomes); got != 2*(1-c.retried) {
			t.Errorf("%s: %d outcomes", c.name, got)
		}
	}
}

func TestSpread(t *testing.T) {
	for _, c := range []struct {
		in               []float64
		median, p90, max float64
	}{
		{[]float64{3}, 3, 3, 3},
		{[]float64{4, 1}, 2.5, 4, 4},
		{[]float64{10, 9, 8, 7, 6, 5, 4, 3, 2, 1}, 5.5, 9, 10},
		{[]float64{11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1}, 6, 10, 11},
	} {
		s := spread(c.in)
		if s.Median != c.median || s.P90 != c.p90 || s.Max != c.max || s.N != len(c.in) {
			t.Errorf("spread(%v) = %+v", c.in, *s)
		}
	}
	if spread(nil) != nil {
		t.Error("the spread of nothing is not absent")
	}
}

func TestListFilter(t *testing.T) {
	root := sampleStore(t)
	for name, c := range map[string]struct {
		f    Filter
		want []string
	}{
		"label":       {Filter{Label: "LLAMA"}, []string{idFailed, idDone}},
		"status":      {Filter{Status: []Status{StatusInterrupted, StatusDone}}, []string{idKilled, idDone}},
		"since":       {Filter{Since: at("2026-03-02T10:00:00Z")}, []string{idKilled, idFailed}},
		"until":       {Filter{Until: at("2026-03-02T10:00:00Z")}, []string{idDone}},
		"limit":       {Filter{Limit: 1}, []string{idKilled}},
		"running":     {Filter{Status: []Status{StatusRunning}}, nil},
		"nothing hit": {Filter{Label: "resnet"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			list, _, err := List(root, c.f)
			must(t, err)
			var got []string
			for _, s := range list {
				got = append(got, s.ID)
			}
			if strings.Join(got, " ") != strings.Join(c.want, " ") {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
	if list, _, err := List(filepath.Join(root, "nosuch"), Filter{}); err != nil || len(list) != 0 {
		t.Errorf("a store that does not exist: %v, %v", list, err)
	}
	if _, _, err := List(filepath.Join(root, "README"), Filter{}); err == nil {
		t.Error("a file was listed as a store")
	}
}

func TestDamagedRunsAreNamed(t *testing.T) {
	root := sampleStore(t)
	must(t, os.WriteFile(filepath.Join(root, idFailed, ManifestName), []byte("{\n\"schema\": 1,\n\"id\""), 0o644))
	empty := "20260304T100000Z-14-00000000000d"
	must(t, os.Mkdir(filepath.Join(root, empty), 0o755))
	link := "20260305T100000Z-14-00000000000e"
	must(t, os.Mkdir(filepath.Join(root, link), 0o755))
	must(t, os.Symlink("/etc/hostname", filepath.Join(root, link, ManifestName)))
	must(t, os.Mkdir(filepath.Join(root, "notes", ManifestName), 0o755))
	list, warnings, err := List(root, Filter{})
	must(t, err)
	if len(list) != 2 {
		t.Errorf("%d good runs listed, want 2", len(list))
	}
	var text []string
	for _, w := range warnings {
		text = append(text, w.Path+": "+w.Why.Text("error"))
	}
	all := strings.Join(text, "\n")
	for _, want := range []string{idFailed + "/run.json: line 3", empty + ": not a run directory", link, "notes/run.json: not a plain file"} {
		if !strings.Contains(all, want) {
			t.Errorf("no warning with %q in:\n%s", want, all)
		}
	}
	if len(warnings) != 4 {
		t.Errorf("%d warnings:\n%s", len(warnings), all)
	}
}

func TestClean(t *testing.T) {
	for name, c := range map[string]struct {
		plan CleanPlan
		gone []string
	}{
		"keep none":         {CleanPlan{Keep: ptr(0)}, []string{idKilled, idFailed, idDone}},
		"keep one":          {CleanPlan{Keep: ptr(1)}, []string{idFailed, idDone}},
		"keep many":         {CleanPlan{Keep: ptr(9)}, nil},
		"older":             {CleanPlan{OlderThan: 36 * time.Hour}, []string{idFailed, idDone}},
		"older, keep two":   {CleanPlan{OlderThan: 36 * time.Hour, Keep: ptr(2)}, []string{idDone}},
		"larger":            {CleanPlan{LargerThan: 1 << 30}, nil},
		"larger than small": {CleanPlan{LargerThan: 10, OlderThan: 60 * time.Hour}, []string{idDone}},
	} {
		t.Run(name, func(t *testing.T) {
			root := sampleStore(t)
			c.plan.Root, c.plan.Now = root, at("2026-03-04T10:00:00Z")
			for _, dry := range []bool{true, false} {
				rep, err := Clean(c.plan, dry)
				must(t, err)
				var gone []string
				for _, s := range rep.Removed {
					gone = append(gone, s.ID)
				}
				if strings.Join(gone, " ") != strings.Join(c.gone, " ") || len(rep.Failed) > 0 || rep.DryRun != dry {
					t.Errorf("dry %v: removed %v, failed %v; want %v", dry, gone, rep.Failed, c.gone)
				}
				for _, id := range []string{idDone, idFailed, idKilled} {
					_, err := os.Stat(filepath.Join(root, id, ManifestName))
					want := dry || !strings.Contains(strings.Join(c.gone, " "), id)
					if (err == nil) != want {
						t.Errorf("dry %v: run %s there: %v, want %v", dry, id, err == nil, want)
					}
				}
			}
			for _, foreign := range []string{"notes", "README", "broken", "latest"} {
				if _, err := os.Lstat(filepath.Join(root, foreign)); err != nil {
					t.Errorf("%s is gone: %v", foreign, err)
				}
			}
		})
	}
}

func TestCleanSpares(t *testing.T) {
	root := sampleStore(t)
	_, dir := startChild(t, "hold", root)
	other := Manifest{ID: "20260101T000000Z-9-0000000000ff", Status: StatusRunning, Created: at("2026-01-01T00:00:00Z"), Owner: Owner{PID: 1, Host: "elsewhere", BootID: "x"}}
	runAt(t, root, other, nil)
	must(t, os.WriteFile(filepath.Join(root, idFailed, ManifestName), []byte("rubbish"), 0o644))
	outside := t.TempDir()
	must(t, os.WriteFile(filepath.Join(outside, "precious"), nil, 0o644))
	must(t, os.Symlink(outside, filepath.Join(root, idDone, "link")))
	must(t, os.Mkdir(filepath.Join(root, trashPrefix+idDone), 0o755))
	rep, err := Clean(CleanPlan{Root: root, Keep: ptr(0)}, false)
	must(t, err)
	if len(rep.Removed) != 2 || rep.Bytes <= 0 {
		t.Errorf("report %+v", rep)
	}
	kept := map[string]fact.Code{}
	for _, k := range rep.Kept {
		if kept[k.ID] = k.Why.Code; k.Why.Is(leftAlone) {
			kept[k.ID] = k.Why.Params["why"].Facts[0].Code
		}
	}
	for id, why := range map[string]fact.Code{
		other.ID: runIsRunning, idFailed: runUnreadable, filepath.Base(dir): runIsRunning,
		"notes": noRunFolder, "README": noRunFile, "latest": noRunLink,
	} {
		if kept[id] != why {
			t.Errorf("%s is kept for %q, want %q", id, kept[id], why)
		}
	}
	if _, ok := kept["broken"]; !ok {
		t.Error("broken is not named")
	}
	for _, p := range []string{dir, filepath.Join(root, other.ID), filepath.Join(root, idFailed), filepath.Join(outside, "precious")} {
		if _, err := os.Stat(p); err != nil {
			t.Errorf("removed what must stay: %v", err)
		}
	}
	left, _ := filepath.Glob(filepath.Join(root, trashPrefix+"*"))
	if len(left) > 0 {
		t.Errorf("trash left: %v", left)
	}
	for _, bad := range []CleanPlan{{Root: root}, {Root: root, Keep: ptr(-1)}} {
		if _, err := Clean(bad, true); err == nil {
			t.Errorf("plan %+v was accepted", bad)
		}
	}
}

// TestCleanAndPackDuringCaptures: runs that living processes work in stay as
// they are, also in a store with an index; the others go.
func TestCleanAndPackDuringCaptures(t *testing.T) {
	const running = 50
	root := manyRuns(t, indexedRuns)
	held := map[string][]byte{}
	for range running {
		_, dir := startChild(t, "hold", root)
		data, err := os.ReadFile(filepath.Join(dir, ManifestName))
		must(t, err)
		held[dir] = data
	}
	if _, _, err := List(root, Filter{}); err != nil { // writes the index
		t.Fatal(err)
	}
	for dir := range held {
		r, err := Open(ctx, dir)
		must(t, err)
		if _, err := Pack(ctx, r, filepath.Join(t.TempDir(), "x"+PackExt), PackOptions{}); !errors.Is(err, ErrRunning) {
			t.Errorf("pack of a run that is written: %v", err)
		}
		must(t, r.Close())
	}
	rep, err := Clean(CleanPlan{Root: root, Keep: ptr(0)}, false)
	must(t, err)
	if len(rep.Removed) != indexedRuns || len(rep.Kept) != running || len(rep.Failed) > 0 {
		t.Errorf("removed %d, kept %d, failed %v; want %d, %d, none", len(rep.Removed), len(rep.Kept), rep.Failed, indexedRuns, running)
	}
	for dir, was := range held {
		if now, err := os.ReadFile(filepath.Join(dir, ManifestName)); err != nil || !bytes.Equal(now, was) {
			t.Errorf("%s changed while it was written: %v", dir, err)
		}
	}
	st, err := StoreStats(root)
	must(t, err)
	if st.Status[StatusRunning] != running || st.Runs != running {
		t.Errorf("stats %+v", st)
	}
}

func TestResumePlan(t *testing.T) {
	root := t.TempDir()
	c, dir := startChild(t, "hold", root)
	c.Process.Kill()
	c.Wait()
	r, err := Open(ctx, dir)
	must(t, err)
	p, err := PlanResume(ctx, r)
	must(t, err)
	if p.LastGood != "baseline" || p.Next != "nsys" || strings.Join(p.Redo, " ") != "nsys ncu" || len(p.Problems) > 0 {
		t.Errorf("plan %+v", p)
	}
	if bad, err := Verify(ctx, r); err != nil || len(bad) > 0 {
		t.Errorf("verify: %v, %v", bad, err)
	}

	log := filepath.Join(dir, "workload", "stdout.log")
	must(t, os.WriteFile(log, []byte("baseline RAN\n"), 0o644)) // same size
	p, err = PlanResume(ctx, r)
	must(t, err)
	if p.Next != "baseline" || len(p.Problems) != 1 || !p.Problems[0].Why.Is(fileChanged) {
		t.Errorf("plan after a change of the same size: %+v", p)
	}
	must(t, os.Remove(log))
	if p, _ = PlanResume(ctx, r); p.Next != "baseline" || !p.Problems[0].Why.Is(fileMissing) {
		t.Errorf("plan after a loss: %+v", p)
	}
	// A link out of the run is not a file of the run.
	outside := filepath.Join(t.TempDir(), "stdout.log")
	must(t, os.WriteFile(outside, []byte("baseline ran\n"), 0o644))
	must(t, os.Symlink(outside, log))
	if p, _ = PlanResume(ctx, r); p.Next != "baseline" {
		t.Errorf("plan with a link to outside: %+v", p)
	}
}

func TestResolve(t *testing.T) {
	root := sampleStore(t)
	for ref, want := range map[string]string{
		idDone:                      filepath.Join(root, idDone),
		"20260302":                  filepath.Join(root, idFailed),
		"latest":                    filepath.Join(root, idKilled),
		filepath.Join(root, idDone): filepath.Join(root, idDone),
	} {
		if got, err := Resolve(root, ref); err != nil || got != want {
			t.Errorf("Resolve(%q) = %q, %v", ref, got, err)
		}
	}
	for ref, want := range map[string]string{
		"2026":                             "3 runs",
		"20260301T100000Z-11-00000000000f": "did you mean",
		"nosuch":                           "no such run",
		"":                                 "no such run",
	} {
		if _, err := Resolve(root, ref); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Resolve(%q): %v, want %q", ref, err, want)
		}
	}
	if _, err := Resolve(t.TempDir(), "latest"); err == nil {
		t.Error("found the latest of no runs")
	}
}
