package doctor

import (
	"cmp"
	"context"
	"regexp"
	"strconv"
	"strings"

	"github.com/deepprof/deepprof/internal/fact"
)

// Bits of the effective capabilities in /proc/self/status.
const (
	capSysAdmin = 21
	capPerfmon  = 38
)

// capabilities of this process.
// The zero value means that they could not be read.
type capabilities struct {
	bits  uint64
	known bool
}

// has is false where the capabilities could not be read.
func (c capabilities) has(bit int) bool { return c.known && c.bits&(1<<bit) != 0 }

// capEff are the capabilities of this process, in /proc/self/status.
var capEff = regexp.MustCompile(`(?m)^CapEff:\s*([0-9a-fA-F]+)`)

// readCapabilities reads those in effect for this process, which the workload inherits.
// They are not known outside Linux.
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
// The result is a name for people and for advice; "" means no sign of a container was found.
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

// gVisor has no access to the counters of the GPU, whatever it is granted.
func checkContainer(_ context.Context, e *exam) finding {
	if text, err := e.read("/proc/version"); err == nil && strings.HasPrefix(text, gvisor) {
		return problem(e.Counters, gvisorSandbox)
	}
	if e.contained == "" {
		return ok(noContainer)
	}
	return ok(inContainer, fact.Name("kind", e.contained))
}

// adminOnly is 1 where the driver lets root alone read counters.
var adminOnly = regexp.MustCompile(`(?m)^RmProfilingAdminOnly:\s*(\d+)`)

// RmProfilingAdminOnly of the driver decides; drivers from 565 on also take CAP_PERFMON.
// It comes after checkGPU, which notes the version of the driver. A run that only samples
// counters is never blocked.
func checkCounters(_ context.Context, e *exam) finding {
	if !e.Counters && !e.Sampled {
		return unwanted("counters")
	}
	text, err := e.read("/proc/driver/nvidia/params")
	if err != nil {
		if !e.exists("/proc/driver/nvidia/version") && len(e.gpuNodes()) == 0 {
			return absent("driver")
		}
		return unknown(paramsUnread, fact.Error("error", err))
	}
	m := adminOnly.FindStringSubmatch(text)
	if m == nil {
		return unknown(paramsSilent)
	}
	if m[1] == "0" {
		return ok(countersOpen)
	}
	perfmon := e.caps.has(capPerfmon) && e.driver.Major >= 565
	switch {
	case e.caps.has(capSysAdmin):
		return ok(countersAdmin)
	case perfmon:
		return ok(countersPerf, fact.Name("driver", short(e.driver)))
	case !e.caps.known && *e.UID == 0:
		return unknown(countersRoot)
	}
	var lost []fact.Param
	if !e.Counters { // a run that only samples counters goes on without them
		lost = append(lost, fact.ID("lost", "check-of", "samples"))
	}
	if e.contained == "" {
		return problem(e.Counters, deniedUser, append(lost, fact.Name("user", strconv.Itoa(*e.UID)))...)
	}
	grant := "--cap-add=SYS_ADMIN"
	if e.driver.Major >= 565 {
		grant = "--cap-add=PERFMON"
	}
	return problem(e.Counters, deniedInside, append(lost, fact.Name("kind", e.contained), fact.Name("grant", grant))...)
}

// perfSyscall is what nsys status says of sampling the CPU.
var perfSyscall = regexp.MustCompile(`perf_event_open syscall available:\s*(\w+)`)

// The level is kernel.perf_event_paranoid: up to 2 allows own processes, up to 0 all.
// It only warns: CPU samples are an extra beside the timeline.
func checkPerf(ctx context.Context, e *exam) finding {
	scope := cmp.Or(e.Sample, "none")
	if !e.Timeline || scope == "none" {
		return unwanted("cpu-sampling")
	}
	text, err := e.read("/proc/sys/kernel/perf_event_paranoid")
	if err != nil {
		return unknown(perfUnread, fact.Error("error", err))
	}
	level, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		return unknown(perfOdd, fact.Vendor("value", strings.TrimSpace(text)))
	}
	if e.nsys.Path != "" {
		if printed, err := e.ask(ctx, e.nsys.Path, "status", "-e"); err == nil {
			if m := perfSyscall.FindStringSubmatch(printed); m != nil && m[1] == "Fail" {
				return warning(perfRefused)
			}
		}
	}
	most := 2
	if scope == "system-wide" {
		most = 0
	}
	if level > most && !e.caps.has(capSysAdmin) && !e.caps.has(capPerfmon) {
		return warning(perfStrict, fact.Count("level", level), fact.Name("scope", scope), fact.Count("most", most))
	}
	return ok(perfAllowed, fact.Count("level", level))
}

// Such a variable makes another profiler load into the workload, where two cannot be.
func checkInjection(_ context.Context, e *exam) finding {
	for _, name := range []string{"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH", "NSYS_PROFILING_SESSION_ID", "LD_PRELOAD"} {
		value := e.getenv(name)
		if value == "" || name == "LD_PRELOAD" && !strings.Contains(value, "ToolsInjection") && !strings.Contains(value, "libcuda-injection") {
			continue
		}
		return problem(e.Timeline || e.Counters, injected, fact.Name("name", name), fact.Name("value", value), fact.ID("effect", "injection", name))
	}
	return ok(notInjected)
}
