package analysis

import (
	"cmp"

	"github.com/deepprof/deepprof/internal/fact"
)

// fitTimelines warns, before anything else, of timelines that are of another program
// than the first. Ranks, windows and repeats that their makers told apart belong
// together whatever they ran.
func (jb *jobReader) fitTimelines(parts []*recording) {
	first := parts[0]
	if jb.notes.recorded != nil || first.row.Lost != nil || first.row.Of.Rank != nil || first.row.Of.Window != 0 || first.row.Of.Repeat != 0 {
		return
	}
	var others []fact.Fact
	for _, p := range parts[1:] {
		if p.row.Lost == nil && p.unlike(first) {
			others = append(others, fact.New(timelineOf, fact.File("file", p.row.File), fact.Name("program", p.programText())))
		}
	}
	if len(others) == 0 {
		return
	}
	note := fact.New(timelinesDiffer, fact.File("file", first.row.File), fact.Name("program", first.programText()), fact.Because("others", others...))
	jb.notes.warnFirst(Note{Fact: note, File: first.row.File})
}

// timelineOf names a timeline that is of another program.
const timelineOf fact.Code = "timeline-of" // file, program

// unlike tells that two timelines are of different programs: their commands name
// different ones and most kernels differ, or no command is known and all do.
func (p *recording) unlike(other *recording) bool {
	if len(p.kernels) == 0 || len(other.kernels) == 0 {
		return p.program != "" && other.program != "" && p.program != other.program
	}
	if p.program == "" || other.program == "" {
		return p.likeness(other) == 0
	}
	return p.program != other.program && p.likeness(other) < 0.5
}

// programText is the command as it was typed, else the name of the process; "?" where neither
// is known.
func (p *recording) programText() string {
	return cmp.Or(p.command, p.program, "?")
}
