package analysis

import (
	"fmt"
	"math"
	"strings"
)

// findUtilisation tells how much of the GPU each stage uses: arithmetic and
// memory together.
func (a *analyzer) findUtilisation() {
	for _, s := range a.stagesInScope() {
		var texts, plains []string
		for _, u := range []struct {
			name, plain string
			list        []Utilisation
		}{{"MFU", "arithmetic", s.MFU}, {"MBU", "memory bandwidth", s.MBU}} {
			x := firstValue(u.list)
			if x == nil {
				continue
			}
			about := ""
			if x.Coverage != nil && *x.Coverage < a.th.Covered {
				about = "at least "
			}
			if x.Coverage != nil && u.name == "MBU" { // flushed caches add to the bytes
				about = "about "
			}
			if shareText(*x.Value) == tooLittle {
				about = ""
			}
			of := x.Peak.Label
			if x.Peak.ClockHz > 0 && x.Peak.Unit == "flop/s" {
				of += fmt.Sprintf(" at %.2f GHz", x.Peak.ClockHz/1e9)
			}
			texts = append(texts, fmt.Sprintf("%s is %s%s (%s, of %s)", u.name, about, shareText(*x.Value), x.Method, of))
			plains = append(plains, fmt.Sprintf("%s%s of the %s", about, shareText(*x.Value), u.plain))
		}
		if len(texts) == 0 {
			continue
		}
		text := fmt.Sprintf("In %s the %s.", s.words(), strings.Join(texts, ", and the "))
		plain := fmt.Sprintf("%s uses %s that the GPU could give.", s.words(), strings.Join(plains, " and "))
		if ns, _ := a.stageNS(s); s.Split.LaunchBound && 2*s.Split.BusyNS < ns {
			text += " It is launch-bound: the GPU is idle most of the time."
			plain += " The GPU stands still most of the time."
		}
		if more, morePlain := a.clockReached(s); more != "" {
			text += " " + more
			plain += " " + morePlain
		}
		a.find("utilisation-"+s.Name, weightLow, text, plain)
	}
}

func firstValue(list []Utilisation) *Utilisation {
	for i := range list {
		if list[i].Value != nil {
			return &list[i]
		}
	}
	return nil
}

// tooLittle is what a share reads as that would round to nothing.
const tooLittle = "<0.001 %"

// shareText writes a share with the digits of the tables: one decimal, and two
// significant digits below 1 %.
func shareText(x float64) string {
	digits := 1
	switch p := x * 100; {
	case p > 0 && p < 0.001:
		return tooLittle
	case p > 0 && p < 0.00995:
		digits = 4
	case p > 0 && p < 0.0995:
		digits = 3
	case p > 0 && p < 0.995:
		digits = 2
	}
	return fmt.Sprintf("%.*f %%", digits, x*100)
}

const (
	lowClock  = 0.95 // share of the highest clock below which it is told
	sameSpeed = 0.05 // difference of the counted duration from the timeline's that speaks for one clock
)

// clockReached explains an MFU that is held against a clock which the GPU did not
// reach. The clock is known while ncu counted; where the kernel took as long in
// the timeline, it ran at it there.
func (a *analyzer) clockReached(s *Stage) (text, plain string) {
	u := firstValue(s.MFU)
	if u == nil || u.Peak.ClockHz <= 0 || u.Peak.Unit != "flop/s" {
		return "", ""
	}
	for i := range a.res.Kernels {
		k := &a.res.Kernels[i]
		in := stageTime(k, s.Name)
		if in == 0 || 2*in < s.Split.BusyNS {
			continue // not what the stage consists of
		}
		c := k.Counted
		if c == nil || c.ClockHz <= 0 || c.ClockHz >= lowClock*u.Peak.ClockHz || k.MedianNS <= 0 || math.Abs(c.DurationNS/k.MedianNS-1) > sameSpeed {
			return "", ""
		}
		at := *u.Value * u.Peak.ClockHz / c.ClockHz
		if at > 1 {
			return "", ""
		}
		clocks := fmt.Sprintf("%.2f GHz of %.2f GHz", c.ClockHz/1e9, u.Peak.ClockHz/1e9)
		return fmt.Sprintf("Its main kernel ran at %s: held against the peak at that clock, the MFU is %s.", clocks, shareText(at)),
			fmt.Sprintf("The GPU did not run at its highest clock (%s); of the arithmetic that it could give at this one, %s is used.", clocks, shareText(at))
	}
	return "", ""
}

func stageTime(k *Kernel, stage string) int64 {
	for _, t := range k.Stages {
		if t.Stage == stage {
			return t.NS
		}
	}
	return 0
}
