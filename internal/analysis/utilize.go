package analysis

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/flops"
	"github.com/deepprof/deepprof/internal/format"
	"github.com/deepprof/deepprof/internal/gpu"
)

// A utilizer says how much of the GPUs stages and the steps of a server use: it adds
// that to its rows.
type utilizer struct {
	*counters
	in *Input
	// run tells how long an unprofiled run took as a whole, where no stage was timed.
	run      *runRecord
	self     selfTimes
	gpus     []GPU
	roofs    []Peak
	commands []StageCommand // of the run
	notes    *notes
	tl       *timed // nil without a timeline
	useRows
}

// utilize holds the work of each stage against the peaks, two ways: by the
// model's arithmetic over the unprofiled time, and by counters over the region.
func (ut *utilizer) utilize() error {
	work := ut.stageWork()
	if ut.in.counted != nil {
		if err := ut.countedWork(work); err != nil {
			return err
		}
	}
	fits := func(s Stage) bool { return work[s.Name].Stage != "" }
	if ut.in.Flops != "" && ut.in.Run == "" && !slices.ContainsFunc(ut.stages, fits) { // it was given by name
		return ut.unused(ut.in.Flops)
	}
	for i := range ut.stages {
		s := &ut.stages[i]
		seconds, note := ut.secondsOf(s)
		counted := ut.countStage(i)
		if !s.Steps { // the work of steps goes by their batches
			ut.analytic(s, i, work[s.Name], seconds, note, counted)
		}
		if !ut.self.alike() { // the timeline's passes are of another size than the unprofiled ones
			seconds, note = float64(s.Split.WallNS)/float64(max(1, s.Passes))/1e9, because(codeOverNsysShape)
		}
		ut.fromCounters(s, i, seconds, note, counted)
		ut.executed(s, counted)
	}
	ut.noteScaled()
	return nil
}

// stageWork is what the caller computed; flops.json fills in what it lacks.
func (ut *utilizer) stageWork() map[string]StageWork {
	work := map[string]StageWork{}
	for _, w := range ut.in.Work {
		work[w.Stage] = w
	}
	if ut.in.Flops == "" {
		return work
	}
	dtype := ""
	if m := ut.workload.Model; m != nil {
		dtype = m.DType
	}
	if f, err := format.Open(ut.in.Flops); err == nil {
		own, err := flops.Read(f)
		f.Close()
		if err == nil { // counted from the config; torch's own count has no bytes
			ut.notes.use(ut.in.Flops, "flops")
			for _, w := range fromFLOPs(own, cmp.Or(dtype, own.Shape.DType)) {
				if _, ok := work[w.Stage]; !ok {
					work[w.Stage] = w
				}
			}
			ut.addImages(own)
			ut.tellModel(own)
			return work
		}
	}
	var counted struct {
		Stages map[string]struct {
			FLOPs float64 `json:"flops"`
		} `json:"stages"`
	}
	data, err := readFile(ut.in.Flops)
	if err == nil {
		err = json.Unmarshal(data, &counted)
	}
	if err != nil {
		ut.notes.unreadable(fmt.Errorf("read %s: %w", ut.in.Flops, err))
		return work
	}
	ut.notes.use(ut.in.Flops, "flops")
	for name, s := range counted.Stages {
		if _, ok := work[name]; !ok && s.FLOPs > 0 {
			work[name] = StageWork{Stage: name, FLOPs: s.FLOPs, DType: dtype}
		}
	}
	return work
}

// addImages puts the pictures of a prompt, whose tokens come on top of its text,
// after its length.
func (ut *utilizer) addImages(r *flops.Report) {
	w := &ut.workload
	at := slices.IndexFunc(w.Shape, func(f Fact) bool { return f.Name == promptLength })
	if r.Shape.Images <= 0 || at < 0 {
		return
	}
	facts := []Fact{{"images", strconv.FormatInt(r.Shape.Images, 10)}}
	if r.Shape.ImageSize > 0 {
		facts = append(facts, Fact{"image_size_px", strconv.FormatInt(r.Shape.ImageSize, 10)})
	}
	facts = append(facts, Fact{"prompt_tokens_with_images", strconv.FormatInt(r.Shape.Tokens, 10)})
	w.Shape = slices.Insert(w.Shape, at+1, facts...)
}

// secondsOf is the time of one pass, with a note where it is not unprofiled.
func (ut *utilizer) secondsOf(s *Stage) (float64, []fact.Fact) {
	note := because(codeOverNsys)
	if ut.run.unprofiledSeconds > 0 {
		note = because(codeOverNsysStage)
	}
	switch {
	case s.CleanMS != nil:
		return *s.CleanMS / 1e3, nil
	case s.NsysTimes != nil: // a first pass that warms up is no measure of the others
		return s.NsysTimes.MedianMS / 1e3, note
	case s.NsysMS != nil:
		return *s.NsysMS / 1e3, note
	case s.Passes > 0 && s.Split.WallNS > 0:
		return float64(s.Split.WallNS) / float64(s.Passes) / 1e9, note
	}
	return 0, nil
}

// fromFLOPs takes over what package flops computed of a model whose matrix
// products are in a data type, or in that of its quantization. Parts of a stage
// are left out.
func fromFLOPs(r *flops.Report, dtype string) []StageWork {
	dtype = cmp.Or(r.Model.Products, dtype)
	var out []StageWork
	for _, s := range r.Stages {
		if s.Within == "" {
			out = append(out, StageWork{Stage: s.Name, FLOPs: float64(s.FLOPs), Bytes: float64(s.Bytes.Total), DType: dtype})
		}
	}
	return out
}

// analytic holds the model's work against the peaks. Work and seconds are of one pass; a
// StageWork without a stage is none.
func (ut *utilizer) analytic(s *Stage, index int, w StageWork, seconds float64, note []fact.Fact, counted *stageCounts) {
	if w.Stage == "" {
		return
	}
	if w.FLOPs > 0 {
		s.FLOPs = &w.FLOPs
		dtype, ok := gpu.Parse(w.DType)
		u := Utilization{Method: methodAnalytic, Seconds: seconds, Why: note}
		if !ok {
			u.Why = because(codeNoTypePeak, fact.Name("dtype", w.DType))
		}
		if dtype == gpu.FP32 && counted != nil && counted.ops[gpu.TensorTF32] > counted.ops[gpu.FP32] {
			dtype = gpu.TensorTF32
			u.Why = slices.Concat(because(codeRanAsTF32), u.Why)
		}
		s.MFU = append(s.MFU, ut.utilization(u, w.FLOPs, string(dtype), index))
	}
	if w.Bytes > 0 {
		s.Bytes = &w.Bytes
		s.MBU = append(s.MBU, ut.utilization(Utilization{Method: methodAnalytic, Seconds: seconds, Why: note}, w.Bytes, levelDRAM, index))
	}
}

// utilization divides work by time and peak. More than the GPU can do is no result
// but a contradiction.
// The work and the time are of one pass; peaks of several GPUs are added up.
func (ut *utilizer) utilization(u Utilization, amount float64, peakID string, stage int) Utilization {
	if len(ut.gpus) == 0 {
		u.Why = because(codeNoGPU)
		return u
	}
	used := ut.stageGPUs(stage)
	highest, ok := used[0].peak(peakID)
	peak := used[0].published(highest)
	if n := len(used); n > 1 {
		highest.Value *= float64(n)
		peak.Value *= float64(n)
		peak.GPUs = n
	}
	switch {
	case u.Seconds <= 0:
		u.Why = because(codeNoStageTime)
	case !ok:
		if len(u.Why) == 0 {
			u.Why = because(codeNoPeak, fact.ID("peak", "peak", peakID))
		}
	default:
		u.Peak, u.Achieved = peak, amount/u.Seconds
		value := u.Achieved / peak.Value
		if u.Achieved > highest.Value {
			u.Contradiction, u.Raw = true, &value
			u.Why = slices.Concat(because(codeOverPeak, fact.Share("raw", value)), u.Why)
			return u
		}
		u.Value = &value
		ut.besideRoof(&u, peakID, len(used))
	}
	return u
}

// besideRoof holds the same work against the roof at the clock that ncu saw, of all GPUs that
// took part; it does nothing for bytes, whose clock hardly changes.
func (ut *utilizer) besideRoof(u *Utilization, id string, gpus int) {
	for _, roof := range ut.roofs {
		if roof.ID == id && roof.Value > 0 && roof.Unit == "flop/s" {
			share := u.Achieved / roof.Value / float64(gpus)
			roof.Value *= float64(gpus)
			u.Roof, u.OfRoof = &roof, &share
		}
	}
}

// stageGPUs are the GPUs that a stage gave work to; the first where that is not
// known.
func (ut *utilizer) stageGPUs(stage int) []*GPU {
	var list []*GPU
	for i := range ut.gpus {
		if g := &ut.gpus[i]; ut.tl != nil && ut.usesGPU(stage, g.Device) {
			list = append(list, g)
		}
	}
	if len(list) == 0 {
		list = []*GPU{&ut.gpus[0]}
	}
	return list
}

// usesGPU tells whether an instance of the stage launched work on a device.
func (ut *utilizer) usesGPU(stage, device int) bool {
	if !slices.Contains(ut.tl.devices(), device) {
		return false
	}
	if len(ut.stages[stage].ids) == 0 {
		return true
	}
	uses := false
	for _, id := range ut.stages[stage].ids {
		ut.tl.eachOf(id, workKey{-1, device}, func(*instance) { uses = true })
	}
	return uses
}

// fromCounters holds what was counted against the peaks: HFU and MBU. Nothing is told without
// counters; where they are too few, the reason stands in place of a value.
func (ut *utilizer) fromCounters(s *Stage, index int, seconds float64, note []fact.Fact, counted *stageCounts) {
	if counted == nil {
		return
	}
	// Where too little was counted, it says so in place of a value.
	base := func(coverage float64, what string) (u Utilization, enough bool) {
		u = Utilization{Method: methodCounters, Seconds: seconds, Coverage: &coverage, Why: note}
		of := fact.ID("what", "work", what)
		switch {
		case coverage == 0:
			u.Why = because(codeCoverNone, of)
			return u, false
		case coverage < spokenShare:
			u.Why = because(codeCoverTooLow, of, fact.Share("share", coverage))
			return u, false
		case coverage < coveredShare:
			u.Why = slices.Concat(because(codeCoverPart, fact.Share("share", coverage)), note)
		}
		return u, true
	}
	if u, enough := base(counted.opsCover, "flops"); !enough {
		s.HFU = append(s.HFU, u)
	} else if dtype := most(counted.ops); dtype == "" {
		u.Why = because(codeNoFloats)
		if counted.opsCover < coveredShare {
			u.Why = because(codeNoFloats, fact.Share("share", counted.opsCover))
		}
		s.HFU = append(s.HFU, u)
	} else {
		u.Why = slices.Concat(u.Why, scaledFact(counted.opsScaled, counted.allOps(), "flops"))
		s.HFU = append(s.HFU, ut.utilization(u, counted.ops[dtype]/float64(s.Passes), string(dtype), index))
	}
	if u, enough := base(counted.bytesCover, "bytes"); !enough {
		s.MBU = append(s.MBU, u)
	} else if counted.bytes > 0 {
		u.Why = slices.Concat(u.Why, scaledFact(counted.bytesScaled, counted.bytes, "bytes"))
		if emptiesCaches(ut.commands) {
			u.Why = slices.Concat(u.Why, because(codeCachesFlushed))
		}
		s.MBU = append(s.MBU, ut.utilization(u, counted.bytes/float64(s.Passes), levelDRAM, index))
	}
}

// scaledFact tells how much of the counted work is taken in proportion to time,
// where that is worth telling.
func scaledFact(part, whole float64, what string) []fact.Fact {
	if whole <= 0 || part/whole < worthTelling {
		return nil
	}
	return because(codeScaledPart, fact.ID("what", "work", what), fact.Share("share", part/whole))
}

// The methods of a utilization.
const (
	methodAnalytic = "analytic" // the model's arithmetic
	methodCounters = "counters"
)

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
func (ut *utilizer) executed(s *Stage, counted *stageCounts) {
	if counted == nil || s.FLOPs == nil || *s.FLOPs <= 0 || s.Passes == 0 || !ut.self.alike() {
		return
	}
	dtype := most(counted.ops)
	times := counted.ops[dtype] / float64(s.Passes) / *s.FLOPs
	if dtype == "" || counted.opsCover < spokenShare {
		return
	}
	ut.executedLess(s, counted)
	if times < executesMore {
		return
	}
	code := codeExecutedMore
	if dtype.Tensor() {
		code = codeExecutedPadding
	}
	f := fact.New(code, s.param(), fact.Num("factor", fact.KindFactor, times))
	if counted.opsCover < coveredShare {
		f.Params["counted"] = fact.Value{Kind: fact.KindShare, Number: counted.opsCover}
	}
	s.explainHFU(f)
	if code == codeExecutedPadding {
		ut.notePadding(s, times)
	}
	if slices.Contains(newStageClock(ut.stages, ut.tl, ut.self).stagesInScope(), s) {
		ut.found = append(ut.found, Finding{ID: "executed-" + s.Name, Weight: weightLow, Fact: f})
	}
}

// notePadding says beside the tensor points of the kernels of a stage that tiles
// are padded: a point counts what was executed.
func (ut *utilizer) notePadding(s *Stage, times float64) {
	for i := range ut.kernels {
		k := &ut.kernels[i]
		tensor := slices.ContainsFunc(k.Point, func(p Point) bool { return gpu.DType(p.DType).Tensor() })
		if tensor && 2*stageTime(k, s.Name) >= k.TotalNS {
			k.PointNote = fact.New(codePadded, s.param(), fact.Num("factor", fact.KindFactor, times))
		}
	}
}

// explainHFU puts a reason before those of the HFU that has a value.
func (s *Stage) explainHFU(f fact.Fact) {
	for i := range s.HFU {
		if u := &s.HFU[i]; u.Value != nil {
			u.Why = slices.Concat([]fact.Fact{f}, u.Why)
		}
	}
}

// executedLess tells where the counters hold less than the model's FLOPs although
// they cover nearly all: one of the two is wrong.
func (ut *utilizer) executedLess(s *Stage, counted *stageCounts) {
	share := counted.allOps() / float64(s.Passes) / *s.FLOPs
	if share >= executesLess || counted.opsCover < nearlyAll {
		return
	}
	s.explainHFU(fact.New(codeFewerThanModel, fact.Share("share", share), fact.Share("coverage", counted.opsCover)))
	ut.notes.warnStage(s.Name, executedLess, fact.Share("share", share), fact.Share("coverage", counted.opsCover))
}
