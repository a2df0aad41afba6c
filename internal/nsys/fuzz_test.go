package nsys

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/fixture"
	"github.com/deepprof/deepprof/internal/timeline"
)

// FuzzExport changes bytes of a real export at several places and runs
// everything on what can still be read. The input is a list of patches: two
// bytes of position, in steps of 1/65536 of the file, and the new byte.
func FuzzExport(f *testing.F) {
	base := fixture.Read(f, filepath.Join("testdata", "exports", "fuzz.sqlite.gz"))
	f.Add([]byte{})
	f.Add([]byte{0, 100, 255, 128, 0, 1, 255, 255, 0})
	f.Add([]byte{16, 0, 13, 32, 7, 128, 48, 9, 200, 64, 11, 5})
	f.Fuzz(func(t *testing.T, patches []byte) {
		data := append([]byte(nil), base...)
		for ; len(patches) >= 3; patches = patches[3:] {
			at := (int(patches[0])<<8 | int(patches[1])) * len(data) / 65536
			data[at] = patches[2]
		}
		path := filepath.Join(t.TempDir(), "f.sqlite")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := OpenSQLite(path)
		if err != nil {
			return
		}
		defer file.Close()
		ctx := context.Background()
		tl, err := file.Timeline(ctx, Everything)
		if err != nil {
			return
		}
		tl.RegionRows(timeline.Query{By: timeline.ByDevice | timeline.ByProcess})
		tl.RangeRows(timeline.Query{})
		collect(tl.StreamLaunches(timeline.Query{}))
		collect(tl.EveryGap(timeline.Query{Top: 10}))
		tl.Info()
		for _, d := range []statsDialect{{}, {Colon: true, LastOfAll: true, Exact: true}} {
			kernelShapeReport(tl, d)
			rangeReport(tl, d)
			projectionReport(tl, d)
			projectionTrace(tl, d)
			kernelRangeReport(tl, d)
		}
		stream, err := file.KernelRows(ctx, timeline.Query{})
		if err != nil {
			t.Fatal(err)
		}
		whole := tl.KernelRows(timeline.Query{})
		for _, rows := range [][]timeline.KernelRow{stream.Rows, whole.Rows} {
			for i := range rows {
				rows[i].ShortName = "" // one kernel may have several in a damaged file
			}
		}
		// A row that is cut short can be whole as far as the stream looks.
		damaged := slices.ContainsFunc(tl.Warnings, func(w fact.Fact) bool { return w.Is(timeline.CodeTableDamaged, "sqlite-cut", "sqlite-schema-damaged") })
		if !damaged && text(stream.Rows) != text(whole.Rows) {
			t.Errorf("the summary that streams differs:\n%s\n%s", text(stream.Rows), text(whole.Rows))
		}
	})
}
