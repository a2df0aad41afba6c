package analysis

import (
	"maps"
	"slices"
	"strconv"

	"github.com/deepprof/deepprof/internal/fact"
)

// Codes of what ranks tell together, and of what is wrong with them.
// internal/message has their words; a comment names the parameters. A rank is
// named by rank, or by process where it has no number, and host.
const (
	worldDiffers     fact.Code = "world-differs" // least, most
	rankVersions     fact.Code = "rank-versions" // versions
	rankProgram      fact.Code = "rank-program"  // rank, host, program, most
	rankTwice        fact.Code = "rank-twice"    // rank, host, file
	clocksApart      fact.Code = "clocks-apart"  // rank, host, ns
	ranksNotTogether fact.Code = "ranks-not-together"
	noTimeBase       fact.Code = "no-time-base"
	exchangesDiffer  fact.Code = "exchanges-differ" // n
	clocksAligned    fact.Code = "clocks-aligned"   // method, uncertainty

	codeRankMissing fact.Code = "rank-missing"         // n, ranks, of
	codeStraggler   fact.Code = "straggler"            // rank, host, n, of, ns, share, mean, meanwhile, uncertainty
	codeImbalance   fact.Code = "rank-imbalance"       // rank, host, ns, median, share; least_ns
	codeStageApart  fact.Code = "rank-stage-imbalance" // stage, rank, host, ns, median, share
	codeWaiting     fact.Code = "waiting-for-ranks"    // ns, share, transfer
	codeOtherKernel fact.Code = "rank-kernels"         // n, kernel, has, of
)

// Thresholds of findings about ranks: shares below them are said nowhere.
const (
	lateShare      = 0.02 // of the wall time, that others wait for one rank
	imbalanceShare = 0.10 // over the median rank
)

// findJob states what the ranks of a job tell together.
func (jb *jobReader) findJob(parts []*recording) {
	job := jb.job
	if n := len(job.Missing); n > 0 {
		var names []string
		for _, r := range job.Missing[:min(n, 16)] {
			names = append(names, strconv.Itoa(r))
		}
		jb.jobFinds("rank-missing", weightHigh, codeRankMissing, fact.Count("n", n), fact.Names("ranks", fact.KindName, names), fact.Count("of", rankCount(parts)))
	}
	jb.findStragglers(parts)
	jb.findImbalance(parts)
	jb.findWaiting()
	jb.findOtherKernels(parts)
}

// jobFinds keeps a finding about the job until all findings are stated.
func (jb *jobReader) jobFinds(id, weight string, code fact.Code, params ...fact.Param) {
	jb.found = append(jb.found, Finding{ID: id, Weight: weight, Fact: fact.New(code, params...)})
}

// medianWall is the wall time of the median rank in nanoseconds; 0 where no rank has one.
func (jb *jobReader) medianWall() int64 {
	for _, d := range jb.across.Times {
		if d.Name == "wall" {
			return d.MedianNS
		}
	}
	return 0
}

// findStragglers names a rank that is last in most of the exchanges that somebody is
// late for, and costs others enough: two ranks that take turns are no stragglers.
func (jb *jobReader) findStragglers(parts []*recording) {
	job, lates := jb.job, 0
	for _, w := range job.Waits {
		lates += w.Late
	}
	for _, w := range job.Waits {
		share := ratio(w.LateNS, jb.medianWall())
		if w.Late == 0 || share < lateShare || 2*w.Late < lates {
			continue
		}
		params := append(parts[w.Part].param(), fact.Count("n", w.Late), fact.Count("of", job.Matched), fact.NS("ns", w.LateNS), fact.Share("share", share),
			fact.NS("mean", w.LateNS/int64(w.Late)), fact.NS("uncertainty", *job.Clock.UncertaintyNS))
		if len(w.Meanwhile) > 0 {
			params = append(params, meanwhileParam(w.Meanwhile[0]), fact.NS("meanwhile_ns", w.Meanwhile[0].NS))
		}
		jb.jobFinds("straggler-"+strconv.Itoa(w.Part), weightHigh, codeStraggler, params...)
	}
}

// meanwhileParam names what a rank did: a category by its label, a region by its
// name, a cause of idle time by its ID.
func meanwhileParam(t TimePart) fact.Param {
	switch {
	case t.Label == "":
		return fact.ID("meanwhile", "idle", t.ID)
	case t.ID == "region":
		return fact.Name("meanwhile", t.Label)
	}
	return fact.ID("meanwhile", "category", t.Label)
}

// findImbalance compares the kernels of ranks that do no communication, and the
// mean passes of their stages.
func (jb *jobReader) findImbalance(parts []*recording) {
	work := func(p *Part) (int64, bool) {
		return p.KernelNS - p.exchanged().NS, p.Launches > 0
	}
	// apart names the rank that takes longest where it takes clearly longer than the median.
	apart := func(d *Distribution) ([]fact.Param, bool) {
		more := d.MaxNS - d.MedianNS
		params := append(parts[d.Most].param(), fact.NS("ns", d.MaxNS), fact.NS("median", d.MedianNS), fact.Share("share", ratio(more, d.MedianNS)))
		return params, d.N > 1 && d.MedianNS > 0 && float64(more) >= imbalanceShare*float64(d.MedianNS)
	}
	if d, ok := distribution("work", parts, work); ok {
		if params, found := apart(&d); found {
			jb.jobFinds("imbalance", weightMedium, codeImbalance, append(params, fact.NS("least", d.MinNS))...)
		}
	}
	for _, d := range jb.across.Stages {
		if params, found := apart(&d); found && d.Name != wholeProgram {
			jb.jobFinds("imbalance-"+d.Name, weightMedium, codeStageApart, append(params, fact.Stage("stage", d.Name))...)
		}
	}
}

// findWaiting tells how much of the time in collectives is waiting for other
// ranks. What communication costs each stage is told for the details.
func (jb *jobReader) findWaiting() {
	wall := jb.medianWall()
	var wait, transfer int64
	for _, w := range jb.job.Waits {
		wait, transfer = wait+w.WaitNS, transfer+w.TransferNS
	}
	if wait > transfer && ratio(wait, wall*int64(max(1, len(jb.job.Waits)))) >= lateShare {
		jb.jobFinds("waiting", weightMedium, codeWaiting, fact.NS("ns", wait), fact.NS("transfer", transfer), fact.Share("share", ratio(wait, wait+transfer)))
	}
}

// findOtherKernels names kernels that some ranks launch and others do not.
func (jb *jobReader) findOtherKernels(parts []*recording) {
	in := map[string]int{}
	ranks := 0
	for _, p := range parts {
		if p.row.Lost != nil || len(p.kernels) == 0 {
			continue
		}
		ranks++
		for name := range p.kernels {
			in[name]++
		}
	}
	n, most, has := 0, "", 0
	var ns int64
	for _, name := range slices.Sorted(maps.Keys(in)) {
		if in[name] == ranks {
			continue
		}
		n++
		var sum int64
		for _, p := range parts {
			if c := p.kernels[name]; c != nil {
				sum += c.ns
			}
		}
		if sum > ns {
			ns, most, has = sum, name, in[name]
		}
	}
	if n > 0 {
		jb.jobFinds("rank-kernels", weightLow, codeOtherKernel, fact.Count("n", n), fact.Kernel("kernel", jb.kinds.of(most).short), fact.Count("has", has), fact.Count("of", ranks))
	}
}
