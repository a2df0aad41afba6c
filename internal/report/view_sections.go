package report

import (
	"fmt"
	"io"

	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/pick"
)

// sectionView is the sets and sections of an ncu, each with what it costs a launch.
var sectionView = View[pick.SectionCost]{
	Name: "sections", Order: Order{Words: "ncu"}, Everything: "--json",
	Columns: []Column[pick.SectionCost]{
		{Key: "kind", Value: func(c *pick.SectionCost) any { return c.Kind }},
		{Key: "name", Format: ID, Value: func(c *pick.SectionCost) any { return c.Name }},
		{Key: "estimated_metrics", Title: "metrics", Unit: Count, Value: func(c *pick.SectionCost) any { return orNil(c.Metrics) }},
		{Key: "passes", Unit: Count, Value: func(c *pick.SectionCost) any { return c.Passes }},
		{Key: "seconds", Title: "s a launch", Format: Number, Value: func(c *pick.SectionCost) any { return fmt.Sprintf("%.2f", c.Seconds) }},
		{Key: "guess", Title: "note", Format: Words, Value: func(c *pick.SectionCost) any { return when(c.Guess, message.Phrase("section-cost-guessed")) }},
	},
}

// WriteSections writes the sets and sections of an ncu, which tool names, for people.
func WriteSections(w io.Writer, tool string, costs []pick.SectionCost) error {
	if _, err := fmt.Fprint(w, message.Phrase("sections-of", tool, fmt.Sprintf("%.2f s", pick.SecondsPerPass)), "\n\n"); err != nil {
		return err
	}
	return sectionView.Table(costs).WriteText(w, 0)
}
