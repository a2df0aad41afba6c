package analysis

import "slices"

// A lookAhead is what the last steps ask of all launches. It is found beside the steps
// before them, which change neither the timeline nor the kernels and regions of stages.
type lookAhead struct {
	haveChains, haveStages chan struct{} // closed when they are known
	chains                 foundChains
	stages                 map[string]*stageLaunches // by name
}

// stageLaunches are what all launches tell of a stage.
type stageLaunches struct {
	use    streamUse
	others []otherCall
}

// lookForChains begins to look where one process on one device did all work: for others,
// paintings are made as they are asked for.
func (tr *timelineReader) lookForChains() {
	if tr.brief || !tr.tl.single() {
		return
	}
	ahead := &lookAhead{haveChains: make(chan struct{}), haveStages: make(chan struct{}), stages: map[string]*stageLaunches{}}
	// Later steps append kernels, and write other fields of both.
	tl, kernels, stages := tr.tl.aside(), slices.Clone(tr.made.Kernels), slices.Clone(tr.made.Stages)
	tr.store.Go(func() {
		defer close(ahead.haveChains)
		ahead.chains = (&savings{th: tr.th, res: &Result{Kernels: kernels, Stages: stages}, tl: tl}).chains()
	})
	tr.tl.ahead = ahead
}

// lookAtStages goes on with the launches of stages once the scope is known.
func (tr *timelineReader) lookAtStages() {
	ahead := tr.tl.ahead
	if ahead == nil {
		return
	}
	tl, stages := tr.tl.aside(), slices.Clone(tr.made.Stages)
	tl.ahead = nil
	tr.store.Go(func() {
		defer close(ahead.haveStages)
		st := newStageClock(stages, tl, selfTimes{})
		for i := range stages {
			s := &stages[i]
			ahead.stages[s.Name] = &stageLaunches{use: st.busiestStream(s), others: st.findOtherCalls(s)}
		}
	})
}

// sortLaunches begins to sort the launches, which the counters ask for, where one process on
// one device made them.
func (tr *timelineReader) sortLaunches() {
	if tr.tl.single() && (len(tr.in.Counters) > 0 || tr.in.Targets != "") {
		tr.store.Go(func() { tr.tl.launches() })
	}
}

// lookedAt is what was found of a stage; nil where nobody looked.
func (tl *timed) lookedAt(s *Stage) *stageLaunches {
	if tl.ahead == nil {
		return nil
	}
	<-tl.ahead.haveStages
	return tl.ahead.stages[s.Name]
}

// foundChains are the chains in the scope.
func (sv *savings) foundChains() foundChains {
	if sv.tl.ahead == nil {
		return sv.chains()
	}
	<-sv.tl.ahead.haveChains
	return sv.tl.ahead.chains
}
