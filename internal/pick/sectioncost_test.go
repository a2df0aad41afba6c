package pick

import "testing"

func TestSectionCosts(t *testing.T) {
	got := SectionCosts([]string{"basic", "full", "mine"}, []string{"LaunchStats", "MemoryWorkloadAnalysis", "Own"}, map[string]int{"full": 613})
	if len(got) != 6 {
		t.Fatalf("%d rows", len(got))
	}
	by := map[string]SectionCost{}
	for _, c := range got {
		by[c.Name] = c
	}
	if by["basic"].Passes != 10 || by["full"].Passes != 38 || by["full"].Kind != "set" || by["full"].Guess || !by["mine"].Guess {
		t.Errorf("sets: %+v", got[:3])
	}
	if by["full"].Metrics != 613 || by["basic"].Metrics != 0 || by["full"].Seconds <= by["basic"].Seconds {
		t.Errorf("metrics and seconds: %+v", got[:3])
	}
	if by["MemoryWorkloadAnalysis"].Passes < 6 || by["MemoryWorkloadAnalysis"].Kind != "section" || !by["Own"].Guess || by["LaunchStats"].Passes > by["MemoryWorkloadAnalysis"].Passes {
		t.Errorf("sections: %+v", got[3:])
	}
}
