package analysis

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/timeline"
)

// collectiveKinds tells the kind of an exchange by the name of a kernel or of a
// range, in lower case without underscores. Earlier rows win: "allreduce" holds
// "reduce".
var collectiveKinds = []collectiveKind{
	{"reduce_scatter", regexp.MustCompile(`reducescatter`)},
	{"all_gather", regexp.MustCompile(`allgather`)},
	{"all_to_all", regexp.MustCompile(`alltoall`)},
	{"all_reduce", regexp.MustCompile(`allreduce|crossdevicereduce|(one|two)shot|multimem`)},
	{"broadcast", regexp.MustCompile(`broadcast|bcast`)},
	{"barrier", regexp.MustCompile(`barrier`)},
	{"send_recv", regexp.MustCompile(`sendrecv|ncclsend|ncclrecv|mpi(i?send|i?recv)|^(nccl|gloo|mpi):(send|recv)`)},
	{"reduce", regexp.MustCompile(`reduce`)},
}

type collectiveKind struct {
	kind  string
	match *regexp.Regexp
}

// leavesTogether are the kinds that no rank can leave before the last one has
// entered, so that all leave at about the same time.
var leavesTogether = map[string]bool{"reduce_scatter": true, "all_gather": true, "all_to_all": true, "all_reduce": true, "barrier": true}

// kindOfCollective is the kind by name; "other" where the name does not tell.
func kindOfCollective(name string) string {
	name = strings.ReplaceAll(strings.ToLower(name), "_", "")
	for _, k := range collectiveKinds {
		if k.match.MatchString(name) {
			return k.kind
		}
	}
	return "other"
}

// kindNumber is the place of a kind, except "other", in collectiveKinds.
func kindNumber(kind string) int {
	return slices.IndexFunc(collectiveKinds, func(k collectiveKind) bool { return k.kind == kind })
}

// hostCollective matches the ranges by which libraries and programs mark an
// exchange on the host: "gloo:all_reduce", "MPI_Allreduce", "all_reduce".
var hostCollective = regexp.MustCompile(`(?i)^((nccl|gloo|mpi|ucc|xccl|c10d):+\w+|MPI_[A-Z]\w+|(all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|broadcast|barrier)_?)(,.*)?$`)

// An exchangeLaunch is one launch of an exchange in one rank, by the clock of its part.
type exchangeLaunch struct {
	kind       string
	queue      uint32 // stream, or thread of a range
	start, end int64
	bytes      int64      // 0 where that is not known
	meanwhile  []TimePart // since the exchange before it, by category, cause of idle time, or region of the host; in no order
}

// exchanges lists the exchanges of the timeline by start: kernels of that
// category, or where there are none, ranges of the host that say so.
func (tl *timed) exchanges() (list []exchangeLaunch, source string) {
	comm := tl.communicationKinds()
	if slices.Contains(comm, true) {
		around, ranges := tl.tape.AroundWork(func(uint32) bool { return true }), tl.tape.Ranges()
		for w := tl.tape.Work(); w.Next(); {
			if !comm[w.Kind()] {
				continue
			}
			kind, bytes := tl.collectiveOf(ranges, w, around(w))
			start, end := w.Span()
			list = append(list, exchangeLaunch{kind: kind, queue: w.Of().Queue, start: start, end: max(start, end), bytes: bytes})
		}
	}
	source = "kernels"
	if len(list) == 0 {
		list, source = tl.hostExchanges(), "ranges"
	}
	slices.SortStableFunc(list, func(x, y exchangeLaunch) int { return cmp.Compare(x.start, y.start) })
	tl.tellMeanwhile(list, source)
	return list, source
}

// collectiveOf is the kind of a kernel, and the size of its message. A kernel
// that sends and receives may be a part of a collective: the ranges around its
// launch tell.
func (tl *timed) collectiveOf(ranges *timeline.RangeReader, w *timeline.WorkReader, around []uint32) (kind string, bytes int64) {
	kind = kindOfCollective(tl.t.Name(tl.t.Functions[w.Of().Function].Demangled))
	for _, r := range around {
		name := tl.rangeName(ranges, r)
		if k := kindOfCollective(name); kind == "send_recv" && k != "other" && hostCollective.MatchString(name) {
			kind = k
		}
		if bytes == 0 {
			bytes = messageBytes(tl.tape.Payload(tl.t, r))
		}
	}
	return kind, bytes
}

// rangeName is the name of a range.
func (tl *timed) rangeName(ranges *timeline.RangeReader, r uint32) string {
	if id := ranges.Region(r); id != 0 {
		return tl.regions[id-1].Name
	}
	return ""
}

// messageBytes is the size that a range of NCCL has in its payload; 0 without one.
func messageBytes(p timeline.Payload) int64 {
	if p.Type != "json" {
		return 0
	}
	var fields map[string]any
	if json.Unmarshal([]byte(p.Value), &fields) != nil {
		return 0
	}
	for name, value := range fields {
		if n, ok := value.(float64); ok && n > 0 && n < 1<<62 && strings.EqualFold(name, "Message size [bytes]") {
			return int64(n)
		}
	}
	return 0
}

// hostExchanges are the outermost ranges that mark an exchange, by thread.
func (tl *timed) hostExchanges() []exchangeLaunch {
	kinds, any := make([]string, len(tl.regions)+1), false
	for i := range tl.regions {
		if name := tl.regions[i].Name; hostCollective.MatchString(name) {
			kinds[i+1], any = kindOfCollective(name), true
		}
	}
	if !any {
		return nil
	}
	var list []exchangeLaunch
	ranges := tl.tape.Ranges()
	for r := range uint32(tl.tape.RangeLen()) {
		if kind := kinds[ranges.Region(r)]; kind != "" {
			start, end := ranges.Span(r)
			list = append(list, exchangeLaunch{kind: kind, queue: ranges.Thread(r), start: start, end: max(start, end)})
		}
	}
	slices.SortStableFunc(list, func(x, y exchangeLaunch) int {
		return cmp.Or(cmp.Compare(x.queue, y.queue), cmp.Compare(x.start, y.start), cmp.Compare(y.end, x.end))
	})
	var outer []exchangeLaunch
	for _, x := range list {
		if last := len(outer) - 1; last < 0 || outer[last].queue != x.queue || x.end > outer[last].end {
			outer = append(outer, x)
		}
	}
	return outer
}

// tellMeanwhile says what the rank did between exchanges.
func (tl *timed) tellMeanwhile(list []exchangeLaunch, source string) {
	last := tl.lo
	var host []uint32
	if source == "ranges" {
		host = tl.ownRanges()
	}
	ns := make([]int64, tl.p.categories+int(causes))
	for i := range list {
		x := &list[i]
		before := min(last, x.start)
		last = max(last, x.end)
		if before == x.start {
			continue
		}
		if source == "ranges" {
			x.meanwhile = tl.rangesBetween(&host, before, x.start)
			continue
		}
		clear(ns)
		tl.painting(workKey{-1, -1}).split(before, x.start, ns)
		s := tl.split(ns)
		x.meanwhile = slices.Concat(s.Busy, s.Idle)
	}
}

// ownRanges are the innermost ranges that mark no exchange, by start: those that
// hold no other range.
func (tl *timed) ownRanges() []uint32 {
	own := make([]bool, len(tl.regions)+1) // by region
	for i := range tl.regions {
		own[i+1] = !hostCollective.MatchString(tl.regions[i].Name)
	}
	ranges := tl.tape.Ranges()
	var inner []uint32
	last := uint32(timeline.None)
	for r := range uint32(tl.tape.RangeLen()) {
		if !own[ranges.Region(r)] {
			continue
		}
		if last != timeline.None {
			_, end := ranges.Span(r)
			if _, outer := ranges.Span(last); ranges.Thread(r) != ranges.Thread(last) || end > outer { // else it lies in the one before
				inner = append(inner, last)
			}
		}
		last = r
	}
	if last != timeline.None {
		inner = append(inner, last)
	}
	return inner
}

// rangesBetween is the time of ranges between two moments, by name.
// Ranges that end before are taken off the list: moments only grow.
func (tl *timed) rangesBetween(ranges *[]uint32, start, end int64) []TimePart {
	in := tl.tape.Ranges()
	for len(*ranges) > 0 {
		if _, over := in.Span((*ranges)[0]); over > start {
			break
		}
		*ranges = (*ranges)[1:]
	}
	sums := map[string]int64{}
	for _, r := range *ranges {
		from, to := in.Span(r)
		if from >= end {
			break
		}
		if ns := min(end, to) - max(start, from); ns > 0 {
			sums[tl.rangeName(in, r)] += ns
		}
	}
	var list []TimePart
	for name, ns := range sums {
		list = append(list, TimePart{ID: "region", Label: name, NS: ns})
	}
	return list
}

// kindTimes sums the exchanges of each kind, which list has in the order of their starts. For
// ranges on the host, what overlaps them is not told.
func (tl *timed) kindTimes(list []exchangeLaunch, source string) map[string]*Communication {
	out, ends := map[string]*Communication{}, map[string]int64{}
	for i := range list {
		x := &list[i]
		c := entry(out, x.kind)
		c.Launches++
		c.NS += max(0, x.end-max(x.start, ends[x.kind]))
		ends[x.kind] = max(ends[x.kind], x.end)
	}
	if source == "ranges" {
		return out
	}
	comm := tl.communicationKinds()
	for kind, c := range out {
		next := -1
		*c, _ = tl.communicationOf(comm, func(*timeline.WorkReader) bool {
			next++
			return list[next].kind == kind
		})
	}
	return out
}
