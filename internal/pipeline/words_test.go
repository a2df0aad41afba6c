package pipeline

import (
	"strings"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/message"
)

// inWords is a verdict in words, for what a test says and looks for.
func inWords(o capture.Outcome) string {
	lines := []string{message.Verdict(string(o.Kind), o.What, o.Evidence), message.Text(o.Cause), message.Next(o.Cause)}
	for _, w := range o.Warnings {
		lines = append(lines, message.Text(w.Fact), message.Next(w.Fact))
	}
	return strings.Join(lines, "\n")
}
