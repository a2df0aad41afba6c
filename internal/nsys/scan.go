package nsys

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/sqlite"
	"github.com/deepprof/deepprof/internal/timeline"
)

// A layout is what is known about a table: need are the columns without which
// its rows mean nothing, want those that are read where they exist. The index
// of row's methods counts need first, then want.
// A column that a release calls otherwise counts as absent.
type layout struct {
	table string
	need  []string
	want  []string
	known []string // further columns of known versions, which are not read
}

// A row is one row of a scan seen through a layout: columns that the table
// lacks read as NULL.
// It is valid until the callback returns: Bytes point into the page that is being read.
type row struct {
	*sqlite.Row
	at []int
}

// null is true as well for a column that the table lacks.
func (r row) null(i int) bool { return r.at[i] < 0 || r.Row.Null(r.at[i]) }

// int and float are 0 where there is no number.
func (r row) int(i int) int64 {
	if r.at[i] < 0 {
		return 0
	}
	return r.Row.Int(r.at[i])
}

func (r row) float(i int) float64 {
	if r.at[i] < 0 {
		return 0
	}
	return r.Row.Float(r.at[i])
}

// bytes are valid until the callback returns; text makes a copy.
func (r row) bytes(i int) []byte {
	if r.at[i] < 0 {
		return nil
	}
	return r.Row.Bytes(r.at[i])
}

// text is "" for NULL and for a column that the table lacks.
func (r row) text(i int) string {
	if r.at[i] < 0 {
		return ""
	}
	return r.Row.Text(r.at[i])
}

// whole reports whether column i holds an integer.
func (r row) whole(i int) bool { return r.at[i] >= 0 && r.Row.Type(r.at[i]) == sqlite.Integer }

// small is column i as a 32-bit number; what does not fit is clamped.
func (r row) small(i int) int32 { return int32(min(max(r.int(i), -1<<31), 1<<31-1)) }

// id is column i as an unsigned 32-bit id, or none where it is absent or no
// such number.
func (r row) id(i int, none uint32) uint32 {
	if r.null(i) {
		return none
	}
	v := r.int(i)
	if v < 0 || v > 1<<32-1 {
		return none
	}
	return uint32(v)
}

// ints is a row of numbers seen through a layout: columns that the table lacks read
// as NULL.
type ints sqlite.Ints

func (v *ints) null(i int) bool  { return (*sqlite.Ints)(v).Null(i) }
func (v *ints) whole(i int) bool { return (*sqlite.Ints)(v).Whole(i) }

// small is column i as a 32-bit number; what does not fit is clamped.
func (v *ints) small(i int) int32 { return int32(min(max(v.Int[i], -1<<31), 1<<31-1)) }

// id is column i as an unsigned 32-bit id, or none where it is absent or no
// such number.
func (v *ints) id(i int, none uint32) uint32 {
	if n := v.Int[i]; n>>32 == 0 && !v.null(i) {
		return uint32(n)
	}
	return none
}

// stringID is a reference to StringIds, or noString.
func (v *ints) stringID(i int) int64 {
	if !v.whole(i) {
		return noString
	}
	return v.Int[i]
}

// queue reads the columns of place, which the layout must have.
func (v *ints) queue() queue {
	return queue{
		globalPid: v.Int[colProcess], device: v.small(colDevice), context: v.small(colContext),
		stream: v.small(colStream), green: v.small(colGreen),
	}
}

// correlation is the id that joins work to its call; timeline.NoCorrelation without one.
func (v *ints) correlation() uint32 { return v.id(colCorrelation, timeline.NoCorrelation) }

// timed needs start and end as the first two columns of the layout.
func (v *ints) timed() bool { return v.whole(colStart) && v.whole(colEnd) }

// scanTable streams a table into one state per worker and returns the states
// in the order of the rows. A table that is absent, or lacks a needed column,
// gives none. fn reports false for a row that makes no sense; it is counted.
// fn is called from up to `workers` goroutines, each with a state of its own, so it
// needs no lock; with one worker rows come in order. The row is valid until fn returns.
func scanTable[T any](ctx context.Context, f *File, l layout, workers int, fn func(*T, row) bool) ([]*T, error) {
	table, columns, at := f.columns(&l)
	if table == nil {
		return nil, nil
	}
	columns = slices.DeleteFunc(columns, func(name string) bool { return name == "" })
	states := make([]*T, sqlite.Workers(workers))
	bad := make([]int64, len(states))
	stats, err := f.db.Scan(ctx, table, columns, workers, func(w int, r *sqlite.Row) error {
		if states[w] == nil {
			states[w] = new(T)
		}
		if !fn(states[w], row{r, at}) {
			bad[w]++
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read table %s: %w", l.table, err)
	}
	f.count(&l, stats, bad)
	return slices.DeleteFunc(states, func(s *T) bool { return s == nil }), nil
}

// scanInts is scanTable for the tables that hold millions of rows, of which numbers
// alone are read. Begin makes the state of each worker; count gives about how many rows
// each will see, rather more than less.
// Unlike scanTable it returns a state for every worker, also for those without rows.
func scanInts[T any](ctx context.Context, f *File, l layout, begin func(workers int, count func() []int) []*T, fn func(*T, *ints) bool) ([]*T, error) {
	table, columns, _ := f.columns(&l)
	if table == nil {
		return nil, nil
	}
	var states []*T
	var bad []int64
	prepare := func(workers int, count func() []int) {
		states, bad = begin(workers, count), make([]int64, workers)
	}
	stats, err := f.db.ScanInts(ctx, table, columns, f.Workers, prepare, func(w int) func(*sqlite.Ints) error {
		state := states[w]
		return func(v *sqlite.Ints) error {
			if !fn(state, (*ints)(v)) {
				bad[w]++
			}
			return nil
		}
	})
	if err != nil {
		return nil, fmt.Errorf("read table %s: %w", l.table, err)
	}
	f.count(&l, stats, bad)
	return states, nil
}

// fresh makes a state for each worker, whatever it will see.
func fresh[T any](workers int, _ func() []int) []*T {
	states := make([]*T, workers)
	for w := range states {
		states[w] = new(T)
	}
	return states
}

// columns finds the columns of a layout: "" for one that the table lacks, and the
// place of each of the others among those that are there. It warns of a table that
// lacks what its rows mean nothing without, and gives none then.
func (f *File) columns(l *layout) (table *sqlite.Table, columns []string, at []int) {
	table, ok := f.table(l.table)
	if !ok {
		return nil, nil, nil
	}
	columns, at, missing := match(table, l)
	if len(missing) > 0 {
		f.warn(timeline.CodeColumnMissing, fact.Name("table", l.table), fact.Names("columns", fact.KindName, missing))
		return nil, nil, nil
	}
	return table, columns, at
}

// count notes what came of reading a table; bad are the rows of each worker that
// make no sense.
func (f *File) count(l *layout, stats sqlite.ScanStats, bad []int64) {
	count := timeline.TableCount{Name: l.table, Rows: stats.Rows, Skipped: stats.BadRows}
	var nonsense int64
	for _, n := range bad {
		nonsense += n
	}
	count.Rows -= nonsense
	count.Skipped += nonsense
	f.tables = append(f.tables, count)
	if nonsense > 0 {
		f.warn(timeline.CodeRowsSkipped, fact.Name("table", l.table), fact.Count("n", nonsense))
	}
	if stats.Damaged() {
		f.lose(l.table, fact.New(timeline.CodeTableDamaged, fact.Name("table", l.table), fact.Because("why", stats.Fact())))
	}
}

// table finds a table that can be read. One that is there but cannot is lost,
// not absent, and the rest of the file is still worth reading.
func (f *File) table(name string) (*sqlite.Table, bool) {
	if why := f.db.Unreadable(name); !why.IsZero() {
		f.lose(name, fact.New(timeline.CodeTableLost, fact.Name("table", name), fact.Because("why", why)))
		return nil, false
	}
	t, ok := f.db.Table(name)
	f.absent = f.absent || !ok
	return t, ok
}

// match finds the columns of a layout in the table.
// columns has "" and at has -1 for one that the table lacks; both are as long as need and want.
func match(table *sqlite.Table, l *layout) (columns []string, at []int, missing []string) {
	present := 0
	for i, name := range slices.Concat(l.need, l.want) {
		if table.Has(name) {
			at, columns = append(at, present), append(columns, name)
			present++
			continue
		}
		at, columns = append(at, -1), append(columns, "")
		if i < len(l.need) {
			missing = append(missing, name)
		}
	}
	return columns, at, missing
}

// noteUnknown counts the columns of the tables read that this reader does not
// know.
// A table is looked at once for each File.
func (f *File) noteUnknown(l layout) {
	table, ok := f.table(l.table)
	if !ok || f.noted[l.table] {
		return
	}
	f.noted[l.table] = true
	var unknown []string
	for _, c := range table.Columns {
		same := func(name string) bool { return strings.EqualFold(name, c.Name) }
		if !slices.ContainsFunc(l.need, same) && !slices.ContainsFunc(l.want, same) && !slices.ContainsFunc(l.known, same) {
			unknown = append(unknown, c.Name)
		}
	}
	if len(unknown) > 0 {
		f.warn(timeline.CodeColumnsUnknown, fact.Name("table", l.table), fact.Count("n", len(unknown)), fact.Names("columns", fact.KindName, unknown))
	}
}

// An interner numbers the distinct keys it is given. Rows of one kind come in
// runs, so the last key is tried first.
// The zero value is ready. It is for one goroutine.
type interner[K comparable] struct {
	ids    map[K]uint32
	list   []K
	last   K
	lastID uint32
	places []uint32 // of cached: number + 1 of a key by its hash
}

// id numbers from 0 in the order of first appearance; list[id] is the key again.
func (in *interner[K]) id(key K) uint32 {
	if len(in.list) > 0 && key == in.last {
		return in.lastID
	}
	id, ok := in.ids[key]
	if !ok {
		if in.ids == nil {
			in.ids = map[K]uint32{}
		}
		id = uint32(len(in.list))
		in.ids[key] = id
		in.list = append(in.list, key)
	}
	in.last, in.lastID = key, id
	return id
}

// cached is id for keys that come in turns: those of the same hash share a place in
// which the last of them is tried first.
func (in *interner[K]) cached(key K, hash uint32) uint32 {
	if in.places == nil {
		in.places = make([]uint32, cachePlaces)
	}
	at := &in.places[(hash*0x9E3779B1)>>(32-cacheBits)]
	if *at > 0 && in.list[*at-1] == key {
		return *at - 1
	}
	id := in.id(key)
	*at = id + 1
	return id
}

const (
	// The places of an interner take 4 KB.
	cacheBits   = 10
	cachePlaces = 1 << cacheBits
)

// into numbers the keys of in within all and gives the new number of each.
func (in *interner[K]) into(all *interner[K]) []uint32 {
	to := make([]uint32, len(in.list))
	for i, key := range in.list {
		to[i] = all.id(key)
	}
	return to
}

// A bag collects events in chunks: growing one slice of millions would copy it
// over and over and leave the copies behind.
type bag[T any] struct {
	full [][]T
	last []T
}

// maxChunk bounds the events of a chunk, and so what is reserved and may stay unused.
const maxChunk = 1 << 15

func (b *bag[T]) add(v T) {
	if len(b.last) == cap(b.last) {
		size := 64
		if b.last != nil {
			b.full = append(b.full, b.last)
			size = min(2*cap(b.last), maxChunk)
		}
		b.last = make([]T, 0, size)
	}
	b.last = append(b.last, v)
}

// each visits the events in place.
// They come in the order in which they were added.
func (b *bag[T]) each(f func(*T)) {
	for _, chunk := range append(b.full, b.last) {
		for i := range chunk {
			f(&chunk[i])
		}
	}
}

// manyEvents is the number of events from which collecting the garbage at once pays.
const manyEvents = 1 << 20

// pour puts the events of all bags into one slice and empties the bags, one for
// each worker. What they leave is as large as the events: it is collected now, for
// the heap would have to double before it is looked at again.
func pour[T any](bags []*bag[T]) []T {
	n := 0
	for _, b := range bags {
		n += b.len()
	}
	if n == 0 {
		return nil
	}
	all := make([]T, n)
	var group sync.WaitGroup
	at := 0
	for _, b := range bags {
		to := all[at : at+b.len()]
		at += b.len()
		group.Go(func() { b.empty(to) })
	}
	group.Wait()
	if n >= manyEvents {
		runtime.GC()
	}
	return all
}

func (b *bag[T]) len() int {
	n := len(b.last)
	for _, chunk := range b.full {
		n += len(chunk)
	}
	return n
}

// empty moves the events to a slice of their number.
func (b *bag[T]) empty(to []T) {
	for _, chunk := range append(b.full, b.last) {
		to = to[copy(to, chunk):]
	}
	b.full, b.last = nil, nil
}
