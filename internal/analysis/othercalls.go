package analysis

import (
	"cmp"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/fact"
)

const (
	// loads is the part of the time in other CUDA calls from which loading of code
	// is what to do something about.
	loads = 0.1
	// longAttribute is how long a call about the attributes of a kernel takes only
	// if it loads the kernel: with lazy loading the first call that needs its code
	// does, and others take a few microseconds.
	longAttribute = 50_000
	// namedCalls is how many calls are named as evidence.
	namedCalls = 4
)

// loadCalls are parts of the names of CUDA calls that bring code to the GPU.
var loadCalls = []string{"Module", "LibraryLoad", "LibraryGet", "KernelGetFunction", "FuncLoad", "LinkAdd", "LinkComplete"}

// isLoad goes by the name of the call, with or without its version.
func isLoad(call string) bool {
	return slices.ContainsFunc(loadCalls, func(word string) bool { return strings.Contains(call, word) })
}

// An otherCall is the idle time in a CUDA call without a cause of its own.
type otherCall struct {
	name  string
	ns    int64
	lazy  bool // long calls about attributes
	loads bool // brings code to the GPU
}

// otherCalls is the idle time of a stage in CUDA calls without a cause of their
// own, by call, the longest first. Moments that instances of the stage share count
// once.
func (st *stageClock) otherCalls(s *Stage) []otherCall {
	if st.tl == nil || st.tl.t == nil {
		return nil
	}
	list, ok := st.others[s]
	if !ok {
		if found := st.tl.lookedAt(s); found != nil {
			list = found.others
		} else {
			list = st.findOtherCalls(s)
		}
		if st.others == nil {
			st.others = map[*Stage][]otherCall{}
		}
		st.others[s] = list
	}
	return list
}

// findOtherCalls is otherCalls without its memory.
func (st *stageClock) findOtherCalls(s *Stage) []otherCall {
	tl := st.tl
	byName := make([][2]int64, len(tl.t.Names)+1) // short and long calls; the last is for names that are not known
	add := func(process int, moments []moment) {
		p := tl.painting(workKey{process, -1})
		for _, m := range moments {
			p.callsWithin(m, byName)
		}
	}
	switch regions := st.regionsOf(s); {
	case len(regions) > 0:
		for process := range tl.t.Processes {
			add(process, st.momentsOf(s, process))
		}
	case st.tl.scope != nil:
		add(-1, st.tl.scope.moments)
	default:
		add(-1, []moment{{tl.lo, tl.hi}})
	}
	sums := map[otherCall]int64{} // versions of a call are one
	for name, times := range byName {
		for long, ns := range times {
			if ns == 0 {
				continue
			}
			c := otherCall{name: "?"}
			if name < len(tl.t.Names) {
				c.name = callName(tl.t.Names[name])
			}
			c.lazy = long == 1 && strings.Contains(c.name, "Attribute")
			c.loads = c.lazy || isLoad(c.name)
			sums[c] += ns
		}
	}
	list := make([]otherCall, 0, len(sums))
	for c, ns := range sums {
		c.ns = ns
		list = append(list, c)
	}
	slices.SortFunc(list, func(x, y otherCall) int { return cmp.Or(cmp.Compare(y.ns, x.ns), cmp.Compare(x.name, y.name)) })
	return list
}

// callsWithin adds the time of each call within a stretch, by its name and whether
// it is long.
func (p *painting) callsWithin(m moment, into [][2]int64) {
	for i := max(0, p.find(m.start)); i < len(p.blocks) && p.blocks[i].start < m.end; i++ {
		if b := &p.blocks[i]; b.start >= m.start && i+1 < len(p.blocks) && p.blocks[i+1].start <= m.end {
			if calls := p.scan.read(p, b).calls; calls != nil {
				for n := (numbers{data: calls}); n.at < len(n.data); {
					name := p.names[int(n.data[n.at])-p.labels]
					n.at++
					sums := &into[min(int(name), len(into)-1)]
					sums[0] += int64(n.number())
					sums[1] += int64(n.number())
				}
				continue
			}
		}
		for r := p.read(i, &p.scan); r.next(); {
			if r.label != p.call {
				continue
			}
			if r.start >= m.end {
				break
			}
			if from, to := max(r.start, m.start), min(r.end, m.end); from < to {
				into[min(int(r.name), len(into)-1)][lengthClass(r.end-r.start)] += to - from
			}
		}
	}
}

// callName leaves out the version that names of CUDA calls end in: _v7000.
func callName(name string) string {
	at := strings.LastIndex(name, "_v")
	if at <= 0 || strings.Trim(name[at+2:], "0123456789") != "" {
		return name
	}
	return name[:at]
}

// loading is the idle time of a stage in calls that load code, where that is
// enough to do something about; else 0.
func (st *stageClock) loading(s *Stage) int64 {
	var loading, all int64
	for _, c := range st.otherCalls(s) {
		all += c.ns
		if c.loads {
			loading += c.ns
		}
	}
	if float64(loading) < loads*float64(all) {
		return 0
	}
	return min(loading, s.Split.idle("call"))
}

// loadSaving loads code before a stage. Other CUDA calls go with the launches.
func (sv *savings) loadSaving(s *Stage) {
	ns := sv.stages.loading(s)
	if ns == 0 {
		return
	}
	title, how := codeLoadBefore, codeHowLoad
	if s.whole() { // nothing comes before it
		title, how = codeLoadLess, codeHowLoadLess
	}
	evidence := append(s.idleEvidence("call"), callEvidence(sv.stages.otherCalls(s))...)
	sv.saveIdle(s, Opportunity{ID: "calls-call-" + s.Name, Kind: "calls", Title: fact.New(title, s.param()), How: because(how), Assumes: because(codeAssumeLoad), Evidence: evidence, Estimated: true}, sv.stages.bounded(s, ns))
}

// callEvidence are the calls that take most.
func callEvidence(list []otherCall) (out []Evidence) {
	for _, c := range list[:min(len(list), namedCalls)] {
		code := codeIdleIn
		if c.lazy {
			code = codeIdleInLazy
		}
		out = append(out, Evidence{Of: fact.New(code, fact.Name("call", c.name)), Value: float64(c.ns) / 1e6, Unit: "ms"})
	}
	return out
}
