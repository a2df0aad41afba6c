package export

import (
	"strconv"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/timeline"
)

// rankLabels name a rank: by its number, or by its process where it has none.
// Labels with an empty value are left out by whoever prints them.
func rankLabels(id timeline.Identity) []label {
	list := []label{{"host", id.Host}}
	switch {
	case id.Rank != nil:
		return append([]label{{"rank", strconv.Itoa(*id.Rank)}}, list...)
	case id.Process != 0:
		return append([]label{{"process", strconv.Itoa(id.Process)}}, list...)
	}
	return list
}

// eachRank visits the ranks of a job that could be read; i is the place in Parts, by which
// Job refers to them. A result of one timeline has no job.
func eachRank(r *analysis.Result, visit func(i int, p *analysis.Part)) {
	if r.Job == nil {
		return
	}
	for i := range r.Parts {
		if p := &r.Parts[i]; p.Lost == nil {
			visit(i, p)
		}
	}
}

// rankFamilies are the numbers of each rank of a job; the other families are
// about the rank that deepprof_run_info names.
func rankFamilies(r *analysis.Result) []family {
	wall := family{name: "deepprof_rank_wall_seconds", unit: "seconds", help: "From the first to the last event of a rank."}
	busy := family{name: "deepprof_rank_gpu_busy_seconds", unit: "seconds", help: "Time in which the GPUs of a rank ran anything."}
	communication := family{name: "deepprof_rank_communication_seconds", unit: "seconds", help: "Time in which kernels of a rank exchanged data, by union of intervals."}
	exposed := family{name: "deepprof_rank_exposed_seconds", unit: "seconds", help: "The part of it in which no other kernel ran."}
	wait := family{name: "deepprof_rank_wait_seconds", unit: "seconds", help: "Time that a rank waited for the last one in matched collectives."}
	lateBy := family{name: "deepprof_rank_late_seconds", unit: "seconds", help: "How much later than the median of the others a rank came to collectives, in all."}
	late := family{name: "deepprof_rank_late_collectives", help: "Matched collectives that a rank came last to."}
	stages := family{name: "deepprof_rank_stage_seconds", unit: "seconds", help: "Mean time of a pass of a stage in a rank under Nsight Systems."}
	eachRank(r, func(i int, p *analysis.Part) {
		of := rankLabels(p.Of)
		wall.add(seconds(p.WallNS), of...)
		busy.add(seconds(p.BusyNS), of...)
		if c := p.Communication; c != nil {
			communication.add(seconds(c.NS), of...)
			exposed.add(seconds(c.ExposedNS), of...)
		}
		for _, w := range r.Job.Waits {
			if w.Part == i {
				wait.add(seconds(w.WaitNS), of...)
				lateBy.add(seconds(w.LateNS), of...)
				late.add(float64(w.Late), of...)
			}
		}
		for _, s := range p.Stages {
			if s.Passes > 0 {
				stages.add(seconds(s.PassNS), append([]label{{"stage", s.Stage}}, of...)...)
			}
		}
	})
	return []family{wall, busy, communication, exposed, wait, lateBy, late, stages}
}

// ranks writes the wall time of each rank of a job, and its stages.
func (b *benchWriter) ranks(r *analysis.Result) {
	eachRank(r, func(_ int, p *analysis.Part) {
		of := rankLabels(p.Of)
		b.named("Rank", of, 1, measure{float64(p.WallNS), "ns/op"}, measure{float64(p.BusyNS), "gpu-busy-ns/op"})
		for _, s := range p.Stages {
			if s.Passes > 0 {
				b.named("Rank", append(of[:len(of):len(of)], label{"stage", s.Stage}), int64(s.Passes), measure{float64(s.PassNS), "ns/op"})
			}
		}
	})
}
