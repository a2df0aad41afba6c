package export

import (
	"bytes"
	"context"
	"math"
	"testing"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/deepprof/deepprof/internal/nsys"
	"github.com/deepprof/deepprof/internal/timeline"
)

// A schemaField is a field of a message in the published schema: its wire type,
// and the message that it holds where it holds one.
type schemaField struct {
	wire    protowire.Type
	message string
	text    bool // string, so valid UTF-8
}

var (
	varint  = schemaField{wire: protowire.VarintType}
	fixed   = schemaField{wire: protowire.Fixed64Type}
	str     = schemaField{wire: protowire.BytesType, text: true}
	rawText = schemaField{wire: protowire.BytesType}
)

func sub(message string) schemaField {
	return schemaField{wire: protowire.BytesType, message: message}
}

// perfettoSchema has the numbers and types of protos/perfetto/trace in
// github.com/google/perfetto (trace_packet, track_event, track_descriptor,
// interned_data and what they hold), as far as a writer of track events may use
// them. A field that is not here fails the test.
var perfettoSchema = map[string]map[protowire.Number]schemaField{
	"Trace":               {1: sub("TracePacket")},
	"TracePacket":         {8: varint, 10: varint, 11: sub("TrackEvent"), 12: sub("InternedData"), 13: varint, 58: varint, 60: sub("TrackDescriptor")},
	"TrackEvent":          {3: varint, 4: sub("DebugAnnotation"), 9: varint, 10: varint, 11: varint, 22: str, 23: str, 30: varint, 44: fixed, 47: fixed, 48: fixed},
	"TrackDescriptor":     {1: varint, 2: str, 3: sub("ProcessDescriptor"), 4: sub("ThreadDescriptor"), 5: varint, 8: sub("CounterDescriptor"), 9: varint},
	"ProcessDescriptor":   {1: varint, 2: str, 6: str},
	"ThreadDescriptor":    {1: varint, 2: varint, 5: str},
	"CounterDescriptor":   {1: varint, 2: str, 3: varint, 4: varint, 5: varint, 6: str},
	"InternedData":        {1: sub("EventCategory"), 2: sub("EventName"), 3: sub("DebugAnnotationName"), 29: sub("InternedString")},
	"EventCategory":       {1: varint, 2: str},
	"EventName":           {1: varint, 2: str},
	"DebugAnnotationName": {1: varint, 2: str},
	"InternedString":      {1: varint, 2: rawText},
	"DebugAnnotation":     {1: varint, 2: varint, 3: varint, 4: varint, 5: fixed, 6: str, 10: str, 17: varint},
}

// A message is decoded by the schema.
type decoded struct {
	ints map[protowire.Number][]uint64
	text map[protowire.Number][]string
	sub  map[protowire.Number][]*decoded
}

func (m *decoded) int(f protowire.Number) uint64 {
	if m == nil || len(m.ints[f]) == 0 {
		return 0
	}
	return m.ints[f][0]
}

func decode(t *testing.T, name string, b []byte) *decoded {
	t.Helper()
	m := &decoded{map[protowire.Number][]uint64{}, map[protowire.Number][]string{}, map[protowire.Number][]*decoded{}}
	for len(b) > 0 {
		number, wire, n := protowire.ConsumeTag(b)
		if n < 0 {
			t.Fatalf("%s: %v", name, protowire.ParseError(n))
		}
		b = b[n:]
		f, ok := perfettoSchema[name][number]
		if !ok || f.wire != wire {
			t.Fatalf("%s has no field %d of wire type %d", name, number, wire)
		}
		switch wire {
		case protowire.VarintType:
			v, n := protowire.ConsumeVarint(b)
			if n < 0 {
				t.Fatalf("%s.%d: %v", name, number, protowire.ParseError(n))
			}
			m.ints[number] = append(m.ints[number], v)
			b = b[n:]
		case protowire.Fixed64Type:
			v, n := protowire.ConsumeFixed64(b)
			if n < 0 {
				t.Fatalf("%s.%d: %v", name, number, protowire.ParseError(n))
			}
			m.ints[number] = append(m.ints[number], v)
			b = b[n:]
		default:
			v, n := protowire.ConsumeBytes(b)
			if n < 0 {
				t.Fatalf("%s.%d: %v", name, number, protowire.ParseError(n))
			}
			switch {
			case f.message != "":
				m.sub[number] = append(m.sub[number], decode(t, f.message, v))
			case f.text && !utf8.Valid(v):
				t.Fatalf("%s.%d is no UTF-8: %q", name, number, v)
			default:
				m.text[number] = append(m.text[number], string(v))
			}
			b = b[n:]
		}
	}
	return m
}

// A trace is what a viewer sees of an export.
type trace struct {
	slices   []viewed
	instants int
	counters map[string][]float64
	tracks   map[uint64]*decoded
}

type viewed struct {
	track      uint64
	name       string
	start, end int64
	flows      []uint64 // that lead on
	ends       []uint64 // that end here
	launch     uint64
}

// view reads a trace as a viewer does: names by iid, tracks by uuid, and slices
// that nest.
func view(t *testing.T, data []byte) *trace {
	t.Helper()
	out := &trace{counters: map[string][]float64{}, tracks: map[uint64]*decoded{}}
	names, keys := map[uint64]string{}, map[uint64]string{}
	type event struct {
		m    *decoded
		time int64
	}
	byTrack := map[uint64][]event{}
	for i, p := range decode(t, "Trace", data).sub[1] {
		if p.int(10) == 0 {
			t.Fatalf("packet %d has no sequence", i)
		}
		if first := p.int(13) == 1; first != (i == 0) {
			t.Fatalf("packet %d has the flags %d", i, p.int(13))
		}
		for _, in := range p.sub[12] {
			for _, x := range in.sub[2] {
				names[x.int(1)] = x.text[2][0]
			}
			for _, x := range in.sub[3] {
				keys[x.int(1)] = x.text[2][0]
			}
		}
		for _, d := range p.sub[60] {
			if out.tracks[d.int(1)] != nil {
				t.Fatalf("track %d is described twice", d.int(1))
			}
			if parent := d.int(5); parent != 0 && out.tracks[parent] == nil {
				t.Fatalf("track %d has the unknown parent %d", d.int(1), parent)
			}
			out.tracks[d.int(1)] = d
		}
		for _, e := range p.sub[11] {
			track := e.int(11)
			if out.tracks[track] == nil {
				t.Fatalf("event on the unknown track %d", track)
			}
			if counter := len(out.tracks[track].sub[8]) > 0; counter != (e.int(9) == 4) {
				t.Fatalf("event of type %d on track %d", e.int(9), track)
			}
			if e.int(9) == 1 && names[e.int(10)] == "" {
				if _, ok := names[e.int(10)]; !ok {
					t.Fatalf("name %d was not interned before it was used", e.int(10))
				}
			}
			byTrack[track] = append(byTrack[track], event{e, int64(p.int(8))})
		}
	}
	for track, events := range byTrack {
		// What a viewer does: by time, events of the same time as they come.
		sortStable(events, func(a, b event) bool { return a.time < b.time })
		var open []viewed
		for _, e := range events {
			switch e.m.int(9) {
			case 1:
				v := viewed{track: track, name: names[e.m.int(10)], start: e.time, flows: e.m.ints[47], ends: e.m.ints[48]}
				for _, a := range e.m.sub[4] {
					if keys[a.int(1)] == "launch" {
						v.launch = a.int(3)
					}
				}
				open = append(open, v)
			case 2:
				if len(open) == 0 {
					t.Fatalf("an end without a begin on track %d at %d", track, e.time)
				}
				v := open[len(open)-1]
				open = open[:len(open)-1]
				v.end = e.time
				out.slices = append(out.slices, v)
			case 3:
				out.instants++
			case 4:
				name := out.tracks[track].text[2][0]
				for _, unit := range out.tracks[track].sub[8][0].text[6] {
					name += " in " + unit
				}
				out.counters[name] = append(out.counters[name], math.Float64frombits(e.m.ints[44][0]))
			}
		}
		if len(open) > 0 {
			t.Errorf("%d slices of track %d never end", len(open), track)
		}
	}
	return out
}

func sortStable[T any](list []T, less func(a, b T) bool) {
	for i := 1; i < len(list); i++ { // nearly in order
		for j := i; j > 0 && less(list[j], list[j-1]); j-- {
			list[j], list[j-1] = list[j-1], list[j]
		}
	}
}

// exports are timelines of real programs; nvtx_badname and fuzz have hostile names.
var exports = []string{"toy", "llm", "graph_node", "graph_whole", "multi_node", "multi_graph", "nvtx_2022", "nvtx_2023", "nvtx_badname", "fuzz", "gpu_metrics"}

func source(name string) *Source {
	return &Source{Run: name, Timelines: []string{"../nsys/testdata/exports/" + name + ".sqlite.gz"}, Version: "test"}
}

func exported(t *testing.T, format string, s *Source) []byte {
	t.Helper()
	var b bytes.Buffer
	if _, err := formatNamed(t, format).Write(context.Background(), s, &b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func formatNamed(t *testing.T, name string) *Format {
	t.Helper()
	for _, f := range Formats() {
		if f.Name == name {
			return &f
		}
	}
	t.Fatalf("no format %s", name)
	return nil
}

func readTimeline(t *testing.T, s *Source) *timeline.Timeline {
	t.Helper()
	f, err := nsys.Open(context.Background(), s.Timelines[0], nsys.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tl, err := f.Timeline(context.Background(), nsys.Everything)
	if err != nil {
		t.Fatal(err)
	}
	return tl
}

// TestPerfettoHoldsTheTimeline reads every export back by the published schema and
// finds each kernel, call, range and flow of the timeline in it.
func TestPerfettoHoldsTheTimeline(t *testing.T) {
	for _, name := range exports {
		t.Run(name, func(t *testing.T) {
			s := source(name)
			tl, got := readTimeline(t, s), view(t, exported(t, "perfetto", s))
			if want := tl.Ops() + tl.Calls.Len() + len(tl.Ranges) + len(tl.Overhead); len(got.slices) != want {
				t.Errorf("%d slices, want %d", len(got.slices), want)
			}
			at := tl.Attribute()
			shift := max(0, -tl.Session.FirstNS)
			sources, kernels := map[uint64]viewed{}, 0
			for _, v := range got.slices {
				for _, f := range v.flows {
					if v.launch == 0 {
						sources[f] = v
					}
				}
			}
			for _, v := range got.slices {
				if v.launch == 0 {
					continue
				}
				kernels++
				k := &tl.Kernels[v.launch-1]
				if v.start != k.Start+shift || v.end != max(k.Start, k.End)+shift {
					t.Fatalf("launch %d is at %d to %d, want %d to %d", v.launch, v.start, v.end, k.Start, k.End)
				}
				for _, f := range append(v.ends, v.flows...) {
					from, ok := sources[f]
					if ok && from.start > v.start {
						t.Errorf("launch %d begins before the call %s that launched it", v.launch, from.name)
					}
				}
				if at.Launch(timeline.Op{Queue: k.Queue, Correlation: k.Correlation}) != timeline.None && len(v.ends)+len(v.flows) == 0 {
					t.Errorf("launch %d has a call and no flow from it", v.launch)
				}
			}
			if kernels != len(tl.Kernels) {
				t.Errorf("%d kernels, want %d", kernels, len(tl.Kernels))
			}
		})
	}
}

func TestPerfettoHasSamples(t *testing.T) {
	got := view(t, exported(t, "perfetto", source("gpu_metrics")))
	clock := got.counters["GPC Clock Frequency in Hz"]
	if len(got.counters) != 22 || len(clock) == 0 {
		t.Fatalf("%d counter tracks and %d samples of the clock, want 22 and some", len(got.counters), len(clock))
	}
	for _, hz := range clock {
		if hz < 1e8 || hz > 3e9 {
			t.Errorf("a clock of %g Hz", hz)
		}
	}
}

func TestPerfettoOfRegion(t *testing.T) {
	s := source("llm")
	s.Region = "decode/"
	got := view(t, exported(t, "perfetto", s))
	tl := readTimeline(t, s)
	match, err := s.regionMatch(tl.Attribute())
	if err != nil {
		t.Fatal(err)
	}
	want := map[uint64]bool{}
	for r := range tl.StreamLaunches(timeline.Query{Region: match}).Rows {
		want[uint64(r.ID)] = true
	}
	found := 0
	for _, v := range got.slices {
		if v.launch == 0 {
			continue
		}
		if found++; !want[v.launch] {
			t.Fatalf("launch %d is not of the region", v.launch)
		}
	}
	if found != len(want) || found == 0 || found == len(tl.Kernels) {
		t.Errorf("%d launches, want %d of %d", found, len(want), len(tl.Kernels))
	}
}

func TestLanesNest(t *testing.T) {
	n := uint64(0)
	l := lanes{add: func(int) uint64 { n++; return n }}
	for _, x := range []struct {
		start, end int64
		track      uint64
	}{
		{0, 10, 1}, {2, 8, 1}, {5, 9, 2}, {8, 10, 1}, {10, 12, 1}, {11, 13, 2}, {11, 12, 1}, {3, 4, 3}, {20, 20, 1}, {20, 25, 1},
	} {
		if got := l.place(x.start, x.end); got != x.track {
			t.Errorf("%d to %d is on track %d, want %d", x.start, x.end, got, x.track)
		}
	}
	for i := range mostLanes + 1 {
		if got := l.place(100-int64(i)/1000, 200+int64(i)); i >= mostLanes && got != 0 {
			t.Errorf("slice %d got track %d of %d", i, got, mostLanes)
		}
	}
}
