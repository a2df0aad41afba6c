package nsys

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	sqlite3 "github.com/ncruces/go-sqlite3"

	"github.com/deepprof/deepprof/internal/timeline"
	"github.com/deepprof/deepprof/internal/tool"
)

// A capture makes the statements of a random export: threads of several
// processes, nested, crossing and unclosed ranges, domains, registered strings,
// calls that share ids or lead nowhere. No two ranges have the same extent,
// for there the vendor's choice of a parent is chance.
type capture struct {
	*rand.Rand
	rows    map[string][]string
	threads []int64
	limit   int64
}

func randomCapture(seed uint64) *capture {
	c := &capture{Rand: rand.New(rand.NewPCG(seed, 77)), rows: map[string][]string{}, limit: 1_000_000}
	for range 1 + c.IntN(3) {
		pid := int64(100 + c.IntN(5000))
		for i := range int64(1 + c.IntN(3)) {
			c.threads = append(c.threads, 281474976710656+pid<<24+pid+i)
		}
	}
	c.add("StringIds", `(1, 'registered'), (2, 'step'), (3, 'void k<int>(int, float *)'), (4, 'gemm'), (5, 'launch')`)
	for _, thread := range c.threads {
		if c.IntN(2) == 0 {
			c.nvtx(int64(c.IntN(100)), "NULL", 75, fmt.Sprintf("'domain %d'", c.IntN(2)), thread, "NULL", "NULL", 1+c.IntN(2)*int(thread%2))
		}
		c.nest(thread, 0, c.limit, 0)
		c.nest(thread, 0, c.limit, 1)
		for range c.IntN(6) {
			c.span(thread, 0, c.limit, 60, c.IntN(2))
		}
		for range c.IntN(3) * int(seed%2) {
			c.span(thread, 0, c.limit, 59, 0) // crosses others of its stack
		}
		c.nvtx(c.Int64N(2*c.limit), "NULL", 34, "'mark'", thread, "NULL", "NULL", 0)
	}
	c.launches()
	return c
}

func (c *capture) add(table, values string) { c.rows[table] = append(c.rows[table], values) }

func (c *capture) nvtx(start int64, end string, kind int, text string, thread int64, closer, textID string, domain int) {
	c.add(tableNVTX, fmt.Sprintf("(%d, %s, %d, %s, %d, %s, %s, %d)", start, end, kind, text, thread, closer, textID, domain))
}

func (c *capture) nest(thread, low, high int64, domain int) {
	if high-low < 1000 {
		return
	}
	for range c.IntN(4) {
		start, end := c.span(thread, low, high, 59, domain)
		c.nest(thread, start, end, domain)
	}
}

func (c *capture) span(thread, low, high int64, kind, domain int) (start, end int64) {
	start = low + c.Int64N(high-low)
	end = start + c.Int64N(high-start+1)
	text, textID, closer, until := fmt.Sprintf("'%c'", 'a'+c.IntN(4)), "NULL", "NULL", fmt.Sprint(end)
	switch c.IntN(20) {
	case 0, 1, 2:
		text, textID = "NULL", fmt.Sprint(1+c.IntN(2))
	case 3:
		textID = "404"
	case 4:
		text = "NULL"
	case 5:
		until = "NULL"
	case 6:
		text = `'with, comma'`
	}
	if kind == 60 && c.IntN(4) == 0 {
		closer = fmt.Sprint(c.threads[c.IntN(len(c.threads))])
	}
	c.nvtx(start, until, kind, text, thread, closer, textID, domain)
	return start, end
}

func (c *capture) launches() {
	id := int64(1)
	for range c.IntN(200) {
		thread := c.threads[c.IntN(len(c.threads))]
		start := c.Int64N(c.limit)
		end := start + c.Int64N(50)
		c.add(tableRuntime, fmt.Sprintf("(%d, %d, %d, %d, 5, 0)", start, end, thread, id))
		if c.IntN(20) == 0 {
			c.add(tableRuntime, fmt.Sprintf("(%d, %d, %d, %d, 5, 0)", start+1, end+1, c.threads[c.IntN(len(c.threads))], id))
		}
		for range c.IntN(4) {
			at, correlation := start+c.Int64N(5000), fmt.Sprint(id)
			switch c.IntN(30) {
			case 0:
				correlation = "NULL"
			case 1:
				correlation = "77777"
			}
			c.add(tableKernel, fmt.Sprintf("(%d, %d, 0, 1, 7, %s, %d, %d, 4, %d, 1, 1)",
				at, at+c.Int64N(3000), correlation, timeline.ProcessOf(thread), 3+c.IntN(2), 1+c.IntN(2)))
		}
		id += 1 + c.Int64N(3)*c.Int64N(300)
	}
}

func (c *capture) file(t testing.TB) string {
	// The scripts of 2022 name columns of the launch shape that nothing here reads.
	kernels := strings.Replace(makeKernels, "gridZ INTEGER)", "gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER, mangledName INTEGER)", 1)
	statements := []string{makeStrings, kernels, makeCalls, makeNVTX}
	for table, rows := range c.rows {
		columns := ""
		if table == tableKernel {
			columns = "(start, end, deviceId, contextId, streamId, correlationId, globalPid, demangledName, shortName, gridX, gridY, gridZ)"
		}
		statements = append(statements, "INSERT INTO "+table+columns+" VALUES "+strings.Join(rows, ","))
	}
	if c.rows[tableKernel] != nil {
		statements = append(statements, "UPDATE "+tableKernel+" SET blockX = 32, blockY = 1, blockZ = 1")
	}
	return makeFile(t, statements...)
}

// TestRandomAgainstRealTools compares every report on captures that no program
// would make.
func TestRandomAgainstRealTools(t *testing.T) {
	tools := realTools(t)
	rows := 0
	for seed := range uint64(12) {
		path := randomCapture(seed).file(t)
		for _, nsys := range tools {
			checks, err := openFile(t, path).SelfCheck(context.Background(), nsys)
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			for _, c := range checks {
				rows += c.Rows
				for _, d := range c.Differences {
					t.Errorf("seed %d, %s, %s: %s", seed, nsys.Version, c.Report, d)
				}
			}
		}
	}
	if rows < 500 {
		t.Errorf("only %d rows were compared", rows)
	}
}

// TestWorkersAgree reads a file large enough to be shared out with one worker
// and with several.
func TestWorkersAgree(t *testing.T) {
	const series = `WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 59999) `
	path := makeFile(t, makeStrings, makeKernels, makeCalls, makeNVTX,
		`INSERT INTO StringIds VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'launch')`,
		`INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL `+series+`SELECT i*100+50, i*100+50+(i*7919)%90, i%2, 1, 7+i%3, i, ((i%5)/4+1)*16777216, 1+i%3, 1+i%3, i%4, 1, 1 FROM n`,
		`INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME `+series+`SELECT i*100+10, i*100+20, ((i%5)/4+1)*16777216+1, i, 4, 0 FROM n`,
		`INSERT INTO NVTX_EVENTS `+series+`SELECT i*100, i*100+99, 59, 'r' || (i%10), ((i%5)/4+1)*16777216+1, NULL, NULL, 0 FROM n`)
	ctx := context.Background()
	read := func(workers int) (*timeline.Timeline, []timeline.KernelRow) {
		f := openFile(t, path)
		f.Workers = workers
		tl, err := f.Timeline(ctx, Regions)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := f.KernelRows(ctx, timeline.Query{By: timeline.ByDevice})
		if err != nil {
			t.Fatal(err)
		}
		return tl, rows.Rows
	}
	one, oneRows := read(1)
	many, manyRows := read(4)
	if len(one.Kernels) != 60000 || one.Calls.Len() != 60000 || len(one.Ranges) != 60000 {
		t.Fatalf("%d kernels, %d calls, %d ranges", len(one.Kernels), one.Calls.Len(), len(one.Ranges))
	}
	for i := range one.Kernels {
		a, b := one.Kernels[i], many.Kernels[i]
		if a.Start != b.Start || one.KernelName(&a) != many.KernelName(&b) || one.Queues[a.Queue] != many.Queues[b.Queue] {
			t.Fatalf("kernel %d differs: %+v, %+v", i, a, b)
		}
	}
	if !reflect.DeepEqual(one.RegionRows(timeline.Query{}), many.RegionRows(timeline.Query{})) {
		t.Error("regions differ")
	}
	if text(oneRows) != text(manyRows) || len(oneRows) != 6 {
		t.Errorf("kernels differ:\n%s\n%s", text(oneRows), text(manyRows))
	}
}

// TestRoundExactEqualsSQLite holds the newer rule of rounding against SQLite.
func TestRoundExactEqualsSQLite(t *testing.T) {
	conn, err := sqlite3.Open(":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	stmt, _, err := conn.Prepare("SELECT round(?1, 1)")
	if err != nil {
		t.Fatal(err)
	}
	defer stmt.Close()
	random := rand.New(rand.NewPCG(5, 6))
	for i := range 50_000 {
		sum := random.Int64N([]int64{1e3, 1e6, 1e9, 1e13}[i%4])
		x := float64(sum) / float64([]int64{20, 40, 80, 200, 100, 3, 7, 60, 140}[i%9])
		if err := stmt.BindFloat(1, x); err != nil {
			t.Fatal(err)
		}
		if !stmt.Step() {
			t.Fatal(stmt.Err())
		}
		if got, want := timeline.RoundExact(x), stmt.ColumnFloat(0); got != want {
			t.Fatalf("RoundExact(%v) = %v, SQLite has %v", x, got, want)
		}
		if err := stmt.Reset(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSelfCheckTakesEitherRounding: a report that rounds the other way is no
// difference, as long as it does so throughout.
func TestSelfCheckTakesEitherRounding(t *testing.T) {
	rows := []timeline.KernelRow{
		{Name: "a", TotalNS: 167, Calls: 20, MeanNS: 8.4, MedianNS: 8, MinNS: 8, MaxNS: 9, StddevNS: 0.5, TimePct: 41.1},
		{Name: "b", TotalNS: 239, Calls: 20, MeanNS: 12, MedianNS: 12, MinNS: 11, MaxNS: 12, StddevNS: 0.2, TimePct: 58.9},
	}
	for _, d := range []statsDialect{{}, {Exact: true}} {
		o := &ours{kernels: rows}
		vendor := kernelReport(rows, d)
		if mean := map[bool]string{false: "8.4", true: "8.3"}[d.Exact]; vendor.Rows[0][3] != mean {
			t.Fatalf("mean %s, want %s", vendor.Rows[0][3], mean)
		}
		if found := comparisons[0].differences(tool.V(2025, 3, 0), vendor, o); len(found) != 0 {
			t.Errorf("differences %v", found)
		}
	}
}
