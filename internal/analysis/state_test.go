package analysis

import (
	"context"

	"github.com/deepprof/deepprof/internal/timeline"
)

// A state is what the steps of an analysis have made so far, for tests of single
// steps.
type state struct {
	*analyzer
	*counters
	tl *timed
}

func newState(a *analyzer, tl *timed, c counters) *state {
	if c.launches == nil {
		c.launches = map[int][]*launch{}
	}
	if c.launchOf == nil {
		c.launchOf = map[int]*launch{}
	}
	c.chosen = map[string]bool{}
	if a.res == nil {
		a.res = newResult(a.in)
	}
	return &state{a, &c, tl}
}

// analyzerWith is an analysis of an input of which nothing was read yet.
func analyzerWith(in Input) *state {
	by, err := newRules(&in)
	if err != nil {
		panic(err) // the built-in categories do not load
	}
	return newState(newAnalyzer(in, by), nil, counters{})
}

func (s *state) timelines() *timelineReader {
	return &timelineReader{rules: s.rules, in: &s.in, run: s.run, self: s.self, made: new(*s.res), notes: &s.notes, tl: s.tl}
}

func (s *state) takeTimeline(ctx context.Context, t *timeline.Timeline) error {
	r := s.timelines()
	taped, err := r.putOnTape(ctx, t)
	if err != nil {
		return err
	}
	err = r.takeTimeline(ctx, taped)
	s.tl = r.tl
	*s.res = *r.made
	return err
}

func (s *state) readTimeline(ctx context.Context) (err error) {
	r := s.timelines()
	s.tl, err = r.readTimeline(ctx)
	*s.res = *r.made
	return err
}

func (s *state) reader() *counterReader {
	return &counterReader{counters: s.counters, rules: s.rules, in: &s.in, run: s.run, notes: &s.notes, tl: s.tl, byKey: kernelsByKey(s.res.Kernels), made: new(*s.res)}
}

// counting runs a part of the reading of counters.
func (s *state) counting(part func(*counterReader)) {
	r := s.reader()
	part(r)
	s.counters = r.counters
	*s.res = *r.made
}

func (s *state) peaks() *peakFinder {
	return &peakFinder{counters: s.counters, run: s.run, gpus: s.res.Environment.GPUs, tl: s.tl}
}

func (s *state) judgment() *judgment {
	return &judgment{counters: s.counters, made: new(*s.res), notes: &s.notes, tl: s.tl}
}

func (s *state) judge() {
	j := s.judgment()
	s.counters = j.judge()
	*s.res = *j.made
}

func (s *state) utilizer() *utilizer {
	return &utilizer{counters: s.counters, in: &s.in, run: s.run, self: s.self, gpus: s.res.Environment.GPUs, roofs: s.res.Roofline.Roofs, commands: s.res.Method.Commands, notes: &s.notes, tl: s.tl,
		useRows: useRows{stages: s.res.Stages, kernels: s.res.Kernels, regionRows: s.res.Regions, workload: s.res.Workload}}
}

func (s *state) executed(stage *Stage, counted *stageCounts) {
	u := s.utilizer()
	u.executed(stage, counted)
	s.res.Findings = append(s.res.Findings, u.found...)
}

func (s *state) operators() *operatorReader {
	return &operatorReader{counters: s.counters, in: &s.in, self: s.self, res: s.res, notes: &s.notes, tl: s.tl}
}

// saved runs parts of the search for savings on what an analysis has got.
func (s *state) saved(parts ...func(*savings)) {
	sv := &savings{th: s.th, res: s.res, tl: s.tl, launchOf: s.launchOf, stages: s.clock(), list: s.res.Opportunities}
	for _, part := range parts {
		part(sv)
	}
	s.res.Opportunities = sv.list
}

// told runs parts of the conclusion on what an analysis has got.
func (s *state) told(parts ...func(*conclusion)) {
	cn := &conclusion{th: s.th, in: &s.in, res: s.res, notes: &s.notes, tl: s.tl, stages: s.clock(), found: s.res.Findings}
	for _, part := range parts {
		part(cn)
	}
	s.res.Findings = cn.found
}

func (s *state) clock() *stageClock { return newStageClock(s.res.Stages, s.tl, s.self) }

// takeAll runs the steps that follow the reading of a timeline.
func (s *state) takeAll(ctx context.Context) (*Result, error) {
	var err error
	if s.counting(func(r *counterReader) { err = r.readTargets() }); err != nil {
		return nil, err
	}
	sure := s.analyzer.judge(s.tl, s.counters)
	found, err := s.utilize(s.tl, sure)
	if err != nil {
		return nil, err
	}
	s.advise(s.tl, sure, nil, found)
	s.res.trim()
	s.res.Warnings, s.res.Missing = s.notes.merged(s.tl.onTape())
	return s.res, ctx.Err()
}
