package export

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"

	"github.com/deepprof/deepprof/internal/analysis"
)

// writeBench writes the format of Go's benchmarks: a line is one measurement of
// one process. Those of several runs, one after the other, are what benchstat
// compares.
// ns/op is the mean over n, the number before it: passes of a stage, launches of a
// kernel. A source without any time is a UsageError.
func writeBench(ctx context.Context, s *Source, w io.Writer) ([]string, error) {
	r, err := s.Result(ctx)
	if err != nil {
		return nil, err
	}
	b := benchWriter{w: w}
	b.config("run", s.Run)
	for _, g := range r.Environment.GPUs {
		b.config("gpu", g.Name)
	}
	b.config("driver", r.Environment.Driver)
	if r.Workload.Model != nil {
		b.config("model", r.Workload.Model.Name)
	}
	for _, st := range r.Stages {
		b.stage(&st)
	}
	b.ranks(r)
	b.serving(r)
	for i := range r.Kernels {
		k := &r.Kernels[i]
		if !k.Untimed && k.Calls > 0 {
			b.line([]string{"Kernel", k.Short, "id=" + k.ID}, k.Calls, measure{k.MeanNS, "ns/op"})
		}
	}
	if b.err == nil && b.lines == 0 {
		return nil, usagef("export bench %s: there is no time of a stage, a kernel, a step or a request to write", s.Run)
	}
	return nil, b.err
}

// A benchWriter writes lines of benchmarks. After the first error nothing more is written; err
// keeps it. lines counts measurements, not lines of configuration.
type benchWriter struct {
	w io.Writer
	// lines counts what was written: a file without any is an error.
	lines int
	// err is the first that came; nothing is written after it.
	err error
}

// A measure is a value with a unit of benchmarks: benchstat takes a unit that it does not know
// as lower is better, so rates end in /s.
type measure struct {
	value float64
	// unit is as benchstat takes it: ns/op and others with a slash are held against each other.
	unit string
}

// config writes a line that benchstat takes as configuration; empty values are left out.
func (b *benchWriter) config(key, value string) {
	if value = strings.TrimSpace(clean(value)); value != "" {
		b.print("%s: %s\n", key, value)
	}
}

// stage writes the times of a stage: the unprofiled run, and under Nsight Systems.
func (b *benchWriter) stage(st *analysis.Stage) {
	name := []string{"Stage", st.Name}
	if st.CleanMS != nil {
		list := []measure{{*st.CleanMS * 1e6, "ns/op"}}
		if st.TokensPS != nil {
			list = append(list, measure{*st.TokensPS, "tokens/s"})
		}
		for _, u := range st.MFU {
			if u.Value != nil && u.Method == "analytic" {
				list = append(list, measure{*u.Value, "mfu"})
			}
		}
		n := 1
		if st.CleanTimes != nil {
			n = st.CleanTimes.N
		}
		b.line(append(name, "times=unprofiled"), int64(n), list...)
	}
	if st.NsysMS != nil && st.Passes > 0 {
		b.line(append(name, "times=nsys"), int64(st.Passes),
			measure{*st.NsysMS * 1e6, "ns/op"}, measure{float64(st.Split.BusyNS) / float64(st.Passes), "gpu-busy-ns/op"}, measure{float64(st.Kernels) / float64(st.Passes), "launches/op"})
	}
}

// line writes one measurement; n below 1 is written as 1, which the format demands.
func (b *benchWriter) line(name []string, n int64, list ...measure) {
	parts := make([]string, len(name))
	for i, part := range name {
		parts[i] = benchName(part)
	}
	b.print("Benchmark%s %d", strings.Join(parts, "/"), max(n, 1))
	for _, m := range list {
		b.print(" %s %s", strconv.FormatFloat(m.value, 'g', -1, 64), m.unit)
	}
	b.print("\n")
	b.lines++
}

// print keeps the first error; what comes after it is not written.
func (b *benchWriter) print(format string, args ...any) {
	if b.err == nil {
		_, b.err = fmt.Fprintf(b.w, format, args...)
	}
}

// benchName makes one part of the name of a benchmark: without spaces, and without
// the slash that separates parts.
func benchName(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || r == '/' {
			return '_'
		}
		return r
	}, clean(s))
	return cmp.Or(s, "_")
}
