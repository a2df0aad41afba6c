package engine

import "testing"

// FuzzParseStep: whatever a range is called, the counts of a step are known or -1.
func FuzzParseStep(f *testing.F) {
	for _, name := range []string{"execute_context_1(8)_generation_3(3)", "step[DECODE bs=8 toks=8]", "step[EXTEND bs=2]", "scheduler.run_batch"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		s, ok := ParseStep(name)
		if !ok {
			return
		}
		if s.Kind == "" || min(s.Context, s.ContextTokens, s.Generation, s.GenerationTokens, s.Batch()) < -1 {
			t.Errorf("%q: %+v", name, s)
		}
	})
}
