package nsys

import (
	"context"
	"strconv"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/timeline"
)

var stringLayout = layout{table: "StringIds", need: []string{"id", "value"}}

// strings reads the texts of the wanted ids. The table also holds the
// environment of the workload, which is never taken over.
// Ids that the table lacks are absent from the map. Where an id occurs twice, the first
// row counts.
func (f *File) strings(ctx context.Context, wanted map[int64]bool) (map[int64]string, error) {
	found := make(map[int64]string, len(wanted))
	if len(wanted) == 0 {
		return found, nil
	}
	shares, err := scanTable(ctx, f, stringLayout, f.Workers, func(s *map[int64]string, r row) bool {
		if !r.whole(0) {
			return false
		}
		if id := r.int(0); wanted[id] {
			if *s == nil {
				*s = map[int64]string{}
			}
			if _, ok := (*s)[id]; !ok {
				(*s)[id] = r.text(1)
			}
		}
		return true
	})
	for _, s := range shares {
		for id, text := range *s {
			if _, ok := found[id]; !ok {
				found[id] = text
			}
		}
	}
	return found, err
}

// placeholder stands for the text of an id that leads nowhere, so that what has
// different names stays apart.
func placeholder(id int64) string { return "#" + strconv.FormatInt(id, 10) }

// resolve turns the names met into Timeline.Names. Equal texts get one number,
// so that a registered string and a plain one of the same name are one name.
// It numbers names anew: a StringID that is kept outside the timeline is stale afterward.
func (b *builder) resolve(ctx context.Context) error {
	wanted := map[int64]bool{}
	for _, n := range b.names.list {
		if n.id != noString {
			wanted[n.id] = true
		}
	}
	texts, err := b.f.strings(ctx, wanted)
	if err != nil {
		return err
	}
	if missing := len(wanted) - len(texts); missing > 0 && !b.again {
		b.f.warn(timeline.CodeNamesMissing, fact.Count("n", missing))
	}
	t := b.t
	numbers := map[string]timeline.StringID{}
	to := make([]timeline.StringID, len(b.names.list))
	unnamed := make([]bool, len(b.names.list))
	same := true
	for i, n := range b.names.list {
		text := n.text
		if n.id != noString {
			if s, ok := texts[n.id]; ok {
				text = s
			} else if !n.valid {
				text, unnamed[i] = placeholder(n.id), true
			}
		}
		id, ok := numbers[text]
		if !ok {
			id = timeline.StringID(len(t.Names))
			numbers[text] = id
			t.Names = append(t.Names, text)
		}
		to[i] = id
		same = same && int(id) == i
	}
	b.renamed = to
	for i := range t.Ranges {
		t.Ranges[i].Unnamed = t.Ranges[i].Unnamed || unnamed[t.Ranges[i].Name]
	}
	if !same {
		b.renumber(to)
	}
	return nil
}

// renumber must visit every field of the timeline that holds a StringID.
func (b *builder) renumber(to []timeline.StringID) {
	t := b.t
	for i := range t.Functions {
		f := &t.Functions[i]
		f.Demangled, f.Short, f.Mangled = to[f.Demangled], to[f.Short], to[f.Mangled]
	}
	t.Calls.Rename(to)
	for i := range t.Ranges {
		t.Ranges[i].Name = to[t.Ranges[i].Name]
	}
	for i := range t.Marks {
		t.Marks[i].Name = to[t.Marks[i].Name]
	}
	for _, stack := range t.PythonStacks {
		for i := range stack {
			stack[i].Function, stack[i].File = to[stack[i].Function], to[stack[i].File]
		}
	}
	for i := range t.DomainRows {
		t.DomainRows[i].Name = to[t.DomainRows[i].Name]
	}
	for i := range t.Categories {
		t.Categories[i].Name = to[t.Categories[i].Name]
	}
	for i := range t.Processes {
		t.Processes[i].Name = to[t.Processes[i].Name]
	}
	for i := range t.Threads {
		t.Threads[i].Name = to[t.Threads[i].Name]
	}
	for i := range t.Overhead {
		t.Overhead[i].Name = to[t.Overhead[i].Name]
	}
}

var (
	threadLayout  = layout{table: "ThreadNames", need: []string{"nameId", "globalTid"}, known: []string{"priority"}}
	processLayout = layout{table: "PROCESSES", need: []string{"globalPid"}, want: []string{"pid", "name"}}
)

// threadNames names the threads that made events.
// The first name of a thread counts.
func (b *builder) threadNames(ctx context.Context) error {
	if len(b.t.Threads) == 0 {
		return nil
	}
	_, err := scanTable(ctx, b.f, threadLayout, 1, func(_ *struct{}, r row) bool {
		if !r.whole(0) || !r.whole(1) {
			return !r.null(0)
		}
		if i, ok := b.threads.ids[r.int(1)]; ok && b.t.Threads[i].Name == 0 {
			b.t.Threads[i].Name = b.string(r.int(0))
		}
		return true
	})
	return err
}

// processNames lists the processes that made events; a process that is not in
// the table has the number in its id and no name.
// Its order is that of the numbers in b.processes.
func (b *builder) processNames(ctx context.Context) error {
	// Domains may name processes that nothing else does.
	for _, d := range b.domains.list[1:] {
		b.processes.id(d.globalPid)
	}
	if len(b.processes.list) == 0 {
		return nil
	}
	for _, global := range b.processes.list {
		b.t.Processes = append(b.t.Processes, timeline.Process{Global: global, PID: timeline.PIDOf(global)})
	}
	return b.nameProcesses(ctx, b.text)
}

// nameProcesses names the processes that have no name yet; number gives that of a text.
func (b *builder) nameProcesses(ctx context.Context, number func(text string) timeline.StringID) error {
	_, err := scanTable(ctx, b.f, processLayout, 1, func(_ *struct{}, r row) bool {
		if !r.whole(0) {
			return false
		}
		i, ok := b.processes.ids[r.int(0)]
		if !ok {
			return true
		}
		if text := r.text(2); text != "" && b.t.Processes[i].Name == 0 {
			b.t.Processes[i].Name = number(text)
		}
		return true
	})
	return err
}
