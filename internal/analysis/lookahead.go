package analysis

import "slices"

// A lookAhead is what the last steps ask of all launches. It is found beside the steps
// before them, which change neither the timeline nor the kernels and regions of stages.
type lookAhead struct {
	haveChains, haveStages chan struct{} // closed when they are known
	chains                 foundChains
	stages                 []stageLaunches
}

// stageLaunches are what all launches tell of a stage.
type stageLaunches struct {
	of     *Stage // a copy: several stages may have one name
	use    streamUse
	others []otherCall
}

// lookForChains begins to look where one process on one device did all work: for others,
// paintings are made as they are asked for.
func (tr *timelineReader) lookForChains() {
	if tr.brief || !tr.tl.single() {
		return
	}
	ahead := &lookAhead{haveChains: make(chan struct{}), haveStages: make(chan struct{})}
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
			ahead.stages = append(ahead.stages, stageLaunches{s, st.busiestStream(s), st.findOtherCalls(s)})
		}
	})
}

// lookedAt is what was found of a stage; nil where nobody looked.
func (tl *timed) lookedAt(s *Stage) *stageLaunches {
	if tl.ahead == nil {
		return nil
	}
	<-tl.ahead.haveStages
	for i := range tl.ahead.stages {
		if found := &tl.ahead.stages[i]; found.of.Name == s.Name && slices.Equal(found.of.ids, s.ids) {
			return found
		}
	}
	return nil
}

// foundChains are the chains in the scope.
func (sv *savings) foundChains() foundChains {
	if sv.tl.ahead == nil {
		return sv.chains()
	}
	<-sv.tl.ahead.haveChains
	return sv.tl.ahead.chains
}
