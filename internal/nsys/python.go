package nsys

import (
	"bytes"
	"encoding/json"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/timeline"
)

// Samples of Python are marks with a payload: an object whose one key is the name of
// their domain. Functions and files in it are numbers of StringIds. Without
// --include-json an export has the marks and no payload; releases before 2024 call
// the domain otherwise and have no payload at all.
const pythonDomain = "Python Periodic Sampling"

var pythonDomains = []string{pythonDomain, "Python Backtrace"}

// maxFrames bounds the frames that are kept of a stack, the innermost.
const maxFrames = 8

// pythonShare is one worker's samples of Python.
// Stacks are numbered by the worker; samples with the same frames share one.
type pythonShare struct {
	samples []timeline.PythonSample
	stacks  [][]timeline.PythonFrame
	byText  map[string]uint32 // of a payload, from its frames on
}

// addPython takes a mark that is a sample of Python; false for any other.
// A payload that cannot be read leaves the row a mark like any other.
func (s *nvtxShare) addPython(r row) bool {
	if r.null(nvtxJSON) {
		return false
	}
	text, ok := bytes.CutPrefix(r.bytes(nvtxJSON), []byte(`{"`+pythonDomain+`":{`))
	if !ok {
		return false
	}
	at := bytes.Index(text, []byte(`"Frames":`))
	if at < 0 {
		return false
	}
	frames := text[at+len(`"Frames":`):]
	p := &s.python
	stack, known := p.byText[string(frames)]
	if !known {
		if stack, ok = s.newStack(frames); !ok {
			return false
		}
	}
	p.samples = append(p.samples, timeline.PythonSample{Time: r.int(nvtxStart), Thread: s.threads.id(r.int(nvtxThread)), Stack: stack})
	return true
}

// newStack reads the list of frames that text begins with.
// The text may go on after the list. Function and File are ids of StringIds.
func (s *nvtxShare) newStack(text []byte) (uint32, bool) {
	var frames []struct {
		Function, File int64
		Line           int32
	}
	if json.NewDecoder(bytes.NewReader(text)).Decode(&frames) != nil {
		return 0, false
	}
	var stack []timeline.PythonFrame
	for _, f := range frames[:min(len(frames), maxFrames)] {
		stack = append(stack, timeline.PythonFrame{
			Function: timeline.StringID(s.names.id(name{id: f.Function})), File: timeline.StringID(s.names.id(name{id: f.File})), Line: f.Line,
		})
	}
	p := &s.python
	if p.byText == nil {
		p.byText = map[string]uint32{}
	}
	id := uint32(len(p.stacks))
	p.stacks = append(p.stacks, stack)
	p.byText[string(text)] = id
	return id, true
}

// joinPython renumbers names, threads and stacks of one worker in place.
func (b *builder) joinPython(p *pythonShare, names []timeline.StringID, threads []uint32) {
	base := uint32(len(b.t.PythonStacks))
	for _, stack := range p.stacks {
		for i := range stack {
			stack[i].Function, stack[i].File = names[stack[i].Function], names[stack[i].File]
		}
	}
	b.t.PythonStacks = append(b.t.PythonStacks, p.stacks...)
	for _, s := range p.samples {
		b.t.PythonSamples = append(b.t.PythonSamples, timeline.PythonSample{Time: s.Time, Thread: threads[s.Thread], Stack: s.Stack + base})
	}
}

// dropBareSamples takes samples of Python that came without frames out of the marks,
// and warns of them. Domains have their names.
func (b *builder) dropBareSamples() {
	t := b.t
	var kept []timeline.Mark
	for _, m := range t.Marks {
		if m.Name != 0 || !b.samplesPython(m.Domain) {
			kept = append(kept, m)
		}
	}
	if n := len(t.Marks) - len(kept); n > 0 {
		t.Marks = kept
		b.f.warn(timeline.CodePythonBare, fact.Count("n", n))
	}
}

// samplesPython needs Timeline.Domains, so it is called after nameDomains.
func (b *builder) samplesPython(domain uint32) bool {
	for _, name := range pythonDomains {
		if b.t.Name(b.t.Domains[domain].Name) == name {
			return true
		}
	}
	return false
}
