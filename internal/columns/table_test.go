package columns

import (
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

// stores are those that tests write to: memory, a file, and first the one and then the other.
func stores(t testing.TB) map[string]*Store {
	t.Setenv("TMPDIR", t.TempDir())
	list := map[string]*Store{"none": nil}
	for name, memory := range map[string]int64{"memory": 1 << 30, "file": 0, "both": 100 << 10} {
		s := NewStore(memory)
		t.Cleanup(s.Close)
		list[name] = s
	}
	return list
}

// Rows come back as they were written, whatever their numbers are, in any order.
func TestTable(t *testing.T) {
	kinds := []func(*rand.Rand, int) int64{
		func(r *rand.Rand, i int) int64 { return int64(i) * 1_000 },
		func(r *rand.Rand, i int) int64 { return r.Int64N(200) },
		func(r *rand.Rand, i int) int64 { return 7 },
		func(r *rand.Rand, i int) int64 { return r.Int64() - math.MaxInt64/2 },
		func(r *rand.Rand, i int) int64 { return []int64{math.MinInt64, math.MaxInt64, 0}[r.IntN(3)] },
		func(r *rand.Rand, i int) int64 { return -r.Int64N(70_000) },
	}
	for name, store := range stores(t) {
		for _, n := range []int{0, 1, BlockRows - 1, BlockRows, BlockRows + 1, 20_000} {
			r := rand.New(rand.NewPCG(1, uint64(n)))
			table := NewTable(store, len(kinds))
			want := make([][]int64, n)
			var extra []byte
			for i := range n {
				for c, of := range kinds {
					want[i] = append(want[i], of(r, i))
					table.Set(c, want[i][c])
				}
				if i%3 == 0 {
					*table.Extra() = append(*table.Extra(), byte(i))
					extra = append(extra, byte(i))
				}
				table.End()
			}
			table.Finish()
			if table.Len() != n {
				t.Fatalf("%s: %d rows of %d", name, table.Len(), n)
			}
			in := table.Reader()
			var got []byte
			check := func(i int) {
				in.Seek(i)
				for c := range kinds {
					if v := in.Value(c, i); v != want[i][c] {
						t.Fatalf("%s: column %d of row %d of %d is %d, want %d", name, c, i, n, v, want[i][c])
					}
				}
			}
			for i := range n {
				check(i)
				if i == in.First {
					got = append(got, in.Extra...)
				}
			}
			if !slices.Equal(got, extra) {
				t.Errorf("%s: the extras of %d rows differ", name, n)
			}
			for range min(n, 100) {
				check(r.IntN(n))
			}
		}
	}
}

// A block is found by the first column.
func TestBlock(t *testing.T) {
	table := NewTable(nil, 1)
	for i := range 3 * BlockRows {
		table.Set(0, int64(i/10))
		table.End()
	}
	table.Finish()
	for v, want := range map[int64]int{-1: -1, 0: 0, BlockRows/10 - 1: 0, BlockRows/10 + 1: 1, 1 << 40: 2} {
		if got := table.Block(v); got != want {
			t.Errorf("%d lies in block %d, want %d", v, got, want)
		}
	}
}

// Blocks go to a file when memory is full, and to memory where there is no file; none is
// left behind.
func TestStore(t *testing.T) {
	all := stores(t)
	for name, want := range map[string][2]bool{"memory": {true, true}, "file": {false, false}, "both": {true, false}} {
		b := NewBlocks(all[name])
		for i := range 3 {
			b.Add(slices.Repeat([]byte{byte(i + 1)}, 60<<10))
		}
		if got := [2]bool{b.list[0].data != nil, b.list[2].data != nil}; got != want {
			t.Errorf("%s: first and last block in memory %v, want %v", name, got, want)
		}
		var room []byte
		for i := range 3 {
			var data []byte
			if data, room = b.Read(i, room); len(data) != 60<<10 || data[0] != byte(i+1) || data[len(data)-1] != byte(i+1) {
				t.Errorf("%s: block %d has %d bytes", name, i, len(data))
			}
		}
	}
	if files, err := os.ReadDir(os.TempDir()); err != nil || len(files) > 0 {
		t.Errorf("files %v, %v", files, err)
	}
	t.Setenv("TMPDIR", "/nowhere")
	b := NewBlocks(NewStore(0))
	b.Add(make([]byte, 100))
	if data, _ := b.Read(0, nil); len(data) != 100 || b.list[0].data == nil {
		t.Error("without a place for a file a block is lost")
	}
}

func BenchmarkRead(b *testing.B) {
	table := NewTable(nil, 3)
	for i := range 3_000_000 {
		table.Set(0, int64(i)*1234)
		table.Set(1, int64(i%5000))
		table.Set(2, int64(i%90))
		table.End()
	}
	table.Finish()
	for b.Loop() {
		in, sum := table.Reader(), int64(0)
		for i := range table.Len() {
			in.Seek(i)
			sum += in.Value(0, i) + in.Value(1, i) ^ in.Value(2, i)
		}
		if sum == 0 {
			b.Fatal(sum)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/3e6, "ns/row")
}

func BenchmarkWrite(b *testing.B) {
	for b.Loop() {
		table := NewTable(nil, 3)
		for i := range 3_000_000 {
			table.Set(0, int64(i)*1234)
			table.Set(1, int64(i%5000))
			table.Set(2, int64(i%90))
			table.End()
		}
		table.Finish()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/3e6, "ns/row")
}
