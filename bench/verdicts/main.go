// Command verdicts shows how often deepprof compare is wrong, from processes that
// were recorded on a real GPU: comparisons of equal sides must raise few alarms, and
// slowdowns must be found with the number of repetitions that compare itself asks
// for. It exits with 1 where that does not hold.
package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"

	"github.com/deepprof/deepprof/internal/compare"
)

//go:embed samples.json
var recorded []byte

// A row is one value over the recorded processes.
type row struct {
	compare.Key
	Same    []float64 `json:"same"`
	Kernel3 []float64 `json:"kernel3"`
	Stage5  []float64 `json:"stage5"`
}

func main() {
	ok, err := run(os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "verdicts:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

func run(w io.Writer) (ok bool, err error) {
	var file struct{ Rows []row }
	if err := json.Unmarshal(recorded, &file); err != nil {
		return false, err
	}
	b := &bench{w: w, rows: file.Rows, ok: true, rng: rand.New(rand.NewPCG(18, 400))}
	fmt.Fprintln(w, "| what | comparisons | result | must be | holds |")
	fmt.Fprintln(w, "| --- | ---: | --- | --- | --- |")
	b.equalSides(3, compare.DefaultMinEffect)
	b.equalSides(5, compare.DefaultMinEffect)
	b.equalSides(5, 0.0001) // nothing but the statistics keeps alarms down
	b.slowdown("kernel softmax 3 % slower", 0.03, []compare.Key{{Kind: compare.Kernel, Name: "softmax", Metric: compare.Time}, {Kind: compare.Kernel, Name: "softmax", Metric: compare.LaunchTime}})
	b.slowdown("stage decode 5 % slower", 0.05, []compare.Key{{Kind: compare.Stage, Name: "decode", Metric: compare.Time}})
	b.real("kernel with 3 % more work, as recorded", compare.Key{Kind: compare.Kernel, Name: "softmax", Metric: compare.Time}, func(r *row) []float64 { return r.Kernel3 })
	b.real("stage with 5 % more rounds, as recorded", compare.Key{Kind: compare.Stage, Name: "decode", Metric: compare.Time}, func(r *row) []float64 { return r.Stage5 })
	return b.ok, nil
}

type bench struct {
	w    io.Writer
	rows []row
	rng  *rand.Rand
	ok   bool
}

func (b *bench) line(what string, comparisons int, result, must string, holds bool) {
	word := "yes"
	if !holds {
		word, b.ok = "NO", false
	}
	fmt.Fprintf(b.w, "| %s | %d | %s | %s | %s |\n", what, comparisons, result, must, word)
}

// compared compares n processes with n others, drawn without repetition where there
// are enough, after a change of the new side.
func (b *bench) compared(n int, effect float64, change func(compare.Key, float64) float64) []compare.Row {
	processes := len(b.rows[0].Same)
	order := b.rng.Perm(processes)
	for len(order) < 2*n {
		order = append(order, b.rng.IntN(processes))
	}
	var rows []compare.Row
	for i := range b.rows {
		r := compare.Row{Key: b.rows[i].Key}
		for j := range n {
			r.BaseSamples = append(r.BaseSamples, b.rows[i].Same[order[j]])
			r.NewSamples = append(r.NewSamples, change(r.Key, b.rows[i].Same[order[n+j]]))
		}
		rows = append(rows, r)
	}
	return compare.Judge(rows, compare.Options{MinEffect: effect, Seed: b.rng.Uint64()})
}

// equalSides counts the comparisons of equal sides in which anything is called
// faster or slower.
func (b *bench) equalSides(n int, effect float64) {
	const rounds = 400
	alarms := 0
	for range rounds {
		if slices.ContainsFunc(b.compared(n, effect, same), alarm) {
			alarms++
		}
	}
	b.line(fmt.Sprintf("equal sides of %d processes, changes count from %g %%", n, 100*effect), rounds, fmt.Sprintf("%d false alarms (%.1f %%)", alarms, 100*float64(alarms)/rounds), "at most 5 %", alarms*100 <= 5*rounds)
}

func same(_ compare.Key, x float64) float64 { return x }

func alarm(r compare.Row) bool { return r.Verdict == compare.Faster || r.Verdict == compare.Slower }

// slowdown makes some values slower and does what compare asks for: it begins with
// one process a side and repeats until there is a verdict.
func (b *bench) slowdown(what string, by float64, keys []compare.Key) {
	const rounds = 200
	found, most, sum := 0, 0, 0
	change := func(k compare.Key, x float64) float64 {
		if slices.Contains(keys, k) {
			return x * (1 + by)
		}
		return x
	}
	for range rounds {
		n := 1
		for range 3 {
			r := find(b.compared(n, compare.DefaultMinEffect, change), keys[0])
			if r.Verdict == compare.Slower {
				found++
			}
			if r.Verdict != compare.CannotTell {
				break
			}
			n = r.Need
		}
		most, sum = max(most, n), sum+n
	}
	b.line(what, rounds, fmt.Sprintf("found in %.1f %%, with %.1f processes a side on average, %d at most", 100*float64(found)/rounds, float64(sum)/rounds, most), "at least 95 %", found*100 >= 95*rounds)
}

func find(rows []compare.Row, k compare.Key) *compare.Row {
	return &rows[slices.IndexFunc(rows, func(r compare.Row) bool { return r.Key == k })]
}

// real compares processes that were recorded slower with as many others.
func (b *bench) real(what string, key compare.Key, slow func(*row) []float64) {
	var rows []compare.Row
	for i := range b.rows {
		if s := slow(&b.rows[i]); len(s) > 0 {
			rows = append(rows, compare.Row{Key: b.rows[i].Key, BaseSamples: b.rows[i].Same[:len(s)], NewSamples: s})
		}
	}
	rows = compare.Judge(rows, compare.Options{})
	r := find(rows, key)
	b.line(what, 1, fmt.Sprintf("%s: %+.2f %% (%+.2f to %+.2f), %d processes a side", r.Verdict, 100**r.Change, 100**r.Low, 100**r.High, len(r.NewSamples)), "slower", r.Verdict == compare.Slower)
}
