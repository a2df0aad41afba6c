package engine

import (
	"regexp"
	"strconv"
	"strings"
)

// A Step is what the name of a step says about its batch.
type Step struct {
	Kind StepKind
	// Context is the number of prompts, ContextTokens their tokens, Generation the
	// number of sequences that decode, GenerationTokens their tokens (more than one
	// each with speculative decoding). -1 is not told by the name.
	Context, ContextTokens, Generation, GenerationTokens int
}

// A StepKind is what a step computes.
type StepKind string

const (
	Prefill StepKind = "prefill"
	Decode  StepKind = "decode"
	Mixed   StepKind = "mixed"
	Empty   StepKind = "empty" // a step without work: it polls
	Unknown StepKind = "step"  // the name does not tell
)

// stepForm is how an engine writes the name of a step. The groups are N prompts,
// T tokens of them, M sequences that decode, U tokens of them.
type stepForm struct {
	pattern *regexp.Regexp
	kind    StepKind // where the groups do not decide it
	// part is a regular expression without operators of NVTX filters that is found in
	// such names, for ncu; exact one that is found in those names alone that tell the
	// same batch, with N, T, M and U in braces. "" where names do not tell it.
	part, exact string
}

const sglangStep = "step.(DECODE|EXTEND|MIXED) bs="

var stepForms = []stepForm{
	// vLLM; newer ones write the sizes as sq128sk256
	{pattern: regexp.MustCompile(`^execute_(?:\d+_)?context_(?P<N>\d+)\((?:sq)?(?P<T>\d+)(?:sk\w+)?\)_generation_(?P<M>\d+)\((?:sq)?(?P<U>\d+)(?:sk\w+)?\)$`), part: "context_.*_generation_",
		exact: "context_{N}.(sq)?{T}(sk.*)?._generation_{M}.(sq)?{U}(sk.*)?.$"},
	// TensorRT-LLM; the number of the step and the tokens came later
	{pattern: regexp.MustCompile(`^\[Executor\] _forward_step(?: \d+)?: (?P<N>\d+) ctx reqs, (?:(?P<T>\d+) ctx tokens, )?(?P<M>\d+) gen reqs$`), part: "_forward_step.* gen reqs",
		exact: "_forward_step.* {N} ctx reqs. ({T} ctx tokens. )?{M} gen reqs$"},
	// SGLang
	{pattern: regexp.MustCompile(`^step\[DECODE bs=(?P<M>\d+)(?: toks=(?P<U>\d+))?\]$`), kind: Decode, part: sglangStep, exact: "step.DECODE bs={M}( toks={U})?.$"},
	{pattern: regexp.MustCompile(`^step\[EXTEND bs=(?P<N>\d+)(?: toks=(?P<T>\d+))?\]$`), kind: Prefill, part: sglangStep, exact: "step.EXTEND bs={N}( toks={T})?.$"},
	{pattern: regexp.MustCompile(`^step\[MIXED bs=\d+(?: toks=\d+)?\]$`), kind: Mixed, part: sglangStep},
	{pattern: regexp.MustCompile(`^scheduler\.run_batch$`), kind: Unknown, part: "scheduler.run_batch"},
}

// ParseStep reads the name of a step; false where no engine writes it so.
func ParseStep(name string) (Step, bool) {
	for _, f := range stepForms {
		if m := f.pattern.FindStringSubmatch(name); m != nil {
			return f.read(m), true
		}
	}
	return Step{}, false
}

// StepFilter is a regular expression that is found in the names of steps of the
// engine that wrote this one, as filters of NVTX ranges take it, and one that is found
// in those of them that compute the same batch; the same one where the name does not
// tell the batch. False for a name that no engine writes.
func StepFilter(name string) (all, same string, ok bool) {
	for _, f := range stepForms {
		m := f.pattern.FindStringSubmatch(name)
		if m == nil {
			continue
		}
		if f.exact == "" {
			return f.part, f.part, true
		}
		s := f.read(m)
		number := func(n int) string {
			if n < 0 {
				return ".*"
			}
			return strconv.Itoa(n)
		}
		r := strings.NewReplacer("{N}", number(s.Context), "{T}", number(s.ContextTokens), "{M}", number(s.Generation), "{U}", number(s.GenerationTokens))
		return f.part, r.Replace(f.exact), true
	}
	return "", "", false
}

func (f *stepForm) read(m []string) Step {
	number := func(group string) int {
		i := f.pattern.SubexpIndex(group)
		if i < 0 || m[i] == "" {
			return -1
		}
		n, err := strconv.Atoi(m[i])
		if err != nil {
			return -1
		}
		return n
	}
	s := Step{Kind: f.kind, Context: number("N"), ContextTokens: number("T"), Generation: number("M"), GenerationTokens: number("U")}
	switch f.kind {
	case Decode:
		s.Context, s.ContextTokens = 0, 0
	case Prefill:
		s.Generation, s.GenerationTokens = 0, 0
	case "":
		s.Kind = kindOf(s.Context, s.Generation)
	}
	if s.GenerationTokens < 0 && s.Generation >= 0 {
		s.GenerationTokens = s.Generation
	}
	if s.Context == 0 {
		s.ContextTokens = 0
	}
	return s
}

// Numbers that are not told (-1) count as none.
func kindOf(context, generation int) StepKind {
	switch {
	case context > 0 && generation > 0:
		return Mixed
	case context > 0:
		return Prefill
	case generation > 0:
		return Decode
	}
	return Empty
}

// Batch is the number of sequences in the step, -1 where the name does not tell.
func (s Step) Batch() int {
	if s.Context < 0 || s.Generation < 0 {
		return -1
	}
	return s.Context + s.Generation
}
