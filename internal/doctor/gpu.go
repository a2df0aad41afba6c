package doctor

import (
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/deepprof/deepprof/internal/fact"
	chips "github.com/deepprof/deepprof/internal/gpu"
	"github.com/deepprof/deepprof/internal/tool"
)

// A gpu is one line of nvidia-smi's answer to query.
// Texts are as nvidia-smi prints them, "[N/A]" too. index is its own number of the GPU; that of
// CUDA may differ. temperature is in degrees Celsius.
type gpu struct {
	index, name, driver, computeMode, mig string
	smClock, maxClock                     string // with their unit, as nvidia-smi prints them
	throttle                              uint64 // bits of clocks_throttle_reasons.active
	throttleKnown                         bool
	temperature                           string
}

// query asks with the names that drivers from 450 to 580 know.
const query = "index,name,driver_version,compute_mode,mig.mode.current,clocks.current.sm,clocks.max.sm,clocks_throttle_reasons.active,temperature.gpu"

// cudaVersion is the newest CUDA that the driver can run, in what nvidia-smi prints.
var cudaVersion = regexp.MustCompile(`CUDA Version\s*:\s*(\d+\.\d+)`)

// askSMI fills in what nvidia-smi tells.
// Its three questions run side by side. Without nvidia-smi all fields stay zero.
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

// GPUs that were read before a line that cannot be come back with the error.
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
// A part that is not there is 0.
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

// nvrm finds the version of the kernel module in /proc/driver/nvidia/version.
var nvrm = regexp.MustCompile(`(?m)^NVRM version:.*?\s(\d+\.\d+(?:\.\d+)?)\s`)

// It also notes the version of the driver, which later checks use.
func checkGPU(_ context.Context, e *exam) finding {
	devices := e.gpuNodes()
	text, err := e.read("/proc/driver/nvidia/version")
	module := err == nil
	if m := nvrm.FindStringSubmatch(text); m != nil {
		e.driver = dotted(m[1])
	}
	if len(e.gpus) > 0 {
		e.driver = dotted(e.gpus[0].driver)
		names := e.gpuNames()
		return ok(gpuFound, fact.Count("n", len(e.gpus)), fact.Names("names", fact.KindName, slices.Compact(names)))
	}
	if !e.wantsGPU() {
		return unwanted("gpu")
	}
	return e.withoutGPU(module, len(devices))
}

// gpuNames has a name for each GPU, in the order of nvidia-smi, equal ones too.
func (e *exam) gpuNames() []string {
	var names []string
	for _, g := range e.gpus {
		names = append(names, g.name)
	}
	return names
}

// withoutGPU says why nvidia-smi describes none, by the signs of the system:
// whether the kernel module is loaded, and how many device nodes there are.
// It is asked only where a GPU is wanted. The order matters: what nvidia-smi printed is more
// exact than the signs of the system.
func (e *exam) withoutGPU(module bool, nodes int) finding {
	printed := ""
	var failed *failedError
	if errors.As(e.gpusErr, &failed) {
		printed = failed.printed
	}
	switch {
	case strings.Contains(printed, "Driver/library version mismatch"):
		return problem(true, gpuMismatch, fact.Error("error", e.gpusErr))
	case strings.Contains(printed, "No devices were found"):
		return problem(true, gpuGone, fact.Error("error", e.gpusErr))
	case !module && nodes == 0 && e.contained != "":
		return problem(true, gpuNotPassed, fact.Name("kind", e.contained))
	case !module && e.exists("/dev/dxg"):
		return problem(true, gpuWSL)
	case !module && nodes == 0:
		return problem(true, gpuNone)
	case module && nodes == 0:
		return problem(true, gpuNoNodes)
	case e.gpusErr != nil:
		return problem(true, gpuUnasked, fact.Error("error", e.gpusErr))
	}
	return unknown(gpuUnsure, fact.Count("n", nodes))
}

// minDriver is the oldest driver branch that carries a CUDA major version.
// A major version that is not listed reads as 0, which every driver passes.
var minDriver = map[int]int{11: 450, 12: 525, 13: 580}

// A driver runs programs of its own CUDA major version and older ones; within a major
// version a newer minor one works with limits.
// It comes after checkGPU, which notes the version of the driver.
func checkDriver(_ context.Context, e *exam) finding {
	if !e.wantsGPU() {
		return unwanted("gpu")
	}
	if e.driver.IsZero() {
		if len(e.gpus) == 0 && !e.exists("/proc/driver/nvidia/version") {
			return absent("driver")
		}
		return unknown(driverUnread)
	}
	seen := []fact.Param{fact.Name("driver", short(e.driver))}
	if e.cudaOfDriver != "" {
		seen = append(seen, fact.Name("cuda", e.cudaOfDriver))
	}
	if e.modules != nil && e.modules.TorchCUDA != "" {
		torch, most := dotted(e.modules.TorchCUDA), dotted(e.cudaOfDriver)
		seen = append(seen, fact.Name("torch", e.modules.TorchCUDA))
		switch {
		case most.IsZero() && minDriver[torch.Major] > e.driver.Major,
			!most.IsZero() && torch.Major > most.Major:
			return problem(e.Torch, driverOld, append(seen, fact.Name("need", strconv.Itoa(minDriver[torch.Major])), fact.Name("most", strconv.Itoa(max(most.Major, 11))))...)
		case !most.IsZero() && torch.Major == most.Major && torch.Minor > most.Minor:
			return warning(driverMinor, seen...)
		}
	}
	if e.ncu.Version.AtLeast(2025, 3) && e.driver.Major <= 570 {
		return problem(e.Counters, driverNcu, append(seen, fact.Name("ncu", e.ncu.Version.String()))...)
	}
	return ok(driverFits, seen...)
}

// short prints a driver as NVIDIA writes it: 580.159.04, 470.57.
func short(v tool.Version) string {
	if v.Patch == 0 {
		return fmt.Sprintf("%d.%02d", v.Major, v.Minor)
	}
	return fmt.Sprintf("%d.%d.%02d", v.Major, v.Minor, v.Patch)
}

// ofGPU makes a check of what nvidia-smi describes: without that, there is nothing to look
// at.
func ofGPU(look func(*exam) finding) func(context.Context, *exam) finding {
	return func(_ context.Context, e *exam) finding {
		switch {
		case len(e.gpus) > 0:
			return look(e)
		case e.wantsGPU() && len(e.gpuNodes()) > 0:
			return unknown(smiSilent)
		}
		return absent("gpu")
	}
}

// Several GPUs are a warning unless the user chose some: numbers differ between kinds.
func checkGPUs(e *exam) finding {
	visible := e.getenv("CUDA_VISIBLE_DEVICES")
	if n, err := strconv.Atoi(strings.TrimPrefix(e.Device, "cuda:")); err == nil && visible == "" && n >= len(e.gpus) {
		return problem(true, deviceAbsent, fact.Name("device", e.Device), fact.Name("last", fmt.Sprintf("cuda:%d", len(e.gpus)-1)))
	}
	if len(e.gpus) == 1 {
		return ok(oneGPU)
	}
	kinds := e.gpuNames()
	slices.Sort(kinds)
	kinds = slices.Compact(kinds)
	n := fact.Count("n", len(e.gpus))
	if visible != "" {
		return ok(gpusChosen, n, fact.Name("visible", visible))
	}
	if len(kinds) > 1 {
		return warning(gpusMixed, n, fact.Names("names", fact.KindName, kinds))
	}
	return warning(gpusSeveral, n, fact.Name("name", kinds[0]))
}

// checkMIG warns of GPUs that are cut into instances: their clocks cannot be locked, and
// counters of units that instances share are unavailable.
func checkMIG(e *exam) finding {
	var on []string
	for _, g := range e.gpus {
		if g.mig == "Enabled" {
			on = append(on, g.index)
		}
	}
	if len(on) > 0 {
		return warning(migOn, fact.Names("gpus", fact.KindName, on))
	}
	return ok(migOff)
}

// checkUse looks for other programs on the GPU, whose kernels share its time and its
// clocks. A GPU whose compute mode forbids every program is a blocker.
func checkUse(e *exam) finding {
	for _, g := range e.gpus {
		if g.computeMode == "Prohibited" {
			return problem(e.wantsGPU(), gpuProhibited, fact.Name("gpu", g.index))
		}
	}
	if e.appsErr != nil {
		return unknown(useUnknown, fact.Error("error", e.appsErr))
	}
	apps := 0
	first := ""
	for line := range strings.Lines(e.apps) {
		if line = strings.TrimSpace(line); line != "" {
			apps++
			first = cmp.Or(first, line)
		}
	}
	if apps > 0 {
		return warning(gpuShared, fact.Count("n", apps), fact.Vendor("first", first))
	}
	return ok(gpuFree)
}

// checkClocks looks for reasons that hold the clocks down now. They may pass before
// the run starts, so that they are a warning; the run samples them again.
func checkClocks(e *exam) finding {
	var slow, seen []fact.Fact
	known := true
	for _, g := range e.gpus {
		seen = append(seen, fact.New(clockOf, fact.Name("gpu", g.index), fact.Vendor("clock", g.smClock), fact.Vendor("most", g.maxClock), fact.Vendor("temperature", g.temperature)))
		known = known && g.throttleKnown
		for _, why := range chips.Throttled(g.throttle) {
			slow = append(slow, fact.New(throttledGPU, fact.Name("gpu", g.index), fact.Name("why", why)))
		}
	}
	switch {
	case len(slow) > 0:
		return warning(throttled, fact.Because("why", slow...), fact.Because("seen", seen...))
	case !known:
		return unknown(clocksUntold, fact.Because("seen", seen...))
	}
	return ok(clocksAre, fact.Because("seen", seen...))
}
