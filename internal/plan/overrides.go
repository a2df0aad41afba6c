package plan

import (
	"path/filepath"
	"strings"
)

// CommandOverrides returns the overrides that make a command line, as it
// stands after "--", the workload of a run: what the run stores can then be
// composed again.
func CommandOverrides(args []string) []string {
	quoted := make([]string, len(args))
	for i, arg := range args {
		quoted[i] = quote(arg)
	}
	return []string{"workload=command", "pipeline.workload.command=[" + strings.Join(quoted, ",") + "]"}
}

// quote writes text as a quoted string of the override grammar. There, a
// backslash escapes only the quote, and backslashes right before a quote; and
// "${" begins an interpolation unless a backslash stands before it.
func quote(text string) string {
	var b strings.Builder
	b.WriteByte('\'')
	slashes := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			slashes++
			b.WriteByte(c)
			continue
		case c == '\'':
			b.WriteString(strings.Repeat(`\`, slashes+1))
		case c == '$' && i+1 < len(text) && text[i+1] == '{':
			b.WriteString(strings.Repeat(`\`, slashes+1))
		}
		slashes = 0
		b.WriteByte(text[i])
	}
	b.WriteString(strings.Repeat(`\`, slashes))
	b.WriteByte('\'')
	return b.String()
}

// SplitRunDir reads hydra.run.dir. Where its last element is "auto", the run
// store makes up a name in the folder parent; otherwise the run is dir itself.
func SplitRunDir(dir string) (parent string, auto bool) {
	clean := filepath.Clean(dir)
	if filepath.Base(clean) == "auto" {
		return filepath.Dir(clean), true
	}
	return clean, false
}
