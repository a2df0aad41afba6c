package timeline

import (
	"cmp"
	"path"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// A PythonFrame is a line of Python code that was being executed.
type PythonFrame struct {
	Function, File StringID
	Line           int32
}

// A PythonSample is what a thread executed at a moment, as nsys sampled it.
// Time is in ns, Thread an index into Timeline.Threads.
type PythonSample struct {
	Time   int64
	Thread uint32
	Stack  uint32 // of Timeline.PythonStacks
}

// A HostFrame is Python code that a thread was seen in while the GPU waited.
type HostFrame struct {
	Function string `json:"function"`
	File     string `json:"file"`
	Line     int    `json:"line"` // that was seen most
	Samples  int64  `json:"samples"`
}

// SampleShares are the shares, 0 to 1, of each frame in the samples of all of them.
func SampleShares(frames []HostFrame) []float64 {
	var all int64
	for _, f := range frames {
		all += f.Samples
	}
	shares := make([]float64, len(frames))
	for i, f := range frames {
		shares[i] = float64(f.Samples) / float64(max(1, all))
	}
	return shares
}

// Name is the function with its file, without the folder that packages were
// installed in, and line.
func (f HostFrame) Name() string {
	file := f.File
	for _, folder := range []string{"/site-packages/", "/dist-packages/"} {
		if _, inside, ok := strings.Cut(file, folder); ok {
			file = inside
		}
	}
	return f.Function + " (" + file + ":" + strconv.Itoa(f.Line) + ")"
}

// ofAnnotation is how the files of the module begin that deepprof puts into programs:
// the code that it calls is what ran.
const ofAnnotation = "deepprof_annotate"

// pythonSamples finds the samples of a thread by time.
type pythonSamples struct {
	t       *Timeline
	threads map[uint32][]PythonSample
}

func (t *Timeline) pythonSamples() pythonSamples {
	p := pythonSamples{t: t, threads: map[uint32][]PythonSample{}}
	for _, s := range t.PythonSamples {
		p.threads[s.Thread] = append(p.threads[s.Thread], s)
	}
	for _, list := range p.threads {
		slices.SortStableFunc(list, func(x, y PythonSample) int { return cmp.Compare(x.Time, y.Time) })
	}
	return p
}

// count adds the innermost frames of the samples of a thread from one moment until
// another.
// The first moment belongs to the time, the last does not. Samples that lie in the module of
// deepprof alone count for nothing.
func (p pythonSamples) count(thread uint32, from, to int64, into map[PythonFrame]int64) {
	list := p.threads[thread]
	first := sort.Search(len(list), func(i int) bool { return list[i].Time >= from })
	for _, s := range list[first:] {
		if s.Time >= to {
			return
		}
		if f, ok := p.t.innermostFrame(s.Stack); ok {
			into[f]++
		}
	}
}

func (t *Timeline) innermostFrame(stack uint32) (PythonFrame, bool) {
	for _, f := range t.PythonStacks[stack] {
		if !strings.HasPrefix(path.Base(t.Name(f.File)), ofAnnotation) {
			return f, true
		}
	}
	return PythonFrame{}, false
}

// hostFrames sums frames by function, most samples first.
// Lines of one function are joined; of lines seen equally often the first is named. nil for none.
func (t *Timeline) hostFrames(frames map[PythonFrame]int64) []HostFrame {
	type function struct{ name, file StringID }
	byFunction := map[function]*HostFrame{}
	most := map[function]int64{} // samples of the line that was seen most
	for f, n := range frames {
		key := function{f.Function, f.File}
		row := byFunction[key]
		if row == nil {
			row = &HostFrame{Function: t.Name(f.Function), File: t.Name(f.File)}
			byFunction[key] = row
		}
		row.Samples += n
		if n > most[key] || n == most[key] && int(f.Line) < row.Line {
			most[key], row.Line = n, int(f.Line)
		}
	}
	var out []HostFrame
	for _, row := range byFunction {
		out = append(out, *row)
	}
	slices.SortFunc(out, func(x, y HostFrame) int {
		return cmp.Or(cmp.Compare(y.Samples, x.Samples), cmp.Compare(x.Function, y.Function), cmp.Compare(x.File, y.File))
	})
	return out
}
