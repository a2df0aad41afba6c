package pick

import (
	"sync"

	"github.com/deepprof/deepprof/internal/columns"
	"github.com/deepprof/deepprof/internal/timeline"
)

// launchRows are the launches one by one: rows of a table in the order of the launches, or the
// kernels of a tape in the order of the file.
type launchRows struct {
	rows *columns.Table
	tape *timeline.Tape // nil where there are rows
	// ofTape are the kinds of the kinds of a tape, from 1; 0 for other work than kernels.
	ofTape []uint32
	random sync.Pool // readers of single launches
}

// Columns of launches.
const (
	launchKind   = iota
	launchNS     // how long it ran
	launchCalled // when the call began that launched it; when it began itself where that is not known
	launchKernel // its place in the file, from 0
	launchColumns
)

// putLaunch adds a launch.
func putLaunch(to *columns.Table, kind uint32, ns, called int64, kernel int) {
	to.Set(launchKind, int64(kind))
	to.Set(launchNS, ns)
	to.Set(launchCalled, called)
	to.Set(launchKernel, int64(kernel))
	to.End()
}

func (l *launchRows) len() int {
	if l.tape != nil {
		return l.tape.Kernels
	}
	return l.rows.Len()
}

// A launchReader goes through launches one after the other. It is for one goroutine.
type launchReader struct {
	of   *launchRows
	at   int // the launch
	in   columns.Reader
	work *timeline.WorkReader // of a tape
}

// reader is before the first launch.
func (l *launchRows) reader() *launchReader {
	r := &launchReader{of: l, at: -1}
	if l.tape != nil {
		r.work = l.tape.Work()
	} else {
		r.in = l.rows.Reader()
	}
	return r
}

// next goes to the next launch; false where there is none.
func (r *launchReader) next() bool {
	if r.at++; r.at >= r.of.len() {
		return false
	}
	if r.work == nil {
		r.in.Seek(r.at)
		return true
	}
	return r.of.tape.NextKernel(r.work, r.at)
}

// to goes to a launch.
func (r *launchReader) to(at int) {
	if r.at = at; r.work == nil {
		r.in.Seek(at)
	} else {
		r.work.Go(r.of.tape.Kernel(at))
	}
}

func (r *launchReader) kind() uint32 {
	if r.work != nil {
		return r.of.ofTape[r.work.Kind()] - 1
	}
	return uint32(r.in.Value(launchKind, r.at))
}

// ns is how long the launch ran.
func (r *launchReader) ns() int64 {
	if r.work != nil {
		return r.work.NS()
	}
	return r.in.Value(launchNS, r.at)
}

// called is described with the columns; a tape is not asked for it.
func (r *launchReader) called() int64 { return r.in.Value(launchCalled, r.at) }

// eachDuration visits how long launches lasted, by the number of their kind, and how many of them
// did: those of a tape are counted, those of rows come one by one.
func (l *launchRows) eachDuration(visit func(kind uint32, ns, n int64)) {
	if l.tape == nil {
		for r := l.reader(); r.next(); {
			visit(r.kind(), r.ns(), 1)
		}
		return
	}
	for i, kind := range l.ofTape {
		if kind > 0 {
			l.tape.Kinds[i].Durations.Each(func(ns, n int64) { visit(kind-1, ns, n) })
		}
	}
}

// value is what a row has in a column.
func (l *launchRows) value(column, at int) int64 {
	in, ok := l.random.Get().(*columns.Random)
	if !ok {
		in = l.rows.Random()
	}
	defer l.random.Put(in)
	return in.Value(column, at)
}

// work is a reader of the tape at a launch.
func (l *launchRows) work(at int) *timeline.WorkReader {
	w := l.tape.Work()
	w.Go(l.tape.Kernel(at))
	return w
}

// kindOf is the number of the kind of a launch.
func (l *launchRows) kindOf(at int) uint32 {
	if l.tape != nil {
		return l.ofTape[l.work(at).Kind()] - 1
	}
	return uint32(l.value(launchKind, at))
}

// ns is the duration of a launch.
func (l *launchRows) ns(at int) int64 {
	if l.tape != nil {
		return l.work(at).NS()
	}
	return l.value(launchNS, at)
}

// kernel is the place of a launch in the file, from 0.
func (l *launchRows) kernel(at int) int {
	if l.tape != nil {
		return at
	}
	return int(l.value(launchKernel, at))
}

// find is the launch of a kernel, by its place in the file from 0; -1 where there is none.
func (l *launchRows) find(kernel int) int {
	switch {
	case kernel < 0 || kernel >= l.len():
		return -1
	case l.kernel(kernel) == kernel: // as a rule
		return kernel
	}
	for r := l.reader(); r.next(); {
		if r.in.Value(launchKernel, r.at) == int64(kernel) {
			return r.at
		}
	}
	return -1
}

// kind is that of a launch.
func (l *Launches) kind(at int) *kind { return &l.kinds[l.kindOf(at)] }

// group is that of a launch.
func (l *Launches) group(at int) int { return l.kind(at).group }
