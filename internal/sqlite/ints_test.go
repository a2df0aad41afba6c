package sqlite

import (
	"context"
	"fmt"
	"slices"
	"testing"
)

// sameInts compares what ScanInts and Scan give of the columns of a table, some at
// a time and one of them absent.
func sameInts(t *testing.T, db *DB, table *Table, names []string) {
	t.Helper()
	for len(names) > 0 {
		some := names[:min(len(names), 5)]
		names = names[len(some):]
		var want []string
		stats, err := db.Scan(context.Background(), table, some, 1, func(_ int, r *Row) error {
			line := ""
			for i := range some {
				line += fmt.Sprint(r.Int(i), r.Null(i), r.Type(i) == Integer, " ")
			}
			want = append(want, line)
			return nil
		})
		if err != nil {
			continue // the column cannot be read
		}
		var got []string
		room := 0
		begin := func(_ int, count func() []int) { room = count()[0] }
		ints, err := db.ScanInts(context.Background(), table, append(slices.Clone(some), ""), 1, begin, func(int) func(*Ints) error {
			return func(v *Ints) error {
				line := ""
				for i := range some {
					line += fmt.Sprint(v.Int[i], v.Null(i), v.Whole(i), " ")
				}
				if n := len(some); !v.Null(n) || v.Whole(n) || v.Int[n] != 0 {
					t.Errorf("an absent column holds %d", v.Int[n])
				}
				got = append(got, line)
				return nil
			}
		})
		if err != nil || !slices.Equal(got, want) || ints.Rows != stats.Rows || ints.BadRows != stats.BadRows {
			t.Fatalf("%s: %d rows of numbers, %d rows, error %v\n%v\n%v", table.Name, ints.Rows, stats.Rows, err, got, want)
		}
		if int64(room) < ints.Rows {
			t.Fatalf("%s: told of %d rows, %d came", table.Name, room, ints.Rows)
		}
	}
}
