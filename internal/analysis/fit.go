package analysis

import (
	"path"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/ncurep"
	"github.com/deepprof/deepprof/internal/redact"
)

// Codes of what inputs lack, and of inputs that do not fit together.
// internal/message has their words; a comment names the parameters.
const (
	// inputLost tells that a part of an input is lost, inputUnreadable that all of
	// it is: the numbers are of the rest. file, lost; file, error
	inputLost       fact.Code = "input-lost"
	inputUnreadable fact.Code = "input-unreadable"
	// programsDiffer tells that counters are of another program than the timeline:
	// they stand by themselves. file, counters, timeline, n, of
	programsDiffer fact.Code = "programs-differ"
	// timelinesDiffer tells that timelines are of different programs: the result is
	// about the first alone. file, program, others
	timelinesDiffer fact.Code = "timelines-differ"
	// argumentsDiffer tells that the program was counted with other arguments than
	// it was timed with. file, counters, timeline
	argumentsDiffer fact.Code = "arguments-differ"
	// countersElsewhere lists the kernels that were counted with a grid and block
	// that the timeline does not have. n, of, kernels
	countersElsewhere fact.Code = "counters-elsewhere"

	// Preliminary tells that counters are still to come; CountersKeepAdvice, that
	// they will not change what to do about launch-bound stages. -; stages
	Preliminary        fact.Code = "preliminary"
	CountersKeepAdvice fact.Code = "counters-keep-advice"

	// regionUncovered tells of a region of which less was counted than was asked
	// for. region, coverage, goal, why
	regionUncovered fact.Code = "region-uncovered"

	countedOtherProgram fact.Code = "counted-other-program" // file
)

// FirstNotes are the warnings that a reader must have seen before any number.
func (r *Result) FirstNotes() []Note {
	return r.warningsOf(Preliminary, CountersKeepAdvice, cutShort, cutShortTimed, inputUnreadable, inputLost, timelinesDiffer, programsDiffer)
}

// Unrelated are the warnings of timelines of different programs.
func (r *Result) Unrelated() []Note { return r.warningsOf(timelinesDiffer) }

// Incomplete are the warnings of inputs that are lost, wholly or in part.
func (r *Result) Incomplete() []Note { return r.warningsOf(inputUnreadable, inputLost) }

// warningsOf keeps the order of the warnings; the result stays as it is.
func (r *Result) warningsOf(codes ...fact.Code) []Note {
	return slices.DeleteFunc(slices.Clone(r.Warnings), func(n Note) bool { return !n.Is(codes...) })
}

// A program is what a capture says of the program that it is of.
type program struct {
	command   []string // with its arguments; nil where that is not known
	processes []string // base names, versions taken off: python
}

// interpreters run a program that is among their arguments.
var interpreters = []string{"python", "bash", "sh", "node", "julia", "perl", "ruby"}

// baseProgram is the name of a program without its folder and its version:
// python for /usr/bin/python3.12.
func baseProgram(name string) string {
	base := path.Base(name)
	for _, i := range interpreters {
		if rest, ok := strings.CutPrefix(base, i); ok && strings.Trim(rest, "0123456789.") == "" {
			return i
		}
	}
	return base
}

// removed tells a path that redaction put in the place of another.
func removed(name string) bool { return redact.Removed(path.Base(name)) }

// firstWord is the program of a command line that was not quoted; a path with blanks is cut.
func firstWord(command string) string {
	word, _, _ := strings.Cut(command, " ")
	return word
}

// script is what an interpreter was told to run; "" for other programs.
func (p *program) script() string {
	if len(p.command) == 0 || !slices.Contains(interpreters, baseProgram(p.command[0])) {
		return ""
	}
	for _, arg := range p.command[1:] {
		if !strings.HasPrefix(arg, "-") && !removed(arg) {
			return path.Base(arg)
		}
	}
	return ""
}

// name is the program without its folder, and the script of an interpreter; ""
// where no command is known.
func (p *program) name() string {
	if len(p.command) == 0 {
		return ""
	}
	return strings.TrimSpace(baseProgram(p.command[0]) + " " + p.script())
}

// timedProgram is the program of the timeline.
func (tl *timed) timedProgram() program {
	t := tl.t
	var p program
	if !removed(firstWord(t.Source.Command)) {
		p.command = strings.Fields(t.Source.Command)
	}
	for _, process := range t.Processes {
		if name := firstWord(t.Names[process.Name]); name != "" && !removed(name) {
			p.processes = append(p.processes, baseProgram(name))
		}
	}
	return p
}

// countedProgram is the program of a report. Its command line begins with ncu and
// the options of that; the program is the first word behind them that is the
// program of the timeline, or has the name of a process.
func countedProgram(rep *ncurep.Report, timed *program) program {
	var p program
	for _, process := range rep.Info.Processes {
		if !removed(process.Name) {
			p.processes = append(p.processes, baseProgram(process.Name))
		}
	}
	if s := &rep.Info.Session; s.Executable != "" {
		p.command = append([]string{s.Executable}, strings.Fields(s.Arguments)...)
		return p
	}
	names := slices.Clone(p.processes)
	if len(timed.command) > 0 {
		names = append(names, baseProgram(timed.command[0]))
	}
	words := strings.Fields(rep.Info.Session.CommandLine)
	for i := 1; i < len(words); i++ {
		if words[i-1] != "-o" && words[i-1] != "--export" && slices.Contains(names, baseProgram(words[i])) {
			p.command = words[i:]
			break
		}
	}
	return p
}

// A fit is how the counters of a report and the timeline go together.
type fit int

const (
	fits           fit = iota // nothing tells that they do not
	otherArguments            // of the program
	otherProgram
)

// compare judges by names of programs. Those of processes alone prove nothing,
// since a program may give itself another; shared is the part of the counted
// kernels that the timeline has with their grid and block, and same that of
// those whose name it has.
// They are taken to fit where nothing tells that they do not.
func (p *program) compare(timed *program, shared, same float64) fit {
	known := len(p.command) > 0 && len(timed.command) > 0
	apart := len(p.processes) > 0 && len(timed.processes) > 0 && !slices.ContainsFunc(p.processes, func(n string) bool { return slices.Contains(timed.processes, n) })
	script, other := p.script(), timed.script()
	switch {
	case apart && (!known || baseProgram(p.command[0]) != baseProgram(timed.command[0])):
		return otherProgram
	case script != other && script != "" && other != "" && shared < 0.5:
		return otherProgram
	case !known && same == 0:
		return otherProgram
	case known && !slices.Equal(p.arguments(), timed.arguments()):
		return otherArguments
	}
	return fits
}

// arguments are those of the program, with the base name of a script, so that a folder makes
// no difference. The program has a command.
func (p *program) arguments() []string {
	args, script := slices.Clone(p.command[1:]), p.script()
	for i := range args {
		if script != "" && path.Base(args[i]) == script {
			args[i] = script
			break
		}
	}
	return args
}

// fitReport compares a report with the timeline, and warns where they do not go
// together.
func (cr *counterReader) fitReport(name string, rep *ncurep.Report) fit {
	if cr.tl == nil || cr.notes.recorded != nil { // a run started both
		return fits
	}
	timed := cr.tl.timedProgram()
	if len(timed.command) == 0 && len(cr.tl.t.Damage) > 0 { // names may be lost
		return fits
	}
	counted := countedProgram(rep, &timed)
	of, shared, same := cr.sharedKernels(rep)
	likely, named := 1.0, 1.0 // ranges tell by their program alone
	if of > 0 {
		likely, named = float64(shared)/float64(of), float64(same)/float64(of)
	}
	found := counted.compare(&timed, likely, named)
	params := []fact.Param{fact.File("file", name), fact.Name("counters", counted.text()), fact.Name("timeline", timed.text())}
	switch found {
	case otherProgram:
		if of > 0 {
			params = append(params, fact.Count("n", shared), fact.Count("of", of))
		}
		cr.notes.warnFirst(Note{Fact: fact.New(programsDiffer, params...), File: name})
	case otherArguments:
		cr.notes.add(Note{Fact: fact.New(argumentsDiffer, params...), File: name})
	}
	return found
}

// text is for people: the command, else the names of processes.
func (p *program) text() string {
	if len(p.command) > 0 {
		return strings.Join(p.command, " ")
	}
	return strings.Join(p.processes, ", ")
}

// sharedKernels counts the kernels of a report, each grid and block by itself,
// those of them that the timeline has, and those whose name it has. Ranges and graphs do not
// count.
func (cr *counterReader) sharedKernels(rep *ncurep.Report) (of, shared, same int) {
	short := map[string]bool{}
	for i := range cr.tl.t.Functions {
		short[cr.kinds.of(fullName(cr.tl.t, cr.tl.t.Functions[i])).short] = true
	}
	seen := map[kernelKey]bool{}
	for _, res := range rep.Results {
		key := kernelKey{res.Name(), dims(res.Grid), dims(res.Block)}
		if res.Kind != ncurep.Kernel || seen[key] {
			continue
		}
		seen[key] = true
		of++
		if short[cr.kinds.of(key.name).short] {
			same++
		}
		if i, ok := cr.byKey[key]; ok && cr.made.Kernels[i].Calls > 0 {
			shared++
		} else if i, ok := cr.sameKernel(&launch{res: res}, key); ok && cr.made.Kernels[i].Calls > 0 {
			shared++
		}
	}
	return of, shared, same
}

// takeForeign keeps the launches of another program as kernels of their own,
// which have counters and no time.
func (cr *counterReader) takeForeign(name string, rep *ncurep.Report) {
	rows := map[kernelKey]int{}
	for _, res := range rep.Results {
		if res.Kind != ncurep.Kernel {
			continue
		}
		key := kernelKey{res.Name(), dims(res.Grid), dims(res.Block)}
		i, ok := rows[key]
		if !ok {
			row := cr.newKernel(key)
			row.ID, row.Mangled = row.ID+"@"+name, res.MangledName
			cr.made.Kernels = append(cr.made.Kernels, row)
			i = len(cr.made.Kernels) - 1
			rows[key] = i
		}
		l := newLaunch(name, res)
		l.foreign = true
		cr.foreign++
		cr.launches[i] = append(cr.launches[i], l)
	}
}

// listElsewhere names the kernels that were counted and are not in the timeline
// with their grid and block.
func (cr *counterReader) listElsewhere() {
	if cr.tl == nil {
		return
	}
	var names []string
	n, of := 0, 0
	for i := range cr.made.Kernels {
		k := &cr.made.Kernels[i]
		if len(cr.launches[i]) == 0 || cr.launches[i][0].foreign {
			continue
		}
		of++
		if k.Calls > 0 {
			continue
		}
		n++
		if !slices.Contains(names, k.Short) && len(names) < maxNamedKernels {
			names = append(names, k.Short)
		}
	}
	if n > 0 {
		cr.notes.warn(countersElsewhere, fact.Count("n", n), fact.Count("of", of), fact.Names("kernels", fact.KindKernel, names))
	}
}
