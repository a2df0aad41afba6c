package analysis

import (
	"cmp"
	"slices"

	"github.com/deepprof/deepprof/internal/engine"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/flops"
	"github.com/deepprof/deepprof/internal/gpu"
	"github.com/deepprof/deepprof/internal/load"
	"github.com/deepprof/deepprof/internal/runs"
)

// Codes of why the work of steps is not known, and of what to know of it. The last
// two make it at least.
const (
	codeStepNoConfig   fact.Code = "step-no-config"
	codeStepNoContext  fact.Code = "step-no-context"
	codeStepUntold     fact.Code = "step-untold"    // names do not tell prompts, sequences and their tokens
	codeStepUncounted  fact.Code = "step-uncounted" // error
	codePassEach       fact.Code = "step-pass-each" // the engine reads weights for each prompt
	codePromptsInCache fact.Code = "step-prompts-in-cache"
	codePromptsAlike   fact.Code = "step-prompts-alike"
)

// servingWork holds the steps of a server against the peaks, by the work that the
// config of its model tells.
func (ut *utilizer) servingWork(s *Serving) []StepClass {
	if len(s.Steps) == 0 {
		return nil
	}
	w := ut.servingModel()
	if w.model != nil {
		if !w.clients(s) {
			ut.notes.lack(servingNoContext)
		}
		w.promptsAlone = engine.Find(s.Engine, nil).PromptsAlone
	}
	steps := slices.Clone(s.Steps)
	for i := range steps {
		ut.stepWork(&steps[i], w)
	}
	return steps
}

// stepCounter counts the work of steps by what their names tell.
type stepCounter struct {
	model *flops.Model // nil where the run has none
	// dtype is that of the activations, as the plan names it.
	dtype string
	// context is the number of keys that a sequence sees while it decodes, 0 where it
	// is not known; read the places of the cache that the engine reads for it, 0 where
	// it reads no empty ones.
	context, read float64
	promptsAlone  bool // engine.Engine.PromptsAlone
}

// clients takes what the clients saw of the lengths of sequences; false where they
// are not known.
func (w *stepCounter) clients(s *Serving) bool {
	seen, ok := s.mean(load.Unprofiled, load.Idle, load.Profiled)
	if seen.prompt <= 0 {
		ok = s.askedFor(&seen)
	}
	if !ok {
		return false
	}
	if profiled, _ := s.mean(load.Profiled); profiled.context > 0 {
		seen.context, seen.read = profiled.context, profiled.read
	}
	w.context, w.read = cmp.Or(seen.context, seen.prompt+seen.output/2), seen.read
	return true
}

// askedFor fills in the lengths that the client asked for, where no request ended
// in a window; false where they are not known either.
func (s *Serving) askedFor(m *clientMeans) bool {
	if s.Shape == nil {
		return false
	}
	prompt, err := load.ParseDist(s.Shape.Prompt)
	output, also := load.ParseDist(s.Shape.Output)
	m.prompt, m.output = prompt.Mean(), output.Mean()
	return err == nil && also == nil
}

// servingModel is a counter for the model of the plan of a run. It is never nil; without a model
// it counts nothing, and says so.
func (ut *utilizer) servingModel() *stepCounter {
	none := &stepCounter{}
	if ut.in.Run == "" {
		return none
	}
	p, err := runs.PlanOf(ut.in.Run)
	if err != nil {
		ut.notes.unreadable(err)
		return none
	}
	if p == nil || p.Model.Config.Values == nil {
		return none // an older run, or no model
	}
	m, err := flops.ParseMap(p.Model.Config.Values)
	if err != nil {
		ut.notes.unreadable(err)
		return none
	}
	return &stepCounter{model: m, dtype: p.Model.DType}
}

// stepWork counts the work of the steps of a class and holds it against the peaks.
func (ut *utilizer) stepWork(c *StepClass, w *stepCounter) {
	base := Utilization{Method: methodAnalytic}
	if c.Kind == engine.Empty || c.Steps == 0 {
		return
	}
	if why := w.count(c); why != nil {
		base.Why = []fact.Fact{*why}
		absent := base
		c.MFU, c.MBU = &base, &absent
		return
	}
	kind, _ := gpu.Parse(cmp.Or(w.model.Products(), w.dtype))
	base.Seconds = c.Time.Mean / 1e9
	for _, code := range w.notes(c) {
		base.Why = append(base.Why, fact.New(code))
		base.AtLeast = base.AtLeast || code != codePassEach
	}
	mfu, mbu := ut.utilization(base, c.FLOPs, string(kind), 0), ut.utilization(base, c.Bytes, levelDRAM, 0)
	c.MFU, c.MBU = &mfu, &mbu
	if mfu.Value != nil && mbu.Value != nil {
		c.Roof = map[bool]string{true: "flops", false: "dram"}[*mfu.Value > *mbu.Value]
	}
}

// notes are what to know of the work that was counted for a class.
func (w *stepCounter) notes(c *StepClass) (codes []fact.Code) {
	several, prompts := false, false
	for s := range c.compositions {
		prompts = prompts || s.Context > 0
		several = several || s.Context > 1
	}
	switch {
	case w.promptsAlone && prompts:
		codes = append(codes, codePassEach)
	case prompts:
		codes = append(codes, codePromptsInCache)
	}
	if several {
		codes = append(codes, codePromptsAlike)
	}
	return codes
}

// count fills in the mean work of a step of the class, or returns why it is not
// known. A sequence that decodes reads the cache as full as the clients saw it; the
// bytes have the empty places that the engine reads as well.
func (w *stepCounter) count(c *StepClass) *fact.Fact {
	var flop, bytes, prompts, tokens float64
	decodes := false
	for s, n := range c.compositions {
		work, why := w.step(s)
		if why != nil {
			return why
		}
		flop, bytes = flop+float64(n)*work.flops, bytes+float64(n)*work.bytes
		prompts, tokens = prompts+float64(n*s.Context), tokens+float64(n*s.ContextTokens)
		decodes = decodes || s.Generation > 0
	}
	steps := float64(c.Steps)
	c.FLOPs, c.Bytes = flop/steps, bytes/steps
	switch {
	case !decodes:
		c.Context = tokens / prompts
	default:
		c.Context = w.context
		if w.read > w.context {
			c.CacheRead = w.read
		}
	}
	return nil
}

// stepWork is what one step computes, in FLOPs, and moves, in bytes.
type stepWork struct{ flops, bytes float64 }

// step is the work of one step, or why it is not known. Prompts of a step are taken
// as equally long, which is the least that they can compute.
func (w *stepCounter) step(s engine.Step) (stepWork, *fact.Fact) {
	lacks := func(code fact.Code, params ...fact.Param) (stepWork, *fact.Fact) {
		f := fact.New(code, params...)
		return stepWork{}, &f
	}
	switch {
	case w.model == nil:
		return lacks(codeStepNoConfig)
	case s.Context < 0 || s.Generation < 0 || s.Context+s.Generation == 0 || s.ContextTokens < s.Context || s.GenerationTokens < s.Generation:
		return lacks(codeStepUntold)
	case s.Generation > 0 && w.context < 1:
		return lacks(codeStepNoContext)
	}
	counted, err := w.passes(s, w.context)
	if err == nil && w.read > w.context && s.Generation > 0 {
		var more stepWork
		more, err = w.passes(s, w.read)
		counted.bytes = more.bytes
	}
	if err != nil {
		return lacks(codeStepUncounted, fact.Error("error", err))
	}
	return counted, nil
}

// passes adds up the passes of a step, with so many keys for each sequence that
// decodes: one pass for all sequences, or one for those that decode and one for each
// prompt.
func (w *stepCounter) passes(s engine.Step, keys float64) (sum stepWork, err error) {
	add := func(times int64, of ...flops.Sequences) {
		if len(of) == 0 || err != nil {
			return
		}
		var pass flops.Stage
		pass, err = w.model.Pass(w.dtype, of...)
		sum.flops += float64(times) * float64(pass.FLOPs)
		sum.bytes += float64(times) * float64(pass.Bytes.Total)
	}
	prompts, decode := divided(s.Context, s.ContextTokens), divided(s.Generation, s.GenerationTokens)
	for i := range decode {
		d := &decode[i]
		d.Logits, d.Cached = d.New, max(0, int64(keys+0.5)-d.New)
	}
	if !w.promptsAlone {
		add(1, append(decode, prompts...)...)
		return sum, err
	}
	add(1, decode...)
	for _, p := range prompts {
		times := p.N
		p.N = 1
		add(times, p)
	}
	return sum, err
}

// divided shares tokens out as evenly as whole numbers allow; nil without sequences.
func divided(sequences, tokens int) (out []flops.Sequences) {
	if sequences == 0 {
		return nil
	}
	more, each := int64(tokens%sequences), int64(tokens/sequences)
	if more > 0 {
		out = append(out, flops.Sequences{N: more, New: each + 1, Logits: 1})
	}
	return append(out, flops.Sequences{N: int64(sequences) - more, New: each, Logits: 1})
}
