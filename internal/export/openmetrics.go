package export

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/deepprof/deepprof/internal/analysis"
)

// A family is one metric with its samples. All are gauges: a result is a state,
// not a count that goes on.
type family struct {
	name, unit, help string // a name ends in its unit, as OpenMetrics demands; "" for plain counts
	// samples of one family differ in their labels, but for rows that are added up.
	samples []sample
}

// A sample is one value of a family.
type sample struct {
	labels []label
	// value is in the unit of the family; never NaN.
	value float64
}

// A label without a value is left out.
type label struct{ name, value string }

// add: value is in the unit of the family; labels without a value are left out.
func (f *family) add(value float64, labels ...label) {
	f.samples = append(f.samples, sample{labels, value})
}

// The order of families and samples is fixed, so equal results give equal text.
// It returns no notes: what is missing has no sample.
func writeOpenMetrics(ctx context.Context, s *Source, w io.Writer) ([]string, error) {
	result, err := s.Result(ctx)
	if err != nil {
		return nil, err
	}
	for _, families := range []func(*analysis.Result) []family{runFamilies, stageFamilies, regionFamilies, kernelFamilies, rankFamilies, requestFamilies, stepFamilies, sampledFamilies} {
		for _, f := range families(result) {
			if err := f.write(w, clean(s.Run)); err != nil {
				return nil, err
			}
		}
	}
	_, err = io.WriteString(w, "# EOF\n")
	return nil, err
}

// write prints a family; one without samples is left out. Samples of the same labels are added
// up: they are rows that differ in what has no label, such as the process.
func (f *family) write(w io.Writer, run string) error {
	if len(f.samples) == 0 {
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s gauge\n", f.name, f.help, f.name)
	if f.unit != "" {
		fmt.Fprintf(&b, "# UNIT %s %s\n", f.name, f.unit)
	}
	sums, order := map[string]float64{}, []string(nil)
	for _, x := range f.samples {
		line := f.name + labels(append([]label{{"run", run}}, x.labels...))
		if _, ok := sums[line]; !ok {
			order = append(order, line)
		}
		sums[line] += x.value
	}
	for _, line := range order {
		fmt.Fprintf(&b, "%s %s\n", line, strconv.FormatFloat(sums[line], 'g', -1, 64))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// labelEscapes are those that OpenMetrics asks for within quotes.
var labelEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// Names of labels are constants here; only values need escaping.
// A label without a value is left out, as OpenMetrics takes both for the same.
func labels(list []label) string {
	parts := make([]string, 0, len(list))
	for _, l := range list {
		if l.value != "" {
			parts = append(parts, l.name+`="`+labelEscapes.Replace(clean(l.value))+`"`)
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// runFamilies: without a timeline there is only the line of what was captured.
func runFamilies(r *analysis.Result) []family {
	info := family{name: "deepprof_run_info", help: "What was captured; the value is always 1."}
	names := make([]string, len(r.Environment.GPUs))
	for i, g := range r.Environment.GPUs {
		names[i] = g.Name
	}
	model := ""
	if r.Workload.Model != nil {
		model = r.Workload.Model.Name
	}
	about := []label{{"deepprof", r.Version}, {"gpus", strings.Join(names, ", ")}, {"driver", r.Environment.Driver}, {"cuda", r.Environment.CUDA}, {"model", model}}
	eachRank(r, func(_ int, p *analysis.Part) {
		if p.Details && p.Of.Rank != nil {
			about = append(about, rankLabels(p.Of)...)
		}
	})
	info.add(1, about...)
	if r.Totals.WallNS == 0 {
		return []family{info}
	}
	wall := family{name: "deepprof_wall_seconds", unit: "seconds", help: "From the first to the last event of the timeline."}
	wall.add(seconds(r.Totals.WallNS))
	busy := family{name: "deepprof_gpu_busy_seconds", unit: "seconds", help: "Time in which a GPU ran anything."}
	launches := family{name: "deepprof_gpu_launches", help: "Kernels that a GPU ran."}
	for _, d := range r.Totals.Devices {
		busy.add(seconds(d.BusyNS), label{"device", strconv.Itoa(d.Device)})
		launches.add(float64(d.Launches), label{"device", strconv.Itoa(d.Device)})
	}
	return []family{info, wall, busy, launches}
}

// stageFamilies: times are seconds of one pass, launches those of all passes. A value
// that was not measured has no sample.
func stageFamilies(r *analysis.Result) []family {
	times := family{name: "deepprof_stage_seconds", unit: "seconds", help: "Mean time of a pass of a stage: in the unprofiled run, or under Nsight Systems."}
	busy := family{name: "deepprof_stage_busy_ratio", unit: "ratio", help: "Share of the time under Nsight Systems in which the GPU ran work of the stage."}
	launches := family{name: "deepprof_stage_launches", help: "Kernels that all passes of a stage launched."}
	tokens := family{name: "deepprof_stage_tokens_per_second", help: "Tokens per second of the unprofiled run."}
	mfu := family{name: "deepprof_stage_mfu_ratio", unit: "ratio", help: "FLOPs of the model over the peak of the GPU."}
	hfu := family{name: "deepprof_stage_hfu_ratio", unit: "ratio", help: "FLOPs that were executed over the peak of the GPU."}
	mbu := family{name: "deepprof_stage_mbu_ratio", unit: "ratio", help: "Bytes moved over the peak of the memory."}
	for _, st := range r.Stages {
		stage := label{"stage", st.Name}
		for _, t := range []struct {
			ms    *float64
			times string
		}{{st.CleanMS, "unprofiled"}, {st.NsysMS, "nsys"}} {
			if t.ms != nil {
				times.add(*t.ms/1e3, stage, label{"times", t.times})
			}
		}
		if st.Split.BusyShare != nil {
			busy.add(*st.Split.BusyShare, stage)
			launches.add(float64(st.Kernels), stage)
		}
		if st.TokensPS != nil {
			tokens.add(*st.TokensPS, stage)
		}
		for _, u := range []struct {
			to   *family
			list []analysis.Utilization
		}{{&mfu, st.MFU}, {&hfu, st.HFU}, {&mbu, st.MBU}} {
			for _, x := range u.list {
				if x.Value != nil {
					u.to.add(*x.Value, stage, label{"method", x.Method})
				}
			}
		}
	}
	return []family{times, busy, launches, tokens, mfu, hfu, mbu}
}

// Regions nest, so sums over them count work more than once.
func regionFamilies(r *analysis.Result) []family {
	gpu := family{name: "deepprof_region_gpu_seconds", unit: "seconds", help: "GPU time of the kernels that a region launched, with nested regions."}
	launches := family{name: "deepprof_region_launches", help: "Kernels that a region launched, with nested regions."}
	for _, g := range r.Regions {
		of := []label{{"region", g.Path}, {"domain", g.Domain}, {"style", g.Style}}
		gpu.add(seconds(g.KernelNS), of...)
		launches.add(float64(g.Kernels), of...)
	}
	return []family{gpu, launches}
}

// Kernels that were only counted have no time of a timeline and are left out.
func kernelFamilies(r *analysis.Result) []family {
	gpu := family{name: "deepprof_kernel_gpu_seconds", unit: "seconds", help: "GPU time of all launches of a kernel with the same grid and block."}
	launches := family{name: "deepprof_kernel_launches", help: "Launches of a kernel with the same grid and block."}
	for i := range r.Kernels {
		k := &r.Kernels[i]
		if k.Untimed {
			continue
		}
		of := []label{{"kernel_id", k.ID}, {"kernel", k.Short}, {"category", k.Category}, {"limiter", k.Limiter.Kind}}
		gpu.add(seconds(k.TotalNS), of...)
		launches.add(float64(k.Calls), of...)
	}
	return []family{gpu, launches}
}

// seconds is the base unit of OpenMetrics for times.
// Above 2^53 ns, 104 days, the last digits are lost.
func seconds(ns int64) float64 { return float64(ns) / 1e9 }
