package export

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/cxx"
	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/nsys"
	"github.com/deepprof/deepprof/internal/nvtx"
	"github.com/deepprof/deepprof/internal/timeline"
)

// A stackKey is what launches are summed by. Grids and blocks are in it because work is
// counted by them; samples of one stack are joined again.
type stackKey struct {
	path, captured string // region around the launch, and around the capture of a graph's node
	kernel         string
	grid, block    [3]int32
	// timeline names the file; "" where there is one.
	timeline string
	// As the row of the launch has them: a CUDA ordinal, a number of CUDA and a pid.
	device, stream, process int
}

// sums are the values of a sample: GPU time in ns and launches.
type sums struct{ ns, launches int64 }

// The profile is compressed with gzip, as pprof expects it.
func writePprof(ctx context.Context, s *Source, w io.Writer) ([]string, error) {
	p := &pprofWriter{sums: map[stackKey]*sums{}}
	notes, err := s.eachTimeline(ctx, func(name string, f *nsys.File) error { return p.read(ctx, s, name, f) })
	if err != nil {
		return notes, err
	}
	var counted map[string]*analysis.Work
	if len(s.Counters) > 0 {
		result, err := s.Result(ctx)
		if err != nil {
			return notes, err
		}
		counted = countedWork(result)
	}
	prof := p.profile(s, counted)
	if err := prof.CheckValid(); err != nil {
		return notes, fmt.Errorf("make a profile of %s: %w", s.Run, err)
	}
	return notes, prof.Write(w)
}

// A pprofWriter sums launches by stack before it makes samples: a profile has no place for
// single events.
type pprofWriter struct {
	sums     map[stackKey]*sums
	start    time.Time // of the first timeline that tells; zero if none does
	duration int64     // ns, of the longest timeline
}

// read sums the launches of a timeline.
// Launches outside every range have an empty path and only their kernel as a frame.
func (p *pprofWriter) read(ctx context.Context, s *Source, name string, f *nsys.File) error {
	t, err := f.Timeline(ctx, nsys.Kernels|nsys.LaunchCalls|nsys.NVTX|nsys.Graphs|nsys.Machine)
	if err != nil {
		return err
	}
	if at, err := time.Parse(time.DateTime, t.Session.StartUTC); err == nil && p.start.IsZero() {
		p.start = at
	}
	p.duration = max(p.duration, t.Session.DurationNS, t.Session.LastNS-t.Session.FirstNS)
	match, err := s.regionMatch(t.Attribute())
	if err != nil {
		return err
	}
	captured := capturedPaths(t)
	for r := range t.StreamLaunches(timeline.Query{Region: match}).Rows {
		key := stackKey{
			path: r.NVTX, captured: captured(r), kernel: r.Kernel, grid: r.Grid, block: r.Block,
			timeline: name, device: r.Device, stream: r.Stream, process: r.Process,
		}
		sum := p.sums[key]
		if sum == nil {
			sum = &sums{}
			p.sums[key] = sum
		}
		sum.ns += r.DurationNS
		sum.launches++
	}
	return ctx.Err()
}

// capturedPaths gives the region in which the node of a CUDA graph was captured,
// "" for a launch of no graph.
func capturedPaths(t *timeline.Timeline) func(*timeline.LaunchRow) string {
	if len(t.GraphNodes) == 0 {
		return func(*timeline.LaunchRow) string { return "" }
	}
	at := t.Captured().Attribute()
	return func(r *timeline.LaunchRow) string {
		if r.GraphNode == 0 {
			return ""
		}
		return at.Path(at.KernelNode(r.ID - 1))
	}
}

// countedWork is the work of one launch of the kernels that were counted, by their ID. Kernels
// of which no work was counted are absent, not 0.
func countedWork(r *analysis.Result) map[string]*analysis.Work {
	out := map[string]*analysis.Work{}
	for i := range r.Kernels {
		if c := r.Kernels[i].Counted; c != nil && c.Work != nil {
			out[r.Kernels[i].ID] = c.Work
		}
	}
	return out
}

// profile makes the samples. Work of a launch that was counted is taken for that
// of each launch of the same kernel, grid and block.
func (p *pprofWriter) profile(s *Source, counted map[string]*analysis.Work) *profile.Profile {
	prof := &profile.Profile{
		SampleType:        []*profile.ValueType{{Type: "gpu_time", Unit: "nanoseconds"}, {Type: "launches", Unit: "count"}},
		DefaultSampleType: "gpu_time",
		DurationNanos:     p.duration,
		Mapping:           []*profile.Mapping{{ID: 1, File: clean(s.Run), HasFunctions: true, HasFilenames: true, HasLineNumbers: true, HasInlineFrames: true}},
	}
	if !p.start.IsZero() {
		prof.TimeNanos = p.start.UnixNano()
	}
	if len(counted) > 0 {
		prof.SampleType = append(prof.SampleType, &profile.ValueType{Type: "dram_bytes", Unit: "bytes"}, &profile.ValueType{Type: "flops", Unit: "count"})
	}
	m := stackMaker{prof: prof, functions: map[string]*profile.Location{}, samples: map[string]*profile.Sample{}, paths: p.grouped(), kernels: p.kernelLabels()}
	var total, covered int64
	for _, key := range slices.SortedFunc(maps.Keys(p.sums), compareStacks) {
		sum := p.sums[key]
		values := []int64{sum.ns, sum.launches}
		if len(counted) > 0 {
			var bytes, flops float64
			if w := counted[analysis.KernelID(key.kernel, key.grid, key.block)]; w != nil {
				bytes, flops = *cmp.Or(w.Bytes, new(float64)), w.AllFLOPs()
				covered += sum.ns
			}
			values = append(values, int64(bytes*float64(sum.launches)), int64(flops*float64(sum.launches)))
			total += sum.ns
		}
		m.add(key, values)
	}
	prof.Comments = []string{s.Version + ": " + clean(s.Run)}
	if s.Region != "" {
		prof.Comments = append(prof.Comments, message.Phrase("pprof-region", clean(s.Region)))
	}
	if len(counted) > 0 && total > 0 {
		prof.Comments = append(prof.Comments, message.Phrase("pprof-counted", fmt.Sprintf("%.1f %%", 100*float64(covered)/float64(total))))
	}
	return prof
}

// compareStacks makes equal inputs give equal files.
// The order means nothing to readers.
func compareStacks(a, b stackKey) int {
	return cmp.Or(cmp.Compare(a.timeline, b.timeline), cmp.Compare(a.path, b.path), cmp.Compare(a.captured, b.captured), cmp.Compare(a.kernel, b.kernel),
		slices.Compare(a.grid[:], b.grid[:]), slices.Compare(a.block[:], b.block[:]),
		cmp.Compare(a.device, b.device), cmp.Compare(a.stream, b.stream), cmp.Compare(a.process, b.process))
}

// grouped gives the frames of a region path: names without generated ids, and
// with "#" for numbers that count instances.
func (p *pprofWriter) grouped() func(path string) []string {
	var g nvtx.Grouper
	seen := map[string]bool{}
	add := func(path string) {
		if seen[path] || path == "" {
			return
		}
		seen[path] = true
		parent := ""
		for _, part := range nvtx.SplitPath(path) {
			g.Add(parent, part)
			parent += "/" + nvtx.WithoutIDs(part)
		}
	}
	for key := range p.sums {
		add(key.path)
		add(key.captured)
	}
	return func(path string) (frames []string) {
		if path == "" {
			return nil
		}
		parent := ""
		for _, part := range nvtx.SplitPath(path) {
			frames = append(frames, g.Group(parent, part))
			parent += "/" + nvtx.WithoutIDs(part)
		}
		return frames
	}
}

// kernelLabels gives each kernel a short name that no other has.
func (p *pprofWriter) kernelLabels() map[string]string {
	all := map[string]bool{}
	for key := range p.sums {
		all[key.kernel] = true
	}
	names := slices.Sorted(maps.Keys(all))
	labels := map[string]string{}
	for i, short := range cxx.Distinguish(names) {
		labels[names[i]] = clean(short)
	}
	return labels
}

// A stackMaker puts samples into a profile.
type stackMaker struct {
	prof      *profile.Profile
	functions map[string]*profile.Location // by kind and full name
	samples   map[string]*profile.Sample   // by frames, kernel and labels
	paths     func(string) []string
	kernels   map[string]string // label by full name
}

// values are in the order of Profile.SampleType and become the sample's own.
func (m *stackMaker) add(key stackKey, values []int64) {
	frames := m.frames(key)
	labels := map[string][]string{
		"device": {strconv.Itoa(key.device)}, "stream": {strconv.Itoa(key.stream)}, "process": {strconv.Itoa(key.process)}, "timeline": {clean(key.timeline)},
	}
	if rank, host := rankOf(key.timeline); rank != nil {
		labels["rank"], labels["host"] = []string{fmt.Sprint(rank)}, []string{clean(host)}
	}
	id := strings.Join(frames, "\x00") + "\x00\x00" + key.kernel + fmt.Sprint(labels)
	if same := m.samples[id]; same != nil { // another grid, or another step of a group
		for i, v := range values {
			same.Value[i] += v
		}
		return
	}
	sample := &profile.Sample{Value: values, Label: labels, Location: []*profile.Location{m.location("kernel", m.kernels[key.kernel], key.kernel)}}
	for _, frame := range slices.Backward(frames) {
		sample.Location = append(sample.Location, m.location("region", clean(frame), frame))
	}
	m.samples[id] = sample
	m.prof.Sample = append(m.prof.Sample, sample)
}

// frames are the regions of a stack, outermost first: those around the launch,
// and below them those around the capture of a graph that are others.
func (m *stackMaker) frames(key stackKey) []string {
	frames, captured := m.paths(key.path), m.paths(key.captured)
	same := 0
	for same < min(len(frames), len(captured)) && frames[same] == captured[same] {
		same++
	}
	return append(frames, captured[same:]...)
}

// location is that of a function. Kernels and regions of one name are two.
func (m *stackMaker) location(kind, name, full string) *profile.Location {
	at := kind + "\x00" + full
	if l := m.functions[at]; l != nil {
		return l
	}
	id := uint64(len(m.prof.Function) + 1)
	fn := &profile.Function{ID: id, Name: cmp.Or(name, "(unnamed)"), SystemName: clean(full), Filename: kind}
	l := &profile.Location{ID: id, Mapping: m.prof.Mapping[0], Address: id, Line: []profile.Line{{Function: fn}}}
	m.prof.Function = append(m.prof.Function, fn)
	m.prof.Location = append(m.prof.Location, l)
	m.functions[at] = l
	return l
}
