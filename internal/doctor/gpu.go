package doctor

import (
	"context"
	"encoding/csv"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	chips "github.com/deepprof/deepprof/internal/gpu"
	"github.com/deepprof/deepprof/internal/tool"
)

// A gpu is one line of nvidia-smi's answer to query.
type gpu struct {
	index, name, driver, computeMode, mig string
	smClock, maxClock                     string
	throttle                              uint64
	throttleKnown                         bool
	temperature                           string
}

// query asks with the names that drivers from 450 to 580 know.
const query = "index,name,driver_version,compute_mode,mig.mode.current,clocks.current.sm,clocks.max.sm,clocks_throttle_reasons.active,temperature.gpu"

var cudaVersion = regexp.MustCompile(`CUDA Version\s*:\s*(\d+\.\d+)`)

// askSMI fills in what nvidia-smi tells.
func (e *exam) askSMI(ctx context.Context) {
	if e.smi.Path == "" {
		return
	}
	var all sync.WaitGroup
	all.Go(func() { e.gpus, e.gpusErr = e.askGPUs(ctx) })
	all.Go(func() {
		e.apps, e.appsErr = e.ask(ctx, e.smi.Path, "--query-compute-apps=pid,process_name,used_memory", "--format=csv,noheader")
	})
	all.Go(func() {
		// The table's head has told the driver's CUDA version in every release.
		head, err := e.ask(ctx, e.smi.Path)
		if m := cudaVersion.FindStringSubmatch(head); err == nil && m != nil {
			e.cudaOfDriver = m[1]
		}
	})
	all.Wait()
}

func (e *exam) askGPUs(ctx context.Context) (gpus []gpu, err error) {
	text, err := e.ask(ctx, e.smi.Path, "--query-gpu="+query, "--format=csv,noheader")
	if err != nil {
		return nil, err
	}
	r := csv.NewReader(strings.NewReader(text))
	r.TrimLeadingSpace = true
	r.FieldsPerRecord = -1
	rows, err := r.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("read nvidia-smi: %w", err)
	}
	for _, f := range rows {
		if len(f) != 9 {
			return gpus, fmt.Errorf("read nvidia-smi: %q is not a line of nine fields", strings.Join(f, ", "))
		}
		g := gpu{index: f[0], name: f[1], driver: f[2], computeMode: f[3], mig: f[4], smClock: f[5], maxClock: f[6], temperature: f[8]}
		bits, err := strconv.ParseUint(strings.TrimPrefix(f[7], "0x"), 16, 64)
		g.throttle, g.throttleKnown = bits, err == nil
		gpus = append(gpus, g)
	}
	return gpus, nil
}

// dotted reads "580.159.04" or "13.0"; the zero Version where it is neither.
func dotted(s string) tool.Version {
	var v tool.Version
	for i, part := range strings.SplitN(s, ".", 3) {
		n, err := strconv.Atoi(part)
		if err != nil {
			return tool.Version{}
		}
		*[]*int{&v.Major, &v.Minor, &v.Patch}[i] = n
	}
	return v
}

var nvrm = regexp.MustCompile(`(?m)^NVRM version:.*?\s(\d+\.\d+(?:\.\d+)?)\s`)

func checkGPU(_ context.Context, e *exam) finding {
	devices := e.gpuNodes()
	text, err := e.read("/proc/driver/nvidia/version")
	module := err == nil
	if m := nvrm.FindStringSubmatch(text); m != nil {
		e.driver = dotted(m[1])
	}
	if len(e.gpus) > 0 {
		e.driver = dotted(e.gpus[0].driver)
		var names []string
		for _, g := range e.gpus {
			names = append(names, g.name)
		}
		return ok("%d: %s", len(names), strings.Join(slices.Compact(names), ", "))
	}
	if !e.wantsGPU() {
		return notApplicable("no GPU wanted")
	}
	printed := ""
	if e.gpusErr != nil {
		printed = e.gpusErr.Error()
	}
	switch {
	case strings.Contains(printed, "Driver/library version mismatch"):
		return problem(true, "reboot, or reload the NVIDIA kernel modules: the driver was updated while the old one was loaded", "%s", printed)
	case strings.Contains(printed, "No devices were found"):
		return problem(true, "look into dmesg for NVRM and Xid lines; a GPU that fell off the bus needs a reset or a reboot", "%s", printed)
	case !module && len(devices) == 0 && e.contained != "":
		return problem(true, "start the container with --gpus all (or --runtime=nvidia)", "no driver and no /dev/nvidia* in this %s container", e.contained)
	case !module && e.exists("/dev/dxg"):
		return problem(true, "install the NVIDIA driver for WSL on Windows", "WSL without an NVIDIA driver")
	case !module && len(devices) == 0:
		return problem(true, "run on a machine with an NVIDIA GPU and its driver; analysis of existing reports works here", "no NVIDIA driver loaded (/proc/driver/nvidia), no /dev/nvidia*")
	case module && len(devices) == 0:
		return problem(true, "pass the devices into the container (--gpus all), or create them with nvidia-modprobe", "driver loaded, but no /dev/nvidia*")
	case printed != "":
		return problem(true, "run nvidia-smi by hand and mend what it says", "%s", printed)
	}
	return unknown("install nvidia-smi to be sure", "driver and %d device files are there, nvidia-smi is not", len(devices))
}

// minDriver is the oldest driver branch that carries a CUDA major version.
var minDriver = map[int]int{11: 450, 12: 525, 13: 580}

func checkDriver(_ context.Context, e *exam) finding {
	if !e.wantsGPU() {
		return notApplicable("no GPU wanted")
	}
	if e.driver.IsZero() {
		if len(e.gpus) == 0 && !e.exists("/proc/driver/nvidia/version") {
			return notApplicable("no driver")
		}
		return unknown("run nvidia-smi by hand", "the driver's version could not be read")
	}
	seen := fmt.Sprintf("driver %s, CUDA up to %s", short(e.driver), or(e.cudaOfDriver, "unknown"))
	if e.modules != nil && e.modules.TorchCUDA != "" {
		torch, most := dotted(e.modules.TorchCUDA), dotted(e.cudaOfDriver)
		seen += ", PyTorch built for CUDA " + e.modules.TorchCUDA
		switch {
		case most.IsZero() && minDriver[torch.Major] > e.driver.Major,
			!most.IsZero() && torch.Major > most.Major:
			return problem(e.Torch, fmt.Sprintf("update the driver to %d or later, or install a PyTorch built for CUDA %d", minDriver[torch.Major], max(most.Major, 11)), "%s", seen)
		case !most.IsZero() && torch.Major == most.Major && torch.Minor > most.Minor:
			return warning("update the driver if kernels that need compilation fail", "%s: works by minor-version compatibility", seen)
		}
	}
	if e.ncu.Version.AtLeast(2025, 3) && e.driver.Major <= 570 {
		return problem(e.Counters, "update the driver, or use an older Nsight Compute", "%s; ncu %s does not work with drivers up to 570", seen, e.ncu.Version)
	}
	return ok("%s", seen)
}

func short(v tool.Version) string {
	if v.Patch == 0 {
		return fmt.Sprintf("%d.%02d", v.Major, v.Minor)
	}
	return fmt.Sprintf("%d.%d.%02d", v.Major, v.Minor, v.Patch)
}

func or(value, otherwise string) string {
	if value == "" {
		return otherwise
	}
	return value
}

// noGPU answers for the checks that need nvidia-smi's description.
func (e *exam) noGPU() (finding, bool) {
	switch {
	case len(e.gpus) > 0:
		return finding{}, false
	case e.wantsGPU() && len(e.gpuNodes()) > 0:
		return unknown("make nvidia-smi work", "nvidia-smi does not describe the GPU"), true
	}
	return notApplicable("no GPU"), true
}

func checkGPUs(_ context.Context, e *exam) finding {
	if f, none := e.noGPU(); none {
		return f
	}
	visible := e.getenv("CUDA_VISIBLE_DEVICES")
	if n, err := strconv.Atoi(strings.TrimPrefix(e.Device, "cuda:")); err == nil && visible == "" && n >= len(e.gpus) {
		return problem(true, "choose another with device=cuda:N; nvidia-smi -L lists them", "device=%s, and the last one is cuda:%d", e.Device, len(e.gpus)-1)
	}
	if len(e.gpus) == 1 {
		return ok("one")
	}
	var names []string
	for _, g := range e.gpus {
		names = append(names, g.name)
	}
	slices.Sort(names)
	kinds := slices.Compact(names)
	if visible != "" {
		return ok("%d, CUDA_VISIBLE_DEVICES=%s", len(e.gpus), visible)
	}
	if len(kinds) > 1 {
		return warning("choose with CUDA_VISIBLE_DEVICES so that every run uses the same kind", "%d of different kinds: %s", len(e.gpus), strings.Join(kinds, ", "))
	}
	return warning("set CUDA_VISIBLE_DEVICES if the workload needs one: ncu serializes runs on all of them", "%d x %s, CUDA_VISIBLE_DEVICES is not set", len(e.gpus), kinds[0])
}

func checkMIG(_ context.Context, e *exam) finding {
	if f, none := e.noGPU(); none {
		return f
	}
	var on []string
	for _, g := range e.gpus {
		if g.mig == "Enabled" {
			on = append(on, g.index)
		}
	}
	if len(on) > 0 {
		return warning("set clock_control: none, profile one instance chosen by CUDA_VISIBLE_DEVICES=MIG-..., and compare only within it; or switch MIG off (nvidia-smi -mig 0)", "on for GPU %s: clocks cannot be locked and counters of shared units are unavailable", strings.Join(on, ", "))
	}
	return ok("off or not supported")
}

func checkUse(_ context.Context, e *exam) finding {
	if f, none := e.noGPU(); none {
		return f
	}
	for _, g := range e.gpus {
		if g.computeMode == "Prohibited" {
			return problem(e.wantsGPU(), "nvidia-smi -c DEFAULT", "GPU %s is in compute mode Prohibited", g.index)
		}
	}
	if e.appsErr != nil {
		return unknown("run nvidia-smi by hand", "%v", e.appsErr)
	}
	apps := 0
	first := ""
	for line := range strings.Lines(e.apps) {
		if line = strings.TrimSpace(line); line != "" {
			apps++
			first = or(first, line)
		}
	}
	if apps > 0 {
		return warning("stop them, or wait: times and counters are shared with them", "%d other processes use the GPU, first %s", apps, first)
	}
	return ok("no other process uses it")
}

func checkClocks(_ context.Context, e *exam) finding {
	if f, none := e.noGPU(); none {
		return f
	}
	var slow, seen []string
	known := true
	for _, g := range e.gpus {
		seen = append(seen, fmt.Sprintf("GPU %s %s of %s, %s C", g.index, g.smClock, g.maxClock, g.temperature))
		known = known && g.throttleKnown
		for _, why := range chips.Throttled(g.throttle) {
			slow = append(slow, fmt.Sprintf("GPU %s: %s", g.index, why))
		}
	}
	switch {
	case len(slow) > 0:
		return warning("let the GPU cool, check power supply and fans, then measure again", "%s (%s)", strings.Join(slow, ", "), strings.Join(seen, "; "))
	case !known:
		return unknown("", "nvidia-smi does not tell why clocks are reduced (%s)", strings.Join(seen, "; "))
	}
	return ok("%s", strings.Join(seen, "; "))
}
