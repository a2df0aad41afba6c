package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/config"
	"github.com/deepprof/deepprof/internal/suggest"
)

// Problem is one thing that is wrong with a configuration.
type Problem struct {
	Key     string        // dotted key of the value to blame
	Origin  config.Origin // where that value was written, or its mapping where the key is absent
	Message string        // what is wrong and what to do about it

	unknownKey bool // the key does not exist
}

// String gives the place, the key and the message on one line.
func (p Problem) String() string {
	var parts []string
	if p.Origin != (config.Origin{}) {
		parts = append(parts, p.Origin.String())
	}
	if p.Key != "" {
		parts = append(parts, p.Key)
	}
	return strings.Join(append(parts, p.Message), ": ")
}

// Problems are all problems of a configuration in the order of their places:
// files by name and line, then overrides in the order of the keys.
type Problems []Problem

// Error gives one line for each problem.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// Err returns the problems as an error, nil where there are none.
func (ps Problems) Err() error {
	if len(ps) == 0 {
		return nil
	}
	return ps
}

func (ps Problems) sort() {
	class := func(o config.Origin) int {
		switch {
		case o.Override != "":
			return 1
		case o.File != "":
			return 0
		}
		return 2
	}
	unknown := func(p Problem) int { // what was mistyped explains what is missing
		if p.unknownKey {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(
			cmp.Compare(unknown(a), unknown(b)),
			cmp.Compare(class(a.Origin), class(b.Origin)),
			cmp.Compare(a.Origin.File, b.Origin.File),
			cmp.Compare(a.Origin.Line, b.Origin.Line),
			cmp.Compare(a.Origin.Column, b.Origin.Column),
		)
	})
}

// stockSets are the section sets of ncu 2022.3 to 2025.3 together.
var stockSets = []string{"basic", "default", "detailed", "full", "nvlink", "pmsampling", "roofline", "source"}

// Doubts are values of a sound plan that are probably mistakes, or that the
// user should know about. They do not stop a run.
func Doubts(root *config.Node, p *Plan) Problems {
	var found Problems
	doubt := func(key, format string, args ...any) {
		problem := Problem{Key: key, Message: fmt.Sprintf(format, args...)}
		if n := root.Lookup(key); n != nil {
			problem.Origin = n.Origin()
		}
		found = append(found, problem)
	}
	if set := p.Pipeline.Ncu.CLI.Set; p.Pipeline.Ncu.Enable && set != "" && !slices.Contains(stockSets, set) {
		doubt("pipeline.ncu.ncu_cli.set",
			"no ncu comes with a set %q%s (%s); a set of your own is not checked here, 'deepprof doctor' asks the ncu that is installed",
			shorten(set), suggest.DidYouMean(set, stockSets), strings.Join(stockSets, ", "))
	}
	const end = "pipeline.nsys.capture_range_end"
	if n := root.Lookup(end); p.Pipeline.Nsys.CaptureRange == CaptureNone && n != nil && n.Origin().Override != "" && p.Pipeline.Nsys.CaptureRangeEnd != "" {
		doubt(end, "has no effect without a gate; set pipeline.nsys.capture_range to nvtx or cudaProfilerApi with it")
	}
	if p.Model.TrustRemoteCode {
		doubt("model.trust_remote_code", "runs the Python code that lies in %s with your rights; read it first", p.Model.Path)
	}
	return found
}
