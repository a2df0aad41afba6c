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

// Doubts are values of a sound plan that are probably mistakes and that only a
// tool can tell from what is meant: the machine may have sets of its own.
func Doubts(root *config.Node, p *Plan) Problems {
	const key = "pipeline.ncu.ncu_cli.set"
	set := p.Pipeline.Ncu.CLI.Set
	if !p.Pipeline.Ncu.Enable || set == "" || slices.Contains(stockSets, set) {
		return nil
	}
	doubt := Problem{Key: key, Message: fmt.Sprintf(
		"no ncu comes with a set %q%s (%s); a set of your own is not checked here, 'deepprof doctor' asks the ncu that is installed",
		shorten(set), suggest.DidYouMean(set, stockSets), strings.Join(stockSets, ", "))}
	if n := root.Lookup(key); n != nil {
		doubt.Origin = n.Origin()
	}
	return Problems{doubt}
}
