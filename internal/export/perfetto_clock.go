package export

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/nsys"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/timeline"
)

// A place is what a timeline is among several: its name, and what is added to its
// UTC times so that the clocks of ranks agree.
type place struct {
	// name of the rank; "" where the timeline has no identity.
	name   string
	offset int64 // nanoseconds
}

// A clockPlan says where the timelines of an export stand on one axis.
type clockPlan struct {
	// utc: the axis is UTC, in nanoseconds since 1970; else each timeline has its own.
	utc    bool
	places map[string]place // by the relative name of the file; empty for a single timeline
}

// clocks asks the analysis how the clocks of several timelines agree. A single
// timeline keeps its own times, by which it joins other exports.
// Notes say how well the clocks agree, or that they cannot be compared.
func (s *Source) clocks(ctx context.Context) (plan clockPlan, notes []string, err error) {
	plan.places = map[string]place{}
	if len(s.Timelines) < 2 {
		return plan, nil, nil
	}
	for _, path := range s.Timelines {
		known, err := hasTimeBase(ctx, path)
		if err != nil {
			return plan, nil, err
		}
		if !known {
			return plan, []string{message.Phrase("timelines-not-aligned", s.relative(path))}, nil
		}
	}
	plan.utc = true
	result, err := s.Result(ctx)
	if err != nil {
		return plan, nil, err
	}
	for i := range result.Parts {
		p := &result.Parts[i]
		at := place{name: message.Identity(p.Of)}
		if j := result.Job; j != nil && i < len(j.Clock.OffsetsNS) {
			at.offset = j.Clock.OffsetsNS[i]
		}
		if _, again := plan.places[p.File]; !again {
			plan.places[p.File] = at
		}
	}
	if result.Job != nil {
		notes = append(notes, message.Text(result.Job.Clock.Text()))
	}
	return plan, notes, nil
}

// hasTimeBase tells whether the file says when its clock stood at what time of day.
func hasTimeBase(ctx context.Context, path string) (bool, error) {
	f, err := nsys.Open(ctx, path, nsys.OpenOptions{})
	if err != nil {
		return false, err
	}
	defer f.Close()
	t, err := f.Timeline(ctx, nsys.Machine)
	if err != nil {
		return false, err
	}
	return t.Session.EpochNS != 0, nil
}

// shiftOf is what is added to the times of a timeline.
// On an axis of its own a timeline with negative times is moved to begin at 0.
func (c *clockPlan) shiftOf(file string, s *timeline.Session) int64 {
	if c.utc {
		return s.EpochNS - s.ClockNS + c.places[file].offset
	}
	return max(0, -s.FirstNS)
}

// nameOf is what a timeline is called among several.
func (c *clockPlan) nameOf(file string) string { return cmp.Or(c.places[file].name, file) }

// A span is when a timeline was captured: in UTC, and on the axis of the export.
type span struct{ from, to, shift int64 }

// spanOf is that of a timeline that tells when it was captured; shift is what was added to its
// times, in ns.
func spanOf(s *timeline.Session, shift int64) (span, bool) {
	utc := s.EpochNS - s.ClockNS
	return span{s.FirstNS + utc, s.LastNS + utc, shift - utc}, s.EpochNS != 0
}

// conditionCounters are what nvidia-smi sampled, with the units of the trace: base units, so
// clocks are in Hz.
var conditionCounters = []struct {
	id, unit string // message has the name of the ID
	of       func(*runs.Condition) float64
}{
	{"sm-clock", "Hz", func(c *runs.Condition) float64 { return c.ClockSM * 1e6 }},
	{"memory-clock", "Hz", func(c *runs.Condition) float64 { return c.ClockMem * 1e6 }},
	{"power", "W", func(c *runs.Condition) float64 { return c.PowerW }},
	{"temperature", "C", func(c *runs.Condition) float64 { return c.TempC }},
	{"memory-used", "B", func(c *runs.Condition) float64 { return c.MemoryMiB * (1 << 20) }},
	{"utilization", "%", func(c *runs.Condition) float64 { return c.Utilization }},
	{"throttled", "", func(c *runs.Condition) float64 {
		if c.Throttled != "" {
			return 1
		}
		return 0
	}},
}

// writeConditions adds a counter track for each value of each GPU. Samples outside every
// timeline belong to other pipeline steps, and are left out; what nvidia-smi did not tell has
// no point.
func (s *Source) writeConditions(out *perfettoWriter, spans []span) error {
	samples, err := s.conditions()
	if err != nil {
		return err
	}
	type key struct{ gpu, counter int }
	parents, tracks := map[int]uint64{}, map[key]uint64{}
	for i := range samples {
		c, utc := &samples[i], samples[i].Time.UnixNano()
		at := slices.IndexFunc(spans, func(s span) bool { return utc >= s.from && utc <= s.to })
		if at < 0 {
			continue
		}
		for n, counter := range conditionCounters {
			v := counter.of(c)
			if math.IsNaN(v) {
				continue
			}
			k := key{c.GPU, n}
			if tracks[k] == 0 {
				if parents[c.GPU] == 0 {
					parents[c.GPU] = out.track(0, message.Phrase("smi-track", c.GPU), nil)
				}
				tracks[k] = out.track(parents[c.GPU], message.Label("condition", counter.id), counterFields(counter.unit))
			}
			out.begin(counterValue, tracks[k])
			out.value(v)
			out.emit(utc + spans[at].shift)
		}
	}
	return out.err
}
