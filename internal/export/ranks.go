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
