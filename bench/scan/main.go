// Scan reads the seven columns of the kernel table that a kernel summary needs
// and groups by name: the floor of what `show kernels` can cost.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/sqlite"
)

func main() {
	workers := flag.Int("workers", 0, "goroutines; 0: one a core")
	flag.Parse()
	if err := run(flag.Arg(0), *workers, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "scan:", err)
		os.Exit(1)
	}
}

// group sums up the kernels of one name.
type group struct{ calls, total, low, high, links int64 }

func run(path string, workers int, stdout io.Writer) error {
	db, err := sqlite.Open(path)
	if err != nil {
		return err
	}
	defer db.Close()
	const name = "CUPTI_ACTIVITY_KIND_KERNEL"
	table, ok := db.Table(name)
	if !ok {
		return fmt.Errorf("read %s: no table %s", path, name)
	}
	columns := []string{"start", "end", "demangledName", "shortName", "correlationId", "streamId", "deviceId"}
	shares := make([]map[int64]*group, sqlite.Workers(workers))
	for w := range shares {
		shares[w] = map[int64]*group{}
	}
	stats, err := db.Scan(context.Background(), table, columns, workers, func(w int, r *sqlite.Row) error {
		g := shares[w][r.Int(2)]
		if g == nil {
			g = &group{low: 1<<63 - 1}
			shares[w][r.Int(2)] = g
		}
		took := r.Int(1) - r.Int(0)
		g.calls++
		g.total += took
		g.low, g.high = min(g.low, took), max(g.high, took)
		g.links += r.Int(3) + r.Int(4) + r.Int(5) + r.Int(6)
		return nil
	})
	if err != nil {
		return err
	}
	names := map[int64]bool{}
	var sum group
	for _, share := range shares {
		for id, g := range share {
			names[id] = true
			sum.calls += g.calls
			sum.total += g.total
			sum.links += g.links
		}
	}
	fmt.Fprintf(stdout, "%s; %d names, %d ns, checksum %d\n", message.Text(stats.Fact()), len(names), sum.total, sum.links)
	return nil
}
