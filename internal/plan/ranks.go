package plan

import (
	"regexp"
	"strings"
)

var ranksPattern = regexp.MustCompile(`^(all|one-per-node|[0-9]{1,7}(,[0-9]{1,7})*)?$`)

func checkRanks(p *Plan, d *decoder) {
	if text := strings.Join(p.Pipeline.Ranks, ","); !d.bad["pipeline.ranks"] && !ranksPattern.MatchString(text) {
		d.conflict([]string{"pipeline.ranks"}, "want all, one-per-node, or a list of ranks such as [0,7]; got %q", shorten(text))
	}
}
