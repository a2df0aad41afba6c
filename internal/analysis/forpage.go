package analysis

import (
	"cmp"
	"maps"
	"slices"

	"github.com/deepprof/deepprof/internal/nvtx"
	"github.com/deepprof/deepprof/internal/runs"
)

// What the page and exports ask of a finished result beside forreports.go: values that they
// draw or write, and decisions about what is shown first. None of it changes a result.

// Unfinished reports whether the run holds less than it was to capture.
func (s *Source) Unfinished() bool {
	return s.Status == string(runs.StatusFailed) || s.Status == string(runs.StatusInterrupted)
}

// NothingStandsOut reports whether a result without findings says that there is nothing to
// save, not merely that what was captured does not tell.
func (r *Result) NothingStandsOut() bool {
	return r.HasTimeline() && (r.Source.Status == "" || r.Source.Status == string(runs.StatusDone))
}

// LongestStages are the places of at most so many stages, those with most wall time under nsys,
// in the order of the program. Stages without a timeline are none of them.
func (r *Result) LongestStages(most int) []int {
	var places []int
	for i := range r.Stages {
		if r.Stages[i].Split.WallNS > 0 {
			places = append(places, i)
		}
	}
	slices.SortStableFunc(places, func(a, b int) int { return cmp.Compare(r.Stages[b].Split.WallNS, r.Stages[a].Split.WallNS) })
	places = places[:min(most, len(places))]
	slices.Sort(places)
	return places
}

// A StageSpot is the first range of a stage in the overview. Times are ns from its start.
type StageSpot struct {
	Stage string `json:"stage"`
	Start int64  `json:"start"`
	Len   int64  `json:"len"`
}

// StageSpots are the first ranges of the stages that the overview shows one by one.
func (r *Result) StageSpots() (spots []StageSpot) {
	for i := range r.Stages {
		s := &r.Stages[i]
		last := nvtx.Path([]nvtx.Range{{Name: s.Name}})
		if parts := nvtx.SplitPath(s.Region); s.Region != "" {
			last = parts[len(parts)-1]
		}
		named := slices.IndexFunc(r.Overview.Names, func(name string) bool { return nvtx.Path([]nvtx.Range{{Name: name}}) == last })
		if b := r.Overview.firstRange(named); b != nil {
			spots = append(spots, StageSpot{s.Name, b.Start, b.Len})
		}
	}
	return spots
}

// firstRange is the first box that stands for one range with a name, by its place; nil where
// there is none.
func (o *Overview) firstRange(name int) *Box {
	for i := range o.Lanes {
		if o.Lanes[i].Kind != "nvtx" {
			continue
		}
		for k := range o.Lanes[i].Boxes {
			if b := &o.Lanes[i].Boxes[k]; b.Count <= 1 && b.Name == name {
				return b
			}
		}
	}
	return nil
}

// Others is how many kernels were counted along with those that were chosen.
func (p *Picked) Others() int { return max(0, p.Counted-p.Chosen) }

// StepTokens are the tokens of the mean step of an interval.
type StepTokens struct {
	Decode float64 `json:"decode"`
	Prompt float64 `json:"prompt"`
	Total  float64 `json:"total"`
}

// Tokens are those of the mean step of the interval, which has at least one.
func (s *StepsAt) Tokens() StepTokens {
	n := float64(max(s.Steps, 1))
	return StepTokens{float64(s.DecodeTokens) / n, float64(s.PromptTokens) / n, float64(s.DecodeTokens+s.PromptTokens) / n}
}

// Density is how busy the busiest lane of GPU work is in each of so many equal parts of the
// timeline, 0 to 1.
func (o *Overview) Density(parts int) []float64 {
	most, width := make([]float64, parts), float64(max(1, o.EndNS-o.StartNS))/float64(parts)
	for _, lane := range o.Lanes {
		if lane.Kind != "kernel" && lane.Kind != "copy" {
			continue
		}
		sums := make([]float64, parts)
		for _, b := range lane.Boxes {
			b.addTo(sums, width)
		}
		for i, x := range sums {
			most[i] = min(1, max(most[i], x))
		}
	}
	return most
}

// addTo adds the busy time of a box to the parts of width ns that it lies in, as shares of them.
func (b Box) addTo(sums []float64, width float64) {
	weight := 1.0
	if b.Count > 1 && b.Len > 0 {
		weight = min(1, float64(b.Busy)/float64(b.Len))
	}
	start, end := float64(b.Start), float64(b.Start+b.Len)
	for i := max(0, int(start/width)); i <= min(len(sums)-1, int(end/width)); i++ {
		inside := min(end, float64(i+1)*width) - max(start, float64(i)*width)
		sums[i] += max(0, inside) / width * weight
	}
}

// Coarser is the overview with at most limit boxes in each lane: neighbors become one. The
// lanes of o stay as they are; merged ones are no longer exact.
func (o Overview) Coarser(limit int) Overview {
	o.Lanes = slices.Clone(o.Lanes)
	for i := range o.Lanes {
		lane := &o.Lanes[i]
		if len(lane.Boxes) <= limit {
			continue
		}
		step := (len(lane.Boxes) + limit - 1) / limit
		merged := make([]Box, 0, limit)
		for group := range slices.Chunk(lane.Boxes, step) {
			box := mergeBoxes(group)
			lane.BinNS = max(lane.BinNS, box.Len)
			merged = append(merged, box)
		}
		lane.Boxes, lane.Exact = merged, false
	}
	return o
}

// mergeBoxes sums neighbors under the name that ran longest.
func mergeBoxes(boxes []Box) Box {
	sum := Box{Start: boxes[0].Start, Name: boxes[0].Name}
	var end, longest int64
	for _, b := range boxes {
		busy := b.Busy
		if b.Count == 0 {
			busy = b.Len
		}
		sum.Count += max(b.Count, 1)
		sum.Busy += busy
		end = max(end, b.Start+b.Len)
		if busy > longest {
			longest, sum.Name = busy, b.Name
		}
	}
	sum.Len = end - sum.Start
	sum.Busy = min(sum.Busy, sum.Len)
	return sum
}

// AllFLOPs are those of one launch, of all data types; 0 where none was executed or counted.
func (w *Work) AllFLOPs() (sum float64) {
	for _, dtype := range slices.Sorted(maps.Keys(w.FLOPs)) { // sums of floats depend on their order
		sum += w.FLOPs[dtype]
	}
	return sum
}
