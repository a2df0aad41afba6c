package analysis

import "testing"

// TestPreliminary: without its counters a launch-bound decode has its finding,
// and counters are not waited for.
func TestPreliminary(t *testing.T) {
	in, err := fromFiles(unpacked(t, llmTimeline))
	if err != nil {
		t.Fatal(err)
	}
	in.Preliminary, in.DefaultScope = true, true
	r := analyzed(t, in)
	notes := r.FirstNotes()
	if !r.Preliminary || len(notes) != 2 || !notes[0].Is(Preliminary) || !notes[1].Is(CountersKeepAdvice) {
		t.Fatalf("first notes %+v", notes)
	}
	for _, s := range r.Stages {
		told := false
		for _, name := range notes[1].Params["stages"].List {
			told = told || name == s.Name
		}
		if told != s.Split.LaunchBound {
			t.Errorf("%s: launch-bound %t, told %t", s.Name, s.Split.LaunchBound, told)
		}
	}
	if len(r.Findings) == 0 {
		t.Error("no findings")
	}
}
