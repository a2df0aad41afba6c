package report

import (
	"slices"
	"strconv"
	"strings"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/message"
)

// maxRankRows bounds the rows of a table of ranks in a document.
const maxRankRows = 64

// ranks writes the parts of a result side by side: each as a whole, and the mean
// pass of each stage. It writes nothing for a result without parts.
func (d *doc) ranks(r *analysis.Result) {
	if len(r.Parts) == 0 {
		return
	}
	d.line("## Ranks, windows and repeats")
	d.line("Each row is of one timeline alone; the other sections are about the row marked *. `deepprof show ranks` has all numbers, and `--by measure` their sums.")
	t := newGrid("Timeline", ">Wall (ms)", ">GPU busy (ms)", ">Communication (ms)", ">Exposed (ms)", ">Launches", ">Over median (%)")
	for i := range r.Parts[:min(len(r.Parts), maxRankRows)] {
		p := &r.Parts[i]
		name := prose(partName(r, i))
		if p.Details {
			name += " *"
		}
		if p.Lost != nil {
			t.add(name+d.note(message.Text(*p.Lost)), absent, absent, "", "", absent, absent)
			continue
		}
		row := rankRow(r, i)
		t.add(name, millis(row.WallNS), millis(row.BusyNS), millisIfAny(row.CommNS), millisIfAny(row.Exposed), wholeOr(row.Launches), percentOr(row.Slower))
	}
	t.drop("Communication (ms)")
	t.drop("Exposed (ms)")
	d.table(t)
	if n := len(r.Parts) - maxRankRows; n > 0 {
		d.line("%d more are not listed.", n)
	}
	d.rankStages(r)
	d.job(r)
}

// job writes what ranks exchange, and who waits for whom.
func (d *doc) job(r *analysis.Result) {
	if r.Job == nil {
		return
	}
	if len(r.Job.Collectives) > 0 {
		t := newGrid("Collective", ">Launches", ">Time (ms)", ">Exposed (ms)", ">Matched", ">Transfer (ms)", ">Wait (ms)", ">Message (MB)", ">Bus (GB/s)")
		for _, c := range r.Job.Collectives {
			t.add(prose(message.Label("collective", c.Kind)), strconv.FormatInt(c.Launches, 10), millis(&c.NS), millisIfAny(c.ExposedNS),
				strconv.Itoa(c.Matched), millis(&c.TransferNS), millis(&c.WaitNS), scaledText(c.Bytes, 1e-6, 3), scaledText(c.BusBandwidth, 1e-9, 1))
		}
		t.drop("Exposed (ms)")
		t.drop("Message (MB)")
		t.drop("Bus (GB/s)")
		d.line("Exchanges between ranks, summed over ranks. %s.", upperFirst(message.Text(r.Job.Clock.Text())))
		d.table(t)
		d.messages(r)
	}
	if len(r.Job.Waits) == 0 {
		return
	}
	t := newGrid("Rank", ">Transfer (ms)", ">Wait (ms)", ">Late", ">Late by (ms)", "Took longer for")
	for _, w := range r.Job.Waits[:min(len(r.Job.Waits), maxRankRows)] {
		t.add(prose(partName(r, w.Part)), millis(&w.TransferNS), millis(&w.WaitNS), strconv.Itoa(w.Late), millis(&w.LateNS), prose(meanwhile(w.Meanwhile)))
	}
	t.drop("Took longer for")
	d.table(t)
}

// messages writes collectives by the size of their messages, where a kind has
// several sizes.
func (d *doc) messages(r *analysis.Result) {
	if !slices.ContainsFunc(r.Job.Collectives, func(c analysis.Collective) bool { return len(c.Sizes) > 1 }) {
		return
	}
	rows, cut := messageRows(r)
	t := newGrid("Collective", ">Message (MB)", ">Matched", ">Transfer (ms)", ">Bus (GB/s)")
	for _, m := range rows {
		size := float64(m.Bytes)
		t.add(prose(message.Label("collective", m.Kind)), scaledText(&size, 1e-6, 3), strconv.FormatInt(m.Matched, 10), millis(&m.TransferNS), scaledText(m.BusBandwidth, 1e-9, 1))
	}
	d.table(t)
	if cut > 0 {
		d.line("%d sizes with less transfer are not listed.", cut)
	}
}

// scaledText is a number times a factor; "" for none.
func scaledText(x *float64, factor float64, digits int) string {
	if x == nil {
		return ""
	}
	return strconv.FormatFloat(*x*factor, 'f', digits, 64)
}

// meanwhile names what a rank took longer for.
func meanwhile(parts []analysis.TimePart) string {
	var list []string
	for _, p := range parts {
		name := p.Label
		if name == "" {
			name = message.Label("idle", p.ID)
		}
		list = append(list, name+" ("+millis(&p.NS)+" ms)")
	}
	return strings.Join(list, ", ")
}

// rankStages writes the matrix of parts and stages.
func (d *doc) rankStages(r *analysis.Result) {
	if r.Across == nil || len(r.Across.Stages) == 0 {
		return
	}
	heads := []string{"Mean pass (ms)"}
	for _, s := range r.Across.Stages {
		heads = append(heads, ">"+prose(s.Name))
	}
	t := newGrid(heads...)
	for i := range r.Parts[:min(len(r.Parts), maxRankRows)] {
		cells := []string{prose(partName(r, i))}
		for _, s := range r.Across.Stages {
			cell := absent
			for _, own := range r.Parts[i].Stages {
				if own.Stage == s.Name && own.Passes > 0 {
					cell = millis(&own.PassNS)
				}
			}
			cells = append(cells, cell)
		}
		t.add(cells...)
	}
	d.table(t)
}

func millis(ns *int64) string {
	if ns == nil {
		return absent
	}
	return strconv.FormatFloat(float64(*ns)/1e6, 'f', 3, 64)
}

// millisIfAny leaves the cell of an absent time empty: a column without any is dropped.
func millisIfAny(ns *int64) string {
	if ns == nil {
		return ""
	}
	return millis(ns)
}

func wholeOr(n *int64) string {
	if n == nil {
		return absent
	}
	return strconv.FormatInt(*n, 10)
}

func percentOr(share *float64) string {
	if share == nil {
		return absent
	}
	return strconv.FormatFloat(100**share, 'f', 1, 64)
}
