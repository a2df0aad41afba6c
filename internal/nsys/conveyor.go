package nsys

import (
	"context"

	"github.com/deepprof/deepprof/internal/timeline"
)

// A conveyor brings rows from the goroutine that reads them, with the keys that they are
// numbered by.
// The reader uses put and sets functions and configs; one other goroutine uses the rest. After
// the last row, or when ctx ends, the reader closes full.
type conveyor[T, K any] struct {
	full, empty chan parcel[T, K]
	err         error                   // of reading; valid when full is closed
	functions   []function              // of kernels if their names are read, and the next if their
	configs     []timeline.LaunchConfig // launch configurations are; valid when full is closed

	filling parcel[T, K] // of the reader
	keys    *[]K         // that it has so far; nil if rows have none
	ctx     context.Context

	now parcel[T, K] // that is gone through
	at  int          // of row in it
	end bool
}

// The reader only appends to keys, so that those of a parcel stay as they are.
type parcel[T, K any] struct {
	rows []T
	keys []K // all so far
}

const (
	// At most parcelsMost parcels wait; the reader then waits too, so that memory has a bound.
	parcelRows  = 4096
	parcelsMost = 6
)

// read runs on a goroutine of its own until the end of its rows or of ctx. Who makes a conveyor
// must take all rows, or end ctx and drain it.
func newConveyor[T, K any](ctx context.Context, read func(*conveyor[T, K]) error) *conveyor[T, K] {
	c := &conveyor[T, K]{ctx: ctx, full: make(chan parcel[T, K], parcelsMost), empty: make(chan parcel[T, K], parcelsMost+2)}
	for range parcelsMost + 1 {
		c.empty <- parcel[T, K]{}
	}
	c.filling.rows = make([]T, 0, parcelRows)
	go func() {
		defer close(c.full)
		if c.err = read(c); c.err == nil && len(c.filling.rows) > 0 {
			c.err = c.send()
		}
	}()
	return c
}

// put hands a row over.
// It waits as long as the other side is behind. The error is that of ctx.
func (c *conveyor[T, K]) put(row T) error {
	c.filling.rows = append(c.filling.rows, row)
	if len(c.filling.rows) == parcelRows {
		return c.send()
	}
	return nil
}

// send hands over what was put, with all keys so far.
func (c *conveyor[T, K]) send() error {
	if c.keys != nil {
		c.filling.keys = *c.keys
	}
	select {
	case c.full <- c.filling:
	case <-c.ctx.Done():
		return c.ctx.Err()
	}
	select {
	case c.filling = <-c.empty:
	case <-c.ctx.Done():
		return c.ctx.Err()
	}
	if c.filling.rows = c.filling.rows[:0]; cap(c.filling.rows) == 0 {
		c.filling.rows = make([]T, 0, parcelRows)
	}
	return nil
}

// next brings the next parcel; false behind the last.
// The rows of the parcel before are written over from then on.
func (c *conveyor[T, K]) next() bool {
	if c.end {
		return false
	}
	if c.now.rows != nil {
		c.empty <- c.now
	}
	c.now, c.at = <-c.full, 0
	c.end = c.now.rows == nil
	return !c.end
}

// row is the next row; nil behind the last.
// It is valid until the next call. An error of reading ends the rows too; ended tells it.
func (c *conveyor[T, K]) row() *T {
	if c.at == len(c.now.rows) && !c.next() {
		return nil
	}
	c.at++
	return &c.now.rows[c.at-1]
}

// ended tells whether the last row was taken and all could be read.
func (c *conveyor[T, K]) ended() bool { return c.end && c.err == nil }

// drain waits for the reader, which was told to stop.
func (c *conveyor[T, K]) drain() {
	for range c.full {
	}
}
