package nsys

import "slices"

// A column is what one worker adds to a slice that all workers fill, so that what
// they read need not be copied. Memory that is reserved and not filled is never
// touched, and so costs none.
type column[T any] struct {
	part     []T // of all, or elsewhere once it outgrew its room
	all      []T
	at, room int // where the part begins in all, and how long it may be there
}

// reserveColumn makes a column for each worker.
// Parts are neighbors without overlap and have no spare capacity: a worker that
// outgrows its room moves to memory of its own and never writes into the next part.
func reserveColumn[T any](rooms []int) []column[T] {
	total := 0
	for _, n := range rooms {
		total += n
	}
	all, at := make([]T, total), 0
	columns := make([]column[T], len(rooms))
	for w, n := range rooms {
		columns[w] = column[T]{all: all, at: at, room: n, part: all[at : at : at+n]}
		at += n
	}
	return columns
}

// joinColumn is what all workers have added, in their order; nil for nothing.
// The result aliases the reserved memory; the columns must not be used afterward.
func joinColumn[T any](columns []column[T]) []T {
	var all []T
	var parts [][]T
	outgrown := false
	for _, c := range columns {
		parts = append(parts, c.part)
		outgrown = outgrown || len(c.part) > c.room
	}
	if outgrown {
		return slices.Concat(parts...)
	}
	for _, c := range columns {
		if len(all) == c.at {
			all = c.all[:c.at+len(c.part)]
		} else {
			all = append(all, c.part...) // they move down
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all
}
