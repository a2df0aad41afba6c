package pick

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// A SectionCost is how often ncu repeats a launch for a set, or for a section
// alone.
type SectionCost struct {
	Kind   string `json:"kind"` // set or section
	Name   string `json:"name"`
	Passes int    `json:"passes"`
	// Guess is set where the model does not know the set or section by name and
	// takes a common cost.
	Guess bool `json:"guess,omitempty"`
}

// SectionCosts estimates the cost of the sets and sections of an ncu, in the
// order given. The numbers are those of the cost model: Nsight Compute 2025.3 on
// an H200, other GPUs differ.
func SectionCosts(sets, sections []string) []SectionCost {
	var out []SectionCost
	for _, name := range sets {
		_, known := setPasses[name]
		n, _ := Collect{Set: name}.Passes()
		out = append(out, SectionCost{"set", name, n, !known})
	}
	for _, name := range sections {
		_, known := sectionPasses[name]
		n, _ := Collect{Sections: []string{name}}.Passes()
		out = append(out, SectionCost{"section", name, n, !known})
	}
	return out
}

// WriteSectionCosts writes the costs as a text. Tool names the ncu that has the
// sets and sections.
func WriteSectionCosts(w io.Writer, tool string, list []SectionCost) error {
	if _, err := fmt.Fprintf(w, "Sets and sections of %s, with the passes that each launch takes (estimated; at about %.2f s a pass)\n\n", tool, secondsPerPass); err != nil {
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "kind\tname\tpasses")
	for _, c := range list {
		passes := fmt.Sprint(c.Passes)
		if c.Guess {
			passes += " (not known by name)"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", c.Kind, c.Name, passes)
	}
	return t.Flush()
}
