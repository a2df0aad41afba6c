package html

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"

	"github.com/deepprof/deepprof/internal/analysis"
)

// eventColumns are the columns of a lane, in the order in which they are written.
// Starts and launches are differences to the event before.
var eventColumns = []func(e, before *analysis.Event) int64{
	func(e, before *analysis.Event) int64 { return e.Start - before.Start },
	func(e, _ *analysis.Event) int64 { return e.Len },
	func(e, _ *analysis.Event) int64 { return int64(e.Name) },
	func(e, before *analysis.Event) int64 { return int64(e.Launch) - int64(before.Launch) },
	func(e, _ *analysis.Event) int64 { return int64(e.Count) },
	func(e, _ *analysis.Event) int64 { return e.Busy },
}

// packEvents encodes the events of a timeline for the page: a line of JSON with the
// names, the grid and block of those that are kernels, which lane each lane of layers
// is of, and how many events each lane has, then lane by lane and column by column
// signed varints as encoding/binary writes them, all compressed and in base64.
func packEvents(d *analysis.Detail) (string, error) {
	if d == nil {
		return "", nil
	}
	counts := make([]int, len(d.Lanes))
	for i, lane := range d.Lanes {
		counts[i] = len(lane)
	}
	head, err := json.Marshal(map[string]any{"names": namesOfWork(d.Names), "shapes": shapes(d), "of": d.Of, "lanes": counts})
	if err != nil {
		return "", fmt.Errorf("write HTML report: encode events: %w", err)
	}
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, err = z.Write(append(head, '\n'))
	if err = cmp.Or(err, writeColumns(z, d.Lanes), z.Close()); err != nil { // z keeps its first error
		return "", fmt.Errorf("write HTML report: compress events: %w", err)
	}
	return base64.StdEncoding.EncodeToString(out.Bytes()), nil
}

// shapes are the grids and blocks of names, empty for a name without one.
func shapes(d *analysis.Detail) [][]int32 {
	out := make([][]int32, len(d.Shapes))
	for i, s := range d.Shapes {
		if s != (analysis.Shape{}) {
			out[i] = append(append(out[i], s.Grid[:]...), s.Block[:]...)
		}
	}
	return out
}

// writeColumns writes a column at a time: neighbors are alike, and compress well.
func writeColumns(z *gzip.Writer, lanes [][]analysis.Event) error {
	var column []byte
	for _, lane := range lanes {
		for _, value := range eventColumns {
			column = column[:0]
			before := &analysis.Event{}
			for i := range lane {
				column = binary.AppendVarint(column, value(&lane[i], before))
				before = &lane[i]
			}
			if _, err := z.Write(column); err != nil {
				return err
			}
		}
	}
	return nil
}
