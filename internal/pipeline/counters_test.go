package pipeline

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/fixture"
	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/pick"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/tool"
)

// fakeNcu stands in for ncu: its nth start writes the nth report, or says and
// does what the nth text does.
const fakeNcu = `#!/bin/sh
here=$(dirname "$0")
n=$(($(cat "$here/n" 2>/dev/null || echo 0) + 1))
echo $n > "$here/n"
for a in "$@"; do
  printf '%s\n' "$a" >> "$here/args.$n"
  case $a in --export=*) out=${a#--export=};; esac
done
[ -f "$here/$n.sh" ] && . "$here/$n.sh"
echo "==PROF== Connected to process 4242 (/usr/bin/true)"
echo "==PROF== Profiling \"k\" - 0: 0%....50%....100% - 10 passes"
cp "$here/$n.ncu-rep" "$out.ncu-rep"
echo "==PROF== Disconnected from process 4242"
echo "==PROF== Report: $out.ncu-rep"
`

const (
	noKernels = `echo "==PROF== Connected to process 4242 (/usr/bin/true)"
echo "==PROF== Disconnected from process 4242"
echo "==WARNING== No kernels were profiled."
exit 0
`
	unsupported = `echo "==PROF== Connected to process 4242 (/usr/bin/true)"
echo "==ERROR== Unsupported API during capture (cuKernelSetAttribute)"
echo "==WARNING== Skipping invalid capture range (RecordStatusUnsupportedApi)"
echo "==PROF== Disconnected from process 4242"
echo "==WARNING== No ranges were profiled."
exit 9
`
	forbidden = `echo "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters on the target device 0."
exit 1
`
	busy = `echo "==ERROR== Profiling failed because a driver resource was unavailable. Ensure that no other tool is concurrently collecting profiling data."
exit 1
`
)

// counting is a run with the timeline of the small CUDA program whose ncu does
// what the scripts say: a report by name, or a text to execute.
func counting(t *testing.T, change func(*plan.Pipeline), scripts ...string) (*job, string) {
	t.Helper()
	dir := t.TempDir()
	write := func(name string, data []byte, mode os.FileMode) {
		if err := os.WriteFile(filepath.Join(dir, name), data, mode); err != nil {
			t.Fatal(err)
		}
	}
	write("ncu", []byte(fakeNcu), 0o755)
	for i, s := range scripts {
		if strings.Contains(s, "\n") {
			write(fmt.Sprintf("%d.sh", i+1), []byte(s), 0o644)
		} else {
			write(fmt.Sprintf("%d.ncu-rep", i+1), recordedCounters(t, s), 0o644)
		}
	}
	store, err := runs.Create(t.TempDir(), runs.CreateOptions{Steps: []runs.Step{{Name: plan.StepNsys}, {Name: plan.StepFirstAnswer}, {Name: plan.StepNcu}, {Name: plan.StepReport}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.WriteFile("nsys/run.sqlite", recordedTimeline(t, "toy")); err != nil {
		t.Fatal(err)
	}
	if err := capture.StoreWork(context.Background(), store, plan.StepNsys, capture.Outcome{}, "nsys/run.sqlite"); err != nil {
		t.Fatal(err)
	}
	if err := store.StartStep(plan.StepNcu); err != nil {
		t.Fatal(err)
	}
	p := &plan.Plan{}
	p.Pipeline.Workload.Command = []string{"/bin/true"}
	p.Pipeline.Nsys.CaptureRange = plan.CaptureNone
	p.Pipeline.Ncu = plan.Ncu{
		Enable: true, Pick: plan.Pick{Enable: true, TopN: 30, Coverage: 1}, Timeout: time.Minute,
		CLI: plan.NcuCLI{ReplayMode: plan.ReplayKernel, Set: "full", FilterMode: "per-launch-config", LaunchCount: 1, KernelNameBase: "demangled", ProfileFromStart: true, NVTXInclude: []string{"prefill"}},
	}
	p.Pipeline.Supervision.StopGrace = time.Second
	change(&p.Pipeline)
	var said strings.Builder
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(said.String())
		}
	})
	j := &job{
		Options: Options{Say: func(line string) { said.WriteString(line + "\n") }}, plan: p, store: store, display: &display{show: func(string) {}},
		ncu: tool.Tool{Name: tool.Ncu, Path: filepath.Join(dir, "ncu"), Version: tool.Version{Major: 2025, Minor: 3, Patch: 1}},
		dir: dir, env: os.Environ(),
	}
	return j, dir
}

func recordedCounters(t *testing.T, name string) []byte {
	t.Helper()
	packed, err := os.ReadFile(filepath.Join("..", "ncurep", "testdata", name+".ncu-rep.zst"))
	if err != nil {
		t.Fatal(err)
	}
	d, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	data, err := d.DecodeAll(packed, nil)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func recordedTimeline(t *testing.T, name string) []byte {
	t.Helper()
	return fixture.Read(t, filepath.Join("..", "nsys", "testdata", "exports", name+".sqlite.gz"))
}

func targetsOf(t *testing.T, r *job) *pick.Targets {
	t.Helper()
	text, err := os.ReadFile(r.store.Path(runs.TargetsName))
	if err != nil {
		t.Fatal(err)
	}
	targets, err := pick.ParseTargets(text)
	if err != nil {
		t.Fatal(err)
	}
	return targets
}

func argsOf(t *testing.T, dir string, n int) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("args.%d", n)))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// filesOf are the files in the manifest, each as often as it is there.
func filesOf(r *job) []string {
	var out []string
	m := r.store.Manifest()
	for _, a := range m.Step("ncu").Attempts {
		for _, f := range a.Files {
			out = append(out, f.Path)
		}
	}
	slices.Sort(out)
	return out
}

func TestCountChosen(t *testing.T) {
	r, dir := counting(t, func(*plan.Pipeline) {}, "toy_full")
	o, err := captureCounters(context.Background(), r)
	if err != nil || !o.Usable || len(o.Reports) != 1 {
		t.Fatalf("%v: %s", err, inWords(o))
	}
	targets := targetsOf(t, r)
	v := targets.Verification
	if v == nil || len(v.Missing) > 0 || v.CoverageRegions != 1 || len(targets.Runs) != 1 || targets.Runs[0].Report != "ncu/run.ncu-rep" {
		t.Errorf("verification %+v, runs %+v", v, targets.Runs)
	}
	args := argsOf(t, dir, 1)
	for _, want := range []string{"--nvtx-include=prefill/", "--filter-mode=per-launch-config", "--launch-count=1", "--kernel-name-base=mangled"} {
		if !slices.Contains(args, want) {
			t.Errorf("no %s in %q", want, args)
		}
	}
	shown := targets.Regions.Metrics
	if !slices.Contains(shown, "dram__bytes_read.sum") || len(shown) < 20 || len(shown) > 160 || slices.ContainsFunc(shown, func(m string) bool { return strings.HasPrefix(m, "launch__") }) {
		t.Errorf("regions show %q", shown)
	}
	m := r.store.Manifest()
	if n := len(m.Step("ncu").Attempts); n != 1 {
		t.Errorf("%d attempts in the manifest", n)
	}
	if files := filesOf(r); !slices.Equal(files, []string{"ncu/cmd.txt", "ncu/run.ncu-rep", "ncu/stderr.log", "ncu/stdout.log", "targets.json"}) {
		t.Errorf("files %q", files)
	}
}

// A process that counts between gates gets them in a file of the run, and ncu waits
// for the first.
func TestCountBetweenGates(t *testing.T) {
	r, dir := counting(t, func(*plan.Pipeline) {}, "cp \"$DEEPPROF_ANNOTATE_GATES\" \"$here/gates\"\n")
	if err := os.WriteFile(filepath.Join(dir, "1.ncu-rep"), recordedCounters(t, "toy_full"), 0o644); err != nil {
		t.Fatal(err)
	}
	gates := []pick.Gate{{Path: []string{"prefill", "mlp"}, N: 2, Open: true}, {Path: []string{"prefill", "mlp"}, N: 2, Exit: true}}
	options := r.ncuOptions([]string{"/bin/true"})
	options.ProfileFromStart = false
	o, err := countWith(context.Background(), r, options.Command, pick.Request{Options: options, Output: runs.NcuOutput(""), Gates: gates}, nil)
	if err != nil || !o.Usable {
		t.Fatalf("%v: %s", err, inWords(o))
	}
	var got []pick.Gate
	if text, err := os.ReadFile(filepath.Join(dir, "gates")); err != nil || json.Unmarshal(text, &got) != nil || !reflect.DeepEqual(got, gates) {
		t.Errorf("%v: the program reads %+v", err, got)
	}
	if args := argsOf(t, dir, 1); !slices.Contains(args, "--profile-from-start=off") || !slices.Contains(filesOf(r), "ncu/gates.json") {
		t.Errorf("arguments %q, files %q", args, filesOf(r))
	}
}

// TestCountAgain: what a process missed is taken up once, in another way.
func TestCountAgain(t *testing.T) {
	r, dir := counting(t, func(*plan.Pipeline) {}, "toy_nest", "toy_full")
	o, err := captureCounters(context.Background(), r)
	if err != nil || !o.Usable || len(o.Reports) != 2 {
		t.Fatalf("%v: %s", err, inWords(o))
	}
	targets := targetsOf(t, r)
	if len(targets.Runs) != 2 || !targets.Runs[1].Retry || targets.Runs[1].Way == targets.Runs[0].Way || len(targets.Verification.Missing) > 0 {
		t.Errorf("runs %+v", targets.Runs)
	}
	if !slices.ContainsFunc(argsOf(t, dir, 2), func(a string) bool { return strings.HasPrefix(a, "--kernel-id=") }) {
		t.Errorf("the second process is told %q", argsOf(t, dir, 2))
	}
	if !r.store.Has("ncu/run2/cmd.txt") || !r.store.Has("ncu/run2/run.ncu-rep") || !r.store.Has("ncu/cmd.txt") {
		t.Error("the second process has no folder of its own")
	}
	files := filesOf(r)
	if len(files) != 9 || len(slices.Compact(slices.Clone(files))) != 9 || !slices.Contains(files, "ncu/run2/stdout.log") {
		t.Errorf("each file belongs to one attempt: %q", files)
	}

	r, _ = counting(t, func(*plan.Pipeline) {}, "toy_nest", "toy_nest", "toy_full")
	if o, err = captureCounters(context.Background(), r); err != nil {
		t.Fatal(err)
	}
	if n := len(targetsOf(t, r).Runs); n != 2 || o.Kind != capture.WithWarnings || !strings.Contains(inWords(o), "were not counted") {
		t.Errorf("%d runs: %s", n, inWords(o))
	}
}

// TestCountedOthers: counters of launches that nobody chose are not what was
// asked for.
func TestCountedOthers(t *testing.T) {
	r, _ := counting(t, func(*plan.Pipeline) {}, "llm_basic", "llm_basic")
	o, err := captureCounters(context.Background(), r)
	if err != nil || o.Usable || o.Kind != capture.NothingMatched || message.Next(o.Cause) == "" {
		t.Errorf("%v: %s", err, inWords(o))
	}
}

// TestCutReport: a report that was cut before its first result is damaged, which
// is another thing than a good one that holds nothing.
func TestCutReport(t *testing.T) {
	r, dir := counting(t, func(*plan.Pipeline) {}, "toy_full", "toy_full")
	for _, name := range []string{"1.ncu-rep", "2.ncu-rep"} {
		if err := os.Truncate(filepath.Join(dir, name), 3000); err != nil {
			t.Fatal(err)
		}
	}
	o, err := captureCounters(context.Background(), r)
	if err != nil || o.Usable || o.Kind != capture.ReportUnreadable || !o.Evidence.Is("file-error") || strings.Contains(message.Text(o.What), "good") {
		t.Errorf("%v: %s", err, inWords(o))
	}
	if files := filesOf(r); !slices.Contains(files, "ncu/run.ncu-rep") {
		t.Errorf("files %q", files)
	}
}

// TestLogsOfAttempts: a capture that was tried again has the logs of each try.
func TestLogsOfAttempts(t *testing.T) {
	r, _ := counting(t, func(p *plan.Pipeline) {
		p.Supervision.Retries, p.Supervision.Backoff = 1, time.Millisecond
	}, busy, "toy_full")
	o, err := captureCounters(context.Background(), r)
	if err != nil || !o.Usable {
		t.Fatalf("%v: %s", err, inWords(o))
	}
	m := r.store.Manifest()
	var got [][]string
	for _, a := range m.Step("ncu").Attempts {
		var files []string
		for _, f := range a.Files {
			files = append(files, f.Path)
		}
		slices.Sort(files)
		got = append(got, files)
	}
	want := [][]string{
		{"ncu/stderr.log", "ncu/stdout.log"},
		{"ncu/cmd.txt", "ncu/run.ncu-rep", "ncu/stderr.2.log", "ncu/stdout.2.log", "targets.json"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("files %q, want %q", got, want)
	}
}

func TestCountFails(t *testing.T) {
	r, dir := counting(t, func(*plan.Pipeline) {}, forbidden, "toy_full")
	o, err := captureCounters(context.Background(), r)
	if err != nil || o.Kind != capture.Permission || o.Usable {
		t.Errorf("%v: %s", err, inWords(o))
	}
	if exists(filepath.Join(dir, "args.2")) {
		t.Error("ncu is started again without permission")
	}
	r, _ = counting(t, func(*plan.Pipeline) {}, noKernels, "toy_full")
	if o, err = captureCounters(context.Background(), r); err != nil || !o.Usable || o.Kind != capture.WithWarnings {
		t.Errorf("a first process without a match: %v: %s", err, inWords(o))
	}
	r, _ = counting(t, func(*plan.Pipeline) {}, "toy_nest", forbidden)
	if o, err = captureCounters(context.Background(), r); err != nil || !o.Usable || o.Kind != capture.Partial {
		t.Errorf("a second process without permission: %v: %s", err, inWords(o))
	}
	r, _ = counting(t, func(*plan.Pipeline) {}, noKernels, noKernels)
	if o, err = captureCounters(context.Background(), r); err != nil || o.Usable || o.Kind != capture.NothingMatched {
		t.Errorf("nothing in either way: %v: %s", err, inWords(o))
	}
	for name, change := range map[string]func(*plan.Pipeline){
		"a range that never opened": func(p *plan.Pipeline) { p.Ncu.CLI.NVTXInclude = []string{"prefil"} },
		"an empty range":            func(p *plan.Pipeline) { p.Ncu.CLI.NVTXInclude = []string{"idle"} },
		"no such kernel":            func(p *plan.Pipeline) { p.Ncu.CLI.KernelName = "nosuch" },
	} {
		r, dir := counting(t, change, "toy_full")
		o, err := captureCounters(context.Background(), r)
		if err != nil || o.Kind != capture.NothingMatched || o.Usable || message.Next(o.Cause) == "" || exists(filepath.Join(dir, "args.1")) {
			t.Errorf("%s: %v: %s", name, err, inWords(o))
		}
	}
}

// TestUnmatchedAlone: what selects nothing is on record in every mode, though
// ncu was never started.
func TestUnmatchedAlone(t *testing.T) {
	for name, change := range modes() {
		r, dir := counting(t, func(p *plan.Pipeline) { change(p); p.Ncu.CLI.NVTXInclude = []string{"decod"} }, "toy_full")
		o, err := captureCounters(context.Background(), r)
		if err != nil || o.Kind != capture.NothingMatched || exists(filepath.Join(dir, "args.1")) {
			t.Errorf("%s: %v: %s", name, err, inWords(o))
		}
		if u := targetsOf(t, r).Unmatched; len(u) != 1 || u[0].Expr != "decod" || !slices.Contains(u[0].Near, "decode") {
			t.Errorf("%s: unmatched %+v", name, u)
		}
		m := r.store.Manifest()
		if a := m.Step("ncu").Last(); a == nil || a.Outcome == nil || a.Outcome.Usable || !slices.Equal(filesOf(r), []string{runs.TargetsName}) {
			t.Errorf("%s: attempt %+v", name, a)
		}
	}
	r, _ := counting(t, func(p *plan.Pipeline) { p.Ncu.CLI.KernelName = "saxpi" }, "toy_full")
	o, err := captureCounters(context.Background(), r)
	if err != nil || !strings.Contains(message.Text(o.What), `pipeline.ncu.ncu_cli.kernel_name "saxpi"`) {
		t.Errorf("%v: %s", err, inWords(o))
	}
	if u := targetsOf(t, r).Unmatched; len(u) != 1 || u[0].Key != "pipeline.ncu.ncu_cli.kernel_name" {
		t.Errorf("unmatched %+v", u)
	}
}

// TestUnmatchedAmongOthers: every mode goes on with the regions that exist and
// names the other.
func TestUnmatchedAmongOthers(t *testing.T) {
	for name, change := range modes() {
		report := "toy_full"
		if name == "auto" || name == "range" {
			report = "toy_range"
		}
		r, dir := counting(t, func(p *plan.Pipeline) { change(p); p.Ncu.CLI.NVTXInclude = []string{"prefill", "decod"} }, report)
		said := 0
		r.Say = func(line string) {
			if strings.HasPrefix(line, "warning: ") && strings.Contains(line, "decod") {
				said++
			}
		}
		o, err := captureCounters(context.Background(), r)
		if err != nil || !o.Usable || o.Kind != capture.WithWarnings || said != 1 {
			t.Errorf("%s: said %d times: %v: %s", name, said, err, inWords(o))
			continue
		}
		if !slices.ContainsFunc(o.Warnings, func(w capture.Warning) bool {
			return w.Text("expr") == "decod" && slices.Contains(w.Params["near"].List, "decode")
		}) {
			t.Errorf("%s: warnings %+v", name, o.Warnings)
		}
		if args := argsOf(t, dir, 1); !slices.Contains(args, "--nvtx-include=prefill/") || slices.ContainsFunc(args, func(a string) bool { return strings.Contains(a, "decod") }) {
			t.Errorf("%s: %q", name, args)
		}
		if u := targetsOf(t, r).Unmatched; len(u) != 1 || u[0].Expr != "decod" {
			t.Errorf("%s: unmatched %+v", name, u)
		}
	}
}

// modes are the ways to choose what ncu measures.
func modes() map[string]func(*plan.Pipeline) {
	return map[string]func(*plan.Pipeline){
		"kernel":     func(*plan.Pipeline) {},
		"auto":       func(p *plan.Pipeline) { p.Ncu.CLI.ReplayMode = plan.ReplayAuto },
		"range":      func(p *plan.Pipeline) { p.Ncu.CLI.ReplayMode = plan.ReplayRange },
		"as written": func(p *plan.Pipeline) { p.Ncu.Pick.Enable = false },
	}
}

func TestCountAsWritten(t *testing.T) {
	for name, change := range map[string]func(*plan.Pipeline){
		"turned off":  func(p *plan.Pipeline) { p.Ncu.Pick.Enable = false },
		"a kernel id": func(p *plan.Pipeline) { p.Ncu.CLI.KernelID = "::saxpy:2" },
		"ranges": func(p *plan.Pipeline) {
			p.Ncu.CLI.ReplayMode, p.Ncu.CLI.FilterMode, p.Ncu.CLI.LaunchCount = plan.ReplayRange, "", 0
		},
	} {
		r, dir := counting(t, change, "toy_full")
		o, err := captureCounters(context.Background(), r)
		if err != nil || !o.Usable {
			t.Errorf("%s: %v: %s", name, err, inWords(o))
		}
		if args := argsOf(t, dir, 1); !slices.Contains(args, "--nvtx-include=prefill/") || slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "--kernel-name=") }) {
			t.Errorf("%s: %q", name, args)
		}
		if targets := targetsOf(t, r); len(targets.Groups)+len(targets.Runs)+len(targets.Ladder) > 0 || targets.Regions == nil || targets.Totals.Launches != 31 {
			t.Errorf("%s: %+v", name, targets)
		}
	}
	r, _ := counting(t, func(*plan.Pipeline) {}, "toy_full")
	if err := r.store.Update(func(m *runs.Manifest) error { m.Step(plan.StepNsys).Attempts = nil; return nil }); err != nil {
		t.Fatal(err)
	}
	if o, err := captureCounters(context.Background(), r); err != nil || !o.Usable {
		t.Errorf("without a timeline: %v: %s", err, inWords(o))
	}
}

func TestClimb(t *testing.T) {
	auto := func(p *plan.Pipeline) { p.Ncu.CLI.ReplayMode = plan.ReplayAuto }
	for _, test := range []struct {
		name    string
		change  func(*plan.Pipeline)
		scripts []string
		modes   []string
		starts  int
	}{
		{"range works", auto, []string{"toy_range"}, []string{"range"}, 1},
		{"range cannot be recorded", auto, []string{unsupported, "toy_apprange"}, []string{"range", "app-range"}, 2},
		{"neither works", auto, []string{unsupported, noKernels, "toy_full"}, []string{"range", "app-range", "kernel"}, 3},
		{"no permission", auto, []string{forbidden}, []string{"range"}, 1},
		{"no region", func(p *plan.Pipeline) { auto(p); p.Ncu.CLI.NVTXInclude = nil }, []string{"toy_full"}, []string{"range", "app-range", "kernel"}, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, dir := counting(t, test.change, test.scripts...)
			o, err := captureCounters(context.Background(), r)
			if err != nil {
				t.Fatal(err)
			}
			if o.Usable != (test.name != "no permission") {
				t.Error(inWords(o))
			}
			var modes []string
			for _, s := range targetsOf(t, r).Ladder {
				modes = append(modes, s.Mode)
				if s.Reason.IsZero() {
					t.Errorf("%s without a reason", s.Mode)
				}
			}
			if !slices.Equal(modes, test.modes) || !exists(filepath.Join(dir, fmt.Sprintf("args.%d", test.starts))) || exists(filepath.Join(dir, fmt.Sprintf("args.%d", test.starts+1))) {
				t.Errorf("steps %v; want %v in %d starts", modes, test.modes, test.starts)
			}
		})
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
