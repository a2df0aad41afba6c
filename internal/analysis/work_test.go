package analysis

import (
	"slices"
	"testing"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/ncurep"
)

// What TMA or an asynchronous copy loads is not in L1's counter of bytes, whichever
// counters of TMA a set of sections has.
func TestLoadsPastL1(t *testing.T) {
	const l1, l2 = "derived__l1tex__lsu_writeback_bytes_mem_lgds.sum.per_second", "derived__lts__lts2xbar_bytes.sum.per_second"
	for _, c := range []struct {
		name   string
		values map[string]float64
		want   float64
	}{
		{"plain loads", map[string]float64{l1: 3e9, l2: 1e9}, 3e6},
		{"no TMA", map[string]float64{l1: 3e9, l2: 1e9, "sm__inst_executed_pipe_tma.avg.pct_of_peak_sustained_active": 0}, 3e6},
		{"instructions of TMA", map[string]float64{l1: 3e9, l2: 1e9, "sm__inst_executed_pipe_tma.avg.pct_of_peak_sustained_active": 0.1}, 0},
		{"cycles of TMA", map[string]float64{l1: 3e9, l2: 1e9, "sm__pipe_tma_cycles_active.avg.pct_of_peak_sustained_elapsed": 0.14}, 0},
		{"asynchronous copies", map[string]float64{l1: 8e6, l2: 1.39e9}, 0},
	} {
		d := done{seconds: 1e-3, bytes: map[string]float64{}}
		if synthetic(c.values).traffic(&d); d.bytes[levelL1] != c.want {
			t.Errorf("%s: %v bytes of L1, want %v", c.name, d.bytes[levelL1], c.want)
		}
	}
}

// What ncu did to the launches is said as it was.
func TestUnderNcu(t *testing.T) {
	yes, no := true, false
	for _, c := range []struct {
		locked  *bool
		command string
		want    []string
	}{
		{&yes, "ncu --set=full prog", []string{"ncu-does:empties-caches", "ncu-does:sets-clock"}},
		{&no, "ncu --clock-control=none prog", []string{"ncu-does:empties-caches"}},
		{nil, "ncu --clock-control=none --cache-control=none prog", nil},
	} {
		a := newState(&analyzer{res: newResult(Input{})}, nil, counters{counted: []*launch{{res: &ncurep.Result{ClockLocked: c.locked}}}})
		a.res.Method.Commands = []StageCommand{{Stage: "nsys", Command: "nsys --cache-control=none"}, {Stage: "ncu", Command: c.command}}
		if got := fact.New("x", a.underNcu(a.res.Method.Commands)...).Params["does"].List; !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.command, got, c.want)
		}
	}
}

// Ranges counted as a whole say in which mode: that of the last try.
func TestRangeReplay(t *testing.T) {
	a := analyzerWith(Input{})
	for _, c := range []struct{ command, want string }{{"ncu prog", "range"}, {"ncu --replay-mode=range prog", "range"}, {"ncu --replay-mode=app-range prog", "app-range"}} {
		a.res.Method.Commands = append(a.res.Method.Commands, StageCommand{Stage: "ncu", Command: c.command})
		if got := rangeReplay(a.res.Method.Commands); got != c.want {
			t.Errorf("%s: %s, want %s", c.command, got, c.want)
		}
	}
}

// A stage without a unprofiled time says whether there was an unprofiled run at all.
func TestSecondsOfAStage(t *testing.T) {
	s := &Stage{NsysMS: ptr(2)}
	if _, note := analyzerWith(Input{}).utilizer().secondsOf(s); !hasFact(note, codeOverNsys) {
		t.Error(note)
	}
	if _, note := (newState(&analyzer{run: &runRecord{unprofiledSeconds: 4.3}}, nil, counters{})).utilizer().secondsOf(s); !hasFact(note, codeOverNsysStage) {
		t.Error(note)
	}
	s.CleanMS = ptr(1)
	if seconds, note := analyzerWith(Input{}).utilizer().secondsOf(s); seconds != 0.001 || note != nil {
		t.Error(seconds, note)
	}
}

// The SM as a whole can be busier than each of its pipes.
func TestAttainedOfTheWholeSM(t *testing.T) {
	values := map[string]float64{counterDRAM[0]: 5, counterL2[0]: 6, counterL1[0]: 7, counterSM[0]: 26.3, "sm__pipe_alu_cycles_active" + ofElapsed: 17.7}
	most, by, counter := synthetic(values).attained(&done{}, nil, nil)
	if most != 0.263 || by != "sm" || counter != counterSM[0] {
		t.Errorf("%v by %s (%s)", most, by, counter)
	}
}
