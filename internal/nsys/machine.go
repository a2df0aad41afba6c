package nsys

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/timeline"
)

var overheadLayout = layout{
	table: "PROFILER_OVERHEAD",
	need:  []string{"start", "end"},
	want:  []string{"globalTid", "nameId"},
	known: []string{"returnValue"},
}

// overhead reads the time, in ns, that the profiler itself took in threads of the program.
func (b *builder) overhead(ctx context.Context) error {
	b.f.noteUnknown(overheadLayout)
	_, err := scanTable(ctx, b.f, overheadLayout, 1, func(_ *struct{}, r row) bool {
		if !r.timed() {
			return false
		}
		b.t.Overhead = append(b.t.Overhead, timeline.Overhead{
			Start: r.int(0), End: r.int(1), Thread: b.thread(r.int(2)), Name: b.string(r.stringID(3)),
		})
		return true
	})
	return err
}

// machine reads what the capture says about itself and the machine.
// A table that the file lacks leaves its fields zero and is no error.
func (b *builder) machine(ctx context.Context) error {
	for _, read := range []func(context.Context) error{
		b.gpus, b.system, b.meta, b.diagnostics, b.session,
	} {
		if err := read(ctx); err != nil {
			return err
		}
	}
	return nil
}

var gpuLayout = layout{
	table: "TARGET_INFO_GPU",
	need:  []string{"id"},
	want: []string{
		"name", "chipName", "uuid", "busLocation", "smCount", "totalMemory", "memoryBandwidth", "clockRate",
		"l2CacheSize", "computeMajor", "computeMinor", "cuDevice",
	},
}

// gpus: memory in bytes, bandwidth in bytes/s, clock in Hz; 0 is absent in each.
func (b *builder) gpus(ctx context.Context) error {
	_, err := scanTable(ctx, b.f, gpuLayout, 1, func(_ *struct{}, r row) bool {
		g := timeline.GPU{
			ID: int(r.int(0)), Name: r.text(1), Chip: r.text(2), UUID: r.text(3), Bus: r.text(4),
			SMs: int(b.possible(r, 5, 1, 1<<16)), MemoryBytes: b.possible(r, 6, 0, 1<<50), MemoryBandwidth: b.possible(r, 7, 0, 1<<50),
			ClockHz: b.possible(r, 8, 1, 1e11), L2Bytes: b.possible(r, 9, 0, 1<<40),
			ComputeMajor: int(b.possible(r, 10, 1, 1000)), CUDADevice: int(r.int(12)),
		}
		if g.ComputeMajor > 0 {
			g.ComputeMinor = int(b.possible(r, 11, 0, 1000))
		}
		b.t.GPUs = append(b.t.GPUs, g)
		return true
	})
	return err
}

// possible is column i of a GPU where it lies between the least and the most
// that any GPU can have. Otherwise it is 0, which stands for absent, with a
// warning. Where least is 0, the exporter writes 0 for what it does not know.
func (b *builder) possible(r row, i int, least, most int64) int64 {
	v := r.int(i)
	if r.null(i) || v >= least && v <= most {
		return v
	}
	column := slices.Concat(gpuLayout.need, gpuLayout.want)[i]
	b.f.warn(timeline.CodeGPUImpossible, fact.Name("table", gpuLayout.table), fact.Count("gpu", r.int(0)), fact.Name("column", column), fact.Name("value", strconv.FormatInt(v, 10)))
	return 0
}

var systemLayout = layout{table: "TARGET_INFO_SYSTEM_ENV", need: []string{"name", "value"}}

// wantedFacts are the entries of TARGET_INFO_SYSTEM_ENV that describe the
// machine. The table also holds its whole environment, which is not read.
var wantedFacts = map[string]bool{
	"CpuCores": true, "CpuSpeedMhz": true, "CpuArchitecture": true, "CpuDescription": true, "Hostname": true,
	"OsDescription": true, "KernelVersion": true, "SoftwareReleaseVersion": true, "HardwarePlatform": true,
	"NvDriverVersion": true, "CudaDriverVersion": true, "LinuxParanoidLevel": true,
}

// system keeps the first value of each name.
func (b *builder) system(ctx context.Context) error {
	seen := map[string]bool{}
	_, err := scanTable(ctx, b.f, systemLayout, 1, func(_ *struct{}, r row) bool {
		if name := r.text(0); wantedFacts[name] && !seen[name] {
			seen[name] = true
			b.t.System = append(b.t.System, timeline.Property{Name: name, Value: r.text(1)})
		}
		return true
	})
	return err
}

var captureLayout = layout{table: "META_DATA_CAPTURE", need: []string{"name", "value"}}

// meta reads how the capture was made. Of the environment of the workload, which
// the same table holds, it takes the place in a job alone.
func (b *builder) meta(ctx context.Context) error {
	command := map[string]string{}
	_, err := scanTable(ctx, b.f, captureLayout, 1, func(_ *struct{}, r row) bool {
		name := r.text(0)
		if strings.Contains(name, "ENVIRONMENT") {
			if variable, value, _ := strings.Cut(r.text(1), "="); timeline.IsRankVariable(variable) {
				b.t.Launcher = append(b.t.Launcher, timeline.Property{Name: variable, Value: strings.Trim(value, `"`)})
			}
			return true
		}
		value := r.text(1)
		if rest, ok := strings.CutPrefix(name, "PROCESS_0:"); ok && (rest == "COMMAND" || strings.HasPrefix(rest, "ARGUMENT_")) {
			command[rest] = value
			return true
		}
		b.t.Capture = append(b.t.Capture, timeline.Property{Name: name, Value: value})
		return true
	})
	b.t.Source.Command = commandLine(command)
	return err
}

var diagnosticLayout = layout{
	table: "DIAGNOSTIC_EVENT",
	need:  []string{"text"},
	want:  []string{"timestamp", "severity", "source"},
	known: []string{"timestampType", "globalPid"},
}

// severityWarning and above become warnings of the answer; below are remarks.
const severityWarning = 2

// The words are the vendor's and are passed on as such, never looked into.
// They stay in the order of the file.
func (b *builder) diagnostics(ctx context.Context) error {
	b.f.noteUnknown(diagnosticLayout)
	_, err := scanTable(ctx, b.f, diagnosticLayout, 1, func(_ *struct{}, r row) bool {
		b.t.Diagnostics = append(b.t.Diagnostics, timeline.Diagnostic{
			Text: r.text(0), Time: r.int(1), Severity: int(r.int(2)), Source: int(r.int(3)),
		})
		if r.int(2) >= severityWarning {
			b.f.warn(timeline.CodeProfilerSays, fact.Vendor("text", strings.TrimSpace(r.text(0))))
		}
		return true
	})
	return err
}

var (
	detailLayout = layout{table: "ANALYSIS_DETAILS", need: []string{"duration"}}
	startLayout  = layout{table: "TARGET_INFO_SESSION_START_TIME", want: []string{"utcTime", "utcEpochNs", "systemClockNs"}}
)

// session: DurationNS is the longest of the rows, 0 if unknown; StartUTC is a text as
// nsys writes it. EpochNS and ClockNS are 0 if the file lacks their columns.
func (b *builder) session(ctx context.Context) error {
	_, err := scanTable(ctx, b.f, detailLayout, 1, func(_ *struct{}, r row) bool {
		b.t.Session.DurationNS = max(b.t.Session.DurationNS, r.int(0))
		return true
	})
	if err != nil {
		return err
	}
	_, err = scanTable(ctx, b.f, startLayout, 1, func(_ *struct{}, r row) bool {
		if b.t.Session.StartUTC == "" {
			b.t.Session.StartUTC, b.t.Session.EpochNS, b.t.Session.ClockNS = r.text(0), r.int(1), r.int(2)
		}
		return true
	})
	return err
}
