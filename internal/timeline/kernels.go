package timeline

import (
	"cmp"
	"slices"

	"github.com/deepprof/deepprof/internal/fact"
)

// A kernelKey is what kernel executions are grouped by. Fields that the query
// does not split by are left zero.
type kernelKey struct {
	Function uint32 // chosen by the caller
	Device   int32
	Process  uint32
	Region   uint32
	Config   uint32
}

// A KernelGroup is one group on its way to a row.
// Fields that the query does not split by do not make rows of their own.
type KernelGroup struct {
	Name, Short string
	Device      int
	Process     int // pid
	Region      string
	Config      LaunchConfig
	Sample      Sample
}

// KernelRows summarizes the kernels of a timeline.
func (t *Timeline) KernelRows(q Query) Rows[KernelRow] {
	var at *Attribution
	if q.NeedsRegions() {
		at = t.Attribute()
	}
	keep := t.kernelFilter(&q, at)
	groups := map[kernelKey]*KernelGroup{}
	for i := range t.Kernels {
		k := &t.Kernels[i]
		if !keep(i, k) {
			continue
		}
		key := kernelKey{Function: k.Function}
		queue := &t.Queues[k.Queue]
		if q.By&ByDevice != 0 {
			key.Device = queue.Device
		}
		if q.By&ByProcess != 0 {
			key.Process = queue.Process
		}
		if q.By&ByRegion != 0 {
			key.Region = at.KernelNode(i)
		}
		if q.By&ByLaunchConfig != 0 {
			key.Config = k.Config
		}
		g := groups[key]
		if g == nil {
			g = t.newGroup(key, at)
			groups[key] = g
		}
		g.Sample.Add(k.Duration())
	}
	list := make([]*KernelGroup, 0, len(groups))
	for _, g := range groups {
		list = append(list, g)
	}
	rows := SumKernels(list, &q)
	if at != nil {
		rows.Warnings = slices.Concat(rows.Warnings, at.Warnings)
	}
	return rows
}

// at is nil where no region is asked for.
func (t *Timeline) newGroup(key kernelKey, at *Attribution) *KernelGroup {
	f := t.Functions[key.Function]
	g := &KernelGroup{Name: t.Name(f.Demangled), Short: t.Name(f.Short), Device: int(key.Device)}
	if int(key.Process) < len(t.Processes) {
		g.Process = t.Processes[key.Process].PID
	}
	if int(key.Config) < len(t.Configs) {
		g.Config = t.Configs[key.Config]
	}
	if at != nil {
		g.Region = at.Path(key.Region)
	}
	return g
}

// kernelFilter gives a predicate over the kernels; the regular expression and
// the region are asked once per function and per state.
// at may be nil where the query names no region. Several goroutines may use the function.
func (t *Timeline) kernelFilter(q *Query, at *Attribution) func(int, *Kernel) bool {
	functions := make([]bool, len(t.Functions))
	for i, f := range t.Functions {
		functions[i] = q.Kernel == nil || q.Kernel.MatchString(t.Name(f.Demangled)) ||
			q.Kernel.MatchString(t.Name(f.Short)) || q.Kernel.MatchString(t.Name(f.Mangled))
	}
	queues := t.queueFilter(q)
	var inRegion func(int) bool
	if q.Region != nil {
		inRegion = at.KernelMatcher(q.Region)
	}
	return func(i int, k *Kernel) bool {
		return functions[k.Function] && queues[k.Queue] && (inRegion == nil || inRegion(i))
	}
}

// queueFilter tells by index into Queues what the query wants. A queue of an unknown process has
// process number 0.
func (t *Timeline) queueFilter(q *Query) []bool {
	queues := make([]bool, len(t.Queues))
	for i, queue := range t.Queues {
		pid := 0
		if int(queue.Process) < len(t.Processes) {
			pid = t.Processes[queue.Process].PID
		}
		queues[i] = q.wantDevice(queue.Device) && q.wantProcess(pid)
	}
	return queues
}

// splitKey tells apart the rows of a kernel summary.
type splitKey struct {
	name            string
	device, process int
	region          string
	config          LaunchConfig
}

func (g *KernelGroup) splitKey(by By) splitKey {
	key := splitKey{name: g.Name}
	if by&ByDevice != 0 {
		key.device = g.Device
	}
	if by&ByProcess != 0 {
		key.process = g.Process
	}
	if by&ByRegion != 0 {
		key.region = g.Region
	}
	if by&ByLaunchConfig != 0 {
		// What a person tunes: two launches that differ only in local memory
		// are of one configuration.
		key.config = g.Config
		key.config.SharedExecuted, key.config.LocalPerThrd = 0, 0
	}
	return key
}

// SumKernels turns groups into rows in the order of nsys stats: total time,
// then fewest calls, then name. Groups that differ only in what the query does
// not split by are joined; their samples are used up.
// Shares are of all groups, those that Top leaves out too.
func SumKernels(groups []*KernelGroup, q *Query) Rows[KernelRow] {
	joined := map[splitKey]*KernelGroup{}
	var order []*KernelGroup
	var total float64
	over := false
	for _, g := range groups {
		total += float64(g.Sample.Sum())
		key := g.splitKey(q.By)
		if first := joined[key]; first != nil {
			first.Sample.merge(&g.Sample)
			if g.Short < first.Short { // whatever the order of the groups
				first.Short = g.Short
			}
			continue
		}
		joined[key] = g
		order = append(order, g)
	}
	slices.SortFunc(order, func(a, b *KernelGroup) int {
		return cmp.Or(
			cmp.Compare(b.Sample.Sum(), a.Sample.Sum()),
			cmp.Compare(a.Sample.Len(), b.Sample.Len()),
			cmp.Compare(a.Name, b.Name),
			cmp.Compare(a.Device, b.Device),
			cmp.Compare(a.Process, b.Process),
			cmp.Compare(a.Region, b.Region),
			slices.Compare(a.Config.key(), b.Config.key()),
		)
	})
	cut := cutTop(order, q.Top)
	rows := make([]KernelRow, len(cut.Rows))
	for i, g := range cut.Rows {
		rows[i] = g.row(q, total)
		over = over || g.Sample.Over()
	}
	sums := Rows[KernelRow]{Rows: rows, Cut: cut.Cut}
	if over {
		sums.Warnings = []fact.Fact{fact.New(CodeOverflow)}
	}
	return sums
}

func (g *KernelGroup) row(q *Query, total float64) KernelRow {
	s, round := &g.Sample, Round1
	if q.Exact {
		round = RoundExact
	}
	row := KernelRow{
		Name: g.Name, ShortName: g.Short,
		TotalNS: s.Sum(), Calls: int64(s.Len()),
		MeanNS: round(s.Mean()), MedianNS: round(s.Median()),
		MinNS: s.Min(), MaxNS: s.Max(), StddevNS: round(s.Stddev()),
	}
	if q.Shorten != nil {
		row.ShortName = q.Shorten(g.Name)
	}
	if total != 0 {
		row.TimePct = round(float64(s.Sum()) * 100 / total)
	}
	if q.By&ByDevice != 0 {
		row.Device = &g.Device
	}
	if q.By&ByProcess != 0 {
		row.Process = &g.Process
	}
	if q.By&ByRegion != 0 {
		row.Region = &g.Region
	}
	if q.By&ByLaunchConfig != 0 {
		c := &g.Config
		row.Grid, row.Block = &c.Grid, &c.Block
		row.Registers, row.StaticShared, row.DynamicShared = &c.Registers, &c.StaticShared, &c.DynamicShared
	}
	return row
}

func (c *LaunchConfig) key() []int32 {
	return []int32{c.Grid[0], c.Grid[1], c.Grid[2], c.Block[0], c.Block[1], c.Block[2],
		c.Registers, c.StaticShared, c.DynamicShared}
}
