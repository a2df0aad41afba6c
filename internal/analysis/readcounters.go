package analysis

import (
	"context"
	"errors"
	"fmt"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/format"
	"github.com/deepprof/deepprof/internal/ncurep"
)

// A counterReader makes counters, and rows, of the reports of an input.
type counterReader struct {
	*counters
	rules
	in  *Input
	run *runRecord
	// made begins with what the timeline told. Counters add kernels and, without a timeline,
	// regions that only reports have, what was counted of each, and how it was chosen.
	made  *Result
	notes *notes
	tl    *timed // nil without a timeline
	// byKey finds kernels of the result, and those that were found before under another
	// spelling.
	byKey map[kernelKey]int // kernels of the result
}

// read reads the reports, says why launches were counted, and sums them up by
// region.
func (cr *counterReader) read(ctx context.Context) (*counters, error) {
	cr.byKey = kernelsByKey(cr.made.Kernels)
	cr.counters = &counters{launches: map[int][]*launch{}, launchOf: map[int]*launch{}, chosen: map[string]bool{}}
	if err := cr.readCounters(ctx); err != nil {
		return nil, err
	}
	if cr.tl == nil {
		cr.regionsOfNcu()
		return cr.counters, nil
	}
	return cr.counters, cr.readTargets()
}

// kernelsByKey finds kernels of a result.
func kernelsByKey(kernels []Kernel) map[kernelKey]int {
	at := make(map[kernelKey]int, len(kernels))
	for i := range kernels {
		at[kernels[i].key()] = i
	}
	return at
}

// readCounters reads the reports and joins their launches to the kernels.
func (cr *counterReader) readCounters(ctx context.Context) error {
	for _, path := range cr.in.Counters {
		if err := ctx.Err(); err != nil {
			return err
		}
		rep, err := readReport(path)
		if err != nil {
			if len(cr.in.Counters) == 1 && cr.in.onlyCounters() {
				return err
			}
			cr.notes.lose(path, inputUnreadable, fact.Error("error", err))
			continue
		}
		cr.notes.use(path, "counters")
		if lost := rep.Lost(); len(lost) > 0 {
			cr.notes.lose(path, inputLost, fact.Because("lost", lost[0].What))
		}
		for _, w := range rep.Warnings {
			cr.notes.add(Note{Fact: fact.New(reportRemark, fact.File("file", cr.in.rel(path)), fact.Because("text", w.What)), File: cr.in.rel(path)})
		}
		cr.takeReport(cr.in.rel(path), rep)
	}
	cr.listElsewhere()
	if cr.tl == nil {
		cr.rankCounted()
	}
	cr.chooseTypical()
	switch {
	case len(cr.counted) > 0 || cr.foreign > 0:
	case len(cr.in.Counters) > 0 && len(cr.ranges) == 0:
		cr.notes.lack(CountersEmpty)
	case len(cr.ranges) > 0:
		cr.notes.lack(NoKernelCounters)
	case cr.run.countersAhead:
		cr.notes.lack(CountersAhead, fact.File("dir", cr.in.Run))
	case cr.run.noCounters != nil:
		cr.notes.lack(CountersFailed, fact.Because("why", cr.run.noCounters.Text), fact.Because("cause", cr.run.noCounters.Cause))
	default:
		cr.notes.lack(NoCounters)
	}
	return nil
}

// readReport takes a CSV page of ncu as well. The error of a damaged .ncu-rep is that
// of its reader, not that it is no table.
func readReport(path string) (*ncurep.Report, error) {
	f, err := format.Recognize(path)
	if err != nil {
		return nil, fmt.Errorf("read counters: %w", err)
	}
	opts := ncurep.Options{Rules: true, Sections: true, Metrics: wanted}
	if f.Kind == format.NcuReport {
		return ncurep.ReadFile(path, opts)
	}
	rep, err := ncurep.ReadCSVFile(path)
	if errors.Is(err, ncurep.ErrNoTable) && format.Named(path) == format.NcuReport {
		return ncurep.ReadFile(path, opts) // says what is wrong with it
	}
	return rep, err
}
