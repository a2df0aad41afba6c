package analysis

import (
	"fmt"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/workload"
)

// What Stage.NsysMS was measured by.
const (
	clockOfWorkload = "workload"
	clockOfRange    = "range"
)

const (
	// clearSpreads is how many standard deviations of the clean times a
	// difference must have to be one.
	clearSpreads = 2
	// wideSpread is the standard deviation, as a share of the mean, from which
	// clean times say nothing of an overhead.
	wideSpread = 0.25
	// clearlySlower is how much slower than the profiled run a clean one must be
	// for it to be told.
	clearlySlower = 0.05
)

// Noise begins the reason of an overhead that is lost in the spread of the times.
const Noise = "within the noise"

// overheadOf is how much longer a pass took under nsys than clean, or why that
// cannot be told. No profiler makes a program faster.
func overheadOf(clean workload.Distribution, nsys float64) (*float64, string) {
	mean, std := *clean.Mean, or0(clean.Std)
	over := nsys/mean - 1
	switch {
	case mean-nsys > clearSpreads*std && -over > clearlySlower:
		return nil, fmt.Sprintf("not told: it took less time under nsys (%.3g ms) than clean (%s), which no profiler brings about", nsys, spread(mean, std))
	case over < 0:
		return nil, Noise + ": it took no longer under nsys than clean (" + spread(mean, std) + ")"
	case std > wideSpread*mean:
		return nil, Noise + ": its clean times differ too much (" + spread(mean, std) + ")"
	case nsys-mean < clearSpreads*std:
		return nil, fmt.Sprintf(Noise+": it took %+.1f %% under nsys, and its clean times differ by as much (%s)", over*100, spread(mean, std))
	}
	return &over, ""
}

func spread(mean, std float64) string {
	if std == 0 {
		return fmt.Sprintf("%.3g ms", mean)
	}
	return fmt.Sprintf("%.3g ms \u00b1 %.2g ms", mean, std)
}

// tellOverhead compares the clean run with that under nsys.
func (a *analyzer) tellOverhead() {
	a.res.Method.OverheadLimit = a.th.Overhead
	for i := range a.res.Stages {
		s := &a.res.Stages[i]
		if busy := float64(s.Split.BusyNS) / float64(max(1, s.Passes)) / 1e6; s.CleanMS != nil && a.alike() && *s.CleanMS < shortest*busy && !a.overlap(s) {
			a.warn("clean-short-"+s.Name, "check that both runs do the same", "a clean pass of %s took %.3g ms, but its kernels run for %.3g ms under nsys: the two do not do the same, and savings are held against the time under nsys", s.Name, *s.CleanMS, busy)
		}
		if s.Overhead == nil && s.OverheadWhy == "" {
			continue
		}
		times := fmt.Sprintf("%s clean, %.3f ms under nsys: ", cleanText(s), *s.NsysMS)
		if s.Overhead == nil {
			short, _, _ := strings.Cut(s.OverheadWhy, ":")
			a.res.Method.Overhead = append(a.res.Method.Overhead, Fact{s.Name, times + short})
			a.tellNoise(s)
			continue
		}
		a.res.Method.Overhead = append(a.res.Method.Overhead, Fact{s.Name, times + fmt.Sprintf("%+.1f %%", *s.Overhead*100)})
		if *s.Overhead > a.th.Overhead {
			a.warn("overhead-"+s.Name, a.lighter(s), "%s took %.0f %% longer under nsys than clean: gaps in the timeline are larger than in the clean run", s.Name, *s.Overhead*100)
		}
	}
}

// lighter says which preset slows a stage less, or that none does.
func (a *analyzer) lighter(s *Stage) string {
	const clean = "go by the clean times"
	costs := a.in.capture.costs()
	switch {
	case s.GraphKernels > 0:
		return "use pipeline/nsys=light, which traces CUDA graphs as a whole, and " + clean
	case slices.ContainsFunc(a.res.Stages, func(x Stage) bool { return x.GraphKernels > 0 && x.Overhead != nil && *x.Overhead > a.th.Overhead }):
		return clean // the advice is on the other stage
	case len(costs) > 0:
		return "use pipeline/nsys=default, which does without " + listWords(costs) + ", and " + clean
	case a.in.capture.Graphs == "graph":
		return clean + ": no preset is lighter than this, which is that of pipeline/nsys=light"
	}
	return clean + ": no preset is lighter, as pipeline/nsys=light differs for CUDA graphs alone"
}

// A nsysCapture is what a run asked nsys for.
type nsysCapture struct {
	Trace   texts
	Sample  string
	Context string `yaml:"cpuctxsw"`
	Graphs  string `yaml:"cuda_graph_trace"`
	Args    texts  `yaml:"extra_args"`
}

// costlyArgs begin the further arguments of nsys that slow a program.
var costlyArgs = []string{"--cuda-memory-usage", "--cuda-um-", "--cudabacktrace", "--backtrace", "--gpu-metrics", "--python-", "--pytorch", "--event-sample"}

// costs is what it has beside that of the default preset and slows a program.
func (c *nsysCapture) costs() (out []string) {
	for _, t := range c.Trace {
		if t != "cuda" && t != "nvtx" && t != "none" {
			out = append(out, "trace "+t)
		}
	}
	if c.Sample != "" && c.Sample != "none" {
		out = append(out, "CPU sampling")
	}
	if c.Context != "" && c.Context != "none" {
		out = append(out, "context switches")
	}
	for _, arg := range c.Args {
		name, value, _ := strings.Cut(arg, "=")
		if value != "false" && value != "none" && slices.ContainsFunc(costlyArgs, func(p string) bool { return strings.HasPrefix(name, p) }) {
			out = append(out, name)
		}
	}
	return out
}

func cleanText(s *Stage) string {
	if std := or0(s.CleanStdMS); std > 0 {
		return fmt.Sprintf("%.3f ms \u00b1 %.3f ms", *s.CleanMS, std)
	}
	return fmt.Sprintf("%.3f ms", *s.CleanMS)
}

// tellNoise warns of clean times that cannot be trusted as they are.
func (a *analyzer) tellNoise(s *Stage) {
	const next = "repeat on a quiet machine, with more passes (infer.repeats)"
	less := 1 - *s.NsysMS / *s.CleanMS
	switch std := or0(s.CleanStdMS); {
	case less > clearlySlower && *s.CleanMS-*s.NsysMS <= clearSpreads*std:
		a.warn("clean-slower-"+s.Name, next, "the mean of the clean times of %s (%s) lies above the time under nsys (%.3g ms), which took %.0f %% less: they differ from pass to pass, and what rests on their mean, such as MFU and MBU, may look worse than it is",
			s.Name, spread(*s.CleanMS, std), *s.NsysMS, less*100)
	case less > clearlySlower:
		a.warn("clean-slower-"+s.Name, next, "the clean run of %s was slower than the profiled one, which took %.0f %% less time (%s clean, %.3g ms under nsys): the host was disturbed, and what rests on the clean time, such as MFU and MBU, looks worse than it is",
			s.Name, less*100, spread(*s.CleanMS, std), *s.NsysMS)
	case std > wideSpread**s.CleanMS:
		a.warn("clean-spread-"+s.Name, next, "the clean times of %s differ too much from pass to pass (%s) for the overhead of nsys to be told, and what rests on their mean is as uncertain", s.Name, spread(*s.CleanMS, std))
	}
}
