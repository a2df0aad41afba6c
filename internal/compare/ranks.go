package compare

import (
	"fmt"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/timeline"
)

// addRanks takes the processes of a job, matched between runs by what they are: the
// rank, or the GPU where no rank is known and each process has one of its own.
func (s *samples) addRanks(r *analysis.Result) {
	for i, name := range rankNames(r.Parts) {
		p := &r.Parts[i]
		if name == "" || p.Lost != nil {
			continue
		}
		weight := float64(len(r.Parts) - i)
		s.add(Key{Rank, name, Time}, UnderNsys, float64(p.WallNS), weight)
		if p.Launches > 0 {
			s.add(Key{Rank, name, GPUTime}, OnGPU, float64(p.KernelNS), weight)
			s.add(Key{Rank, name, Launches}, "", float64(p.Launches), weight)
		}
		if c := p.Communication; c != nil {
			s.add(Key{Rank, name, Communication}, OnGPU, float64(c.NS), weight)
			s.add(Key{Rank, name, Exposed}, OnGPU, float64(c.ExposedNS), weight)
		}
		for _, st := range p.Stages {
			if len(p.Stages) > 1 && st.PassNS > 0 {
				s.add(Key{Rank, name + "/" + st.Stage, Time}, UnderNsys, float64(st.PassNS), weight/2)
			}
		}
	}
}

// rankNames names the processes of a job, "" for windows and repeats of one and
// where nothing tells processes apart.
func rankNames(parts []analysis.Part) []string {
	names, seen := make([]string, len(parts)), map[string]int{}
	for i := range parts {
		names[i] = rankName(&parts[i].Of)
		seen[names[i]]++
	}
	for i, name := range names {
		if seen[name] > 1 {
			names[i] = ""
		}
	}
	return names
}

// A GPU stands for a rank only where no rank is known.
func rankName(id *timeline.Identity) string {
	switch {
	case id.Window > 0 || id.Repeat > 0:
		return ""
	case id.Rank != nil:
		return fmt.Sprintf("rank %d", *id.Rank)
	case id.Device != nil:
		return fmt.Sprintf("GPU %d", *id.Device)
	}
	return ""
}

// worldOf is how many processes a job has; "" where there is one.
func worldOf(r *Run) string {
	n := 0
	for _, name := range rankNames(r.Result.Parts) {
		if name != "" {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// detailedRank is the process that kernels, regions and stages are of; "" where
// they are of all, or there is one.
func detailedRank(r *Run) string {
	names, found := rankNames(r.Result.Parts), ""
	for i := range r.Result.Parts {
		if !r.Result.Parts[i].Details {
			continue
		}
		if found != "" {
			return ""
		}
		found = names[i]
	}
	return found
}
