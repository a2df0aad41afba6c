package pick

import (
	"fmt"
	"io"
	"math"
	"text/tabwriter"
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
		out = append(out, SectionCost{Kind: kind, Name: name, Passes: n, Seconds: math.Round(float64(n)*secondsPerPass*100) / 100, Guess: !known})
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

// WriteSectionCosts writes the costs as a text. Tool names the ncu that has the
// sets and sections.
func WriteSectionCosts(w io.Writer, tool string, list []SectionCost) error {
	if _, err := fmt.Fprintf(w, "Sets and sections of %s, in the order of ncu, with what each launch costs (estimated: passes on an H200, %.2f s each)\n\n", tool, secondsPerPass); err != nil {
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "kind\tname\tmetrics\tpasses\ts a launch\t")
	for _, c := range list {
		metrics, note := "-", ""
		if c.Metrics > 0 {
			metrics = fmt.Sprint(c.Metrics)
		}
		if c.Guess {
			note = "not known by name: a common cost"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%.2f\t%s\n", c.Kind, c.Name, metrics, c.Passes, c.Seconds, note)
	}
	return t.Flush()
}
