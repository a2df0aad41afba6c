package timeline

// collect holds the rows of a stream.
func collect[T any](s Stream[T]) Rows[T] {
	rows := Rows[T]{Cut: s.Cut, Warnings: s.Warnings}
	for row := range s.Rows {
		rows.Rows = append(rows.Rows, *row)
	}
	return rows
}

func launchRows(t *Timeline, q Query) Rows[LaunchRow] { return collect(t.StreamLaunches(q)) }
func gapRows(t *Timeline, q Query) Rows[GapRow]       { return collect(t.EveryGap(q)) }
