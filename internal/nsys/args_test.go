package nsys

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/deepprof/deepprof/internal/tool"
)

var (
	v2022 = tool.V(2022, 4, 2)
	v2023 = tool.V(2023, 4, 4)
	v2025 = tool.V(2025, 3, 1)
)

// plain is what the shipped configuration asks for.
func plain() CaptureOptions {
	return CaptureOptions{
		Output:         "/runs/1/nsys/run.nsys-rep",
		Command:        []string{"python3", "-m", "work", "--flag"},
		Trace:          []string{"cuda", "nvtx"},
		CUDAGraphTrace: "node",
	}
}

const plainLine = "profile --trace=cuda,nvtx --sample=none --cpuctxsw=none --cuda-graph-trace=node --wait=primary --capture-range=none --output=/runs/1/nsys/run --force-overwrite=true python3 -m work --flag"

func TestArgs(t *testing.T) {
	for _, tt := range []struct {
		name string
		set  func(*CaptureOptions)
		with []string // arguments that replace or follow those of plainLine
		drop []string
		env  []string
	}{
		{name: "plain", set: func(o *CaptureOptions) {}},
		{name: "trace", set: func(o *CaptureOptions) { o.Trace = []string{"nvtx", "osrt"}; o.CUDAGraphTrace = "" },
			with: []string{"--trace=nvtx,osrt"}, drop: []string{"--trace=cuda,nvtx", "--cuda-graph-trace=node"}},
		{name: "sample", set: func(o *CaptureOptions) { o.Sample = "process-tree" }, with: []string{"--sample=process-tree"}, drop: []string{"--sample=none"}},
		{name: "cpuctxsw", set: func(o *CaptureOptions) { o.CPUCtxSw = "system-wide" }, with: []string{"--cpuctxsw=system-wide"}, drop: []string{"--cpuctxsw=none"}},
		{name: "graphs as a whole", set: func(o *CaptureOptions) { o.CUDAGraphTrace = "graph" }, with: []string{"--cuda-graph-trace=graph"}, drop: []string{"--cuda-graph-trace=node"}},
		{name: "fork", set: func(o *CaptureOptions) { o.TraceForkBeforeExec = true }, with: []string{"--trace-fork-before-exec=true"}},
		{name: "wait", set: func(o *CaptureOptions) { o.Wait = "all" }, with: []string{"--wait=all"}, drop: []string{"--wait=primary"}},
		{name: "nvtx gate", set: func(o *CaptureOptions) {
			o.CaptureRange, o.NVTXCapture, o.CaptureRangeEnd = "nvtx", "decode", "stop"
		}, with: []string{"--capture-range=nvtx", "--nvtx-capture=decode", "--capture-range-end=stop"}, drop: []string{"--capture-range=none"},
			env: []string{"NSYS_NVTX_PROFILER_REGISTER_ONLY=0"}},
		{name: "gate whose end is left to nsys", set: func(o *CaptureOptions) { o.CaptureRange, o.NVTXCapture = "nvtx", "decode" },
			with: []string{"--capture-range=nvtx", "--nvtx-capture=decode"}, drop: []string{"--capture-range=none"},
			env: []string{"NSYS_NVTX_PROFILER_REGISTER_ONLY=0"}},
		{name: "nvtx gate on registered strings", set: func(o *CaptureOptions) {
			o.CaptureRange, o.NVTXCapture, o.NVTXRegisterOnly, o.CaptureRangeEnd = "nvtx", "decode@LLM", true, "none"
		}, with: []string{"--capture-range=nvtx", "--nvtx-capture=decode@LLM", "--capture-range-end=none"}, drop: []string{"--capture-range=none"}},
		{name: "gate in any domain", set: func(o *CaptureOptions) {
			o.CaptureRange, o.NVTXCapture, o.CaptureRangeEnd = "nvtx", "decode@*", "repeat:3"
		}, with: []string{"--capture-range=nvtx", "--nvtx-capture=decode@*", "--capture-range-end=repeat:3"}, drop: []string{"--capture-range=none"},
			env: []string{"NSYS_NVTX_PROFILER_REGISTER_ONLY=0"}},
		{name: "cuda gate", set: func(o *CaptureOptions) { o.CaptureRange, o.CaptureRangeEnd = "cudaProfilerApi", "stop-shutdown" },
			with: []string{"--capture-range=cudaProfilerApi", "--capture-range-end=stop-shutdown"}, drop: []string{"--capture-range=none"}},
		{name: "repeat", set: func(o *CaptureOptions) { o.CaptureRange, o.CaptureRangeEnd = "cudaProfilerApi", "repeat" },
			with: []string{"--capture-range=cudaProfilerApi", "--capture-range-end=repeat"}, drop: []string{"--capture-range=none"}},
		{name: "repeat-shutdown", set: func(o *CaptureOptions) { o.CaptureRange, o.CaptureRangeEnd = "cudaProfilerApi", "repeat-shutdown:2" },
			with: []string{"--capture-range=cudaProfilerApi", "--capture-range-end=repeat-shutdown:2"}, drop: []string{"--capture-range=none"}},
		{name: "domains kept", set: func(o *CaptureOptions) { o.NVTXDomainInclude = []string{"default", "a,b"} }, with: []string{`--nvtx-domain-include=default,a\,b`}},
		{name: "domains dropped", set: func(o *CaptureOptions) { o.NVTXDomainExclude = []string{"NCCL"} }, with: []string{"--nvtx-domain-exclude=NCCL"}},
		{name: "window", set: func(o *CaptureOptions) { o.Delay, o.Duration = 5*time.Second, 30*time.Second }, with: []string{"--delay=5", "--duration=30"}},
		{name: "extra", set: func(o *CaptureOptions) { o.ExtraArgs = []string{"--cuda-memory-usage=true", "--kill=sigkill"} },
			with: []string{"--cuda-memory-usage=true", "--kill=sigkill"}},
	} {
		for _, v := range []tool.Version{v2022, v2023, v2025} {
			o := plain()
			tt.set(&o)
			args, env, err := Args(o, v)
			if err != nil {
				t.Errorf("%s, %s: %v", tt.name, v, err)
				continue
			}
			var want []string
			for _, a := range strings.Fields(plainLine) {
				if !slices.Contains(tt.drop, a) {
					want = append(want, a)
				}
			}
			want = append(want, tt.with...)
			if got := slices.Sorted(slices.Values(args)); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
				t.Errorf("%s, %s:\n got %q\nwant %q", tt.name, v, args, want)
			}
			if args[0] != "profile" || !slices.Equal(args[len(args)-len(o.Command):], o.Command) {
				t.Errorf("%s: order %q", tt.name, args)
			}
			if !slices.Equal(env, append([]string{"LC_ALL=C"}, tt.env...)) {
				t.Errorf("%s: environment %q", tt.name, env)
			}
		}
	}
}

func TestArgsByVersion(t *testing.T) {
	for _, tt := range []struct {
		name  string
		set   func(*CaptureOptions)
		v     tool.Version
		wants string // an argument, or the end of an error after "!"
	}{
		{"python-gil", func(o *CaptureOptions) { o.Trace = append(o.Trace, "python-gil") }, v2022, "!trace python-gil needs nsys 2023.4 or later; this is 2022.4.2"},
		{"python-gil", func(o *CaptureOptions) { o.Trace = append(o.Trace, "python-gil") }, v2023, "--trace=cuda,nvtx,python-gil"},
		{"cuda-hw", func(o *CaptureOptions) { o.Trace = []string{"cuda-hw", "nvtx"} }, v2023, "!trace cuda-hw needs nsys 2024.1 or later; this is 2023.4.4"},
		{"cuda-hw", func(o *CaptureOptions) { o.Trace = []string{"cuda-hw", "nvtx"} }, v2025, "--trace=cuda-hw,nvtx"},
		{"cuda-sw", func(o *CaptureOptions) { o.Trace = []string{"cuda-sw", "nvtx"} }, v2025, "!trace cuda-sw needs nsys 2025.4 or later; this is 2025.3.1"},
		{"cuda-sw", func(o *CaptureOptions) { o.Trace = []string{"cuda-sw", "nvtx"} }, tool.V(2025, 6, 1), "--trace=cuda-sw,nvtx"},
		{"graph origin", func(o *CaptureOptions) { o.CUDAGraphTrace = "node:host-only" }, v2022, "!cuda_graph_trace node:host-only needs nsys 2023.4 or later; this is 2022.4.2"},
		{"graph origin", func(o *CaptureOptions) { o.CUDAGraphTrace = "node:host-only" }, v2023, "--cuda-graph-trace=node:host-only"},
		{"half a second", func(o *CaptureOptions) { o.Delay = 1500 * time.Millisecond }, v2022, "!a fraction of a second in delay needs nsys 2023.4 or later; this is 2022.4.2"},
		{"half a second", func(o *CaptureOptions) { o.Delay = 1500 * time.Millisecond }, v2023, "--delay=1.5"},
		{"python samples", func(o *CaptureOptions) { o.PythonSampling = true }, v2025, "--python-sampling=true"},
		{"python samples without frames", func(o *CaptureOptions) { o.PythonSampling = true }, v2023, "!python_sampling needs nsys 2025.3 or later; this is 2023.4.4"},
		{"version unknown", func(o *CaptureOptions) { o.Trace = append(o.Trace, "python-gil") }, tool.Version{}, "!and the version could not be told"},
		{"version unknown", func(o *CaptureOptions) {}, tool.Version{}, "--trace=cuda,nvtx"},
	} {
		o := plain()
		tt.set(&o)
		args, _, err := Args(o, tt.v)
		if want, isErr := strings.CutPrefix(tt.wants, "!"); isErr {
			if err == nil || !strings.HasSuffix(err.Error(), want) {
				t.Errorf("%s, %s: error %v, want %s", tt.name, tt.v, err, want)
			}
		} else if err != nil || !slices.Contains(args, tt.wants) {
			t.Errorf("%s, %s: %q, %v; want %s", tt.name, tt.v, args, err, tt.wants)
		}
	}
}

func TestArgsRefuses(t *testing.T) {
	for _, tt := range []struct {
		set  func(*CaptureOptions)
		want string
	}{
		{func(o *CaptureOptions) { o.Trace = nil }, "trace: name at least one"},
		{func(o *CaptureOptions) { o.Trace = []string{"cudaa"} }, `no API "cudaa"`},
		{func(o *CaptureOptions) { o.Sample = "cpu" }, `sample: "cpu" is none of`},
		{func(o *CaptureOptions) { o.CaptureRange = "nvtx" }, "needs nvtx_capture"},
		{func(o *CaptureOptions) {
			o.CaptureRange, o.NVTXCapture, o.Trace = "nvtx", "x", []string{"cuda"}
		}, "needs nvtx in trace"},
		{func(o *CaptureOptions) {
			o.CaptureRange, o.Trace, o.CUDAGraphTrace = "cudaProfilerApi", []string{"nvtx"}, ""
		}, "needs cuda in trace"},
		{func(o *CaptureOptions) { o.NVTXCapture = "x" }, "capture_range is none"},
		{func(o *CaptureOptions) { o.CaptureRange = "hotkey" }, "capture_range"},
		{func(o *CaptureOptions) { o.CaptureRange, o.CaptureRangeEnd = "cudaProfilerApi", "repeat:0" }, "capture_range_end"},
		{func(o *CaptureOptions) { o.CaptureRange, o.CaptureRangeEnd = "cudaProfilerApi", "repeat-shutdown" }, "capture_range_end"},
		{func(o *CaptureOptions) { o.CUDAGraphTrace = "nodes" }, "cuda_graph_trace"},
		{func(o *CaptureOptions) { o.Wait = "ever" }, "wait"},
		{func(o *CaptureOptions) { o.Delay = -time.Second }, "negative"},
		{func(o *CaptureOptions) { o.NVTXDomainInclude, o.NVTXDomainExclude = []string{"a"}, []string{"b"} }, "exclude each other"},
		{func(o *CaptureOptions) { o.Output = "" }, "no name for the report"},
		{func(o *CaptureOptions) { o.Output = "/runs/100%/x" }, "nsys expands %"},
		{func(o *CaptureOptions) { o.Output = "/runs/" + strings.Repeat("x", 250) }, "too long"},
		{func(o *CaptureOptions) { o.Command = nil }, "no program"},
		{func(o *CaptureOptions) { o.Command = []string{"-c"} }, "begins with a dash"},
		{func(o *CaptureOptions) { o.Command = []string{"x", strings.Repeat("y", 65500)} }, "breaks above 65000"},
		{func(o *CaptureOptions) { o.Command = []string{"x", "a\x00b"} }, "NUL"},
		{func(o *CaptureOptions) { o.ExtraArgs = []string{"--"} }, "leave it out"},
		{func(o *CaptureOptions) { o.ExtraArgs = []string{"-s", "none"} }, "write it as --name=value"},
		{func(o *CaptureOptions) { o.ExtraArgs = []string{"--sample=process-tree"} }, "--sample is already set"},
		{func(o *CaptureOptions) { o.ExtraArgs = []string{"--kill=none", "--kill=sigkill"} }, "--kill is already set"},
		{func(o *CaptureOptions) { o.ExtraArgs = []string{"--env-var=A=1,2"} }, "cuts values at commas"},
		{func(o *CaptureOptions) { o.ExtraArgs = []string{"--output=x"} }, "the run decides"},
	} {
		o := plain()
		tt.set(&o)
		args, _, err := Args(o, v2023)
		if err == nil || !strings.Contains(err.Error(), tt.want) || args != nil {
			t.Errorf("%q: %v, want %s", args, err, tt.want)
		}
	}
}

// everything sets every option that can go together.
func everything() CaptureOptions {
	o := plain()
	o.CaptureRange, o.NVTXCapture, o.CaptureRangeEnd = "nvtx", "nosuch", "repeat:2"
	o.NVTXDomainInclude = []string{"default"}
	o.TraceForkBeforeExec = true
	o.Delay, o.Duration = time.Second, time.Second
	return o
}

func checkOptions(t *testing.T, args []string, help, name string) {
	t.Helper()
	for _, a := range args[1:] {
		option, _, ok := strings.Cut(a, "=")
		if !ok {
			continue
		}
		if option == "--nvtx-domain-include" {
			option = "--nvtx-domain-[include|exclude]"
		}
		if !strings.Contains(help, option+"=") {
			t.Errorf("%s has no %s", name, option)
		}
	}
}

// The file holds the options that nsys 2025.3.1 lists in its help.
func TestArgsAgainst2025(t *testing.T) {
	options, err := os.ReadFile("testdata/args-options-2025.3.txt")
	if err != nil {
		t.Fatal(err)
	}
	args, _, err := Args(everything(), v2025)
	if err != nil {
		t.Fatal(err)
	}
	checkOptions(t, args, string(options), "2025.3.1")
}

// Every option that Args can emit is in the help of the real tools, and a run
// with all that go together is accepted.
func TestArgsAgainstRealNsys(t *testing.T) {
	folder := os.Getenv("DEEPPROF_NSIGHT")
	if folder == "" {
		t.Skip("DEEPPROF_NSIGHT is not set: needs the real nsys of both versions")
	}
	for name, v := range map[string]tool.Version{"bookworm": v2022, "trixie": v2023} {
		nsys := filepath.Join(folder, name, "nsys")
		help, _, _, err := tool.Output(t.Context(), tool.Command{Path: nsys, Args: []string{"profile", "--help"}})
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		o := everything()
		o.Output = filepath.Join(dir, "run")
		o.Command = []string{"true"}
		all, _, err := Args(o, v)
		if err != nil {
			t.Fatal(err)
		}
		checkOptions(t, all, string(help), name+" "+v.String())
		// Delay excludes a gate, so each goes through its own run.
		for _, set := range []func(*CaptureOptions){
			func(o *CaptureOptions) { o.Delay, o.Duration = 0, 0 },
			func(o *CaptureOptions) { o.CaptureRange, o.NVTXCapture = "none", ""; o.Delay = 0 },
			func(o *CaptureOptions) {
				o.CaptureRange, o.NVTXCapture, o.NVTXDomainInclude = "none", "", nil
				o.NVTXDomainExclude, o.Duration = []string{"a,b"}, 0
			},
		} {
			o := o
			set(&o)
			args, env, err := Args(o, v)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			cmd := exec.CommandContext(ctx, nsys, args...)
			cmd.Env = tool.Environ(os.Environ(), append(env, "TMPDIR="+t.TempDir())...)
			out, _ := cmd.CombinedOutput()
			cancel()
			endAgent(t, cmd.Process.Pid)
			for _, bad := range []string{"unrecognized", "Illegal", "ambiguous", "missing", "more than once"} {
				if strings.Contains(string(out), bad) {
					t.Errorf("%s: %q\n%s", name, args, out)
					break
				}
			}
		}
	}
}

// endAgent ends the collector of the nsys with the given number: that of 2022.4
// sometimes outlives it.
func endAgent(t *testing.T, nsys int) {
	t.Helper()
	session := fmt.Sprintf("--session-name=profile-true-%d\x00", nsys)
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		line, err := os.ReadFile(f)
		if err != nil || !strings.Contains(string(line)+"\x00", session) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f))); err == nil {
			t.Logf("the agent of nsys %d lives on; ended", nsys)
			if p, err := os.FindProcess(pid); err == nil {
				_ = p.Kill()
			}
		}
	}
}
