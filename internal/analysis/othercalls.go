package analysis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/timeline"
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
func (a *analyzer) otherCalls(s *Stage) []otherCall {
	tl := a.tl
	if tl == nil || tl.t == nil {
		return nil
	}
	byName := map[callKind]int64{}
	add := func(process int, moments []moment) {
		p := tl.painting(workKey{process, -1})
		for _, m := range moments {
			p.callsWithin(m, byName)
		}
	}
	switch regions := a.regionsOf(s); {
	case len(regions) > 0:
		for process := range tl.t.Processes {
			add(process, tl.joined(regions, process))
		}
	case a.scope != nil:
		add(-1, a.scope.moments)
	default:
		add(-1, []moment{{tl.lo, tl.hi}})
	}
	sums := map[otherCall]int64{} // versions of a call are one
	for kind, ns := range byName {
		c := otherCall{name: "a CUDA call without a name"}
		if int(kind.name) < len(tl.t.Names) {
			c.name = callName(tl.t.Names[kind.name])
		}
		c.lazy = kind.long && strings.Contains(c.name, "Attribute")
		c.loads = c.lazy || isLoad(c.name)
		sums[c] += ns
	}
	list := make([]otherCall, 0, len(sums))
	for c, ns := range sums {
		c.ns = ns
		list = append(list, c)
	}
	slices.SortFunc(list, func(x, y otherCall) int { return cmp.Or(cmp.Compare(y.ns, x.ns), cmp.Compare(x.name, y.name)) })
	return list
}

type callKind struct {
	name timeline.StringID
	long bool
}

// callsWithin adds the time of each call within a stretch.
func (p *painting) callsWithin(m moment, into map[callKind]int64) {
	for i := max(0, p.find(m.start)); i < len(p.blocks) && p.blocks[i].start < m.end; i++ {
		b := p.blocks[i]
		names := p.calls[b.calls:]
		for j, label := range b.label[:b.n] {
			if label != p.call {
				continue
			}
			start, end, name := b.startOf(j), p.pieceEnd(i, j), names[0]
			names = names[1:]
			if from, to := max(start, m.start), min(end, m.end); from < to {
				into[callKind{name, end-start >= longAttribute}] += to - from
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

// callChange is what to do about other CUDA calls of a stage: load code before it
// where they load, else make fewer of them.
func (a *analyzer) callChange(s *Stage, list []otherCall) idleSaving {
	var loading, all int64
	for _, c := range list {
		all += c.ns
		if c.loads {
			loading += c.ns
		}
	}
	fewer := idleSaving{"calls", "call", "Make fewer CUDA calls beside the launches of %s", "No CUDA call beside launches, copies, allocation and synchronisation is made while the GPU is idle.",
		a.advice("They come with launches: capture the steady part in a CUDA graph, or let torch.compile (mode reduce-overhead) do so; fewer and larger kernels make fewer of them.",
			"Ask for attributes and names once and keep them; capture the steady part in a CUDA graph, or launch fewer kernels."),
		[]string{"call"}}
	if s.fromGraphs() {
		fewer.how = "Ask for attributes and names once and keep them; record events only where something waits for them."
	}
	if all == 0 || float64(loading) < loads*float64(all) {
		return fewer
	}
	load := idleSaving{"calls", "call", "Load before %s the code that it uses", "Loading of code, and the other CUDA calls beside launches, happen before.",
		"Warm up with the same shapes; set CUDA_MODULE_LOADING=EAGER to load kernels at start.", []string{"call"}}
	if s.whole() { // nothing comes before it
		load.title, load.assumption = "Load less code in %s", "No code is loaded, and no other CUDA call beside launches is made, while the GPU is idle."
		load.how = "Load fewer libraries and kernels, and do more work in one process."
	}
	if 2*loading < all && !s.whole() {
		load.title = "Load code before %s, and make fewer CUDA calls in it"
		load.how += " For the other calls: " + strings.ToLower(fewer.how[:1]) + fewer.how[1:]
	}
	return load
}

// callEvidence are the calls that take most.
func callEvidence(list []otherCall) (out []Evidence) {
	for _, c := range list[:min(len(list), namedCalls)] {
		what := c.name
		if c.lazy {
			what = "long calls of " + c.name + ", which load code lazily"
		}
		out = append(out, Evidence{Metric: "idle under nsys in " + what, Value: float64(c.ns) / 1e6, Unit: "ms"})
	}
	return out
}

// callWords names the call that takes most, within a sentence.
func callWords(list []otherCall) string {
	if len(list) == 0 {
		return ""
	}
	return fmt.Sprintf(", most of the time %s,", list[0].name)
}
