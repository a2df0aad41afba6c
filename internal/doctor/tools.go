package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/tool"
)

// Oldest versions that captures were tried with.
var (
	oldestNsys = tool.V(2022, 4, 0)
	oldestNcu  = tool.V(2022, 3, 0)
)

// find looks for a program once; its path is empty where it cannot be used.
func (e *exam) find(ctx context.Context, name, path string) located {
	t, err := e.look(ctx, name, path)
	if err != nil {
		return located{err: err}
	}
	return located{Tool: t}
}

// A tool that starts but does not tell its version comes back with an error.
func (e *exam) look(ctx context.Context, name, path string) (tool.Tool, error) {
	t, err := e.Find(ctx, tool.Spec{Name: name, Path: path, System: tool.System{Root: e.Root, Env: e.Env, Run: e.Run}})
	if err == nil && t.Version.IsZero() {
		err = fmt.Errorf("%s does not tell its version: %s", t.Path, t.Problem)
	}
	return t, err
}

// findSMI keeps one that is there and fails: the check of the GPU says why.
func (e *exam) findSMI(ctx context.Context) located {
	t, err := e.look(ctx, tool.NvidiaSMI, "")
	var nf *tool.NotFoundError
	switch {
	case errors.As(err, &nf):
		t = tool.Tool{}
	case err != nil:
		t = tool.Tool{Name: tool.NvidiaSMI, Path: t.Path}
	}
	return located{t, err}
}

// missing tells of a tool that was not found or does not work; how to repair it is
// a label of the domain "repair".
// At most four places are listed, and the rest are counted.
func missing(wanted bool, err error, name string) finding {
	var nf *tool.NotFoundError
	if !errors.As(err, &nf) {
		return problem(wanted, toolFails, fact.Error("error", err), fact.ID("repair", "repair", name))
	}
	if !wanted {
		return notApplicable(toolUnneeded)
	}
	n := min(len(nf.Tried), 4)
	seen := []fact.Param{fact.Names("places", fact.KindFile, nf.Tried[:n]), fact.ErrorText("hint", nf.Hint)}
	if more := len(nf.Tried) - n; more > 0 {
		seen = append(seen, fact.Count("more", more))
	}
	return problem(true, toolNotFound, seen...)
}

// seenTool is a tool that was found, with further installations, so that a
// surprise is visible.
func seenTool(t tool.Tool) []fact.Param {
	seen := []fact.Param{fact.Name("version", t.Version.String()), fact.File("path", t.Path)}
	var also []fact.Fact
	for _, o := range t.Others {
		if o.Problem != "" {
			also = append(also, fact.New(toolBroken, fact.File("path", o.Path)))
			continue
		}
		also = append(also, fact.New(toolAlso, fact.Name("version", o.Version.String()), fact.File("path", o.Path)))
	}
	if len(also) > 0 {
		seen = append(seen, fact.Because("also", also...))
	}
	return seen
}

// checkNsys warns of releases that are known to lose events or reports. They are no
// blocker: most captures work with them.
func checkNsys(_ context.Context, e *exam) finding {
	if e.nsys.err != nil {
		return missing(e.Timeline, e.nsys.err, tool.Nsys)
	}
	t := e.nsys.Tool
	seen := seenTool(t)
	switch v := t.Version; {
	case t.Bundled:
		return warning(nsysBundled, seen...)
	case v.Compare(oldestNsys) < 0:
		return warning(nsysOld, seen...)
	case v.Major == 2023 && v.Minor == 4:
		return warning(nsysDisorder, seen...)
	}
	return ok(toolFound, seen...)
}

// An importer is what nsys makes its reports with; library is one that it
// cannot load.
// path is "" where nsys has none; version is what it prints.
type importer struct {
	path, version, library string
	err                    error
}

// The zero importer means that there is no nsys.
func (e *exam) askImporter(ctx context.Context) (i importer) {
	if e.nsys.Path == "" {
		return i
	}
	if i.path = e.Importer(e.nsys.Tool); i.path != "" {
		i.version, i.library, i.err = tool.CheckImporter(ctx, i.path, e.Run)
	}
	return i
}

// nsys without a working importer exits with 0 and leaves only a .qdstrm.
func checkImporter(_ context.Context, e *exam) finding {
	if e.nsys.Path == "" {
		return absent("nsys")
	}
	i := e.importer
	path := fact.File("path", i.path)
	switch {
	case i.path == "":
		return problem(e.Timeline, importAbsent, fact.File("path", e.nsys.Path))
	case i.library != "":
		return problem(e.Timeline, importLibrary, path, fact.Name("library", i.library), packageOf(i.library))
	case i.err != nil:
		return problem(e.Timeline, importFails, path, fact.Error("error", i.err))
	case e.nsys.Version.Edition != "" && !strings.Contains(i.version, e.nsys.Version.Edition):
		return problem(e.Timeline, importOther, path, fact.Vendor("version", i.version), fact.Vendor("nsys", e.nsys.Version.Raw))
	}
	return ok(importStarts, path)
}

// packageOf names the usual package of the libraries that are known to lack.
// Names are those of Debian; after "or" comes the one of Fedora and its relatives.
func packageOf(library string) fact.Param {
	for prefix, pkg := range map[string]string{
		"libdw": "libdw1 or elfutils-libs", "libelf": "libelf1 or elfutils-libelf", "libssh": "libssh-4 or libssh",
		"libxkb": "libxkbcommon0", "libglib": "libglib2.0-0 or glib2", "libGL": "libgl1", "libX11": "libx11-6",
	} {
		if strings.HasPrefix(library, prefix) {
			return fact.Name("package", pkg)
		}
	}
	return fact.ID("package", "check-of", "unknown-package")
}

// checkNcu: ncu refuses to run from a path with blanks, a blocker where counters are wanted.
func checkNcu(_ context.Context, e *exam) finding {
	if e.ncu.err != nil {
		return missing(e.Counters, e.ncu.err, tool.Ncu)
	}
	t := e.ncu.Tool
	seen := seenTool(t)
	switch {
	case strings.ContainsAny(t.Real, " \t"):
		return problem(e.Counters, ncuBlanks, seen...)
	case t.Version.Compare(oldestNcu) < 0:
		return warning(ncuOld, seen...)
	}
	return ok(toolFound, seen...)
}

// checkExchange knows that a .nsys-rep opens in the version that wrote it and
// later ones alone, and that ncu 2022 fails on newer reports with rules.
func checkExchange(_ context.Context, e *exam) finding {
	if e.nsys.Path == "" && e.ncu.Path == "" {
		return absent("tools")
	}
	var notes []fact.Fact
	versions := func(code fact.Code, older, newer tool.Version) {
		notes = append(notes, fact.New(code, fact.Name("older", older.String()), fact.Name("newer", newer.String())))
	}
	for _, o := range e.nsys.Others {
		if !o.Version.IsZero() && o.Version.Compare(e.nsys.Version) < 0 {
			versions(olderNsys, o.Version, e.nsys.Version)
		}
	}
	for _, o := range e.ncu.Others {
		if !o.Version.IsZero() && !o.Version.AtLeast(2024, 1) && e.ncu.Version.AtLeast(2024, 1) {
			versions(olderNcu, o.Version, e.ncu.Version)
		}
	}
	if len(notes) > 0 {
		return warning(olderBeside, fact.Because("what", notes...))
	}
	return ok(noOlder)
}

// nvidia-smi only tells: its absence is never a blocker.
func checkSMI(_ context.Context, e *exam) finding {
	var nf *tool.NotFoundError
	switch {
	case errors.As(e.smi.err, &nf) && !e.wantsGPU():
		return notApplicable(toolUnneeded)
	case nf != nil:
		return warning(smiAbsent, fact.ErrorText("hint", nf.Hint))
	case e.smi.err != nil:
		return warning(smiFails, fact.Error("error", e.smi.err))
	}
	return ok(toolFound, fact.Name("version", short(e.smi.Version)), fact.File("path", e.smi.Path))
}
