package runs

import (
	"math"
	"slices"
	"time"
)

// Stats is what `runs stats` prints: how often steps succeed and how long they
// take, over all runs of a store.
type Stats struct {
	// that could be read; Warnings name the others
	Runs int `json:"runs"`
	// of these recordings that were played: nothing of them is counted in Steps
	Recorded int            `json:"recorded,omitempty"`
	Status   map[Status]int `json:"status"`
	// earliest and latest creation; nil in an empty store
	First    *time.Time  `json:"first,omitempty"`
	Last     *time.Time  `json:"last,omitempty"`
	Bytes    int64       `json:"bytes"` // of the files of all runs
	Steps    []StepStats `json:"stages"`
	Warnings []Warning   `json:"warnings,omitempty"`
}

// StepStats is one row of it. A step that was skipped, is pending or still
// runs counts neither for nor against the success rate.
type StepStats struct {
	Name        string `json:"name"`
	Ended       int    `json:"ended"` // done, failed and interrupted
	Done        int    `json:"done"`
	Failed      int    `json:"failed"`
	Interrupted int    `json:"interrupted"`
	Skipped     int    `json:"skipped"`
	// done / ended; absent when nothing ended
	SuccessRate *float64 `json:"success_rate,omitempty"`
	Attempts    int      `json:"attempts"` // of all runs, retries counted
	// steps of which something was done again
	Retried int `json:"retried"`
	// of the steps that were done; absent when none was
	Seconds  *Spread        `json:"seconds,omitempty"`
	Outcomes map[string]int `json:"outcomes"` // attempts by kind of outcome
}

// Spread summarizes durations in seconds.
type Spread struct {
	N      int     `json:"n"` // how many; the rest is in seconds
	Min    float64 `json:"min"`
	Median float64 `json:"median"`
	P90    float64 `json:"p90"` // nearest rank
	Max    float64 `json:"max"`
	Mean   float64 `json:"mean"`
	Total  float64 `json:"total"`
}

// StoreStats computes the statistics of a store. Steps come in the order of
// the pipeline, as the runs list them.
// A run that cannot be read is a warning. An error is that of the store itself.
func StoreStats(root string) (Stats, error) {
	found, warnings, err := summaries(root)
	st := Stats{Status: map[Status]int{}, Steps: []StepStats{}, Warnings: warnings}
	if err != nil {
		return st, err
	}
	acc := map[string]*stepSum{}
	var order []string
	for _, sum := range found {
		r, warning := openListed(sum.Path, sum.ID) // the list does not have the attempts
		if warning != nil {
			st.Warnings = append(st.Warnings, *warning)
		}
		if r == nil {
			continue
		}
		st.addRun(sum)
		if r.m.Recorded != nil { // its times are of another machine
			st.Recorded++
			continue
		}
		next := 0 // where a step not seen before belongs
		for i := range r.m.Steps {
			s := &r.m.Steps[i]
			if acc[s.Name] == nil {
				acc[s.Name] = &stepSum{row: StepStats{Name: s.Name, Outcomes: map[string]int{}}}
				order = slices.Insert(order, next, s.Name)
			}
			next = slices.Index(order, s.Name) + 1
			acc[s.Name].add(s, s.seen(r.liveness, r.m.Status))
		}
	}
	for _, name := range order {
		st.Steps = append(st.Steps, acc[name].finish())
	}
	return st, nil
}

// Status and bytes count played recordings too; only Steps leaves them out.
func (st *Stats) addRun(s Summary) {
	st.Runs++
	st.Status[s.Status]++
	created := s.Created
	if st.First == nil || created.Before(*st.First) {
		st.First = &created
	}
	if st.Last == nil || created.After(*st.Last) {
		st.Last = &created
	}
	st.Bytes += s.Bytes
}

// stepSum adds up one step over the runs of a store.
type stepSum struct {
	row     StepStats
	seconds []float64
}

// state is the one to show, not always the stored one.
func (a *stepSum) add(s *Step, state State) {
	row := &a.row
	switch state {
	case StateDone:
		row.Done++
		if s.Seconds != nil {
			a.seconds = append(a.seconds, *s.Seconds)
		}
	case StateFailed:
		row.Failed++
	case StateInterrupted:
		row.Interrupted++
	case StateSkipped:
		row.Skipped++
	}
	row.Attempts += len(s.Attempts)
	if len(s.Attempts) > len(s.parts()) {
		row.Retried++
	}
	for _, t := range s.Attempts {
		if t.Outcome != nil {
			row.Outcomes[t.Outcome.Kind]++
		}
	}
}

// finish does not change the sum.
// Seconds are of steps that were done, not of failed ones.
func (a *stepSum) finish() StepStats {
	row := a.row
	row.Ended = row.Done + row.Failed + row.Interrupted
	if row.Ended > 0 {
		row.SuccessRate = new(float64(row.Done) / float64(row.Ended))
	}
	row.Seconds = spread(a.seconds)
	return row
}

// spread does not change v; nil for no values.
func spread(v []float64) *Spread {
	if len(v) == 0 {
		return nil
	}
	v = slices.Clone(v)
	slices.Sort(v)
	s := Spread{N: len(v), Min: v[0], Max: v[len(v)-1]}
	for _, x := range v {
		s.Total += x
	}
	s.Mean = s.Total / float64(len(v))
	mid := len(v) / 2
	s.Median = v[mid]
	if len(v)%2 == 0 {
		s.Median = (v[mid-1] + v[mid]) / 2
	}
	s.P90 = v[int(math.Ceil(0.9*float64(len(v))))-1]
	return &s
}
