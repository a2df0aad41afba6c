// Scale makes a large Nsight Systems SQLite export out of a small real one:
// copies of its CUDA activities, NVTX ranges and samples of GPU metrics, shifted in
// time, correlation and range ids, under the same schema and with the same processes, strings
// and devices. It writes the file itself, since a database engine would need
// minutes for the sizes that the benchmarks want.
package main

import (
	"compress/gzip"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/sqlite"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

func run(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("scale", flag.ContinueOnError)
	source := flags.String("source", "", "a real SQLite export of nsys, plain or .gz")
	target := flags.String("o", "", "the file to write")
	kernels := flags.Int("kernels", 3_000_000, "at least this many kernels")
	jitter := flags.Int64("jitter", 0, "move each CUDA activity by up to this many ns, and let it last up to as many longer; copies that are all alike compress too well")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *source == "" || *target == "" {
		return fmt.Errorf("usage: scale -source real.sqlite -o big.sqlite [-kernels N]")
	}
	plain, remove, err := unpack(*source)
	if err != nil {
		return err
	}
	defer remove()
	sources, err := load(plain)
	if err != nil {
		return err
	}
	plan, err := newPlan(sources, *kernels)
	if err != nil {
		return fmt.Errorf("scale %s: %w", *source, err)
	}
	plan.jitter = *jitter
	// A file that was not finished must not be taken for one that was.
	part := *target + ".part"
	if err := plan.write(sources, part, stdout); err != nil {
		os.Remove(part)
		return err
	}
	return os.Rename(part, *target)
}

// unpack gives the path of a plain file for one that may be compressed.
func unpack(path string) (plain string, remove func(), err error) {
	if !strings.HasSuffix(path, ".gz") {
		return path, func() {}, nil
	}
	in, err := os.Open(path)
	if err != nil {
		return "", nil, err
	}
	defer in.Close()
	z, err := gzip.NewReader(in)
	if err != nil {
		return "", nil, fmt.Errorf("unpack %s: %w", path, err)
	}
	out, err := os.CreateTemp("", "scale-*.sqlite")
	if err != nil {
		return "", nil, err
	}
	_, err = io.Copy(out, z)
	if err = errors.Join(err, out.Close()); err != nil {
		os.Remove(out.Name())
		return "", nil, fmt.Errorf("unpack %s: %w", path, err)
	}
	return out.Name(), func() { os.Remove(out.Name()) }, nil
}

// source is a table held in memory.
type source struct {
	name, sql string
	columns   []string
	ids       []int64
	rows      [][]value
}

func load(path string) ([]*source, error) {
	db, err := sqlite.Open(path)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	var all []*source
	for i := range db.Tables() {
		t := &db.Tables()[i]
		s := &source{name: t.Name, sql: t.SQL}
		for _, c := range t.Columns {
			s.columns = append(s.columns, c.Name)
		}
		stats, err := db.Scan(context.Background(), t, s.columns, 1, func(_ int, r *sqlite.Row) error {
			s.ids = append(s.ids, r.RowID())
			s.rows = append(s.rows, values(r, len(s.columns)))
			return nil
		})
		if err != nil {
			return nil, err
		}
		if stats.Damaged() {
			return nil, fmt.Errorf("read table %s of %s: %s", t.Name, path, message.Text(stats.Fact()))
		}
		all = append(all, s)
	}
	return all, nil
}

func values(r *sqlite.Row, count int) []value {
	row := make([]value, count)
	for i := range row {
		row[i] = value{kind: r.Type(i), i: r.Int(i), f: r.Float(i), b: slices.Clone(r.Bytes(i))}
	}
	return row
}

// shifts says how far copy n of a row is moved: n times these.
type shifts struct{ time, correlation, rangeID int64 }

type plan struct {
	copies int
	by     shifts
	jitter int64 // ns; 0 for none
}

// newPlan takes the distances from the extent of the source, so that copies
// never overlap.
func newPlan(sources []*source, kernels int) (plan, error) {
	var p plan
	var times, correlations, ranges extent
	for _, s := range sources {
		if s.name == "CUPTI_ACTIVITY_KIND_KERNEL" && len(s.rows) > 0 {
			p.copies = (kernels + len(s.rows) - 1) / len(s.rows)
		}
		if !s.grows() {
			continue
		}
		for i := range s.rows {
			if !s.copied(i) {
				continue
			}
			for j, c := range s.columns {
				switch v := s.rows[i][j]; {
				case v.kind != sqlite.Integer:
				case isTime(c):
					times.add(v.i)
				case c == "correlationId":
					correlations.add(v.i)
				case c == "rangeId":
					ranges.add(v.i)
				}
			}
		}
	}
	if p.copies == 0 {
		return p, fmt.Errorf("it has no kernels")
	}
	const pause = 100_000 // ns of idle time between two copies
	p.by = shifts{times.size() + pause, correlations.size(), ranges.size()}
	if times.high > math.MaxInt64/2 || p.by.time > (math.MaxInt64/2)/int64(p.copies) {
		return p, fmt.Errorf("%d copies of %d ns do not fit the clock", p.copies, p.by.time)
	}
	return p, nil
}

// extent is a range of values, empty at first.
type extent struct {
	low, high int64
	any       bool
}

func (e *extent) add(v int64) {
	if !e.any {
		*e = extent{v, v, true}
	}
	e.low, e.high = min(e.low, v), max(e.high, v)
}

func (e *extent) size() int64 { return e.high - e.low + 1 }

func isTime(column string) bool {
	return slices.Contains([]string{"start", "end", "timestamp", "rawTimestamp"}, column)
}

// grows reports whether the rows of the table are copied.
func (s *source) grows() bool {
	return slices.ContainsFunc(s.columns, isTime) &&
		(s.name == "NVTX_EVENTS" || s.name == "GPU_METRICS" || strings.HasPrefix(s.name, "CUPTI_ACTIVITY_KIND_"))
}

// copied reports whether row i is an event rather than a declaration that
// later rows refer to.
func (s *source) copied(i int) bool {
	if s.name != "NVTX_EVENTS" {
		return true
	}
	switch s.rows[i][slices.Index(s.columns, "eventType")].i {
	case 33, 39, 75, 76: // category, thread name, domain create and destroy
		return false
	}
	return true
}

func (p plan) write(sources []*source, path string, stdout io.Writer) error {
	w, err := newWriter(path)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%d copies, %d ns apart\n", p.copies, p.by.time)
	for _, s := range sources {
		t := w.newTable()
		count := p.rows(s, t.add)
		t.finish(s.name, s.sql)
		if s.grows() {
			fmt.Fprintf(stdout, "%-36s %10d rows\n", s.name, count)
		}
	}
	return w.close()
}

// rows hands the rows of the scaled table to add and counts them.
func (p plan) rows(s *source, add func(int64, []byte)) int64 {
	var record []byte
	if !s.grows() {
		for i, row := range s.rows {
			record = encode(record[:0], row)
			add(s.ids[i], record)
		}
		return int64(len(s.rows))
	}
	step := make([]int64, len(s.columns))
	for j, c := range s.columns {
		switch {
		case isTime(c):
			step[j] = p.by.time
		case c == "correlationId":
			step[j] = p.by.correlation
		case c == "rangeId":
			step[j] = p.by.rangeID
		}
	}
	var id int64
	shifted := make([]value, len(s.columns))
	random := rand.New(rand.NewPCG(1, 2)) // the same file each time
	start, end := slices.Index(s.columns, "start"), slices.Index(s.columns, "end")
	jitters := p.jitter > 0 && start >= 0 && end >= 0 && s.name != "NVTX_EVENTS" // ranges have to nest
	for n := range int64(p.copies) {
		for i, row := range s.rows {
			if n > 0 && !s.copied(i) {
				continue
			}
			copy(shifted, row)
			for j, by := range step {
				if by != 0 && row[j].kind == sqlite.Integer {
					shifted[j].i += n * by
				}
			}
			if jitters {
				moved := random.Int64N(p.jitter)
				shifted[start].i += moved
				shifted[end].i += moved + random.Int64N(p.jitter)
			}
			record = encode(record[:0], shifted)
			id++
			add(id, record)
		}
	}
	return id
}
