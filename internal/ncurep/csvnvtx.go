package ncurep

import (
	"strconv"
	"strings"
)

// parsePushPop reads a cell such as `2735  "dom:outer:...x6"  "dom:inner:...x6" `.
// The CSV names one thread, that of the launch, which is stored in thread. A cell of
// another form is passed over: it is no reason to lose the counters of the row.
func (n *NVTX) parsePushPop(cell string, thread *uint32) {
	tid, rest, ok := strings.Cut(cell, " ")
	if !ok {
		return
	}
	id, err := strconv.ParseUint(tid, 10, 32)
	if err != nil {
		return
	}
	*thread = uint32(id)
	for _, text := range quotedTexts(rest) {
		domain, rg, ok := parseRange(text)
		if !ok {
			continue
		}
		if k := len(n.Stacks) - 1; k >= 0 && n.Stacks[k].Domain == domain {
			n.Stacks[k].Ranges = append(n.Stacks[k].Ranges, rg)
			continue
		}
		n.Stacks = append(n.Stacks, NVTXStack{Thread: *thread, Domain: domain, Ranges: []NVTXRange{rg}})
	}
}

// parseStartEnd reads a cell such as ` "7:dom:name:...x6" `. One of another form is passed
// over, as by parsePushPop.
func (n *NVTX) parseStartEnd(cell string) {
	for _, text := range quotedTexts(cell) {
		id, rest, ok := strings.Cut(text, ":")
		num, err := strconv.ParseUint(id, 10, 64)
		if !ok || err != nil {
			continue
		}
		if domain, rg, ok := parseRange(rest); ok {
			n.Open = append(n.Open, NVTXOpen{ID: num, Domain: domain, NVTXRange: rg})
		}
	}
}

// quotedTexts splits at the quotes with a blank outside them, because ncu does not
// escape quotes inside names.
func quotedTexts(s string) []string {
	var out []string
	for part := range strings.SplitSeq(s, `" `) {
		if _, text, ok := strings.Cut(part, ` "`); ok {
			out = append(out, text)
		}
	}
	return out
}

// parseRange takes "domain:name:" and six attributes apart; the name may
// contain colons, the domain not.
func parseRange(s string) (string, NVTXRange, bool) {
	parts := strings.Split(s, ":")
	if len(parts) < 8 {
		return "", NVTXRange{}, false
	}
	k := len(parts) - 6
	attr := func(i int) string {
		if parts[k+i] == "none" {
			return ""
		}
		return parts[k+i]
	}
	rg := NVTXRange{Name: strings.Join(parts[1:k], ":"), PayloadType: attr(0), Payload: attr(1), ColorType: attr(2),
		Color: attr(3), MessageType: attr(4), Message: attr(5)}
	return parts[0], rg, true
}
