package nsys

import (
	"context"
	"fmt"
	"slices"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/timeline"
)

// streamKey is what a kernel row is grouped by while it streams past. Fields
// that the query does not need stay zero.
type streamKey struct {
	name      int64 // demangledName
	globalPid int64
	device    int32
	config    timeline.LaunchConfig
}

// stream is one worker's share of a kernel summary. Without a split, the id of
// the name leads straight to its group.
type stream struct {
	byName  []uint32 // group + 1 by name id, as far as the ids are small
	groups  interner[streamKey]
	samples []timeline.Sample
	others  []function // further names of each group, from its first row
	odd     odd
}

// maxDirect bounds the table of groups by name id.
// A table takes up to 4 MB for each worker; larger ids are hashed.
const maxDirect = 1 << 20

// simple finds the group of a row by its name alone, without hashing if the id is
// small.
func (s *stream) simple(r row) *timeline.Sample {
	name := r.stringID(streamName)
	if name < 0 || name >= maxDirect {
		return s.group(streamKey{name: name}, r)
	}
	if int(name) >= len(s.byName) {
		s.byName = append(s.byName, make([]uint32, int(name)+1-len(s.byName))...)
	}
	if at := s.byName[name]; at != 0 {
		return &s.samples[at-1]
	}
	sample := s.group(streamKey{name: name}, r)
	s.byName[name] = s.groups.lastID + 1
	return sample
}

// group finds or makes a group; the pointer is valid until the next group is made.
func (s *stream) group(key streamKey, r row) *timeline.Sample {
	id := s.groups.id(key)
	if int(id) == len(s.samples) {
		s.samples = append(s.samples, timeline.Sample{})
		s.others = append(s.others, function{key.name, r.stringID(streamName + 1), r.stringID(streamName + 2)})
	}
	return &s.samples[id]
}

// Columns of streamLayout.
const (
	streamName    = 2 // three columns
	streamProcess = 5
	streamDevice  = 6
	streamConfig  = 7 // nine columns
)

// streamLayout gives the columns that a summary needs: few columns make the
// difference between reading a file and parsing it.
func streamLayout(q *timeline.Query) layout {
	l := layout{table: tableKernel, need: []string{"start", "end"}, want: []string{"demangledName", "shortName", "mangledName"}}
	if q.By != 0 || len(q.Devices) > 0 || len(q.Processes) > 0 {
		l.want = append(l.want, "globalPid", "deviceId")
	}
	if q.By&timeline.ByLaunchConfig != 0 {
		l.want = append(l.want, "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ",
			"registersPerThread", "staticSharedMemory", "dynamicSharedMemory")
	}
	return l
}

// kernelStream summarizes kernels in one pass over their table.
// The query may not ask for regions.
func (f *File) kernelStream(ctx context.Context, q timeline.Query) (timeline.Rows[timeline.KernelRow], error) {
	f.noteUnknown(kernelLayout)
	l := streamLayout(&q)
	add := (*stream).addSimple
	if len(l.want) > 3 {
		add = func(s *stream, r row) bool { return s.addSplit(r, &q) }
	}
	shares, err := scanTable(ctx, f, l, f.Workers, add)
	if err != nil {
		return timeline.Rows[timeline.KernelRow]{}, fmt.Errorf("read %s: %w", f.SQLite, err)
	}
	groups, err := f.nameGroups(ctx, shares, &q)
	if err != nil {
		return timeline.Rows[timeline.KernelRow]{}, fmt.Errorf("read %s: %w", f.SQLite, err)
	}
	rows := timeline.SumKernels(groups, &q)
	f.noteAbsent(Kernels)
	rows.Warnings = slices.Concat(f.warnings, rows.Warnings)
	f.tables = nil
	return rows, nil
}

// duration is in ns; negative if a damaged row ends before it starts, which is counted.
func (s *stream) duration(r row) int64 {
	start, end := r.int(colStart), r.int(colEnd)
	s.odd.add(start, end)
	return timeline.Since(start, end)
}

// addSimple and addSplit report false for a row without times.
func (s *stream) addSimple(r row) bool {
	if !r.timed() {
		return false
	}
	s.simple(r).Add(s.duration(r))
	return true
}

// Rows that the query leaves out count as read.
func (s *stream) addSplit(r row, q *timeline.Query) bool {
	if !r.timed() {
		return false
	}
	key := streamKey{name: r.stringID(streamName), globalPid: r.int(streamProcess), device: r.small(streamDevice)}
	if len(q.Devices) > 0 && !slices.Contains(q.Devices, int(key.device)) ||
		len(q.Processes) > 0 && !slices.Contains(q.Processes, timeline.PIDOf(key.globalPid)) {
		return true
	}
	if q.By&timeline.ByLaunchConfig != 0 {
		const at = streamConfig
		key.config = timeline.LaunchConfig{
			Grid:  [3]int32{r.small(at), r.small(at + 1), r.small(at + 2)},
			Block: [3]int32{r.small(at + 3), r.small(at + 4), r.small(at + 5)},

			Registers: r.small(at + 6), StaticShared: r.small(at + 7), DynamicShared: r.small(at + 8),
		}
	}
	s.group(key, r).Add(s.duration(r))
	return true
}

// nameGroups joins the shares and gives the groups their names; those that the
// query's expression does not match are dropped.
func (f *File) nameGroups(ctx context.Context, shares []*stream, q *timeline.Query) ([]*timeline.KernelGroup, error) {
	wanted, kernels := map[int64]bool{}, map[int64]bool{}
	var all odd
	for _, s := range shares {
		all.join(s.odd)
		for _, o := range s.others {
			kernels[o.demangled] = true
			wanted[o.demangled], wanted[o.short], wanted[o.mangled] = true, true, true
		}
	}
	delete(wanted, noString)
	f.noteOdd(all, "kernels")
	texts, err := f.strings(ctx, wanted)
	if err != nil {
		return nil, err
	}
	var missing int
	for id := range wanted {
		if _, ok := texts[id]; !ok {
			texts[id] = placeholder(id)
			if kernels[id] {
				missing++
			}
		}
	}
	if missing > 0 {
		f.warn(timeline.CodeNamesMissing, fact.Count("n", missing))
	}
	var groups []*timeline.KernelGroup
	for _, s := range shares {
		for i, key := range s.groups.list {
			o := s.others[i]
			g := &timeline.KernelGroup{
				Name: texts[o.demangled], Short: texts[o.short],
				Device: int(key.device), Process: timeline.PIDOf(key.globalPid), Config: key.config, Sample: s.samples[i],
			}
			if q.Kernel == nil || q.Kernel.MatchString(g.Name) || q.Kernel.MatchString(g.Short) || q.Kernel.MatchString(texts[o.mangled]) {
				groups = append(groups, g)
			}
		}
	}
	return groups, nil
}
