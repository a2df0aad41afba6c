package sqlite

import (
	"context"
	"testing"
)

// toy is a real export of Nsight Systems 2025 from an H200.
const toy = "testdata/toy.sqlite.gz"

func TestRealExport(t *testing.T) {
	path := unzip(t, toy)
	if rows := compare(t, path); rows != 1432 {
		t.Errorf("%d rows", rows)
	}
	db := open(t, path)
	table, ok := db.Table("cupti_activity_kind_kernel")
	if !ok || table.Name != "CUPTI_ACTIVITY_KIND_KERNEL" || len(table.Columns) != 28 {
		t.Fatalf("kernel table: %+v", table)
	}
	if c, ok := table.column("END"); !ok || c.Type != "INTEGER" {
		t.Errorf("column end: %+v", c)
	}
	if len(db.Warnings()) != 0 {
		t.Errorf("warnings %v", db.Warnings())
	}
}

func BenchmarkScan(b *testing.B) {
	path := create(b, "CREATE TABLE k (start INTEGER, end INTEGER, device INTEGER, context INTEGER, stream INTEGER, correlation INTEGER, name INTEGER)",
		series(200000)+"INSERT INTO k SELECT 1700000000000000000 + n*1000, 1700000000000000000 + n*1000 + n%977, 0, 1, 7, n, n%40 FROM s")
	db := open(b, path)
	table, _ := db.Table("k")
	b.SetBytes(db.Size())
	b.ReportAllocs()
	for b.Loop() {
		sums := make([]int64, Workers(0))
		_, err := db.Scan(context.Background(), table, []string{"start", "end", "stream", "correlation", "name"}, 0, func(w int, r *Row) error {
			sums[w] += r.Int(1) - r.Int(0) + r.Int(2) + r.Int(3) + r.Int(4)
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}
