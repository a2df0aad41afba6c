package analysis

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/deepprof/deepprof/internal/flops"
	"github.com/deepprof/deepprof/internal/gpu"
)

// utilise holds the work of each stage against the peaks, two ways: by the
// model's arithmetic over the clean time, and by counters over the region.
func (a *analyzer) utilise(context.Context) error {
	work := a.stageWork()
	for i := range a.res.Stages {
		s := &a.res.Stages[i]
		seconds, note := s.seconds()
		a.analytic(s, work[s.Name], seconds, note)
		if !a.alike() { // the timeline's passes are of another size than the clean ones
			seconds, note = float64(s.Split.WallNS)/float64(max(1, s.Passes))/1e9, "over the time under nsys, because the clean run had another shape"
		}
		a.fromCounters(s, i, seconds, note)
	}
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
			for _, text := range own.Warnings {
				a.warn("flops", "", "FLOPs and bytes of the model: %s", text)
			}
			return work
		}
	}
	var counted struct {
		Stages map[string]struct {
			FLOPs float64 `json:"flops"`
		} `json:"stages"`
	}
	if err := readJSON(a.in.Flops, &counted); err != nil {
		a.warn("flops", "", "%v", err)
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

// seconds of one pass, with a note where they are not clean.
func (s *Stage) seconds() (float64, string) {
	if s.CleanMS != nil {
		return *s.CleanMS / 1e3, ""
	}
	if s.NsysMS != nil {
		return *s.NsysMS / 1e3, "over the time under nsys, because there is no clean run"
	}
	if s.Passes > 0 && s.Split.WallNS > 0 {
		return float64(s.Split.WallNS) / float64(s.Passes) / 1e9, "over the time under nsys, because there is no clean run"
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
// products are in a data type. Parts of a stage are left out.
func FromFLOPs(r *flops.Report, dtype string) []StageWork {
	var out []StageWork
	for _, s := range r.Stages {
		if s.Within == "" {
			out = append(out, StageWork{Stage: s.Name, FLOPs: float64(s.FLOPs), Bytes: float64(s.Bytes.Total), DType: dtype})
		}
	}
	return out
}

func (a *analyzer) analytic(s *Stage, w StageWork, seconds float64, note string) {
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
		s.MFU = append(s.MFU, a.utilisation(u, w.FLOPs, string(dtype)))
	}
	if w.Bytes > 0 {
		s.Bytes = &w.Bytes
		s.MBU = append(s.MBU, a.utilisation(Utilisation{Method: "analytic", Seconds: seconds, Why: note}, w.Bytes, levelDRAM))
	}
}

// utilisation divides work by time and peak. Over 100 % is no result but a
// contradiction.
func (a *analyzer) utilisation(u Utilisation, amount float64, peakID string) Utilisation {
	if len(a.res.Environment.GPUs) == 0 {
		u.Why = "the GPU is not known"
		return u
	}
	peak, ok := a.res.Environment.GPUs[0].peak(peakID)
	if n := len(a.res.Environment.GPUs); n > 1 {
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
			u.Why = fmt.Sprintf("it comes out at %.0f %% of a peak that cannot be exceeded: the work, the time or the peak is wrong", value*100)
			return u
		}
		u.Value = &value
	}
	return u
}

// fromCounters multiplies the counts of each counted kernel by its launches in
// the region. Nothing is added for kernels that were not counted.
func (a *analyzer) fromCounters(s *Stage, index int, seconds float64, note string) {
	if len(a.counted) == 0 || a.tl == nil || s.Passes == 0 {
		return
	}
	ops, bytes := map[gpu.DType]float64{}, 0.0
	var covered, total int64
	for k := range a.res.Kernels {
		row := &a.res.Kernels[k]
		calls, ns := row.Calls, row.TotalNS
		if region := a.stageRegion[index]; region != 0 {
			c := a.tl.inRegion[regionGroup{region, uint32(k)}]
			if c == nil {
				continue
			}
			calls, ns = c.calls, c.ns
		}
		total += ns
		l := a.launchOf[k]
		if l == nil {
			continue
		}
		d := l.counts()
		if len(d.missing) > 0 && d.seconds == 0 {
			continue
		}
		covered += ns
		for dtype, n := range d.flops {
			ops[dtype] += n * float64(calls)
		}
		bytes += d.bytes[levelDRAM] * float64(calls)
	}
	if total == 0 || covered == 0 {
		return
	}
	coverage := float64(covered) / float64(total)
	if coverage < a.th.Covered {
		note = joinWords(fmt.Sprintf("the counters cover %.0f %% of its kernel time: a lower bound", coverage*100), note)
	}
	u := Utilisation{Method: "counters", Seconds: seconds, Coverage: &coverage, Why: note}
	if coverage < a.th.Spoken {
		u.Why = fmt.Sprintf("the counters cover only %.0f %% of its kernel time; count more of its kernels", coverage*100)
		s.MFU, s.MBU = append(s.MFU, u), append(s.MBU, u)
		return
	}
	if dtype, ok := mostOf(ops); ok {
		s.MFU = append(s.MFU, a.utilisation(u, ops[dtype]/float64(s.Passes), string(dtype)))
	}
	if bytes > 0 {
		s.MBU = append(s.MBU, a.utilisation(u, bytes/float64(s.Passes), levelDRAM))
	}
}

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
