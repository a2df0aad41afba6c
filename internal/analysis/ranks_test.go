package analysis

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/deepprof/deepprof/internal/fact"
)

// The ranks are synthetic: scripts/synthesize-ranks made them with --late 2:1000
// --clock n2:10800. Rank 2 of 4 comes 1 ms late to the all-gather of each of 20
// steps, and the clock of its host is 3 hours ahead.
var syntheticRanks = []string{"rank0.n1", "rank1.n1", "rank2.n2", "rank3.n2"}

func rankFiles(t *testing.T, names ...string) []string {
	t.Helper()
	dir := t.TempDir()
	var paths []string
	for _, name := range names {
		to := filepath.Join(dir, name+".sqlite")
		if err := os.Rename(unpacked(t, "../../testdata/synthetic/ranks/"+name+".sqlite.gz"), to); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, to)
	}
	return paths
}

func within(got, want, of int64) bool { return abs(got-want) <= of }

func TestRanksFindTheStraggler(t *testing.T) {
	r := analyzed(t, Input{Timelines: rankFiles(t, syntheticRanks...)})
	if r.Job == nil || len(r.Parts) != 4 || len(r.Job.Waits) != 4 || r.Job.World != 4 || len(r.Job.Missing) != 0 {
		t.Fatalf("job %+v, parts %+v", r.Job, r.Parts)
	}
	if !slices.Equal(r.Across.By, []string{"rank"}) || r.Job.Matched != 40 || r.Job.Unmatched != 0 {
		t.Errorf("by %v, %d matched, %d not", r.Across.By, r.Job.Matched, r.Job.Unmatched)
	}
	for i, w := range r.Job.Waits {
		switch {
		case i == 2 && (w.Late != 20 || !within(w.LateNS, 20e6, 0.5e6) || w.WaitNS > 0.2e6):
			t.Errorf("the late rank has %+v", w)
		case i != 2 && (w.Late > 2 || !within(w.WaitNS, 20e6, 0.5e6)):
			t.Errorf("rank %d has %+v", i, w)
		}
	}
	if w := r.Job.Waits[2]; len(w.Meanwhile) == 0 || w.Meanwhile[0].Label != "" || !within(w.Meanwhile[0].NS, 20e6, 0.5e6) {
		t.Errorf("meanwhile it did %+v, not idle for 20 ms", w.Meanwhile)
	}
	c := r.Job.Clock
	if c.Method != "collectives" || c.UncertaintyNS == nil || *c.UncertaintyNS > 5000 || !within(c.OffsetsNS[2], -10800e9, 10e3) || !within(c.OffsetsNS[1], 0, 10e3) {
		t.Errorf("clock is %+v", c)
	}
	if len(r.Job.Nodes) != 2 || len(r.Job.Nodes[1].Ranks) != 2 || r.Job.Nodes[1].BusyNS != r.Parts[2].BusyNS+r.Parts[3].BusyNS {
		t.Errorf("nodes are %+v", r.Job.Nodes)
	}
	for _, k := range r.Job.Collectives {
		// Every rank of an all-gather takes about 300 us from the moment that the last
		// one came: 32 MiB in that time, three quarters of it over each link.
		if k.Kind == "all_gather" && (k.Matched != 20 || !within(k.TransferNS, 4*20*302e3, 1e5) || *k.ExposedNS != k.NS || *k.BusBandwidth < 80e9 || *k.BusBandwidth > 86e9) {
			t.Errorf("all-gather is %+v", k)
		}
		if k.Kind == "all_reduce" && 2**k.ExposedNS > k.NS { // the next step runs under it
			t.Errorf("all-reduce is %+v", k)
		}
	}
	f := r.Findings[0]
	if f.Code != codeStraggler || f.Number("rank") != 2 || f.Text("host") != "n2" || !within(int64(f.Number("mean")), 1e6, 2e4) || !hasFinding(r, codeExposed) {
		t.Errorf("findings are %+v", r.Findings)
	}
	for _, rank := range []float64{2, 3} {
		if !slices.ContainsFunc(r.Warnings, func(n Note) bool {
			return n.Is(clocksApart) && n.Number("rank") == rank && within(int64(n.Number("ns")), 10800e9, 1e6)
		}) {
			t.Errorf("the clock of rank %v is not named: %+v", rank, r.Warnings)
		}
	}
}

func hasFinding(r *Result, code fact.Code) bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Code == code })
}

// TestBadRanks holds that what is wrong with ranks is named, and that the rest is
// analyzed.
func TestBadRanks(t *testing.T) {
	all := rankFiles(t, syntheticRanks...)
	dir := t.TempDir()
	file := func(name, from string) string {
		data, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	data, err := os.ReadFile(all[3])
	if err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(dir, "cut.rank3.n2.sqlite") // nothing but its first page is there
	if err := os.WriteFile(cut, data[:4096], 0o600); err != nil {
		t.Fatal(err)
	}
	larger := filepath.Join(dir, "larger.rank3.n2.sqlite") // of a job of 8
	if err := os.WriteFile(larger, bytes.ReplaceAll(data, []byte(`WORLD_SIZE="4"`), []byte(`WORLD_SIZE="8"`)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		files   []string
		warning fact.Code
		finding fact.Code
		matched int // collectives that the rest still has in common
	}{
		{"a rank is missing", []string{all[0], all[1], all[3]}, "", codeRankMissing, 40},
		{"a rank is there twice", append(slices.Clone(all), file("again.rank2.sqlite", all[2])), rankTwice, "", 40},
		{"another program", append(slices.Clone(all[:3]), file("rank3.n2.sqlite", unpacked(t, toyTimeline))), rankProgram, "", 40},
		{"another version", append(slices.Clone(all[:3]), file("rank3.n9.sqlite", unpacked(t, toyTimeline))), rankVersions, "", 40},
		{"another number of ranks", append(slices.Clone(all[:3]), larger), worldDiffers, codeRankMissing, 40},
		{"a rank of which nothing is left", append(slices.Clone(all[:3]), cut), inputUnreadable, codeRankMissing, 40},
		{"a rank that cannot be read", append(slices.Clone(all[:3]), file("rank3.n3.sqlite", "../../go.mod")), inputUnreadable, codeRankMissing, 40},
	} {
		r := analyzed(t, Input{Timelines: c.files})
		if c.warning != "" && !hasNote(r.Warnings, c.warning) || c.finding != "" && !hasFinding(r, c.finding) {
			t.Errorf("%s: warnings %+v, findings %+v", c.name, r.Warnings, r.Findings)
		}
		for _, f := range r.Findings {
			if want := max(r.Job.World, 4); f.Code == codeRankMissing && int(f.Number("of")) != want {
				t.Errorf("%s: ranks are missing of %v, want %d", c.name, f.Number("of"), want)
			}
		}
		if r.Job == nil || r.Job.Matched != c.matched || len(r.Parts) != len(c.files) {
			t.Errorf("%s: job %+v of %d parts", c.name, r.Job, len(r.Parts))
		}
	}
	r := analyzed(t, Input{Timelines: []string{all[0], all[3]}})
	if !slices.Equal(r.Job.Missing, []int{1, 2}) {
		t.Errorf("ranks %v are missing, want 1 and 2", r.Job.Missing)
	}
}

// TestBrokenRankInFolder holds that a file which is to be a rank by its name is
// not passed over where it holds none, unless its report is there.
func TestBrokenRankInFolder(t *testing.T) {
	dir := filepath.Dir(rankFiles(t, syntheticRanks[:3]...)[0])
	for name, text := range map[string]string{"rank3.n2.sqlite": "", "rank4.n2.nsys-rep": "no report", "rank2.n2.nsys-rep": "", "other.sqlite": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	in, err := FromFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, path := range in.Timelines {
		names = append(names, filepath.Base(path))
	}
	slices.Sort(names)
	if !slices.Equal(names, []string{"rank0.n1.sqlite", "rank1.n1.sqlite", "rank2.n2.sqlite", "rank3.n2.sqlite", "rank4.n2.nsys-rep"}) {
		t.Fatalf("timelines are %q", names)
	}
	r := analyzed(t, in)
	if !slices.Equal(r.Job.Missing, []int{3, 4}) || r.Job.Matched != 40 || len(r.Parts) != 5 || r.Across.Parts != 3 {
		t.Errorf("job is %+v of %d parts", r.Job, len(r.Parts))
	}
}

// TestShiftedCaptures holds that captures that begin at different collectives are
// matched by their clocks.
func TestShiftedCaptures(t *testing.T) {
	made := func(from, to int, late int64) *recording {
		var list []exchangeLaunch
		for k := from; k < to; k++ {
			at := int64(k)*10e6 + late
			list = append(list, exchangeLaunch{kind: "all_reduce", start: at, end: int64(k)*10e6 + 1e6})
		}
		return &recording{epoch: 1e18, exchanges: logExchanges(list)}
	}
	all := matchExchanges([]*recording{made(0, 20, 0), made(3, 22, 5e5)})
	if all.n != 17 || all.unmatched != 3+2 {
		t.Fatalf("%d matched, %d not", all.n, all.unmatched)
	}
	k := int64(3)
	all.each(func(m matched) {
		if m[0].start != k*10e6 || m[1].start != k*10e6+5e5 || m[1].end != k*10e6+1e6 {
			t.Errorf("match %d is %+v with %+v", k, m[0], m[1])
		}
		k++
	})
	if k != 20 {
		t.Errorf("matches end at %d", k)
	}
	others := logExchanges([]exchangeLaunch{{kind: "all_gather"}, {kind: "barrier"}, {kind: "all_gather"}})
	if all := matchExchanges([]*recording{made(0, 3, 0), {epoch: 1e18, exchanges: others}}); all.n != 0 || all.unmatched != 6 {
		t.Errorf("sequences of other kinds match: %+v", all)
	}
	if all := matchExchanges([]*recording{{epoch: 1e18}, made(0, 3, 0), made(0, 3, 0)}); all.n != 0 || all.unmatched != 6 {
		t.Errorf("a rank without exchanges matches: %+v", all)
	}
}

// TestExchangeLog holds that a log gives back what was put in, stream by stream,
// and all of it in the order of time where streams are merged.
func TestExchangeLog(t *testing.T) {
	idle, norm := TimePart{ID: "launch", NS: 7}, TimePart{ID: "norm", Label: "normalization", NS: 5e12}
	list := []exchangeLaunch{
		{kind: "all_reduce", queue: 7, start: -5, end: 10, bytes: 1 << 40, meanwhile: []TimePart{idle, norm}},
		{kind: "broadcast", queue: 7, start: 11, end: 12}, // ranks leave it one by one
		{kind: "all_gather", queue: 9, start: 12, end: 12},
		{kind: "barrier", queue: 7, start: 20, end: 1e18, meanwhile: []TimePart{norm}},
	}
	read := func(l *exchangeLog, lane int) (got []exchangeLaunch) {
		for c := l.cursor(lane); c.next(); {
			x := c.x
			x.meanwhile = slices.Clone(x.meanwhile)
			got = append(got, x)
		}
		return got
	}
	same := func(x, y exchangeLaunch) bool {
		return x.kind == y.kind && x.queue == y.queue && x.start == y.start && x.end == y.end && x.bytes == y.bytes && slices.Equal(x.meanwhile, y.meanwhile)
	}
	l := logExchanges(list)
	if len(l.lanes) != 2 || !slices.EqualFunc(read(&l, 0), []exchangeLaunch{list[0], list[3]}, same) || !slices.EqualFunc(read(&l, 1), list[2:3], same) {
		t.Errorf("lanes are %+v", l)
	}
	one := l.merged()
	want := []exchangeLaunch{list[0], list[2], list[3]}
	for i := range want {
		want[i].queue = 0
	}
	if len(one.lanes) != 1 || !slices.EqualFunc(read(&one, 0), want, same) {
		t.Errorf("merged: %+v", one)
	}
}

func TestKindOfCollective(t *testing.T) {
	for name, want := range map[string]string{
		"ncclDevKernel_AllReduce_Sum_bf16_RING_LL":                            "all_reduce",
		"ncclDevKernel_ReduceScatter_Sum_f32_RING_LL":                         "reduce_scatter",
		"ncclKernel_AllGather_RING_LL_Sum_int8_t":                             "all_gather",
		"ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)":            "send_recv",
		"void vllm::cross_device_reduce_1stage<__nv_bfloat16, 2>":             "all_reduce",
		"nccl:all_to_all, op_id = 999762":                                     "all_to_all",
		"gloo:all_reduce":                                                     "all_reduce",
		"MPI_Barrier":                                                         "barrier",
		"MPI_Allgather":                                                       "all_gather",
		"ncclDevKernel_Broadcast_RING_LL":                                     "broadcast",
		"ncclDevKernel_Reduce_Sum_f32_RING_LL":                                "reduce",
		"void deep_ep::intranode::dispatch<4, 768>":                           "other",
		"two_shot_all_reduce_kernel":                                          "all_reduce",
		"multimem_all_gather_kernel":                                          "all_gather",
		"void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_o": "all_reduce",
	} {
		if got := kindOfCollective(name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

// TestMessageSizes holds that bandwidths are told by size, and over all sizes only
// where every exchange has one.
func TestMessageSizes(t *testing.T) {
	m := messages{}
	for range 3 {
		m.add(1<<20, 1e6)
	}
	m.add(1<<30, 1e8)
	c := Collective{Kind: "all_reduce"}
	m.tell(&c, 4)
	if len(c.Sizes) != 2 || c.Sizes[0].Bytes != 1<<30 || c.Sizes[1].Matched != 3 || c.Sizes[1].TransferNS != 3e6 {
		t.Fatalf("sizes are %+v", c.Sizes)
	}
	if small, large := *c.Sizes[1].BusBandwidth, *c.Sizes[0].BusBandwidth; small != 1.5*(1<<20)/1e-3 || large != 1.5*(1<<30)/1e-1 {
		t.Errorf("bandwidths are %v and %v", small, large)
	}
	if *c.Bytes != (3*(1<<20)+(1<<30))/4.0 || !within(int64(*c.BusBandwidth), 15682828427, 1e3) {
		t.Errorf("over all: %v bytes, %v", *c.Bytes, *c.BusBandwidth)
	}
	m.add(0, 5e6)
	c = Collective{Kind: "all_reduce"}
	if m.tell(&c, 4); c.Bytes != nil || c.BusBandwidth != nil || len(c.Sizes) != 2 {
		t.Errorf("with one of unknown size: %+v", c)
	}
	for i := range int64(2 * maxSizes) {
		m.add(2+i, 1)
	}
	c = Collective{Kind: "barrier"}
	if m.tell(&c, 4); len(c.Sizes) != maxSizes || c.SizesCut != maxSizes+2 || c.Sizes[0].BusBandwidth != nil {
		t.Errorf("%d sizes, %d cut, %+v", len(c.Sizes), c.SizesCut, c.Sizes[0])
	}
}

// TestRankLanes holds that the lanes of ranks lie on one clock: the ranks leave
// each all-gather together, although the clock of one host is hours ahead.
func TestRankLanes(t *testing.T) {
	r := analyzed(t, Input{Timelines: rankFiles(t, syntheticRanks...)})
	o := &r.Overview
	if len(o.Ranks) != 4 || o.Ranks[0].Folded || !o.Ranks[1].Folded || o.Ranks[2].Folded || o.Ranks[3].Folded {
		t.Fatalf("%d lanes: the slowest, the fastest and rank 2, which is late, are to be seen", len(o.Ranks))
	}
	for _, p := range r.Parts {
		if len(p.Steps) != 1 || p.Steps[0].Stage != "step" || p.Steps[0].Steps != 20 || p.Steps[0].MedianNS < 3e6 {
			t.Errorf("steps of %s: %+v", p.File, p.Steps)
		}
	}
	if slow, fast := r.Parts[o.Ranks[0].Part], r.Parts[o.Ranks[3].Part]; slow.WallNS < fast.WallNS {
		t.Errorf("the slowest comes first: %d before %d ns", slow.WallNS, fast.WallNS)
	}
	ends := make([][]int64, len(o.Ranks))
	for i := range o.Ranks {
		for _, b := range o.Ranks[i].Lane.Boxes {
			if kindOfCollective(o.RankNames[b.Name]) == "all_gather" {
				ends[i] = append(ends[i], b.Start+b.Len)
			}
		}
		if len(ends[i]) != 20 {
			t.Fatalf("lane %d has %d all-gathers", i, len(ends[i]))
		}
		for k, end := range ends[i] {
			if !within(end, ends[0][k], 20e3) {
				t.Errorf("lane %d leaves all-gather %d %d ns apart", i, k, end-ends[0][k])
			}
		}
	}
	if end := ends[0][19]; end > o.EndNS-o.StartNS || end < 0 {
		t.Errorf("the last all-gather ends at %d, outside the timeline", end)
	}
}
