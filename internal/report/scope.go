package report

import (
	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/message"
)

// A part is what kernels, findings and opportunities are about: the scope of a
// result, or its whole timeline.
type part struct {
	name string // within a sentence
	// In ns; busyNS and kernel are added up over GPUs, wall is not.
	wall, busyNS, kernel  int64
	busy                  *float64 // share of the wall time, the mean over GPUs
	launches, kernelNames int64
	// split is nil where the wall time was not divided.
	split *analysis.Split
	// Work outside the scope, in ns and launches; both 0 where there is no scope.
	outsideNS, outsideCalls int64
}

// partOf is the scope where there is one. Times are in ns and sums over GPUs, but for wall.
func partOf(r *analysis.Result) part {
	if s := r.Scope; s != nil {
		return part{message.Text(s.Name), s.WallNS, s.BusyNS, s.KernelNS, s.BusyShare, s.Launches, int64(s.KernelNames), s.Split, s.OutsideKernelNS, s.OutsideLaunches}
	}
	t := &r.Totals
	return part{name: message.Phrase("whole-timeline"), wall: t.WallNS, busyNS: t.BusyNS, kernel: t.KernelNS, busy: t.BusyShare, launches: t.Launches, kernelNames: int64(t.KernelNames), split: t.Split}
}

// orAbsent writes a share that may be absent.
// share is from 0 to 1; nil reads n/a.
func orAbsent(share *float64) string {
	if share == nil {
		return absent
	}
	return percent(*share)
}

// scope says what the numbers of a page are about, where that is not everything.
func (d *doc) scope(r *analysis.Result) {
	if r.Scope != nil {
		d.say("scope-lead", prose(message.Text(r.Scope.Text)))
	}
}
