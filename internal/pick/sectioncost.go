package pick

import (
	"context"
	"math"

	"github.com/deepprof/deepprof/internal/tool"
)

// A SectionCost is how often ncu repeats a launch for a set, or for a section
// alone.
type SectionCost struct {
	Kind   string `json:"kind"` // set or section
	Name   string `json:"name"`
	Passes int    `json:"passes"`
	// Seconds is what a launch then takes.
	Seconds float64 `json:"seconds"`
	// Metrics is how many ncu says that a set collects; 0 where it does not say.
	Metrics int `json:"estimated_metrics,omitempty"`
	// Guess is set where the model does not know the set or section by name and
	// takes a common cost.
	Guess bool `json:"guess,omitempty"`
}

// SectionCosts estimates the cost of the sets and sections of an ncu, in the
// order given. The numbers are those of the cost model: Nsight Compute 2025.3 on
// an H200, other GPUs differ. Metrics are by the name of a set.
func SectionCosts(sets, sections []string, metrics map[string]int) []SectionCost {
	var out []SectionCost
	add := func(kind, name string, known bool, c Collect) {
		n, _ := c.Passes()
		out = append(out, SectionCost{Kind: kind, Name: name, Passes: n, Seconds: math.Round(float64(n)*SecondsPerPass*100) / 100, Guess: !known})
	}
	for _, name := range sets {
		_, known := setPasses[name]
		add("set", name, known, Collect{Set: name})
		out[len(out)-1].Metrics = metrics[name]
	}
	for _, name := range sections {
		_, known := sectionPasses[name]
		add("section", name, known, Collect{Sections: []string{name}})
	}
	return out
}

// InstalledSections asks an ncu, a program or its folder, for what it can count: its
// name with the version, and what its sets and sections cost.
func InstalledSections(ctx context.Context, path string) (name string, costs []SectionCost, err error) {
	var finder tool.Finder
	t, err := finder.Find(ctx, tool.Spec{Name: tool.Ncu, Path: path})
	if err != nil {
		return "", nil, err
	}
	lists, err := tool.Probe(ctx, t, tool.System{})
	if err != nil {
		return "", nil, err
	}
	return t.String(), SectionCosts(lists.Sets, lists.Sections, lists.SetMetrics), nil
}
