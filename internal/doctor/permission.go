package doctor

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Bits of the effective capabilities in /proc/self/status.
const (
	capSysAdmin = 21
	capPerfmon  = 38
)

// capabilities of this process.
type capabilities struct {
	bits  uint64
	known bool
}

func (c capabilities) has(bit int) bool { return c.known && c.bits&(1<<bit) != 0 }

var capEff = regexp.MustCompile(`(?m)^CapEff:\s*([0-9a-fA-F]+)`)

func (e *exam) readCapabilities() capabilities {
	text, err := e.read("/proc/self/status")
	if err != nil {
		return capabilities{}
	}
	m := capEff.FindStringSubmatch(text)
	if m == nil {
		return capabilities{}
	}
	bits, err := strconv.ParseUint(m[1], 16, 64)
	return capabilities{bits, err == nil}
}

// containerKind recognizes the usual containers by the marks they leave.
func (e *exam) containerKind() string {
	if e.exists("/.dockerenv") {
		return "docker"
	}
	if e.exists("/run/.containerenv") {
		return "podman"
	}
	if e.getenv("KUBERNETES_SERVICE_HOST") != "" {
		return "kubernetes"
	}
	if e.getenv("APPTAINER_CONTAINER") != "" || e.getenv("SINGULARITY_CONTAINER") != "" {
		return "apptainer"
	}
	text, err := e.read("/proc/1/cgroup")
	if err != nil {
		return ""
	}
	for _, kind := range []string{"kubepods", "docker", "containerd", "libpod", "lxc"} {
		if strings.Contains(text, kind) {
			return kind
		}
	}
	return ""
}

// gvisor is how the sandbox introduces itself, whatever the real kernel.
const gvisor = "Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016"

func checkContainer(_ context.Context, e *exam) finding {
	if text, err := e.read("/proc/version"); err == nil && strings.HasPrefix(text, gvisor) {
		return problem(e.Counters, "run outside gVisor for counters; a timeline works", "gVisor sandbox: ncu cannot read hardware counters there")
	}
	if e.contained == "" {
		return ok("none")
	}
	return ok("%s", e.contained)
}

var adminOnly = regexp.MustCompile(`(?m)^RmProfilingAdminOnly:\s*(\d+)`)

func checkCounters(_ context.Context, e *exam) finding {
	if !e.Counters && !e.Sampled {
		return notApplicable("no counters wanted")
	}
	text, err := e.read("/proc/driver/nvidia/params")
	if err != nil {
		if !e.exists("/proc/driver/nvidia/version") && len(e.gpuNodes()) == 0 {
			return notApplicable("no driver")
		}
		return unknown("run ncu on a small program: it says ERR_NVGPUCTRPERM where permission lacks", "/proc/driver/nvidia/params cannot be read: %v", err)
	}
	m := adminOnly.FindStringSubmatch(text)
	if m == nil {
		return unknown("run ncu on a small program: it says ERR_NVGPUCTRPERM where permission lacks", "/proc/driver/nvidia/params has no RmProfilingAdminOnly")
	}
	if m[1] == "0" {
		return ok("open to all users (RmProfilingAdminOnly 0)")
	}
	perfmon := e.caps.has(capPerfmon) && e.driver.Major >= 565
	switch {
	case e.caps.has(capSysAdmin):
		return ok("restricted to administrators, and this process has CAP_SYS_ADMIN")
	case perfmon:
		return ok("restricted, and this process has CAP_PERFMON, which driver %s accepts", short(e.driver))
	case !e.caps.known && *e.UID == 0:
		return unknown("run ncu on a small program", "restricted to administrators; root, but capabilities could not be read")
	}
	host := "on the host, as root: echo 'options nvidia NVreg_RestrictProfilingToAdminUsers=0' > /etc/modprobe.d/nvidia-profiling.conf, then reboot"
	if e.contained != "" {
		grant := "--cap-add=SYS_ADMIN"
		if e.driver.Major >= 565 {
			grant = "--cap-add=PERFMON"
		}
		return problem(e.Counters, "start the container with "+grant+"; or "+host, e.withoutCounters()+"ERR_NVGPUCTRPERM to be expected: restricted to administrators, and this %s container lacks the capability", e.contained)
	}
	return problem(e.Counters, "run as root (sudo --preserve-env); or "+host, e.withoutCounters()+"ERR_NVGPUCTRPERM to be expected: restricted to administrators, and user %d has neither CAP_SYS_ADMIN nor CAP_PERFMON", *e.UID)
}

// withoutCounters begins what a run that only samples counters is told: it goes on
// without them.
func (e *exam) withoutCounters() string {
	if e.Counters {
		return ""
	}
	return "counters will not be sampled: "
}

var perfSyscall = regexp.MustCompile(`perf_event_open syscall available:\s*(\w+)`)

func checkPerf(ctx context.Context, e *exam) finding {
	scope := or(e.Sample, "none")
	if !e.Timeline || scope == "none" {
		return notApplicable("no CPU sampling wanted")
	}
	text, err := e.read("/proc/sys/kernel/perf_event_paranoid")
	if err != nil {
		return unknown("", "/proc/sys/kernel/perf_event_paranoid cannot be read: %v", err)
	}
	level, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		return unknown("", "perf_event_paranoid is %q", strings.TrimSpace(text))
	}
	if e.nsys.Path != "" {
		if printed, err := e.ask(ctx, e.nsys.Path, "status", "-e"); err == nil {
			if m := perfSyscall.FindStringSubmatch(printed); m != nil && m[1] == "Fail" {
				return warning("start the container with --security-opt seccomp=unconfined or --cap-add=SYS_ADMIN, or set sample: none", "perf_event_open is refused (nsys status -e): there would be no samples, without a word")
			}
		}
	}
	most := 2
	if scope == "system-wide" {
		most = 0
	}
	if level > most && !e.caps.has(capSysAdmin) && !e.caps.has(capPerfmon) {
		return warning(fmt.Sprintf("sudo sysctl kernel.perf_event_paranoid=%d, or set sample: none", most), "perf_event_paranoid is %d, %s sampling needs %d or less", level, scope, most)
	}
	return ok("perf_event_paranoid is %d", level)
}

func checkInjection(_ context.Context, e *exam) finding {
	for _, v := range []struct{ name, what string }{
		{"CUDA_INJECTION64_PATH", "another tool is injected into CUDA programs: ncu refuses, nsys sees nothing"},
		{"NVTX_INJECTION64_PATH", "another tool receives the NVTX ranges"},
		{"NSYS_PROFILING_SESSION_ID", "this shell runs under nsys: the inner capture takes the events of the outer"},
	} {
		if value := e.getenv(v.name); value != "" {
			return problem(e.Timeline || e.Counters, "unset "+v.name, "%s=%s: %s", v.name, value, v.what)
		}
	}
	if preload := e.getenv("LD_PRELOAD"); strings.Contains(preload, "ToolsInjection") || strings.Contains(preload, "libcuda-injection") {
		return problem(e.Timeline || e.Counters, "unset LD_PRELOAD", "LD_PRELOAD=%s: this shell runs under a profiler", preload)
	}
	return ok("none set")
}
