package plan

import "regexp"

var ranksPattern = regexp.MustCompile(`^(all|one-per-node|[0-9]{1,7}(,[0-9]{1,7})*)$`)

func checkRanks(p *Plan, d *decoder) {
	if p.Pipeline.Ranks != "" && !ranksPattern.MatchString(p.Pipeline.Ranks) {
		d.conflict([]string{"pipeline.ranks"}, "want all, one-per-node, or ranks with commas such as 0,7; got the string %q", shorten(p.Pipeline.Ranks))
	}
}
