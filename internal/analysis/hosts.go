package analysis

import "github.com/deepprof/deepprof/internal/timeline"

// hostCalls tells what each thread of the host did, by its CUDA calls.
type hostCalls struct {
	threads map[uint32]*timeline.ThreadCalls
	causes  []cause // by site of a call
	names   []timeline.StringID
	hostGap int64 // ns; longer stretches without a CUDA call are not between launches
}

// hostCallsOf are those of a timeline.
func (tl *timed) hostCallsOf() *hostCalls {
	sites := tl.t.Calls.Sites()
	x := &hostCalls{threads: map[uint32]*timeline.ThreadCalls{}, causes: make([]cause, len(sites)), names: make([]timeline.StringID, len(sites)), hostGap: tl.th.HostGap.Nanoseconds()}
	known := map[timeline.StringID]cause{}
	for i, s := range sites {
		c, ok := known[s.Name]
		if !ok {
			c = causeCall
			if int(s.Name) < len(tl.t.Names) {
				c = callCause(tl.t.Names[s.Name])
			}
			known[s.Name] = c
		}
		x.causes[i], x.names[i] = c, s.Name
	}
	for i := range tl.tape.Threads {
		x.threads[tl.tape.Threads[i].Thread] = &tl.tape.Threads[i]
	}
	return x
}

// cursor is before the first call of a thread; nil for one that made none.
func (x *hostCalls) cursor(thread uint32) *hostCursor {
	th := x.threads[thread]
	if th == nil {
		return nil
	}
	return &hostCursor{x: x, in: th.Calls()}
}

// A hostCursor goes through the outer calls of a thread as time goes on: those that lie within
// no earlier one, so that both starts and ends grow from call to call. Whoever asks what the host
// did is told the outer call.
type hostCursor struct {
	x  *hostCalls
	in *timeline.CallReader

	ahead []hostCall // that are not over, as far as they were read
	first int        // of these: the first that is not over
	reach int64      // end of the call that was read last
	begun bool       // there is one

	ended int64 // end of the call before the first that is not over
	any   bool  // there is one
}

// A hostCall is an outer call. What ends before it starts has no length.
type hostCall struct {
	start, end int64
	site       uint32
}

// at is call i of those that are not over, nil behind the last of the thread.
func (h *hostCursor) at(i int) *hostCall {
	for h.first+i >= len(h.ahead) {
		c, ok := h.read()
		if !ok {
			return nil
		}
		if h.first > 64 && len(h.ahead) == cap(h.ahead) {
			h.ahead, h.first = h.ahead[:copy(h.ahead, h.ahead[h.first:])], 0
		}
		h.ahead = append(h.ahead, c)
	}
	return &h.ahead[h.first+i]
}

// read is the next outer call; false behind the last.
func (h *hostCursor) read() (c hostCall, ok bool) {
	for h.in.Next() {
		start, end := h.in.Span()
		if h.begun && end <= h.reach {
			continue
		}
		h.begun, h.reach = true, end
		return hostCall{start, end, h.in.Site()}, true
	}
	return c, false
}

// until drops the calls that are over at a moment.
func (h *hostCursor) until(moment int64) {
	for h.first < len(h.ahead) {
		if h.ahead[h.first].end > moment {
			return
		}
		h.ended, h.any = h.ahead[h.first].end, true
		h.first++
	}
	h.ahead, h.first = h.ahead[:0], 0
	for {
		c, ok := h.read()
		if !ok {
			return
		}
		if c.end > moment {
			h.ahead = append(h.ahead, c)
			return
		}
		h.ended, h.any = c.end, true
	}
}

// between is the cause for a thread that is in no call since the moment ended
// and makes the next at the moment next.
func (x *hostCalls) between(any bool, ended, next int64) cause {
	switch {
	case !any:
		return causeNone
	case timeline.Since(ended, next) > x.hostGap:
		return causeHost
	}
	return causePython
}
