package timeline

import (
	"maps"
	"math"
	"slices"
)

// A Call is one call of the CUDA runtime or driver API.
// End may be before Start in a damaged file.
type Call struct {
	Start, End  int64  // ns
	Correlation uint32 // that work on the GPU may share; NoCorrelation where there is none
	Name        StringID
	Thread      uint32 // index into Threads
}

// Calls are the CUDA calls of a timeline, in the order of the file. There are
// several for each kernel, so that they are kept as columns: 12 to 14 bytes a call. The
// zero value has none.
// Several goroutines may read it at the same time. Add, AddSite, Rename and DropCorrelations
// change it. An index that is not below Len panics.
type Calls struct {
	start       Starts
	length      []uint32 // elsewhere where the end does not lie within 32 bits after the start
	correlation List
	site        Numbers // index into sites
	sites       []CallSite
	ends        map[uint32]int64 // by call, those that are elsewhere
	known       map[CallSite]uint32

	// ByStart says that the calls are known to lie by start; false where nobody has
	// looked.
	ByStart bool
}

// A CallSite is what many calls have in common.
// Thread is an index into Timeline.Threads.
type CallSite struct {
	Name   StringID
	Thread uint32
}

// elsewhere stands for a length that 32 bits do not hold.
const elsewhere = math.MaxUint32

// CallLength is the column that holds how long a call took; false where End must
// be told beside it.
// Times are in ns: 4.29 s or more, and an end before the start, do not fit.
func CallLength(start, end int64) (uint32, bool) {
	if d := uint64(end) - uint64(start); d < elsewhere && end >= start {
		return uint32(d), true
	}
	return elsewhere, false
}

// MakeCalls takes columns of equal length over. Ends has, by call, the ends that
// CallLength could not hold.
// The calls own the columns from then on. ByStart is false until the caller sets it.
func MakeCalls(start Starts, length []uint32, correlation List, site Numbers, sites []CallSite, ends map[uint32]int64) Calls {
	return Calls{start: start, length: length, correlation: correlation, site: site, sites: sites, ends: ends}
}

// Add appends a call.
// ByStart is false from then on, though the call may lie in order.
func (c *Calls) Add(call Call) {
	c.ByStart = false
	n := uint32(c.Len())
	length, ok := CallLength(call.Start, call.End)
	if !ok {
		if c.ends == nil {
			c.ends = map[uint32]int64{}
		}
		c.ends[n] = call.End
	}
	c.length = append(c.length, length)
	c.correlation.Add(call.Correlation)
	c.start.Add(call.Start)
	c.site.Add(c.siteOf(CallSite{call.Name, call.Thread}))
}

func (c *Calls) siteOf(s CallSite) uint32 {
	if c.known == nil {
		c.known = map[CallSite]uint32{}
		for i, known := range c.sites {
			c.known[known] = uint32(i)
		}
	}
	at, ok := c.known[s]
	if !ok {
		at = uint32(len(c.sites))
		c.sites, c.known[s] = append(c.sites, s), at
	}
	return at
}

// sortByStart puts a list of calls, which is in the order of the file, by start.
func (c *Calls) sortByStart(list []uint32) {
	if !c.ByStart {
		SortByStart(list, c.Start)
	}
}

// clone copies the columns, with room for more.
// The copy shares nothing with c. Its ByStart is false.
func (c *Calls) clone(more int) Calls {
	made := MakeCalls(c.start.clone(more), append(make([]uint32, 0, len(c.length)+more), c.length...), c.correlation.clone(), c.site.clone(more), slices.Clone(c.sites), map[uint32]int64{})
	maps.Copy(made.ends, c.ends)
	return made
}

// Len is the number of calls.
func (c *Calls) Len() int { return len(c.length) }

// At is call i.
func (c *Calls) At(i uint32) Call {
	s, start := c.sites[c.site.At(i)], c.start.At(i)
	end := start + int64(c.length[i])
	if c.length[i] == elsewhere {
		end = c.ends[i]
	}
	return Call{start, end, c.Correlation(i), s.Name, s.Thread}
}

// Start is when call i began.
func (c *Calls) Start(i uint32) int64 { return c.start.At(i) }

// End is when call i returned.
func (c *Calls) End(i uint32) int64 {
	if n := c.length[i]; n != elsewhere {
		return c.start.At(i) + int64(n)
	}
	return c.ends[i]
}

// A Span is an event with its times.
type Span struct {
	Start, End int64  // ns; End may be before Start in a damaged file
	Event      uint32 // its number, of a call that in Timeline.Calls
}

// Spans reads the calls of a list from place from on, as many as there are and fit, and
// returns how many.
func (c *Calls) Spans(list *List, from int, into []Span) int {
	to := min(list.Len(), from+len(into))
	list.ahead.each(from, to, func(at, next int, ahead uint32) {
		out := into[at-from : next-from]
		for k := range out {
			i := uint32(at+k) + ahead
			start := c.start.At(i)
			end := start + int64(c.length[i])
			if c.length[i] == elsewhere {
				end = c.ends[i]
			}
			out[k] = Span{start, end, i}
		}
	})
	return max(0, to-from)
}

// Each visits all calls in the order of the file.
// site is an index into Sites; times are in ns.
func (c *Calls) Each(visit func(i, site uint32, start, end int64)) {
	for i := range uint32(len(c.length)) {
		start := c.start.At(i)
		end := start + int64(c.length[i])
		if c.length[i] == elsewhere {
			end = c.ends[i]
		}
		visit(i, c.site.At(i), start, end)
	}
}

// Correlation is the id that call i shares with the work that it launched; NoCorrelation
// after DropCorrelations.
func (c *Calls) Correlation(i uint32) uint32 {
	if c.correlation.Len() == 0 {
		return NoCorrelation
	}
	return c.correlation.At(int(i))
}

// DropCorrelations releases the ids, which take much memory, once all work is joined to
// its calls. Nothing can be joined after that.
func (c *Calls) DropCorrelations() { c.correlation = List{} }

// Thread is the one that made call i.
func (c *Calls) Thread(i uint32) uint32 { return c.sites[c.site.At(i)].Thread }

// Name is that of call i.
func (c *Calls) Name(i uint32) StringID { return c.sites[c.site.At(i)].Name }

// Site is the number of what call i has in common with others; Sites lists them.
func (c *Calls) Site(i uint32) uint32 { return c.site.At(i) }

// Sites lists what calls have in common, by number.
// The list is that of the calls: do not change it. A site may have no calls, after KeepLaunches.
func (c *Calls) Sites() []CallSite { return c.sites }

// AddSite appends what calls that come in a flow have in common.
// An equal one is not looked for: the flow numbers sites itself, in the order of these calls.
func (c *Calls) AddSite(s CallSite) { c.sites = append(c.sites, s) }

// Rename gives every name its new number.
// to is indexed by the old number. The index that Add keeps is not renamed: do not Add afterwards.
func (c *Calls) Rename(to []StringID) {
	for i := range c.sites {
		c.sites[i].Name = to[c.sites[i].Name]
	}
}
