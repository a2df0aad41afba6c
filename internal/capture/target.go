package capture

import (
	"strings"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/tool"
)

// FindTarget looks at a workload as execve would and returns the program that
// its first word stands for, by the PATH of env. The outcome says why it could
// not be started; it is nil where it can.
func FindTarget(target []string, dir string, env []string) (string, *Outcome) {
	c := Capture{Target: target, Command: tool.Command{Dir: dir, Env: env}}
	if o := c.checkTarget(); o != nil {
		o.What = fact.New(workloadNotStarted)
		return "", o
	}
	if strings.Contains(target[0], "/") {
		return target[0], nil
	}
	found, _ := c.program()
	return found, nil
}
