package capture

import (
	"fmt"
	"strings"

	"github.com/deepprof/deepprof/internal/message"
)

// explain is a verdict in full, a line for each part.
func (o Outcome) explain() string {
	var b strings.Builder
	line := func(name, text string) {
		if text != "" {
			fmt.Fprintf(&b, "%-10s %s\n", name, text)
		}
	}
	line("outcome", string(o.Kind))
	line("what", message.Text(o.What))
	line("evidence", message.Text(o.Evidence))
	line("cause", message.Text(o.Cause))
	line("next", message.Next(o.Cause))
	for _, w := range o.Warnings {
		line("warning", message.Text(w.Fact))
		line("", message.Next(w.Fact))
	}
	return b.String()
}
