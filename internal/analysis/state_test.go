package analysis

// analyzerWith is an analysis of an input of which nothing was read yet.
func analyzerWith(in Input) *analyzer {
	by, err := newRules(&in)
	if err != nil {
		panic(err) // the built-in categories do not load
	}
	return newAnalyzer(in, by)
}

// saved runs parts of the search for savings on what an analysis has got.
func (a *analyzer) saved(parts ...func(*savings)) {
	sv := &savings{th: a.th, res: a.res, tl: a.tl, launchOf: a.launchOf, stages: a.clock(), list: a.res.Opportunities}
	for _, part := range parts {
		part(sv)
	}
	a.res.Opportunities = sv.list
}

// told runs parts of the conclusion on what an analysis has got.
func (a *analyzer) told(parts ...func(*conclusion)) {
	cn := &conclusion{th: a.th, in: &a.in, res: a.res, notes: &a.notes, tl: a.tl, stages: a.clock(), found: a.res.Findings}
	for _, part := range parts {
		part(cn)
	}
	a.res.Findings = cn.found
}

func (a *analyzer) clock() *stageClock { return newStageClock(a.res.Stages, a.tl, a.self) }
