package analysis

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/flops"
	"github.com/deepprof/deepprof/internal/format"
)

// Stages of a model's work, as package flops names them.
const (
	prefillStage = "prefill"
	decodeStage  = "decode"
	// generateStage is a region around both.
	generateStage = "generate"
)

// ModelRegions are the regions of a timeline that hold a model's work. An empty
// one is found by its name.
type ModelRegions struct{ Prefill, Decode string }

// CountModel reads the config.json that Add took and counts what a session of a
// shape does, for the analysis of a program that says nothing of its model.
func (in *Input) CountModel(shape flops.Shape, regions ModelRegions) error {
	file, err := format.Open(in.Model)
	if err != nil {
		return fmt.Errorf("read model config: %w", err)
	}
	defer file.Close()
	m, err := flops.Parse(file)
	if err != nil {
		return fmt.Errorf("read %s: %w", in.Model, err)
	}
	r, err := m.Count(shape)
	if err != nil {
		return fmt.Errorf("count %s: %w", in.Model, err)
	}
	in.counted, in.regions = &r, regions
	return nil
}

// An UnusedError says that a file was given and nothing of it could be used.
type UnusedError struct {
	Path   string
	Stages []string // of the timeline; none where there is no timeline
	Why    error    // where it is not about stages
}

// Error names the file and why nothing of it could be used.
func (e *UnusedError) Error() string {
	if e.Why != nil {
		return fmt.Sprintf("%s is not used: %v", e.Path, e.Why)
	}
	if len(e.Stages) == 0 {
		return fmt.Sprintf("%s is not used: there is no timeline with the time of its stages; give one beside it", e.Path)
	}
	return fmt.Sprintf("%s is not used: the timeline has no region for prefill or decode, only %s; mark them with NVTX ranges, or name them with --prefill-region and --decode-region",
		e.Path, strings.Join(e.Stages, ", "))
}

// countedWork gives the stages of the timeline the work that was counted from
// the model's config.
func (ut *utilizer) countedWork(work map[string]StageWork) error {
	r := ut.in.counted
	ut.notes.use(ut.in.Model, "model_config")
	ut.tellModel(r)
	ut.describeModel(r)
	own := map[string]StageWork{}
	for _, w := range fromFLOPs(r, r.Shape.DType) {
		own[w.Stage] = w
	}
	used := false
	add := func(s *Stage, w StageWork) {
		w.Stage = s.Name
		if _, ok := work[s.Name]; !ok {
			work[s.Name] = w
		}
		used = true
	}
	prefill, decode := ut.modelStage(prefillStage, ut.in.regions.Prefill), ut.modelStage(decodeStage, ut.in.regions.Decode)
	if prefill != nil {
		add(prefill, own[prefillStage])
	}
	if decode != nil && own[decodeStage].Stage != "" {
		if share := ut.decodeShare(r, prefill, decode); share > 0 {
			w := own[decodeStage]
			w.FLOPs, w.Bytes = w.FLOPs*share, w.Bytes*share
			add(decode, w)
		}
	}
	if whole := ut.modelStage(generateStage, ""); whole != nil && prefill == nil && decode == nil {
		w := own[prefillStage]
		w.FLOPs, w.Bytes = w.FLOPs+own[decodeStage].FLOPs, w.Bytes+own[decodeStage].Bytes
		add(whole, w)
	}
	if used || prefill != nil || decode != nil {
		return nil
	}
	return ut.unused(ut.in.Model)
}

// unused says that a file fits none of the stages.
func (ut *utilizer) unused(path string) error {
	e := &UnusedError{Path: path}
	for _, s := range ut.stages {
		e.Stages = append(e.Stages, s.Name)
	}
	return e
}

// modelStage is the stage that a person named, else the one of that name, else
// the only one with the name in its own; nil where there is none.
func (ut *utilizer) modelStage(name, asked string) *Stage {
	want := cmp.Or(asked, name)
	var near []*Stage
	for i := range ut.stages {
		s := &ut.stages[i]
		switch {
		case s.Steps: // of other shapes than one generation
		case s.Name == want || s.Region == want:
			return s
		case asked == "" && strings.Contains(strings.ToLower(s.Name), name):
			near = append(near, s)
		}
	}
	if len(near) == 1 {
		return near[0]
	}
	return nil
}

// decodeShare is the part of the decode of a generation that a range of the stage
// holds: all of it, or one step; 0 where the number of ranges fits neither.
func (ut *utilizer) decodeShare(r *flops.Report, prefill, decode *Stage) float64 {
	steps, generations := int(r.Shape.Steps()), 1
	if prefill != nil && prefill.Passes > 0 {
		generations = prefill.Passes
	}
	switch decode.Passes {
	case generations:
		return 1
	case generations * steps:
		d, _ := r.Stage(decodeStage)
		ut.tellFact(fact.New(flops.StepRanges, fact.Count("steps", steps), fact.Num("context", fact.KindNumber, d.MeanContext)), true)
		return 1 / float64(steps)
	}
	ut.tellFact(fact.New(flops.RangesDiffer, fact.Count("ranges", decode.Passes), fact.Count("generations", generations), fact.Count("steps", steps)), false)
	return 0
}

// tellModel takes over what a count of the model rests on and what it lacks.
func (ut *utilizer) tellModel(r *flops.Report) {
	for _, f := range r.Assumptions {
		ut.tellFact(f, true)
	}
	for _, f := range r.Warnings {
		ut.tellFact(f, false)
	}
}

// tellFact states an assumption, or warns.
func (ut *utilizer) tellFact(f fact.Fact, assumption bool) {
	if assumption {
		ut.assumptions = append(ut.assumptions, Note{Fact: f})
		return
	}
	ut.notes.add(Note{Fact: f, File: ut.in.rel(cmp.Or(ut.in.Model, ut.in.Flops))})
}

// describeModel fills in the identity and the shape that the program did not
// tell.
func (ut *utilizer) describeModel(r *flops.Report) {
	w := &ut.workload
	if w.Model == nil {
		w.Model = &Model{
			Family: r.Model.Type, Parameters: r.Model.Parameters, WeightsBytes: r.Model.WeightsBytes, Layers: int(r.Model.Layers),
			DType: r.Shape.DType, Attention: r.Model.Attention,
		}
	}
	if len(w.Shape) > 0 {
		return
	}
	for _, n := range []struct {
		name  string
		value int64
	}{{"batch_size", r.Shape.Batch}, {promptLength, r.Shape.Prompt}, {newTokens, r.Shape.New}} {
		w.Shape = append(w.Shape, Fact{n.name, strconv.FormatInt(n.value, 10)})
	}
	ut.addImages(r)
}

// addModel takes a model's config.json; there is one at most, and no other count
// beside it.
func (in *Input) addModel(path string) error {
	switch {
	case in.Model != "":
		return fmt.Errorf("analyze: %s and %s are both configs of a model; name one", in.Model, path)
	case in.Flops != "":
		return fmt.Errorf("analyze: %s and %s both give the work of the model; name one", in.Flops, path)
	}
	in.Model = path
	return nil
}
