package export

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/load"
)

// families are the metrics in the order of the text. All are gauges: a result is a state, not
// a count that goes on. A name that ends in seconds, ratio or bytes has that unit, as OpenMetrics
// demands; others are plain counts and rates.
var families = []struct{ name, help string }{
	{name: "deepprof_run_info", help: "What was captured; the value is always 1."},
	{name: "deepprof_wall_seconds", help: "From the first to the last event of the timeline."},
	{name: "deepprof_gpu_busy_seconds", help: "Time in which a GPU ran anything."},
	{name: "deepprof_gpu_launches", help: "Kernels that a GPU ran."},

	{name: "deepprof_stage_seconds", help: "Mean time of a pass of a stage: in the unprofiled run, or under Nsight Systems."},
	{name: "deepprof_stage_busy_ratio", help: "Share of the time under Nsight Systems in which the GPU ran work of the stage."},
	{name: "deepprof_stage_launches", help: "Kernels that all passes of a stage launched."},
	{name: "deepprof_stage_tokens_per_second", help: "Tokens per second of the unprofiled run."},
	{name: "deepprof_stage_mfu_ratio", help: "FLOPs of the model over the peak of the GPU."},
	{name: "deepprof_stage_hfu_ratio", help: "FLOPs that were executed over the peak of the GPU."},
	{name: "deepprof_stage_mbu_ratio", help: "Bytes moved over the peak of the memory."},

	{name: "deepprof_region_gpu_seconds", help: "GPU time of the kernels that a region launched, with nested regions."},
	{name: "deepprof_region_launches", help: "Kernels that a region launched, with nested regions."},
	{name: "deepprof_kernel_gpu_seconds", help: "GPU time of all launches of a kernel with the same grid and block."},
	{name: "deepprof_kernel_launches", help: "Launches of a kernel with the same grid and block."},

	{name: "deepprof_rank_wall_seconds", help: "From the first to the last event of a rank."},
	{name: "deepprof_rank_gpu_busy_seconds", help: "Time in which the GPUs of a rank ran anything."},
	{name: "deepprof_rank_communication_seconds", help: "Time in which kernels of a rank exchanged data, by union of intervals."},
	{name: "deepprof_rank_exposed_seconds", help: "The part of it in which no other kernel ran."},
	{name: "deepprof_rank_wait_seconds", help: "Time that a rank waited for the last one in matched collectives."},
	{name: "deepprof_rank_late_seconds", help: "How much later than the median of the others a rank came to collectives, in all."},
	{name: "deepprof_rank_late_collectives", help: "Matched collectives that a rank came last to."},
	{name: "deepprof_rank_stage_seconds", help: "Mean time of a pass of a stage in a rank under Nsight Systems."},

	{name: "deepprof_request_ttft_seconds", help: "From sending a request to its first token."},
	{name: "deepprof_request_tpot_seconds", help: "Time per token of a request after its first."},
	{name: "deepprof_request_itl_seconds", help: "Between two tokens that follow each other."},
	{name: "deepprof_request_e2e_seconds", help: "From sending a request to its end."},
	{name: "deepprof_request_tokens_per_second", help: "Tokens that clients received per second."},
	{name: "deepprof_request_ended_per_second", help: "Requests that ended well per second."},
	{name: "deepprof_request_good_per_second", help: "Requests that met the target of latency per second."},
	{name: "deepprof_request_errors", help: "Requests that failed in the window."},
	{name: "deepprof_kv_cache_used_ratio", help: "Used share of the key-value cache at the end of the window, by the server's own count."},
	{name: "deepprof_gpu_memory_peak_bytes", help: "Peak of GPU memory, by the server's own count."},
	{name: "deepprof_gpu_memory_used_bytes", help: "Most memory that one GPU had in use in the window, of all processes, by samples of nvidia-smi."},

	{name: "deepprof_step_seconds", help: "Time of a step of a serving engine under Nsight Systems."},
	{name: "deepprof_step_gpu_busy_seconds", help: "Time in which the GPU ran work of a step."},
	{name: "deepprof_step_gap_seconds", help: "Time between the step before and a step: the scheduler."},
	{name: "deepprof_step_count", help: "Steps in all profiled windows."},
	{name: "deepprof_step_time_ratio", help: "Share of the time of all steps and gaps."},
	{name: "deepprof_step_mfu_ratio", help: "FLOPs of the model over the peak of the GPU; with bound=at_least a lower bound."},
	{name: "deepprof_step_mbu_ratio", help: "Bytes of the model over the peak of the memory; with bound=at_least a lower bound."},
	{name: "deepprof_next_token_seconds", help: "What the mean time from one step that decodes to the next goes to."},

	{name: "deepprof_sampled_ratio", help: "Mean of a counter that Nsight Systems sampled, of what the unit can do."},
	{name: "deepprof_sampled_error_ratio", help: "Its standard error, and what rounding of readings to whole percents can hide."},
	{name: "deepprof_sampled_readings", help: "Readings that the mean is made from."},
}

// metrics are the lines of each family, by the part of its name after deepprof_. Samples of a
// family differ in their labels, which a test holds.
type metrics struct {
	run   string
	lines map[string][]string
}

// A label without a value is left out.
type label struct{ name, value string }

// with is a list of labels and one more; the list stays as it is.
func with(of []label, more ...label) []label { return append(of[:len(of):len(of)], more...) }

// add notes a sample of a family: value is in its unit, and never NaN.
func (m *metrics) add(family string, value float64, labels ...label) {
	m.lines[family] = append(m.lines[family], labelText(append([]label{{"run", m.run}}, labels...))+" "+strconv.FormatFloat(value, 'g', -1, 64))
}

// addKnown is add of what may not have been measured: it has no sample then.
func (m *metrics) addKnown(family string, value *float64, labels ...label) {
	if value != nil {
		m.add(family, *value, labels...)
	}
}

// addNS is add of a time in ns. Above 2^53 ns, 104 days, the last digits are lost.
func (m *metrics) addNS(family string, ns int64, labels ...label) {
	m.add(family, float64(ns)/1e9, labels...)
}

// addQuantiles adds the median and the 99th percentile of times in ns; nothing for an empty
// summary.
func (m *metrics) addQuantiles(family string, s load.Summary, of []label) {
	if s.N > 0 {
		m.add(family, s.P50/1e9, with(of, label{"quantile", "0.5"})...)
		m.add(family, s.P99/1e9, with(of, label{"quantile", "0.99"})...)
	}
}

// addUse adds the use of a peak where it is known; a lower bound has a label that says so.
func (m *metrics) addUse(family string, u *analysis.Utilization, of []label) {
	if u == nil {
		return
	}
	bound := ""
	if u.AtLeast {
		bound = "at_least"
	}
	m.addKnown(family, u.Value, with(of, label{"bound", bound})...)
}

// The order of families and samples is fixed, so equal results give equal text.
// It returns no notes: what is missing has no sample, and a family without samples is left out.
func writeOpenMetrics(ctx context.Context, s *Source, w io.Writer) ([]string, error) {
	result, err := s.Result(ctx)
	if err != nil {
		return nil, err
	}
	m := &metrics{run: clean(s.Run), lines: map[string][]string{}}
	for _, add := range []func(*analysis.Result){m.addRun, m.addStages, m.addRegions, m.addKernels, m.addRanks, m.addRequests, m.addSteps, m.addSampled} {
		add(result)
	}
	var b strings.Builder
	for _, f := range families {
		lines := m.lines[strings.TrimPrefix(f.name, "deepprof_")]
		if len(lines) == 0 {
			continue
		}
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s gauge\n", f.name, f.help, f.name)
		switch unit := f.name[strings.LastIndexByte(f.name, '_')+1:]; unit {
		case "seconds", "ratio", "bytes":
			fmt.Fprintf(&b, "# UNIT %s %s\n", f.name, unit)
		}
		for _, line := range lines {
			b.WriteString(f.name + line + "\n")
		}
	}
	_, err = io.WriteString(w, b.String()+"# EOF\n")
	return nil, err
}

// labelEscapes are those that OpenMetrics asks for within quotes.
var labelEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// Names of labels are constants here; only values need escaping.
// A label without a value is left out, as OpenMetrics takes both for the same.
func labelText(list []label) string {
	parts := make([]string, 0, len(list))
	for _, l := range list {
		if l.value != "" {
			parts = append(parts, l.name+`="`+labelEscapes.Replace(clean(l.value))+`"`)
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// addRun: without a timeline there is only the line of what was captured.
func (m *metrics) addRun(r *analysis.Result) {
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
	m.add("run_info", 1, about...)
	if r.Totals.WallNS == 0 {
		return
	}
	m.addNS("wall_seconds", r.Totals.WallNS)
	for _, d := range r.Totals.Devices {
		m.addNS("gpu_busy_seconds", d.BusyNS, label{"device", strconv.Itoa(d.Device)})
		m.add("gpu_launches", float64(d.Launches), label{"device", strconv.Itoa(d.Device)})
	}
}

// addStages: times are seconds of one pass, launches those of all passes. A value that was not
// measured has no sample.
func (m *metrics) addStages(r *analysis.Result) {
	for _, st := range r.Stages {
		stage := label{"stage", st.Name}
		if st.CleanMS != nil {
			m.add("stage_seconds", *st.CleanMS/1e3, stage, label{"times", "unprofiled"})
		}
		if st.NsysMS != nil {
			m.add("stage_seconds", *st.NsysMS/1e3, stage, label{"times", "nsys"})
		}
		if st.Split.BusyShare != nil {
			m.add("stage_busy_ratio", *st.Split.BusyShare, stage)
			m.add("stage_launches", float64(st.Kernels), stage)
		}
		m.addKnown("stage_tokens_per_second", st.TokensPS, stage)
		for family, list := range map[string][]analysis.Utilization{"stage_mfu_ratio": st.MFU, "stage_hfu_ratio": st.HFU, "stage_mbu_ratio": st.MBU} {
			for _, u := range list {
				m.addKnown(family, u.Value, stage, label{"method", u.Method})
			}
		}
	}
}

// Regions nest, so sums over them count work more than once. Rows of one process or GPU repeat a
// part of others, and have no label that would tell them apart.
func (m *metrics) addRegions(r *analysis.Result) {
	for _, g := range r.Regions {
		if g.Process == nil && g.Device == nil {
			of := []label{{"region", g.Path}, {"domain", g.Domain}, {"style", g.Style}}
			m.addNS("region_gpu_seconds", g.KernelNS, of...)
			m.add("region_launches", float64(g.Kernels), of...)
		}
	}
}

// Kernels that were only counted have no time of a timeline and are left out.
func (m *metrics) addKernels(r *analysis.Result) {
	for i := range r.Kernels {
		if k := &r.Kernels[i]; !k.Untimed {
			of := []label{{"kernel_id", k.ID}, {"kernel", k.Short}, {"category", k.Category}, {"limiter", k.Limiter.Kind}}
			m.addNS("kernel_gpu_seconds", k.TotalNS, of...)
			m.add("kernel_launches", float64(k.Calls), of...)
		}
	}
}

// addRanks adds the numbers of each rank of a job; the other families are about the rank that
// deepprof_run_info names.
func (m *metrics) addRanks(r *analysis.Result) {
	eachRank(r, func(i int, p *analysis.Part) {
		of := rankLabels(p.Of)
		m.addNS("rank_wall_seconds", p.WallNS, of...)
		m.addNS("rank_gpu_busy_seconds", p.BusyNS, of...)
		if c := p.Communication; c != nil {
			m.addNS("rank_communication_seconds", c.NS, of...)
			m.addNS("rank_exposed_seconds", c.ExposedNS, of...)
		}
		for _, w := range r.Job.Waits {
			if w.Part == i {
				m.addNS("rank_wait_seconds", w.WaitNS, of...)
				m.addNS("rank_late_seconds", w.LateNS, of...)
				m.add("rank_late_collectives", float64(w.Late), of...)
			}
		}
		for _, s := range p.Stages {
			if s.Passes > 0 {
				m.addNS("rank_stage_seconds", s.PassNS, append([]label{{"stage", s.Stage}}, of...)...)
			}
		}
	})
}

// addRequests adds what the clients of a server saw in each window, with the window and its kind
// as labels; nothing where no client of deepprof's own drove it.
func (m *metrics) addRequests(r *analysis.Result) {
	if r.Serving == nil {
		return
	}
	for i := range r.Serving.Windows {
		w := &r.Serving.Windows[i]
		of := []label{{"window", w.Name}, {"kind", string(w.Kind)}}
		if s := w.Stats; s != nil {
			m.addQuantiles("request_ttft_seconds", s.TTFT, of)
			m.addQuantiles("request_tpot_seconds", s.TPOT, of)
			m.addQuantiles("request_itl_seconds", s.ITL, of)
			m.addQuantiles("request_e2e_seconds", s.EndToEnd, of)
			m.add("request_tokens_per_second", s.TokensPerSecond, of...)
			m.add("request_ended_per_second", s.RequestsPerSec, of...)
			m.add("request_errors", float64(s.Errors), of...)
			m.addKnown("request_good_per_second", s.GoodPerSecond, of...)
		}
		m.addKnown("kv_cache_used_ratio", w.CacheUse, of...)
		m.addKnown("gpu_memory_peak_bytes", w.Memory, of...)
		m.addKnown("gpu_memory_used_bytes", w.GPUMemory, of...)
	}
}

// addSteps adds the steps of a server by kind and batch size, and where the time of the next
// token goes.
func (m *metrics) addSteps(r *analysis.Result) {
	if r.Serving == nil {
		return
	}
	for i := range r.Serving.Steps {
		c := &r.Serving.Steps[i]
		of := stepLabels(c)
		m.addQuantiles("step_seconds", c.Time, of)
		m.addQuantiles("step_gpu_busy_seconds", c.Busy, of)
		m.addQuantiles("step_gap_seconds", c.Gap, of)
		m.add("step_count", float64(c.Steps), of...)
		m.add("step_time_ratio", c.Share, of...)
		m.addUse("step_mfu_ratio", c.MFU, of)
		m.addUse("step_mbu_ratio", c.MBU, of)
	}
	for _, p := range r.Serving.NextToken.Parts() {
		m.add("next_token_seconds", p.NS/1e9, label{"part", p.ID})
	}
}

// addSampled adds the means of the counters that Nsight Systems sampled, of regions and of the
// steps of a server: 0 to 1, with their error.
func (m *metrics) addSampled(r *analysis.Result) {
	eachSampled(r, func(of []label, list []analysis.Sampled) {
		for _, s := range list {
			at := with(of, label{"metric", s.Metric})
			m.add("sampled_ratio", s.Mean, at...)
			m.add("sampled_error_ratio", s.Error, at...)
			m.add("sampled_readings", float64(s.Samples), at...)
		}
	})
}
