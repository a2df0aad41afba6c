package timeline

// A gapWriter makes rows. Those that are made together are one piece of memory.
// Rows can be kept, but each holds the memory of the up to 31 others that were made with it. It
// is for one goroutine.
type gapWriter struct {
	store *gapStore
	short map[uint32]string // names of functions, shortened
	room  []gapRoom
}

type gapRoom struct {
	GapRow
	host  int64
	calls [2]GapCall // more of them are elsewhere
}

func (w *gapWriter) row(rec *gapRecord) *GapRow {
	if len(w.room) == 0 {
		w.room = make([]gapRoom, 32)
	}
	r := &w.room[0]
	w.room = w.room[1:]
	kind := &w.store.kinds[rec.kind]
	if kind.row == nil {
		kind.row = w.newKind(kind)
	}
	r.GapRow = *kind.row
	r.StartNS, r.EndNS, r.DurationNS = rec.start, rec.end, Since(rec.start, rec.end)
	r.Calls = append(r.calls[:0], r.Calls...)
	for i := range r.Calls {
		r.Calls[i].NS = rec.ns[i]
	}
	if kind.known {
		r.host = rec.host
		r.HostNS = &r.host
	}
	return &r.GapRow
}

// newKind makes what rows of a kind share.
func (w *gapWriter) newKind(k *gapKind) *GapRow {
	a := w.store.a
	t := a.t
	row := &GapRow{Device: int(k.lane.device), Before: w.name(k.before), After: w.name(k.after), NVTX: a.Path(k.node), Host: a.Path(k.onHost), Python: k.python}
	if k.lane.queue != None {
		queue := &t.Queues[k.lane.queue]
		stream, context, pid := int(queue.Stream), int(queue.Context), t.pid(queue.Process)
		row.Stream, row.Context, row.Process = &stream, &context, &pid
	}
	for _, c := range k.calls {
		row.Calls = append(row.Calls, GapCall{Name: t.Name(c.name), Calls: c.calls})
	}
	row.text = newGapText(row)
	return row
}

// name names a piece of work. Shortening is dear, and kinds share functions.
func (w *gapWriter) name(work gapWork) string {
	if work.kind != OpKernel {
		return w.store.a.t.workName(work, nil)
	}
	name, ok := w.short[work.what]
	if !ok {
		name = w.store.a.t.workName(work, w.store.q.Shorten)
		w.short[work.what] = name
	}
	return name
}
