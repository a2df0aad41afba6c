package compare

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/cxx"
)

// A config is how a kernel was launched.
type config struct{ grid, block [3]int64 }

// String is how a configuration is told from others of a kernel in the names of rows.
func (c config) String() string {
	return fmt.Sprintf("%dx%dx%d/%dx%dx%d", c.grid[0], c.grid[1], c.grid[2], c.block[0], c.block[1], c.block[2])
}

// A launched is one kernel with one grid and block in one run; both are 0 where the run did
// not launch it. ns is GPU time.
type launched struct {
	calls, ns int64
}

// A kernelSum is a kernel, by its whole name, over the runs of a side.
// ns is GPU time; entries of configs are parallel to the runs of the side.
type kernelSum struct {
	name, short, category string
	configs               map[config][]launched // one of each run
	places                map[string]bool       // regions and stages that launch it
	calls, ns             int64                 // over all runs
}

// sumKernels sums the kernels of a side by name.
func sumKernels(side []Run) map[string]*kernelSum {
	out := map[string]*kernelSum{}
	for run := range side {
		r := side[run].Result
		if r == nil {
			continue
		}
		for i := range r.Kernels {
			k := &r.Kernels[i]
			if k.Untimed {
				continue
			}
			s := out[k.Name]
			if s == nil {
				s = &kernelSum{name: k.Name, short: k.Short, category: k.Category, configs: map[config][]launched{}, places: map[string]bool{}}
				out[k.Name] = s
			}
			c := config{k.Grid, k.Block}
			if s.configs[c] == nil {
				s.configs[c] = make([]launched, len(side))
			}
			at := &s.configs[c][run]
			at.calls += k.Calls
			at.ns += k.TotalNS
			s.calls += k.Calls
			s.ns += k.TotalNS
			for _, st := range k.Stages {
				s.places[st.Stage] = true
			}
		}
		notePlaces(out, r)
	}
	return out
}

// notePlaces adds the regions in which kernels are among those of most time.
func notePlaces(of map[string]*kernelSum, r *analysis.Result) {
	for i := range r.Regions {
		g := &r.Regions[i]
		for _, t := range g.Top {
			if t.Kernel >= 0 && t.Kernel < len(r.Kernels) && of[r.Kernels[t.Kernel].Name] != nil {
				of[r.Kernels[t.Kernel].Name].places[groupName(g)] = true
			}
		}
	}
}

// A pair is a kernel of the base and the one of the new side that does its work;
// one of them may be nil.
type pair struct {
	base, fresh *kernelSum
	status      Status
	alike       float64
	byName      bool // their names are the same, or alike
}

// matchKernels pairs the kernels of both sides: by name, then those that are left
// by similarity, the most similar first.
func matchKernels(base, fresh []Run) []pair {
	a, b := sumKernels(base), sumKernels(fresh)
	var pairs []pair
	var gone, added []*kernelSum
	for _, name := range slices.Sorted(maps.Keys(a)) {
		switch {
		case b[name] == nil:
			gone = append(gone, a[name])
		case sameConfigs(a[name], b[name]):
			pairs = append(pairs, pair{base: a[name], fresh: b[name], status: Common, byName: true})
		default:
			pairs = append(pairs, pair{base: a[name], fresh: b[name], status: Reconfigured, byName: true})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b)) {
		if a[name] == nil {
			added = append(added, b[name])
		}
	}
	return append(pairs, matchAlike(gone, added)...)
}

// sameConfigs looks at grids and blocks, not at how often they were launched.
func sameConfigs(a, b *kernelSum) bool {
	return maps.EqualFunc(a.configs, b.configs, func([]launched, []launched) bool { return true })
}

// enoughAlike is the similarity from which two kernels are taken for one, and
// enoughOfName that of their names alone.
const (
	enoughAlike  = 0.6
	enoughOfName = 0.4
)

// matchAlike pairs what only one side has. A kernel is in one pair at most, and every one is
// in one: those that nothing is like stand alone.
func matchAlike(gone, added []*kernelSum) []pair {
	var found []pair
	for _, x := range gone {
		for _, y := range added {
			if s, byName := similarity(x, y); s >= enoughAlike {
				found = append(found, pair{base: x, fresh: y, status: Renamed, alike: s, byName: byName})
			}
		}
	}
	slices.SortStableFunc(found, func(x, y pair) int {
		return cmp.Or(cmp.Compare(y.alike, x.alike), cmp.Compare(y.base.ns, x.base.ns), cmp.Compare(x.fresh.name, y.fresh.name))
	})
	taken, pairs := map[*kernelSum]bool{}, []pair{}
	for _, p := range found {
		if !taken[p.base] && !taken[p.fresh] {
			taken[p.base], taken[p.fresh] = true, true
			pairs = append(pairs, p)
		}
	}
	for _, x := range gone {
		if !taken[x] {
			pairs = append(pairs, pair{base: x, status: Gone})
		}
	}
	for _, y := range added {
		if !taken[y] {
			pairs = append(pairs, pair{fresh: y, status: OnlyNew})
		}
	}
	return pairs
}

// similarity is how much two kernels look like one under two names, 0 to 1: by the
// words of their names, how they are launched, and where. A library has many
// kernels for a matrix product: what is launched in the same places, as often, is
// taken for the same whatever its name; byName is false then.
func similarity(x, y *kernelSum) (s float64, byName bool) {
	if x.category != y.category {
		return 0, false
	}
	name, places := overlap(tokens(cxx.Short(x.name)), tokens(cxx.Short(y.name))), overlap(x.places, y.places)
	launch := 0.0
	if blocks := overlap(blocksOf(x), blocksOf(y)); blocks > 0 {
		launch = 0.5 * blocks
	}
	often := x.calls == y.calls
	if often {
		launch += 0.5
	}
	if name >= enoughOfName {
		s = 0.5*name + 0.25*launch + 0.25*places
	}
	byName = s >= enoughAlike
	if often && len(x.places) > 0 && places == 1 && (x.category == "gemm" || x.category == "attention") {
		s = max(s, enoughAlike)
	}
	return s, byName
}

// blocksOf are the blocks that a kernel was launched with, without the grids: inputs change a
// grid more often.
func blocksOf(k *kernelSum) map[string]bool {
	out := map[string]bool{}
	for c := range k.configs {
		out[fmt.Sprint(c.block)] = true
	}
	return out
}

// tokens are the words and numbers of a name.
func tokens(name string) map[string]bool {
	out := map[string]bool{}
	for _, t := range strings.FieldsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		out[t] = true
	}
	return out
}

// overlap is the share of common elements, by Dice; 1 where both are empty.
// It is symmetric, from 0 to 1.
func overlap(a, b map[string]bool) float64 {
	if len(a)+len(b) == 0 {
		return 1
	}
	common := 0
	for k := range a {
		if b[k] {
			common++
		}
	}
	return 2 * float64(common) / float64(len(a)+len(b))
}

// addKernels takes the kernels of a side under the names of the pairs. Those
// launched alike on both sides have a row for each configuration.
func (s *samples) addKernels(pairs []pair, side []Run, isBase bool) {
	least := worth * float64(largestTotal(pairs))
	names := shortNames(pairs)
	for _, p := range pairs {
		k, other := p.fresh, p.base
		if isBase {
			k, other = p.base, p.fresh
		}
		if k == nil || float64(max(k.ns, sumOf(other))) < least {
			continue
		}
		name := names[p.key()]
		if p.status == Common && len(k.configs) > 1 {
			for _, c := range configsOf(k) {
				s.addKernel(name+" "+c.String(), k.configs[c], p)
			}
			continue
		}
		s.addKernel(name, total(k, len(side)), p)
	}
}

// key is the whole name by which a pair is known: that of the new side.
func (p *pair) key() string {
	if p.fresh != nil {
		return p.fresh.name
	}
	return p.base.name
}

// shortNames are the names of pairs for people, by key: as short as tells them
// apart.
func shortNames(pairs []pair) map[string]string {
	keys := make([]string, len(pairs))
	for i := range pairs {
		keys[i] = pairs[i].key()
	}
	out := map[string]string{}
	for i, short := range cxx.Distinguish(keys) {
		out[keys[i]] = cmp.Or(short, keys[i])
	}
	return out
}

// sumOf is GPU time in ns over all runs; 0 for nil.
func sumOf(k *kernelSum) int64 {
	if k == nil {
		return 0
	}
	return k.ns
}

// largestTotal is the GPU time of the kernel with most of it, on either side.
func largestTotal(pairs []pair) int64 {
	var a, b int64
	for _, p := range pairs {
		a += sumOf(p.base)
		b += sumOf(p.fresh)
	}
	return max(a, b)
}

// The order is that of their text, which is stable.
func configsOf(k *kernelSum) []config {
	return slices.SortedFunc(maps.Keys(k.configs), func(x, y config) int { return cmp.Compare(x.String(), y.String()) })
}

// total sums the configurations of a kernel by run.
func total(k *kernelSum, n int) []launched {
	out := make([]launched, n)
	for _, runs := range k.configs {
		for i, l := range runs {
			out[i].calls += l.calls
			out[i].ns += l.ns
		}
	}
	return out
}

// A run that did not launch the kernel gives no sample, not 0.
func (s *samples) addKernel(name string, runs []launched, p pair) {
	var sum float64
	for _, l := range runs {
		sum += float64(l.ns)
	}
	for _, l := range runs {
		if l.calls == 0 {
			continue
		}
		s.add(Key{Kernel, name, Time}, OnGPU, float64(l.ns), sum)
		s.add(Key{Kernel, name, LaunchTime}, OnGPU, float64(l.ns)/float64(l.calls), sum)
		s.add(Key{Kernel, name, Launches}, "", float64(l.calls), sum)
	}
	for _, m := range []Metric{Time, LaunchTime, Launches} {
		x := s.of[Key{Kernel, name, m}]
		if x == nil {
			continue
		}
		x.choose(x.fullest())
		x.status = p.status
		if p.status == Renamed {
			x.was, x.alike = p.base.short, p.alike
		}
	}
}
