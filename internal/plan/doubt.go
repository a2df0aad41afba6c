package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/config"
	"github.com/deepprof/deepprof/internal/suggest"
)

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
