package analysis

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/flops"
	"github.com/deepprof/deepprof/internal/gpu"
)

// utilise holds the work of each stage against the peaks, two ways: by the
// model's arithmetic over the clean time, and by counters over the region.
func (a *analyzer) utilise(context.Context) error {
	work := a.stageWork()
	if a.in.counted != nil {
		if err := a.countedWork(work); err != nil {
			return err
		}
	}
	if err := a.unusedFlops(work); err != nil {
		return err
	}
	for i := range a.res.Stages {
		s := &a.res.Stages[i]
		seconds, note := a.secondsOf(s)
		counted := a.countStage(i)
		a.analytic(s, i, work[s.Name], seconds, note, counted)
		if !a.alike() { // the timeline's passes are of another size than the clean ones
			seconds, note = float64(s.Split.WallNS)/float64(max(1, s.Passes))/1e9, "over the time under nsys, because the clean run had another shape"
		}
		a.fromCounters(s, i, seconds, note, counted)
		a.executed(s, counted)
	}
	a.noteScaled()
	return nil
}

// stageWork is what the caller computed; flops.json fills in what it lacks.
func (a *analyzer) stageWork() map[string]StageWork {
	work := map[string]StageWork{}
	for _, w := range a.in.Work {
		work[w.Stage] = w
	}
	if a.in.Flops == "" {
		return work
	}
	dtype := ""
	if m := a.res.Workload.Model; m != nil {
		dtype = m.DType
	}
	if f, err := os.Open(a.in.Flops); err == nil {
		own, err := flops.Read(f)
		f.Close()
		if err == nil { // counted from the config; torch's own count has no bytes
			a.addFile(a.in.Flops, "flops")
			for _, w := range FromFLOPs(own, cmp.Or(dtype, own.Shape.DType)) {
				if _, ok := work[w.Stage]; !ok {
					work[w.Stage] = w
				}
			}
			a.addImages(own)
			a.tellModel(own)
			return work
		}
	}
	var counted struct {
		Stages map[string]struct {
			FLOPs float64 `json:"flops"`
		} `json:"stages"`
	}
	if err := readJSON(a.in.Flops, &counted); err != nil {
		a.unreadable(err)
		return work
	}
	a.addFile(a.in.Flops, "flops")
	for name, s := range counted.Stages {
		if _, ok := work[name]; !ok && s.FLOPs > 0 {
			work[name] = StageWork{Stage: name, FLOPs: s.FLOPs, DType: dtype}
		}
	}
	return work
}

// addImages puts the pictures of a prompt, whose tokens come on top of its text,
// after its length.
func (a *analyzer) addImages(r *flops.Report) {
	w := &a.res.Workload
	at := slices.IndexFunc(w.Shape, func(f Fact) bool { return f.Name == promptLength })
	if r.Shape.Images <= 0 || at < 0 {
		return
	}
	facts := []Fact{{"images", strconv.FormatInt(r.Shape.Images, 10)}}
	if r.Shape.ImageSize > 0 {
		facts = append(facts, Fact{"image size", fmt.Sprintf("%d px", r.Shape.ImageSize)})
	}
	facts = append(facts, Fact{"prompt tokens with images", strconv.FormatInt(r.Shape.Tokens, 10)})
	w.Shape = slices.Insert(w.Shape, at+1, facts...)
}

// secondsOf is the time of one pass, with a note where it is not clean.
func (a *analyzer) secondsOf(s *Stage) (float64, string) {
	note := "over the time under nsys, because there is no clean run"
	if a.alone > 0 {
		note = "over the time under nsys, because the clean run has no time of this stage"
	}
	switch {
	case s.CleanMS != nil:
		return *s.CleanMS / 1e3, ""
	case s.NsysMS != nil:
		return *s.NsysMS / 1e3, note
	case s.Passes > 0 && s.Split.WallNS > 0:
		return float64(s.Split.WallNS) / float64(s.Passes) / 1e9, note
	}
	return 0, ""
}

// alike tells whether a pass of the clean run does what one under nsys does.
func (a *analyzer) alike() bool {
	if a.clean == nil || a.profiled == nil {
		return true
	}
	x, y := &a.clean.Plan, &a.profiled.Plan
	return x.BatchSize == y.BatchSize && x.PromptLength == y.PromptLength && x.MaxNewTokens == y.MaxNewTokens
}

// FromFLOPs takes over what package flops computed of a model whose matrix
// products are in a data type, or in that of its quantization. Parts of a stage
// are left out.
func FromFLOPs(r *flops.Report, dtype string) []StageWork {
	dtype = cmp.Or(r.Model.Products, dtype)
	var out []StageWork
	for _, s := range r.Stages {
		if s.Within == "" {
			out = append(out, StageWork{Stage: s.Name, FLOPs: float64(s.FLOPs), Bytes: float64(s.Bytes.Total), DType: dtype})
		}
	}
	return out
}

func (a *analyzer) analytic(s *Stage, index int, w StageWork, seconds float64, note string, counted *stageCounts) {
	if w.Stage == "" {
		return
	}
	if w.FLOPs > 0 {
		s.FLOPs = &w.FLOPs
		dtype, ok := gpu.Parse(w.DType)
		u := Utilisation{Method: "analytic", Seconds: seconds, Why: note}
		if !ok {
			u.Why = fmt.Sprintf("the data type %q has no peak", w.DType)
		}
		if dtype == gpu.FP32 && counted != nil && counted.ops[gpu.TensorTF32] > counted.ops[gpu.FP32] {
			dtype = gpu.TensorTF32
			u.Why = joinWords("the counters show that its products ran on tensor cores as tf32", u.Why)
		}
		s.MFU = append(s.MFU, a.utilisation(u, w.FLOPs, string(dtype), index))
	}
	if w.Bytes > 0 {
		s.Bytes = &w.Bytes
		s.MBU = append(s.MBU, a.utilisation(Utilisation{Method: "analytic", Seconds: seconds, Why: note}, w.Bytes, levelDRAM, index))
	}
}

// utilisation divides work by time and peak. Over 100 % is no result but a
// contradiction.
func (a *analyzer) utilisation(u Utilisation, amount float64, peakID string, stage int) Utilisation {
	if len(a.res.Environment.GPUs) == 0 {
		u.Why = "neither a timeline nor counters name the GPU, so that its peak is not known"
		return u
	}
	used := a.stageGPUs(stage)
	peak, ok := used[0].peak(peakID)
	if n := len(used); n > 1 {
		peak.Value *= float64(n)
		peak.Label = fmt.Sprintf("%s, %d GPUs", peak.Label, n)
	}
	switch {
	case u.Seconds <= 0:
		u.Why = "the time of the stage is not known"
	case !ok:
		if u.Why == "" {
			u.Why = fmt.Sprintf("no peak is known for %s on this GPU; counters of one launch (--set roofline or full) would tell", peakID)
		}
	default:
		u.Peak, u.Achieved = peak, amount/u.Seconds
		value := u.Achieved / peak.Value
		if value > 1 {
			u.Contradiction, u.Raw = true, &value
			u.Why = joinWords(fmt.Sprintf("it comes out at %.0f %% of a peak that cannot be exceeded: the work, the time or the peak is wrong", value*100), u.Why)
			return u
		}
		u.Value = &value
	}
	return u
}

// stageGPUs are the GPUs that a stage gave work to; the first where that is not
// known.
func (a *analyzer) stageGPUs(stage int) []*GPU {
	var list []*GPU
	for i := range a.res.Environment.GPUs {
		if g := &a.res.Environment.GPUs[i]; a.tl != nil && a.usesGPU(stage, g.Device) {
			list = append(list, g)
		}
	}
	if len(list) == 0 {
		list = []*GPU{&a.res.Environment.GPUs[0]}
	}
	return list
}

func (a *analyzer) usesGPU(stage, device int) bool {
	if !slices.Contains(a.tl.devices(), device) {
		return false
	}
	if len(a.stageRegions[stage]) == 0 {
		return true
	}
	used := a.tl.rangesOf(device)
	for _, id := range a.stageRegions[stage] {
		if slices.ContainsFunc(a.tl.instances[id], func(r uint32) bool { return used[r] }) {
			return true
		}
	}
	return false
}

// fromCounters holds what was counted against the peaks.
func (a *analyzer) fromCounters(s *Stage, index int, seconds float64, note string, counted *stageCounts) {
	if counted == nil {
		return
	}
	// Where too little was counted, it says so in place of a value.
	base := func(coverage float64, what string) (u Utilisation, enough bool) {
		u = Utilisation{Method: "counters", Seconds: seconds, Coverage: &coverage, Why: note}
		switch {
		case coverage < a.th.Spoken:
			u.Why = fmt.Sprintf("the counters of %s cover only %.0f %% of its kernel time; pipeline.ncu.pick.coverage=0.95 counts more of its kernels, pipeline/ncu=high more of each", what, coverage*100)
			if coverage == 0 {
				u.Why = fmt.Sprintf("the %s of none of its kernels were counted; count them with --set full", what)
			}
			return u, false
		case coverage < a.th.Covered:
			u.Why = joinWords(fmt.Sprintf("the counters cover %.0f %% of its kernel time, and nothing is added for the rest", coverage*100), note)
		}
		return u, true
	}
	if u, enough := base(counted.opsCover, "FLOPs"); !enough {
		s.MFU = append(s.MFU, u)
	} else if dtype, ok := mostOf(counted.ops); !ok {
		u.Why = "its kernels execute no floating-point operations"
		if counted.opsCover < a.th.Covered {
			u.Why = fmt.Sprintf("those of its kernels that were counted, %.0f %% of its kernel time, execute no floating-point operations", counted.opsCover*100)
		}
		s.MFU = append(s.MFU, u)
	} else {
		u.Why = joinWords(u.Why, scaledWords(counted.opsScaled, counted.allOps(), "arithmetic"))
		s.MFU = append(s.MFU, a.utilisation(u, counted.ops[dtype]/float64(s.Passes), string(dtype), index))
	}
	if u, enough := base(counted.bytesCover, "bytes"); !enough {
		s.MBU = append(s.MBU, u)
	} else if counted.bytes > 0 {
		u.Why = joinWords(u.Why, scaledWords(counted.bytesScaled, counted.bytes, "traffic"))
		if a.emptiesCaches() {
			u.Why = joinWords(u.Why, flushed)
		}
		s.MBU = append(s.MBU, a.utilisation(u, counted.bytes/float64(s.Passes), levelDRAM, index))
	}
}

const (
	// executesMore is how many times the FLOPs of the model the kernels must
	// execute for it to be told.
	executesMore = 1.25
	// Fewer than the model's cannot be, apart from what was not counted.
	executesLess, nearlyAll = 0.95, 0.9
)

// executed tells where the kernels execute more FLOPs than the model needs: MFU by
// counters is of what runs, not of what is useful. It tells as well where the
// counters come out below the model.
func (a *analyzer) executed(s *Stage, counted *stageCounts) {
	if counted == nil || s.FLOPs == nil || *s.FLOPs <= 0 || s.Passes == 0 || !a.alike() {
		return
	}
	dtype, ok := mostOf(counted.ops)
	times := counted.ops[dtype] / float64(s.Passes) / *s.FLOPs
	if !ok || counted.opsCover < a.th.Spoken {
		return
	}
	a.executedLess(s, counted)
	if times < executesMore {
		return
	}
	why := "work that the model's arithmetic does not hold, such as recomputation, counts here"
	plain := "work that the model does not ask for"
	if strings.HasPrefix(string(dtype), "tensor_") {
		why = "tensor cores compute whole tiles, so that the padding of products with few rows counts here"
		plain = "padding, because its matrices have fewer rows than the GPU's units work on at once"
	}
	factor := timesWords(times)
	if counted.opsCover < a.th.Covered {
		factor = "at least " + factor
	}
	text := fmt.Sprintf("the kernels execute %s times the model's FLOPs", factor)
	for i := range s.MFU {
		if u := &s.MFU[i]; u.Method == "counters" && u.Value != nil {
			u.Why = joinWords(text+": "+why, u.Why)
		}
	}
	if slices.Contains(a.stagesInScope(), s) {
		a.find("executed-"+s.Name, weightLow, fmt.Sprintf("In %s %s: %s. The MFU of the model is that of useful work.", s.Name, text, why),
			fmt.Sprintf("In %s the GPU does %s times the arithmetic that the model needs: the rest is %s.", s.Name, factor, plain))
	}
}

// executedLess tells where the counters hold less than the model's FLOPs although
// they cover nearly all: one of the two is wrong.
func (a *analyzer) executedLess(s *Stage, counted *stageCounts) {
	share := counted.allOps() / float64(s.Passes) / *s.FLOPs
	if share >= executesLess || counted.opsCover < nearlyAll {
		return
	}
	text := fmt.Sprintf("the counters hold %.0f %% of the model's FLOPs while they cover %.0f %% of the kernel time: launches of one kernel and grid differ in their work, FLOPs lie in kernels that were not counted, or the model's arithmetic is of more than ran",
		share*100, counted.opsCover*100)
	for i := range s.MFU {
		if u := &s.MFU[i]; u.Method == "counters" && u.Value != nil {
			u.Why = joinWords(text, u.Why)
		}
	}
	a.warnStage(s.Name, ExecutedLess, fact.Share("share", share), fact.Share("coverage", counted.opsCover))
}

// timesWords writes a factor for people.
func timesWords(x float64) string {
	if x >= 10 {
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.1f", x)
}

// flushed is why bytes of DRAM from counters are no bound of those in the run.
const flushed = "before each launch that it counts ncu empties the caches, so that data which stays in L2 in the run counts as DRAM traffic here"

func mostOf(ops map[gpu.DType]float64) (gpu.DType, bool) {
	types := slices.SortedFunc(maps.Keys(ops), func(x, y gpu.DType) int {
		return cmp.Or(cmp.Compare(ops[y], ops[x]), cmp.Compare(x, y))
	})
	if len(types) == 0 {
		return "", false
	}
	return types[0], true
}

func joinWords(x, y string) string {
	if x == "" || y == "" {
		return x + y
	}
	return x + "; " + y
}
