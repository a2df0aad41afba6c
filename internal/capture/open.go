package capture

import (
	"context"
	"errors"
	"time"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/tool"
)

// open lets our readers look into the good reports. A capture that was stopped
// is read all the same, until the user asks to stop for the second time: then the
// reports stay as they are, unopened.
func (c *Capture) open(ctx context.Context, e *Evidence) {
	reading, done := c.untilInsisted(ctx, e)
	defer done()
	e.Content, e.Diagnostics, e.notes = nil, nil, nil
	for i := range e.Files {
		f := &e.Files[i]
		if f.Format != e.Tool.report() || !f.Fresh {
			continue
		}
		if c.Check != nil {
			if !c.check(reading, e, f) {
				continue
			}
		}
		if c.Diagnostics != nil {
			list, err := c.Diagnostics(reading, f.Path)
			if err != nil {
				e.notes = append(e.notes, fact.New(warnUnread, errorText(err)))
			}
			e.Diagnostics = append(e.Diagnostics, list...)
		}
	}
}

// check opens one report and says whether that worked.
func (c *Capture) check(reading context.Context, e *Evidence, f *File) bool {
	if reading.Err() != nil {
		e.NotOpened = true
		return false
	}
	content, err := c.Check(reading, f.Path)
	switch {
	case err != nil && errors.Is(context.Cause(reading), errInsisted):
		e.NotOpened = true
		return false
	case err != nil:
		f.Err = err.Error()
		return false
	}
	e.addContent(content)
	return true
}

var errInsisted = errors.New("asked to stop twice")

// repeatWindow is the time in which requests count as one key press.
const repeatWindow = 100 * time.Millisecond

// untilInsisted returns a context that outlives the end of ctx and ends with the
// second request to stop, those during the run included. The function that goes
// with it must be called when the reading is over; it notes in the evidence that
// there were requests.
func (c *Capture) untilInsisted(ctx context.Context, e *Evidence) (context.Context, func()) {
	reading, cancel := context.WithCancelCause(tool.WithLimits(context.WithoutCancel(ctx), c.Limits)) // it may start nsys export
	if e.requests >= 2 {
		cancel(errInsisted)
	}
	over, ended := make(chan struct{}), make(chan struct{})
	requests := e.requests
	go func() {
		defer close(ended)
		canceled := ctx.Done()
		if ctx.Err() != nil {
			canceled = nil // was counted by the run
		}
		var last time.Time
		for {
			select {
			case <-over:
				return
			case <-canceled:
				canceled = nil
				requests++
			case <-c.Interrupts:
				if time.Since(last) < repeatWindow {
					continue
				}
				last = time.Now()
				requests++
			}
			if requests >= 2 {
				cancel(errInsisted)
			}
		}
	}()
	return reading, func() {
		close(over)
		<-ended
		cancel(nil)
		if requests > e.requests && e.Stopped == tool.NotStopped {
			e.Stopped, e.LastLine = tool.Interrupted, ""
		}
		e.requests = requests
	}
}
