package analysis

import (
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/workload"
)

// What Stage.NsysMS was measured by.
const (
	clockOfWorkload = "workload"
	clockOfRange    = "range"
	clockOfGPU      = "gpu"
)

const (
	// clearSpreads is how many standard deviations of the unprofiled times a
	// difference must have to be one.
	clearSpreads = 2
	// wideSpread is the standard deviation, as a share of the mean, from which
	// unprofiled times say nothing of an overhead.
	wideSpread = 0.25
	// clearlySlower is how much slower than the profiled run an unprofiled one must be
	// for it to be told.
	clearlySlower = 0.05
)

// Why the overhead of a stage is not told though both times are there. mean, std
// and nsys are the times; share the overhead.
const (
	fasterUnderNsys fact.Code = "faster-under-nsys" // no profiler makes a program faster
	NoiseFaster     fact.Code = "noise-not-slower"
	noiseWide       fact.Code = "noise-wide"
	noiseWithin     fact.Code = "noise-within" // share
)

// overheadOf is how much longer a pass took under nsys than unprofiled, or why
// that cannot be told. No profiler makes a program faster.
func overheadOf(clean workload.Distribution, nsys float64) (*float64, *fact.Fact) {
	mean, std := *clean.Mean, or0(clean.Std)
	over := nsys/mean - 1
	times := append(spread(mean, std), fact.NS("nsys", nsys*1e6))
	why := func(code fact.Code, more ...fact.Param) (*float64, *fact.Fact) {
		return nil, new(fact.New(code, append(times, more...)...))
	}
	switch {
	case mean-nsys > clearSpreads*std && -over > clearlySlower:
		return why(fasterUnderNsys)
	case over < 0:
		return why(NoiseFaster)
	case std > wideSpread*mean:
		return why(noiseWide)
	case nsys-mean < clearSpreads*std:
		return why(noiseWithin, fact.Share("share", over))
	}
	return &over, nil
}

// spread is a mean with its standard deviation, where there is one; in
// milliseconds.
func spread(mean, std float64) []fact.Param {
	p := []fact.Param{fact.NS("mean", mean*1e6)}
	if std > 0 {
		p = append(p, fact.NS("std", std*1e6))
	}
	return p
}

// tellOverhead compares the unprofiled run with that under nsys.
func (cn *conclusion) tellOverhead() {
	cn.tellServerOverhead()
	for i := range cn.res.Stages {
		s := &cn.res.Stages[i]
		if busy := float64(s.Split.BusyNS) / float64(max(1, s.Passes)) / 1e6; s.CleanMS != nil && cn.stages.alike() && *s.CleanMS < minUnprofiledShare*busy && !cn.stages.overlap(s) {
			cn.notes.warnStage(s.Name, cleanShort, fact.NS("clean", *s.CleanMS*1e6), fact.NS("busy", busy*1e6))
		}
		if s.OverheadWhy != nil {
			cn.tellNoise(s)
		}
		if s.Overhead != nil && *s.Overhead > cn.th.Overhead {
			cn.notes.warnStage(s.Name, OverheadHigh, fact.Share("overhead", *s.Overhead), fact.Because("advice", cn.lighter(s)))
		}
	}
}

// lighter says which preset slows a stage less, or that none does.
func (cn *conclusion) lighter(s *Stage) fact.Fact {
	slows, trace := costs(&cn.in.capture), cn.in.capture.Trace
	// Calls and work of CUDA are traced unless nsys is told otherwise.
	cuda := len(trace) == 0 || slices.ContainsFunc(trace, func(t string) bool { return strings.HasPrefix(t, "cuda") })
	switch {
	case s.GraphKernels > 0:
		return fact.New(UseLight)
	case slices.ContainsFunc(cn.res.Stages, func(x Stage) bool { return x.GraphKernels > 0 && x.Overhead != nil && *x.Overhead > cn.th.Overhead }):
		return fact.New(onlyClean) // the advice is on the other stage
	case len(slows) > 0:
		return fact.New(UseDefault, fact.Names("costs", fact.KindKey, slows))
	case cn.res.Sampling != nil && cuda:
		return fact.New(UseSampled)
	case cn.in.capture.CUDAGraphTrace == "graph":
		return fact.New(lightAlready)
	}
	return fact.New(lightNoBetter)
}

// tellServerOverhead advises a lighter capture where collecting slows a server too
// much.
func (cn *conclusion) tellServerOverhead() {
	s := cn.res.Serving
	if s == nil || s.Collecting == nil || s.Collecting.PerToken == nil || *s.Collecting.PerToken <= cn.th.Overhead {
		return
	}
	graphs := 0
	for _, st := range cn.res.Stages {
		graphs += int(st.GraphKernels)
	}
	cn.notes.warn(serverOverhead, fact.Share("overhead", *s.Collecting.PerToken), fact.Because("advice", cn.lighter(&Stage{GraphKernels: int64(graphs)})))
}

// costlyArgs begin the further arguments of nsys that slow a program.
var costlyArgs = []string{"--cuda-memory-usage", "--cuda-um-", "--cudabacktrace", "--backtrace", "--gpu-metrics", "--python-", "--pytorch", "--event-sample"}

// costs is what a capture has beside that of the default preset and slows a program:
// the names of options, each with a value where that decides.
func costs(c *plan.Nsys) (out []string) {
	for _, t := range c.Trace {
		if t != "cuda" && t != "nvtx" && t != "none" {
			out = append(out, "trace="+t)
		}
	}
	if c.Sample != "" && c.Sample != "none" {
		out = append(out, "sample="+c.Sample)
	}
	if c.CPUCtxSw != "" && c.CPUCtxSw != "none" {
		out = append(out, "cpuctxsw="+c.CPUCtxSw)
	}
	for _, arg := range c.ExtraArgs {
		name, value, _ := strings.Cut(arg, "=")
		if value != "false" && value != "none" && slices.ContainsFunc(costlyArgs, func(p string) bool { return strings.HasPrefix(name, p) }) {
			out = append(out, name)
		}
	}
	return out
}

// tellNoise warns of unprofiled times that cannot be trusted as they are.
func (cn *conclusion) tellNoise(s *Stage) {
	less := 1 - *s.NsysMS / *s.CleanMS
	std := or0(s.CleanStdMS)
	times := append(spread(*s.CleanMS, std), fact.NS("nsys", *s.NsysMS*1e6), fact.Share("less", less))
	switch {
	case less > clearlySlower && *s.CleanMS-*s.NsysMS <= clearSpreads*std:
		cn.notes.warnStage(s.Name, cleanMayBe, times...)
	case less > clearlySlower:
		cn.notes.warnStage(s.Name, CleanSlower, times...)
	case std > wideSpread**s.CleanMS:
		cn.notes.warnStage(s.Name, cleanSpread, spread(*s.CleanMS, std)...)
	}
}
