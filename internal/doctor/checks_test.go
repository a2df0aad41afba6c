package doctor

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/tool"
)

func TestChecks(t *testing.T) {
	denied := &fs.PathError{Op: "open", Path: "x", Err: fs.ErrPermission}
	for _, tt := range []struct {
		check  string
		name   string
		set    func(p *patient)
		status Status
		code   fact.Code
		has    string // among the parameters
	}{
		{"nsys", "missing", func(p *patient) { delete(p.tools, tool.Nsys) }, Blocker, toolNotFound, `"more":{"count":1}`},
		{"nsys", "missing, not wanted", func(p *patient) { delete(p.tools, tool.Nsys); p.opts.Timeline = false }, NotApplicable, toolUnneeded, ""},
		{"nsys", "broken", func(p *patient) { p.toolErr[tool.Nsys] = errors.New("exit code 127") }, Blocker, toolFails, "127"},
		{"nsys", "says nothing", func(p *patient) { p.tools[tool.Nsys] = tool.Tool{Path: "/x/nsys", Problem: "odd"} }, Blocker, toolFails, "odd"},
		{"nsys", "bundled", func(p *patient) { x := p.tools[tool.Nsys]; x.Bundled = true; p.tools[tool.Nsys] = x }, Warning, nsysBundled, `"version":{"name":"2025.3.1"}`},
		{"nsys", "old", func(p *patient) { p.tools[tool.Nsys] = tool.Tool{Path: "/x", Version: tool.V(2021, 1, 0)} }, Warning, nsysOld, `"version":{"name":"2021.1.0"}`},
		{"nsys", "2023.4", func(p *patient) { p.tools[tool.Nsys] = tool.Tool{Path: "/x", Version: tool.V(2023, 4, 4)} }, Warning, nsysDisorder, `"version":{"name":"2023.4.4"}`},
		{"nsys", "several", func(p *patient) {
			x := p.tools[tool.Nsys]
			x.Others = []tool.Tool{{Path: "/old/nsys", Version: tool.V(2023, 4, 4)}, {Path: "/bad/nsys", Problem: "p"}}
			p.tools[tool.Nsys] = x
		}, OK, toolFound, `"also":{"facts":[{"code":"tool-also","params":{"path":{"file":"/old/nsys"},"version":{"name":"2023.4.4"}}},{"code":"tool-broken","params":{"path":{"file":"/bad/nsys"}}}]}`},

		{"nsys-importer", "absent", func(p *patient) { p.import_ = "" }, Blocker, importAbsent, ""},
		{"nsys-importer", "library", func(p *patient) {
			p.answers["importer --version"] = answer{err: "importer: error while loading shared libraries: libdw.so.1: cannot open shared object file: No such file or directory\n", exit: tool.Exit{Code: 127}}
		}, Blocker, importLibrary, `"library":{"name":"libdw.so.1"}`},
		{"nsys-importer", "library, not wanted", func(p *patient) {
			p.opts.Timeline = false
			p.answers["importer --version"] = answer{err: "error while loading shared libraries: libfoo.so: x\n", exit: tool.Exit{Code: 127}}
		}, Warning, importLibrary, "libfoo.so"},
		{"nsys-importer", "crash", func(p *patient) { p.answers["importer --version"] = answer{exit: tool.Exit{Code: -1, Signal: 11}} }, Blocker, importFails, "signal 11"},
		{"nsys-importer", "another version", func(p *patient) {
			p.answers["importer --version"] = answer{out: "NVIDIA Nsight Systems 2023.4.4.54-234433681190v0"}
		}, Blocker, importOther, "2023.4.4"},
		{"nsys-importer", "no nsys", func(p *patient) { delete(p.tools, tool.Nsys) }, NotApplicable, notThere, `"what":{"id":"check-of:nsys"}`},

		{"ncu", "missing", func(p *patient) { delete(p.tools, tool.Ncu) }, Blocker, toolNotFound, `"more":{"count":1}`},
		{"ncu", "missing, not wanted", func(p *patient) { delete(p.tools, tool.Ncu); p.opts.Counters = false }, NotApplicable, toolUnneeded, ""},
		{"ncu", "old", func(p *patient) { p.tools[tool.Ncu] = tool.Tool{Path: "/x", Version: tool.V(2020, 1, 0)} }, Warning, ncuOld, `"version":{"name":"2020.1.0"}`},
		{"ncu", "blank in path", func(p *patient) {
			p.tools[tool.Ncu] = tool.Tool{Path: "/x", Real: "/a b/ncu", Version: tool.V(2024, 1, 1)}
		}, Blocker, ncuBlanks, `"version":{"name":"2024.1.1"}`},

		{"exchange", "older nsys beside", func(p *patient) {
			x := p.tools[tool.Nsys]
			x.Others = []tool.Tool{{Version: tool.V(2023, 4, 4)}}
			p.tools[tool.Nsys] = x
		}, Warning, olderBeside, `"what":{"facts":[{"code":"older-nsys","params":{"newer":{"name":"2025.3.1"},"older":{"name":"2023.4.4"}}}]}`},
		{"exchange", "older ncu beside", func(p *patient) {
			x := p.tools[tool.Ncu]
			x.Others = []tool.Tool{{Version: tool.V(2022, 3, 0)}}
			p.tools[tool.Ncu] = x
		}, Warning, olderBeside, `"what":{"facts":[{"code":"older-ncu","params":{"newer":{"name":"2025.3.1"},"older":{"name":"2022.3.0"}}}]}`},
		{"exchange", "none", func(p *patient) { p.tools = map[string]tool.Tool{} }, NotApplicable, notThere, `"what":{"id":"check-of:tools"}`},

		{"nvidia-smi", "missing", func(p *patient) { delete(p.tools, tool.NvidiaSMI) }, Warning, smiAbsent, ""},
		{"nvidia-smi", "not wanted", func(p *patient) { delete(p.tools, tool.NvidiaSMI); p.opts.CUDA, p.opts.Counters = false, false }, NotApplicable, toolUnneeded, ""},
		{"nvidia-smi", "broken", func(p *patient) { p.toolErr[tool.NvidiaSMI] = errors.New(noDriver) }, Warning, smiFails, "couldn't communicate"},

		{"gpu", "none", (*patient).noGPU, Blocker, gpuNone, ""},
		{"gpu", "none in a container", func(p *patient) { p.noGPU(); p.files["/.dockerenv"] = "" }, Blocker, gpuNotPassed, `"kind":{"name":"docker"}`},
		{"gpu", "none, none wanted", func(p *patient) { p.noGPU(); p.opts.CUDA, p.opts.Counters = false, false }, NotApplicable, notWanted, `"what":{"id":"check-of:gpu"}`},
		{"gpu", "WSL", func(p *patient) { p.noGPU(); p.files["/dev/dxg"] = "" }, Blocker, gpuWSL, ""},
		{"gpu", "no device files", func(p *patient) { delete(p.files, "/dev/nvidia0"); delete(p.tools, tool.NvidiaSMI) }, Blocker, gpuNoNodes, ""},
		{"gpu", "mismatch", func(p *patient) {
			p.answers[smiQuery] = answer{out: "Failed to initialize NVML: Driver/library version mismatch", exit: tool.Exit{Code: 18}}
		}, Blocker, gpuMismatch, "version mismatch"},
		{"gpu", "fell off", func(p *patient) { p.answers[smiQuery] = answer{out: "No devices were found", exit: tool.Exit{Code: 6}} }, Blocker, gpuGone, "No devices"},
		{"gpu", "smi fails", func(p *patient) { p.answers[smiQuery] = answer{out: noDriver, exit: tool.Exit{Code: 9}} }, Blocker, gpuUnasked, "communicate"},
		{"gpu", "smi prints rubbish", func(p *patient) { p.answers[smiQuery] = answer{out: "what, is, this\n"} }, Blocker, gpuUnasked, "nine fields"},
		{"gpu", "no smi", func(p *patient) { delete(p.tools, tool.NvidiaSMI) }, Unknown, gpuUnsure, `"n":{"count":1}`},

		{"driver", "torch newer than driver", func(p *patient) {
			p.answers["nvidia-smi"] = answer{out: strings.Replace(h200Table, "CUDA Version: 13.0", "CUDA Version: 12.4", 1)}
		}, Blocker, driverOld, `"need":{"name":"580"}`},
		{"driver", "torch slightly newer", func(p *patient) {
			p.answers["python3 -c "+inspect] = answer{out: `{"torch": "2.12", "torch_cuda": "13.2"}`}
		}, Warning, driverMinor, `"driver":{"name":"580.159.04"}`},
		{"driver", "ncu newer than driver", func(p *patient) {
			p.files["/proc/driver/nvidia/version"] = ""
			p.answers[smiQuery] = answer{out: strings.Replace(h200Line, "580.159.04", "550.54.15", 1)}
			p.answers["python3 -c "+inspect] = answer{out: `{"torch": "2.4", "torch_cuda": "12.4"}`}
		}, Blocker, driverNcu, `"ncu":{"name":"2025.3.1"}`},
		{"driver", "none", (*patient).noGPU, NotApplicable, notThere, `"what":{"id":"check-of:driver"}`},
		{"driver", "not wanted", func(p *patient) { p.opts.CUDA, p.opts.Counters = false, false }, NotApplicable, notWanted, `"what":{"id":"check-of:gpu"}`},
		{"driver", "unreadable", func(p *patient) { p.files["/proc/driver/nvidia/version"] = "?"; delete(p.tools, tool.NvidiaSMI) }, Unknown, driverUnread, ""},

		{"gpus", "two", func(p *patient) { p.answers[smiQuery] = answer{out: h200Line + "1" + h200Line[1:]} }, Warning, gpusSeveral, `"n":{"count":2}`},
		{"gpus", "two, one chosen", func(p *patient) {
			p.answers[smiQuery] = answer{out: h200Line + "1" + h200Line[1:]}
			p.env = append(p.env, "CUDA_VISIBLE_DEVICES=1")
		}, OK, gpusChosen, `"visible":{"name":"1"}`},
		{"gpus", "two kinds", func(p *patient) {
			p.answers[smiQuery] = answer{out: h200Line + strings.Replace(h200Line, "H200", "A100", 1)}
		}, Warning, gpusMixed, `"n":{"count":2}`},
		{"gpus", "unknown", func(p *patient) { delete(p.tools, tool.NvidiaSMI) }, Unknown, smiSilent, ""},
		{"gpus", "none", (*patient).noGPU, NotApplicable, notThere, `"what":{"id":"check-of:gpu"}`},

		{"mig", "on", func(p *patient) {
			p.answers[smiQuery] = answer{out: strings.Replace(h200Line, "Disabled", "Enabled", 1)}
		}, Warning, migOn, `"gpus":{"name":["0"]}`},
		{"mig", "not supported", func(p *patient) { p.answers[smiQuery] = answer{out: strings.Replace(h200Line, "Disabled", "[N/A]", 1)} }, OK, migOff, ""},
		{"mig", "none", (*patient).noGPU, NotApplicable, notThere, `"what":{"id":"check-of:gpu"}`},

		{"gpu-use", "busy", func(p *patient) { p.answers[smiApps] = answer{out: "771, python3, 1024 MiB\n772, python3, 2 MiB\n"} }, Warning, gpuShared, `"n":{"count":2}`},
		{"gpu-use", "prohibited", func(p *patient) {
			p.answers[smiQuery] = answer{out: strings.Replace(h200Line, "Default", "Prohibited", 1)}
		}, Blocker, gpuProhibited, ""},
		{"gpu-use", "unknown", func(p *patient) { p.answers[smiApps] = answer{exit: tool.Exit{Code: 2}} }, Unknown, useUnknown, "exit code 2"},
		{"gpu-use", "none", (*patient).noGPU, NotApplicable, notThere, `"what":{"id":"check-of:gpu"}`},

		{"clocks", "throttled", func(p *patient) {
			p.answers[smiQuery] = answer{out: strings.Replace(h200Line, "0x0000000000000001", "0x0000000000000060", 1)}
		}, Warning, throttled, `"why":{"facts":[{"code":"clocks-throttled-gpu","params":{"gpu":{"name":"0"},"why":{"name":"software thermal slowdown"}}},{"code":"clocks-throttled-gpu","params":{"gpu":{"name":"0"},"why":{"name":"hardware thermal slowdown"}}}]}`},
		{"clocks", "not told", func(p *patient) {
			p.answers[smiQuery] = answer{out: strings.Replace(h200Line, "0x0000000000000001", "[N/A]", 1)}
		}, Unknown, clocksUntold, ""},
		{"clocks", "none", (*patient).noGPU, NotApplicable, notThere, `"what":{"id":"check-of:gpu"}`},

		{"container", "docker", func(p *patient) { p.files["/.dockerenv"] = "" }, OK, inContainer, "docker"},
		{"container", "podman", func(p *patient) { p.files["/run/.containerenv"] = "" }, OK, inContainer, "podman"},
		{"container", "kubernetes", func(p *patient) { p.files["/proc/1/cgroup"] = "12:devices:/kubepods/besteffort/pod1\n" }, OK, inContainer, "kubepods"},
		{"container", "apptainer", func(p *patient) { p.env = append(p.env, "APPTAINER_CONTAINER=/x.sif") }, OK, inContainer, "apptainer"},
		{"container", "gvisor", func(p *patient) { p.files["/proc/version"] = gvisor + "\n" }, Blocker, gvisorSandbox, ""},
		{"container", "gvisor, timeline only", func(p *patient) { p.files["/proc/version"] = gvisor + "\n"; p.opts.Counters = false }, Warning, gvisorSandbox, ""},

		{"counters", "restricted", func(p *patient) { p.restrict() }, Blocker, deniedUser, `"user":{"name":"1000"}`},
		{"counters", "restricted, root", func(p *patient) { p.restrict(); p.effective("000001ffffffffff") }, OK, countersAdmin, ""},
		{"counters", "restricted, perfmon", func(p *patient) { p.restrict(); p.effective("0000004000000000") }, OK, countersPerf, `"driver":{"name":"580.159.04"}`},
		{"counters", "restricted, perfmon, old driver", func(p *patient) {
			p.restrict()
			p.effective("0000004000000000")
			p.files["/proc/driver/nvidia/version"] = ""
			p.answers[smiQuery] = answer{out: strings.Replace(h200Line, "580.159.04", "550.54.15", 1)}
		}, Blocker, deniedUser, `"user":{"name":"1000"}`},
		{"counters", "restricted, container root", func(p *patient) {
			p.restrict()
			p.uid = 0
			p.effective("00000000a80425fb")
			p.files["/.dockerenv"] = ""
		}, Blocker, deniedInside, `"grant":{"name":"--cap-add=PERFMON"}`},
		{"counters", "restricted, capabilities unknown", func(p *patient) { p.restrict(); p.uid = 0; delete(p.files, "/proc/self/status") }, Unknown, countersRoot, ""},
		{"counters", "no parameters", func(p *patient) { delete(p.files, "/proc/driver/nvidia/params") }, Unknown, paramsUnread, ""},
		{"counters", "other parameters", func(p *patient) { p.files["/proc/driver/nvidia/params"] = "RmMsg: \"\"\n" }, Unknown, paramsSilent, ""},
		{"counters", "no driver", (*patient).noGPU, NotApplicable, notThere, `"what":{"id":"check-of:driver"}`},
		{"counters", "not wanted", func(p *patient) { p.opts.Counters = false }, NotApplicable, notWanted, `"what":{"id":"check-of:counters"}`},
		{"counters", "sampled only, open", func(p *patient) { p.opts.Counters, p.opts.Sampled = false, true }, OK, countersOpen, ""},
		{"counters", "sampled only, restricted", func(p *patient) { p.restrict(); p.opts.Counters, p.opts.Sampled = false, true }, Warning, deniedUser, `"lost":{"id":"check-of:samples"}`},

		{"perf-events", "fine", func(p *patient) { p.opts.Sample = "process-tree" }, OK, perfAllowed, `"level":{"count":2}`},
		{"perf-events", "too strict", func(p *patient) {
			p.opts.Sample = "process-tree"
			p.files["/proc/sys/kernel/perf_event_paranoid"] = "4\n"
		}, Warning, perfStrict, `"most":{"count":2}`},
		{"perf-events", "system-wide", func(p *patient) { p.opts.Sample = "system-wide" }, Warning, perfStrict, `"most":{"count":0}`},
		{"perf-events", "system-wide, allowed", func(p *patient) { p.opts.Sample = "system-wide"; p.effective("000001ffffffffff") }, OK, perfAllowed, `"level":{"count":2}`},
		{"perf-events", "seccomp", func(p *patient) {
			p.opts.Sample = "process-tree"
			p.answers["/opt/nvidia/nsight-systems/2025.3.1/bin/nsys status -e"] = answer{out: "Linux perf_event_open syscall available: Fail\n"}
		}, Warning, perfRefused, ""},
		{"perf-events", "unreadable", func(p *patient) {
			p.opts.Sample = "process-tree"
			delete(p.files, "/proc/sys/kernel/perf_event_paranoid")
		}, Unknown, perfUnread, ""},
		{"perf-events", "odd", func(p *patient) {
			p.opts.Sample = "process-tree"
			p.files["/proc/sys/kernel/perf_event_paranoid"] = "x"
		}, Unknown, perfOdd, `"x"`},
		{"perf-events", "not wanted", func(p *patient) {}, NotApplicable, notWanted, `"what":{"id":"check-of:cpu-sampling"}`},

		{"profilers", "dcgm", func(p *patient) { p.files["/proc/77/cmdline"] = "/usr/bin/nv-hostengine\x00-n\x00" }, Warning, othersRun, `"what":{"facts":[{"code":"profiler-runs","params":{"advice":{"id":"profiler:nv-hostengine"},"name":{"name":"nv-hostengine"},"pid":{"name":"77"}}}]}`},
		{"profilers", "stuck agent", func(p *patient) { p.files["/proc/78/cmdline"] = "/opt/nsys\x00--start-agent\x00--session-name=x\x00" }, Warning, othersRun, `"what":{"facts":[{"code":"nsys-agents-run","params":{"arguments":{"name":"78"},"pids":{"name":["78"]}}}]}`},
		{"profilers", "two agents", func(p *patient) {
			p.files["/proc/78/cmdline"] = "/opt/nsys\x00--start-agent\x00"
			p.files["/proc/80/cmdline"] = "/opt/nsys\x00--start-agent\x00"
		}, Warning, othersRun, `"what":{"facts":[{"code":"nsys-agents-run","params":{"arguments":{"name":"78 80"},"pids":{"name":["78","80"]}}}]}`},
		{"profilers", "ncu", func(p *patient) { p.files["/proc/79/cmdline"] = "ncu\x00--set\x00full\x00" }, Warning, othersRun, `"what":{"facts":[{"code":"profiler-runs","params":{"advice":{"id":"profiler:ncu"},"name":{"name":"ncu"},"pid":{"name":"79"}}}]}`},
		{"profilers", "not wanted", func(p *patient) { p.opts.Timeline, p.opts.Counters = false, false }, NotApplicable, notWanted, `"what":{"id":"check-of:capture"}`},

		{"injection", "cuda", func(p *patient) { p.env = append(p.env, "CUDA_INJECTION64_PATH=/x.so") }, Blocker, injected, `"value":{"name":"/x.so"}`},
		{"injection", "preload", func(p *patient) { p.env = append(p.env, "LD_PRELOAD=/a/libToolsInjectionProxy64.so") }, Blocker, injected, "LD_PRELOAD"},
		{"injection", "not wanted", func(p *patient) {
			p.env = append(p.env, "NVTX_INJECTION64_PATH=/x")
			p.opts.Timeline, p.opts.Counters = false, false
		}, Warning, injected, "NVTX"},

		{"ncu-lock", "own", func(p *patient) { p.lock = &lock{1000, 0o666} }, OK, lockOwn, ""},
		{"ncu-lock", "of another", func(p *patient) { p.lock = &lock{1001, 0o666} }, Blocker, lockForeign, `"user":{"name":"1001"}`},
		{"ncu-lock", "of another, as root", func(p *patient) { p.lock = &lock{1001, 0o600}; p.uid = 0 }, Blocker, lockForeign, "1001"},
		{"ncu-lock", "unprotected", func(p *patient) { p.lock = &lock{1001, 0o666}; p.files["/proc/sys/fs/protected_regular"] = "0\n" }, OK, lockOpen, `"user":{"name":"1001"}`},
		{"ncu-lock", "unprotected, closed", func(p *patient) { p.lock = &lock{1001, 0o644}; p.files["/proc/sys/fs/protected_regular"] = "0\n" }, Blocker, lockForeign, "1001"},
		{"ncu-lock", "unknown", func(p *patient) { p.lockErr = denied }, Unknown, lockUnread, "permission denied"},
		{"ncu-lock", "not wanted", func(p *patient) { p.opts.Counters = false }, NotApplicable, notWanted, `"what":{"id":"check-of:counters"}`},

		{"run-store", "low", func(p *patient) { p.free[filepath.Dir(filepath.Dir(p.opts.RunDir))] = 2 * gib }, Warning, folderTight, `"free":{"byte":2147483648}`},
		{"run-store", "full", func(p *patient) { p.free[filepath.Dir(filepath.Dir(p.opts.RunDir))] = 1 << 20 }, Blocker, folderFull, `"free":{"byte":1048576}`},
		{"run-store", "read-only", func(p *patient) { p.denied[filepath.Dir(filepath.Dir(p.opts.RunDir))] = denied }, Blocker, folderDenied, ""},
		{"run-store", "unknown", func(p *patient) { p.freeErr[filepath.Dir(filepath.Dir(p.opts.RunDir))] = errors.New("odd") }, Unknown, folderUnread, "odd"},

		{"temp", "low", func(p *patient) { p.free[p.opts.TempDir] = 3 * gib }, Warning, folderTight, `"free":{"byte":3221225472}`},
		{"temp", "full", func(p *patient) { p.free[p.opts.TempDir] = 1 << 20 }, Blocker, folderFull, `"free":{"byte":1048576}`},
		{"temp", "missing", func(p *patient) { p.opts.TempDir = "/no/such/folder" }, Blocker, tempAbsent, "no such file"},
		{"temp", "read-only", func(p *patient) { p.denied[p.opts.TempDir] = denied }, Blocker, folderDenied, ""},
		{"temp", "unknown", func(p *patient) { p.freeErr[p.opts.TempDir] = errors.New("odd") }, Unknown, folderUnread, "odd"},

		{"shm", "old nsys", func(p *patient) { p.oldNsys() }, OK, shmFine, `"free":{"byte":107374182400}`},
		{"shm", "old nsys, tiny", func(p *patient) { p.oldNsys(); p.free["/dev/shm"] = 64 << 10 }, Blocker, shmFull, `"free":{"byte":65536}`},
		{"shm", "old nsys, table left locked", func(p *patient) { p.oldNsys(); p.files["/dev/shm/NSys-2022.4.2.1"] = "" }, Warning, shmLocked, ""},
		{"shm", "old nsys, unknown", func(p *patient) { p.oldNsys(); p.freeErr["/dev/shm"] = errors.New("odd") }, Unknown, shmUnread, "odd"},
		{"shm", "no nsys", func(p *patient) { delete(p.tools, tool.Nsys) }, NotApplicable, notThere, `"what":{"id":"check-of:nsys"}`},
		{"shm", "new nsys", func(p *patient) { p.free["/dev/shm"] = 1 }, NotApplicable, shmUnused, ""},

		{"home", "not set", func(p *patient) { p.env = []string{"PATH="} }, Warning, homeUnset, ""},
		{"home", "read-only", func(p *patient) { p.denied["/home/u"] = denied }, Warning, homeDenied, "permission denied"},
		{"home", "no ncu", func(p *patient) { delete(p.tools, tool.Ncu) }, NotApplicable, notThere, `"what":{"id":"check-of:ncu"}`},

		{"python", "missing", func(p *patient) { delete(p.tools, tool.Python) }, Blocker, toolNotFound, `"more":{"count":1}`},
		{"python", "missing, not wanted", func(p *patient) { delete(p.tools, tool.Python); p.opts.Torch = false }, NotApplicable, toolUnneeded, ""},
		{"python", "old", func(p *patient) { p.tools[tool.Python] = tool.Tool{Path: "python3", Version: tool.V(3, 6, 9)} }, Blocker, pythonOld, "3.6.9"},

		{"torch", "missing", func(p *patient) { p.says(`{"torch": ""}`) }, Blocker, torchAbsent, ""},
		{"torch", "without CUDA", func(p *patient) { p.says(`{"torch": "2.11.0+cpu"}`) }, Blocker, torchNoCUDA, `"version":{"name":"2.11.0+cpu"}`},
		{"torch", "without CUDA, none wanted", func(p *patient) { p.says(`{"torch": "2.11.0+cpu"}`); p.opts.CUDA, p.opts.Counters = false, false }, OK, torchFound, `"version":{"name":"2.11.0+cpu"}`},
		{"torch", "noisy", func(p *patient) { p.says("hello from sitecustomize\n" + `{"torch": "2.11.0", "torch_cuda": "13.0"}`) }, OK, torchFound, `"version":{"name":"2.11.0"}`},
		{"torch", "python fails", func(p *patient) { p.answers["python3 -c "+inspect] = answer{err: "boom", exit: tool.Exit{Code: 1}} }, Unknown, torchUnknown, "boom"},
		{"torch", "rubbish", func(p *patient) { p.says("rubbish") }, Unknown, torchUnknown, "invalid character"},
		{"torch", "no python", func(p *patient) { delete(p.tools, tool.Python) }, NotApplicable, notThere, `"what":{"id":"check-of:python"}`},
		{"torch", "not wanted", func(p *patient) { p.opts.Torch = false }, NotApplicable, notWanted, `"what":{"id":"check-of:torch"}`},

		{"packages", "there", func(p *patient) {
			p.needs(`{"torch": "2.11.0", "packages": {"transformers": "5.17.0", "PIL": "unknown"}}`)
		}, OK, packsFound, `"names":{"name":["transformers 5.17.0","PIL unknown"]}`},
		{"packages", "missing", func(p *patient) { p.needs(`{"torch": "2.11.0", "packages": {}}`) }, Blocker, packsAbsent, `"arguments":{"name":"transformers Pillow"}`},
		{"packages", "python fails", func(p *patient) { p.needs("rubbish") }, Unknown, packsUnknown, "invalid character"},
		{"packages", "no python", func(p *patient) { p.needs("{}"); delete(p.tools, tool.Python) }, NotApplicable, notThere, `"what":{"id":"check-of:python"}`},
		{"packages", "not wanted", func(p *patient) {}, NotApplicable, notWanted, `"what":{"id":"check-of:package"}`},
		{"gpus", "a device that is there", func(p *patient) { p.opts.Device = "cuda:0" }, OK, oneGPU, ""},
		{"gpus", "a device that is not there", func(p *patient) { p.opts.Device = "cuda:7" }, Blocker, deviceAbsent, `"last":{"name":"cuda:0"}`},

		{"nvtx", "package", func(p *patient) { p.says(`{"torch": "x", "torch_cuda": "", "nvtx": "0.2.13"}`) }, Warning, nvtxAbsent, `"version":{"name":"0.2.13"}`},
		{"nvtx", "missing", func(p *patient) { p.says(`{"torch": "x", "torch_cuda": ""}`) }, Warning, nvtxAbsent, ""},
		{"nvtx", "python fails", func(p *patient) { p.says("rubbish") }, Unknown, nvtxUnknown, ""},
		{"nvtx", "no python", func(p *patient) { delete(p.tools, tool.Python) }, NotApplicable, notThere, `"what":{"id":"check-of:python"}`},
		{"nvtx", "not wanted", func(p *patient) { p.opts.Torch = false }, NotApplicable, notWanted, `"what":{"id":"check-of:python-workload"}`},
	} {
		t.Run(tt.check+"/"+tt.name, func(t *testing.T) {
			p := healthy(t)
			tt.set(p)
			r := p.examine(t)
			row := r.row(tt.check)
			params, err := json.Marshal(row.Seen.Params)
			if err != nil || row.Status != tt.status || row.Seen.Code != tt.code || !strings.Contains(string(params), tt.has) {
				t.Errorf("%+v %v", row, err)
			}
			fix := message.Next(row.Seen)
			if needs := row.Status == Blocker || row.Status == Warning; needs && fix == "" || row.Status == OK && fix != "" {
				t.Errorf("fix %q of %+v", fix, row)
			}
			if words := message.Text(row.Seen) + fix; strings.ContainsAny(words, "{}") {
				t.Errorf("a parameter is missing: %s", words)
			}
			if (row.Status == Blocker) && !r.HasBlocker() {
				t.Error("the report has no blocker")
			}
		})
	}
}
