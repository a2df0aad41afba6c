package analysis

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"slices"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/timeline"
)

// notes collect what the steps of an analysis tell beside the values that they
// return: warnings, what is missing, and the files that they used. Steps only add,
// but for the few that say a thing better than an earlier step could. The end of
// the analysis puts all of it into the Result.
type notes struct {
	in       *Input               // its run is what paths are relative to; nil where no file is used
	recorded map[string]runs.File // what the manifest says of files, by path; nil without a run

	// warnings and missing may have duplicates, which merged drops.
	warnings []Note
	missing  []Note
	files    []File // that something was taken from, in the order of use
}

// add and addMissing keep the order in which things are told.
func (n *notes) add(note Note) { n.warnings = append(n.warnings, note) }

func (n *notes) addMissing(note Note) { n.missing = append(n.missing, note) }

// warnFirst is for what a reader must know before all that was said so far.
func (n *notes) warnFirst(note Note) { n.warnings = slices.Insert(n.warnings, 0, note) }

// warn is for a warning about the whole analysis.
func (n *notes) warn(code fact.Code, params ...fact.Param) {
	n.add(Note{Fact: fact.New(code, params...)})
}

// warnStage warns of a stage of the workload.
func (n *notes) warnStage(stage string, code fact.Code, params ...fact.Param) {
	params = append(params, fact.Stage("stage", stage))
	n.add(Note{Fact: fact.New(code, params...), Stage: stage})
}

// lack tells that values are missing, and why.
func (n *notes) lack(code fact.Code, params ...fact.Param) {
	n.addMissing(Note{Fact: fact.New(code, params...)})
}

// lackInstead replaces what was told to be missing with a code by a better reason;
// it tells nothing where that was not told.
func (n *notes) lackInstead(told fact.Code, better fact.Fact) {
	if at := slices.IndexFunc(n.missing, func(m Note) bool { return m.Is(told) }); at >= 0 {
		n.missing[at] = Note{Fact: better}
	}
}

// unreadable warns of a file that is there and cannot be used.
func (n *notes) unreadable(err error) { n.warn(fileUnreadable, fact.Error("error", err)) }

// lose warns, before anything else, that a file, or a part of it, is lost.
func (n *notes) lose(path string, code fact.Code, why fact.Param) {
	file := n.in.rel(path)
	n.warnFirst(Note{Fact: fact.New(code, fact.File("file", file), why), File: file})
}

// of are the warnings with one of the codes.
func (n *notes) of(codes ...fact.Code) []Note {
	return (&Result{Warnings: n.warnings}).warningsOf(codes...)
}

// maxHashed bounds the files whose hash is worth its time, in bytes.
const maxHashed = 64 << 20

// use lists a file that something was taken from, and warns where it is not the one
// that the run captured.
func (n *notes) use(path, kind string) {
	info, err := os.Stat(path)
	if err != nil {
		return
	}
	file := File{Path: n.in.rel(path), Kind: kind, Bytes: info.Size()}
	if info.Size() <= maxHashed {
		file.SHA256 = hashOf(path)
	}
	if id := n.in.Identity(path); !id.IsZero() {
		file.Of = &id
	}
	n.files = append(n.files, file)
	n.checkRecorded(file)
}

// used tells whether something of a file is in the result.
func (n *notes) used(path string) bool {
	return slices.ContainsFunc(n.files, func(f File) bool { return f.Path == n.in.rel(path) })
}

// checkRecorded compares a file with what the manifest says of it: by its size, and
// by its hash where that is known.
func (n *notes) checkRecorded(f File) {
	was, ok := n.recorded[f.Path]
	switch {
	case !ok || !was.Omitted.IsZero():
	case f.Bytes != was.Size:
		n.warn(ChangedFile, fact.File("file", f.Path), fact.Count("bytes", f.Bytes), fact.Count("recorded", was.Size))
	case f.SHA256 != "" && f.SHA256 != was.SHA256:
		n.warn(ChangedFile, fact.File("file", f.Path))
	}
}

// hashOf is the SHA-256 of a file, "" where it cannot be read.
func hashOf(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil))
}

// merged are the warnings and what is missing, of which those that say the same are
// one: a step that warned and the file that it left often do, and the step's note is
// kept. The tape of the timeline, nil without one, tells which warnings are about one process
// alone.
func (n *notes) merged(tape *timeline.Tape) (warnings, missing []Note) {
	warnings, missing = merged(n.warnings), merged(n.missing)
	for i := range warnings {
		if tape != nil {
			warnings[i].ofOneProcess(tape)
		}
	}
	return warnings, missing
}

// merged keeps the order. A note without a step goes where one with a step says the
// same.
func merged(notes []Note) []Note {
	var out []Note
	for i := range notes {
		n := &notes[i]
		again := func(m Note) bool {
			// An earlier version stored a message of the profiler as a text, which is read from its report too.
			text := m.Is(fact.Text) && m.Text("text") == n.Text("text_of_vendor")
			return m.Step != "" && (m.Fact.Equal(n.Fact) || text)
		}
		if !slices.ContainsFunc(out, n.equalTo) && (n.Step != "" || !slices.ContainsFunc(notes, again)) {
			out = append(out, *n)
		}
	}
	return out
}

// ofOneProcess marks a message of nsys that is about one process where the
// timeline has from others what it misses.
func (n *Note) ofOneProcess(tape *timeline.Tape) {
	if !n.Is(capture.NoEvents, capture.NotStarted) {
		return
	}
	switch what := n.Text(capture.Untraced); {
	case what == "NVTX" && tape.RangeLen() > 0:
		n.Code = oneProcessNoRanges
	case what == "CUDA" && tape.Kernels > 0:
		n.Code = oneProcessNoCUDA
	}
}
