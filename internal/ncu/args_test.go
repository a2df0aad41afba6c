package ncu

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/tool"
)

var (
	v2022 = tool.V(2022, 3, 0)
	v2024 = tool.V(2024, 1, 1)
	v2025 = tool.V(2025, 3, 1)
)

func plain() Options {
	return Options{Output: "/runs/1/ncu/run.ncu-rep", Command: []string{"python3", "-m", "work"}, NcuCLI: plan.NcuCLI{Set: "roofline", ProfileFromStart: true}}
}

const plainLine = "--config-file=off --export=/runs/1/ncu/run --force-overwrite --replay-mode=kernel --set=roofline --nvtx --filter-mode=global --target-processes=all --clock-control=base --cache-control=all --profile-from-start=on python3 -m work"

func TestArgs(t *testing.T) {
	for _, tt := range []struct {
		name string
		set  func(*Options)
		with []string
		drop []string
		old  bool // 2022.3 takes it too
	}{
		{name: "plain", set: func(o *Options) {}, old: true},
		{name: "sections", set: func(o *Options) { o.Set, o.Sections = "", []string{"LaunchStats", "regex:Mem.*"} },
			with: []string{"--section=LaunchStats", "--section=regex:Mem.*"}, drop: []string{"--set=roofline"}, old: true},
		{name: "metrics", set: func(o *Options) {
			o.Metrics = []string{"gpu__time_duration.sum", "group:smsp__pcsamp_warp_stall_reasons"}
		},
			with: []string{"--metrics=gpu__time_duration.sum,group:smsp__pcsamp_warp_stall_reasons"}, old: true},
		{name: "nvtx", set: func(o *Options) {
			o.NVTXInclude, o.NVTXExclude = []string{"prefill/", "decode"}, []string{"LLM@warm-up/"}
		},
			with: []string{"--nvtx-include=prefill/", "--nvtx-include=decode", "--nvtx-exclude=LLM@warm-up/"}, old: true},
		{name: "range", set: func(o *Options) { o.ReplayMode, o.NVTXInclude = "range", []string{"decode/"} },
			with: []string{"--replay-mode=range", "--nvtx-include=decode/"}, drop: []string{"--replay-mode=kernel"}, old: true},
		{name: "range of the profiler API", set: func(o *Options) { o.ReplayMode, o.ProfileFromStart = "range", false },
			with: []string{"--replay-mode=range", "--profile-from-start=off"}, drop: []string{"--replay-mode=kernel", "--profile-from-start=on"}, old: true},
		{name: "app-range", set: func(o *Options) { o.ReplayMode, o.NVTXInclude = "app-range", []string{"decode/"} },
			with: []string{"--replay-mode=app-range", "--nvtx-include=decode/"}, drop: []string{"--replay-mode=kernel"}},
		{name: "application", set: func(o *Options) { o.ReplayMode = "application" },
			with: []string{"--replay-mode=application"}, drop: []string{"--replay-mode=kernel"}, old: true},
		{name: "kernel name", set: func(o *Options) { o.KernelName, o.KernelNameBase = "regex:gemm", "function" },
			with: []string{"--kernel-name=regex:gemm", "--kernel-name-base=function"}, old: true},
		{name: "kernel id", set: func(o *Options) { o.KernelID = "::regex:^gemm$:2" },
			with: []string{"--kernel-id=::regex:^gemm$:2", "--kernel-name-base=demangled"}, old: true},
		{name: "skip and count", set: func(o *Options) { o.LaunchSkip, o.LaunchCount = 5, 7 },
			with: []string{"--launch-skip=5", "--launch-count=7"}, old: true},
		{name: "server", set: func(o *Options) {
			o.Kill, o.LaunchCount, o.NVTXInclude = true, 7, []string{"regex:context_.*_generation_/"}
		},
			with: []string{"--launch-count=7", "--kill=on", "--nvtx-include=regex:context_.*_generation_/"}, old: true},
		{name: "server without a count", set: func(o *Options) { o.Kill = true }, old: true},
		{name: "server by configuration", set: func(o *Options) { o.Kill, o.LaunchCount, o.FilterMode = true, 1, "per-launch-config" },
			with: []string{"--launch-count=1", "--filter-mode=per-launch-config", "--kernel-name-base=mangled"}, drop: []string{"--filter-mode=global"}},
		{name: "kill of one's own", set: func(o *Options) { o.Kill, o.LaunchCount, o.ExtraArgs = true, 7, []string{"--kill=off"} },
			with: []string{"--launch-count=7", "--kill=off"}, old: true},
		{name: "per gpu", set: func(o *Options) { o.FilterMode = "per-gpu" }, with: []string{"--filter-mode=per-gpu"}, drop: []string{"--filter-mode=global"}, old: true},
		{name: "per launch configuration", set: func(o *Options) { o.FilterMode = "per-launch-config" },
			with: []string{"--filter-mode=per-launch-config", "--kernel-name-base=mangled"}, drop: []string{"--filter-mode=global"}},
		{name: "one process", set: func(o *Options) { o.TargetProcesses = "application-only" },
			with: []string{"--target-processes=application-only"}, drop: []string{"--target-processes=all"}, old: true},
		{name: "clocks and caches", set: func(o *Options) { o.ClockControl, o.CacheControl = "none", "none" },
			with: []string{"--clock-control=none", "--cache-control=none"}, drop: []string{"--clock-control=base", "--cache-control=all"}, old: true},
		{name: "graphs", set: func(o *Options) { o.GraphProfiling = "graph" }, with: []string{"--graph-profiling=graph"}},
		{name: "config file", set: func(o *Options) { o.ConfigFile = "/etc/my.ncu-cfg" },
			with: []string{"--config-file=on", "--config-file-path=/etc/my.ncu-cfg"}, drop: []string{"--config-file=off"}},
		{name: "extra", set: func(o *Options) { o.ExtraArgs = []string{"--import-source=yes", "--section=Occupancy", "--call-stack"} },
			with: []string{"--import-source=yes", "--section=Occupancy", "--call-stack"}, old: true},
	} {
		for _, v := range []tool.Version{v2022, v2024, v2025} {
			o := plain()
			tt.set(&o)
			args, env, err := Args(o, v)
			if v == v2022 && !tt.old {
				if err == nil || !strings.Contains(err.Error(), "or later; this is 2022.3.0") {
					t.Errorf("%s, %s: %q, %v", tt.name, v, args, err)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s, %s: %v", tt.name, v, err)
				continue
			}
			var want []string
			for _, a := range strings.Fields(plainLine) {
				if !slices.Contains(tt.drop, a) && (v != v2022 || a != "--config-file=off") {
					want = append(want, a)
				}
			}
			want = append(want, tt.with...)
			if got := slices.Sorted(slices.Values(args)); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
				t.Errorf("%s, %s:\n got %q\nwant %q", tt.name, v, args, want)
			}
			if !slices.Equal(args[len(args)-3:], o.Command) || !slices.Equal(env, []string{"LC_ALL=C"}) {
				t.Errorf("%s: %q %q", tt.name, args, env)
			}
		}
	}
}

// All includes come before all excludes, as ncu wants it.
func TestIncludesFirst(t *testing.T) {
	o := plain()
	o.NVTXInclude, o.NVTXExclude = []string{"a/", "b/"}, []string{"c/"}
	args, _, err := Args(o, v2024)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.Index(args, "--nvtx-include=a/")
	if !slices.Equal(args[i:i+3], []string{"--nvtx-include=a/", "--nvtx-include=b/", "--nvtx-exclude=c/"}) {
		t.Errorf("%q", args)
	}
}

func TestSmallestSet(t *testing.T) {
	for _, tt := range []struct {
		set   string
		known []string
		v     tool.Version
		want  string
	}{
		{"basic", nil, v2022, "--set=default"},
		{"default", nil, v2024, "--set=basic"},
		{"basic", nil, v2025, "--set=basic"},
		{"basic", []string{"default", "full"}, tool.V(2023, 2, 0), "--set=default"},
		{"default", []string{"basic", "full"}, tool.V(2023, 2, 0), "--set=basic"},
		{"basic", nil, tool.V(2023, 2, 0), "!could not be told"},
		{"ful", []string{"basic", "full"}, v2024, "!did you mean 'full'?; it has basic, full"},
	} {
		o := plain()
		o.Set, o.KnownSets = tt.set, tt.known
		args, _, err := Args(o, tt.v)
		if want, isErr := strings.CutPrefix(tt.want, "!"); isErr {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s, %s: %v", tt.set, tt.v, err)
			}
		} else if err != nil || !slices.Contains(args, tt.want) {
			t.Errorf("%s, %s: %q %v", tt.set, tt.v, args, err)
		}
	}
}

func TestArgsRefuses(t *testing.T) {
	for _, tt := range []struct {
		set  func(*Options)
		want string
	}{
		{func(o *Options) { o.Output = "a%p" }, "ncu expands %"},
		{func(o *Options) { o.Output = "" }, "no name for the report"},
		{func(o *Options) { o.ReplayMode = "fast" }, "replay_mode"},
		{func(o *Options) { o.ReplayMode = "range" }, "needs ranges"},
		{func(o *Options) { o.ReplayMode, o.NVTXInclude, o.KernelName = "app-range", []string{"a/"}, "k" }, "do not apply"},
		{func(o *Options) { o.ReplayMode, o.GraphProfiling = "application", "graph" }, "kernel alone"},
		{func(o *Options) { o.NVTXInclude = []string{"[a]"} }, "column 2"},
		{func(o *Options) { o.Metrics = []string{"a,b"} }, "not one metric name"},
		{func(o *Options) { o.KernelID = "foo" }, "kernel_id"},
		{func(o *Options) { o.KernelNameBase = "short" }, "kernel_name_base"},
		{func(o *Options) { o.LaunchCount = -1 }, "negative"},
		{func(o *Options) { o.FilterMode = "each" }, "filter_mode"},
		{func(o *Options) { o.ClockControl = "reset" }, "clock_control"},
		{func(o *Options) { o.Sections, o.KnownSections = []string{"LaunchStat"}, []string{"LaunchStats"} }, "did you mean 'LaunchStats'"},
		{func(o *Options) { o.ExtraArgs = []string{"--set=full"} }, "--set is already set"},
		{func(o *Options) { o.ExtraArgs = []string{"--quiet"} }, "judge the capture"},
		{func(o *Options) { o.ExtraArgs = []string{"-k", "x"} }, "--name=value"},
		{func(o *Options) { o.KernelName = "regex:" + strings.Repeat("x", 200<<10) }, "one argument can carry"},
		{func(o *Options) { o.Command = nil }, "no program"},
	} {
		o := plain()
		tt.set(&o)
		args, _, err := Args(o, v2024)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v, want %s", args, err, tt.want)
		}
	}
}

func TestKernelFilter(t *testing.T) {
	f, err := KernelFilter([]string{"void gemm<(int)32>(const float *, float *)"}, 0)
	if err != nil || len(f.Passes) != 1 || f.Passes[0] != `regex:^void gemm<\(int\)32>\(const float \*, float \*\)$` {
		t.Errorf("%+v %v", f, err)
	}
	f, err = KernelFilter([]string{"b", "a", "b"}, 0)
	if err != nil || !slices.Equal(f.Passes, []string{"regex:^(a|b)$"}) {
		t.Errorf("%+v %v", f, err)
	}
	var names []string
	for i := range 3000 {
		names = append(names, fmt.Sprintf("kernel_%04d<%s>", i, strings.Repeat("T*, ", i%50)))
	}
	f, err = KernelFilter(names, 0)
	if err != nil || len(f.Passes) < 2 {
		t.Fatalf("%d passes, %v", len(f.Passes), err)
	}
	matched := map[string]int{}
	for i, p := range f.Passes {
		if len(p) > maxFilter {
			t.Errorf("pass %d: %d bytes", i, len(p))
		}
		re := regexp.MustCompile(strings.TrimPrefix(p, "regex:"))
		for _, n := range f.Names[i] {
			if !re.MatchString(n) || re.MatchString(n+"x") {
				t.Fatalf("pass %d does not select %q exactly", i, n)
			}
			matched[n]++
		}
	}
	for _, n := range names {
		if matched[n] != 1 {
			t.Errorf("%q is in %d passes", n, matched[n])
		}
	}
	for _, bad := range [][]string{{""}, {"a\x00"}, {strings.Repeat("x", maxFilter)}} {
		if _, err := KernelFilter(bad, 0); err == nil {
			t.Errorf("%.20q is accepted", bad)
		}
	}
	if f, err := KernelFilter(nil, 0); err != nil || len(f.Passes) != 0 {
		t.Errorf("%+v %v", f, err)
	}
}

func TestKernelIDsOfOneFunction(t *testing.T) {
	for _, tt := range []struct {
		name string
		ids  []int
		want string
	}{
		{"saxpy", []int{2}, "::regex:^(saxpy)$:^(2)$"},
		{"saxpy", []int{4, 2, 4}, "::regex:^(saxpy)$:^(2|4)$"},
		{"at::native(int)", []int{1}, `::regex:^(at..native\(int\))$:^(1)$`},
	} {
		if got, err := KernelIDs([]string{tt.name}, tt.ids, 0); err != nil || got != tt.want {
			t.Errorf("%q %v", got, err)
		}
	}
	for _, ids := range [][]int{nil, {0}} {
		if _, err := KernelIDs([]string{"x"}, ids, 0); err == nil {
			t.Errorf("%v is accepted", ids)
		}
	}
}

func checkOptions(t *testing.T, args []string, help, name string) {
	t.Helper()
	for _, a := range args {
		option, _, _ := strings.Cut(a, "=")
		if !regexp.MustCompile(`(?m)(^|[ \[])` + option + `( |$)`).MatchString(help) {
			t.Errorf("%s has no %s", name, option)
		}
	}
}

// The file holds the options that ncu 2025.3.1 lists in its help.
func TestArgsAgainst2025(t *testing.T) {
	options, err := os.ReadFile("testdata/args-options-2025.3.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, cli := range []plan.NcuCLI{
		{ConfigFile: "c", NVTXInclude: []string{"a/"}, NVTXExclude: []string{"b/"}, KernelName: "k", Sections: []string{"s"}, Metrics: []string{"m"}, LaunchSkip: 1, LaunchCount: 1},
		{KernelID: ":::1", Set: "full", GraphProfiling: "graph", FilterMode: "per-launch-config"},
	} {
		o := Options{NcuCLI: cli, Output: "x", Command: []string{"true"}}
		args, _, err := Args(o, v2025)
		if err != nil {
			t.Fatal(err)
		}
		checkOptions(t, args[:len(args)-1], string(options), "2025.3.1")
	}
}

// Every option that Args can emit is in the help of the real tools, and ncu
// parses the whole line: without a driver it fails after that, when it
// connects.
func TestArgsAgainstRealNcu(t *testing.T) {
	folder := os.Getenv("DEEPPROF_NSIGHT")
	if folder == "" {
		t.Skip("DEEPPROF_NSIGHT is not set: needs the real ncu of both versions")
	}
	for name, v := range map[string]tool.Version{"bookworm": v2022, "trixie": v2024} {
		ncu := filepath.Join(folder, name, "ncu")
		help, _, _, err := tool.Output(t.Context(), tool.Command{Path: ncu, Args: []string{"--help"}})
		if err != nil {
			t.Fatal(err)
		}
		for _, set := range []func(*Options){
			func(o *Options) {},
			func(o *Options) {
				o.Sections, o.Metrics = []string{"LaunchStats"}, []string{"gpu__time_duration.sum"}
				o.NVTXInclude, o.NVTXExclude = []string{"a/", "regex:b.*"}, []string{"c,d"}
				o.KernelName, o.LaunchSkip, o.LaunchCount, o.FilterMode = "regex:^(a|b)$", 1, 2, "per-gpu"
				o.TargetProcesses, o.ClockControl, o.CacheControl, o.ProfileFromStart = "application-only", "none", "none", false
				o.ExtraArgs = []string{"--import-source=yes", "--section=Occupancy"}
			},
			func(o *Options) { o.KernelID = "::regex:^(saxpy|reduce_sum)$:^(2|4)$" },
			func(o *Options) { o.KernelName, o.KernelNameBase = NoCollectives, "demangled" },
			func(o *Options) {
				o.Kill, o.LaunchCount = true, 3
				o.NVTXInclude = []string{"regex:context_.*_generation_/", "regex:TensorRT-LLM@_forward_step.* gen reqs/", "regex:step.(DECODE|EXTEND|MIXED) bs=/"}
			},
			func(o *Options) { o.ReplayMode, o.NVTXInclude = "range", []string{"a/"} },
			func(o *Options) { o.ReplayMode = "application" },
			func(o *Options) {
				if v == v2024 {
					o.FilterMode, o.GraphProfiling = "per-launch-config", "graph"
				}
			},
			func(o *Options) {
				if v == v2024 {
					o.ReplayMode, o.NVTXInclude = "app-range", []string{"a/"}
				}
			},
		} {
			o := plain()
			o.Output = filepath.Join(t.TempDir(), "run")
			o.Command = []string{"true"}
			set(&o)
			args, env, err := Args(o, v)
			if err != nil {
				t.Fatal(err)
			}
			checkOptions(t, args[:len(args)-1], string(help), name)
			out, errs, _, err := tool.Output(t.Context(), tool.Command{Path: ncu, Args: args, Env: tool.Environ(os.Environ(), env...)})
			if err != nil {
				t.Fatal(err)
			}
			text := string(out) + string(errs)
			for _, bad := range []string{"unrecognized", "invalid", "Invalid", "ambiguous", "required", "did not match", "more than once"} {
				if strings.Contains(text, bad) {
					t.Errorf("%s: %q\n%s", name, args, text)
					break
				}
			}
		}
	}
}

func TestKernelIDs(t *testing.T) {
	got, err := KernelIDs([]string{"saxpy", "reduce_sum", "saxpy"}, []int{4, 2, 4}, 0)
	if want := `::regex:^(reduce_sum|saxpy)$:^(2|4)$`; err != nil || got != want {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
	if got, err := KernelIDs([]string{"a::b<1>"}, []int{1}, 0); err != nil || got != `::regex:^(a..b<1>)$:^(1)$` {
		t.Errorf("a name with colons: %q, %v", got, err)
	}
	for name, try := range map[string]func() (string, error){
		"no function": func() (string, error) { return KernelIDs(nil, []int{1}, 0) },
		"no number":   func() (string, error) { return KernelIDs([]string{"k"}, nil, 0) },
		"number 0":    func() (string, error) { return KernelIDs([]string{"k"}, []int{0}, 0) },
		"empty name":  func() (string, error) { return KernelIDs([]string{""}, []int{1}, 0) },
		"too long":    func() (string, error) { return KernelIDs([]string{"kernel"}, []int{1}, 10) },
	} {
		if id, err := try(); err == nil {
			t.Errorf("%s gives %q", name, id)
		}
	}
}

func TestVersionsOfWays(t *testing.T) {
	for _, c := range []struct {
		v                 tool.Version
		perConfig, ranges bool
	}{
		{tool.Version{Major: 2022, Minor: 3}, false, false},
		{tool.Version{Major: 2022, Minor: 4}, true, false},
		{tool.Version{Major: 2024, Minor: 1}, true, true},
		{tool.Version{}, true, true},
	} {
		if PerLaunchConfig(c.v) != c.perConfig || AppRange(c.v) != c.ranges {
			t.Errorf("ncu %s: per-launch-config %v, app-range %v", c.v, PerLaunchConfig(c.v), AppRange(c.v))
		}
	}
}
