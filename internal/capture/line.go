package capture

import (
	"os"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/redact"
	"github.com/deepprof/deepprof/internal/tool"
)

// ShellLine is a command to paste into a shell, without the values of secrets:
// what the configuration sets of them is left out.
func ShellLine(c tool.Command) string {
	c.Env = slices.DeleteFunc(slices.Clone(c.Env), func(kv string) bool {
		name, value, _ := strings.Cut(kv, "=")
		return redact.Secret(name, value)
	})
	return c.Line(os.Environ())
}

// CommandFile is cmd.txt of a program that runs without a profiler.
func CommandFile(c tool.Command) []byte {
	return []byte(Unrecorded(c.Env, redact.Secret) + ShellLine(c) + "\n")
}
