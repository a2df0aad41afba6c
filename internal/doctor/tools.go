package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/deepprof/deepprof/internal/tool"
)

// Oldest versions that captures were tried with.
var (
	oldestNsys = tool.V(2022, 4, 0)
	oldestNcu  = tool.V(2022, 3, 0)
)

func (e *exam) find(ctx context.Context, name, path string) located {
	t, err := e.look(ctx, name, path)
	if err != nil {
		return located{err: err}
	}
	return located{Tool: t}
}

func (e *exam) look(ctx context.Context, name, path string) (tool.Tool, error) {
	t, err := e.Find(ctx, tool.Spec{Name: name, Path: path, System: tool.System{Root: e.Root, Env: e.Env, Run: e.Run}})
	if err == nil && t.Version.IsZero() {
		err = fmt.Errorf("%s does not tell its version: %s", t.Path, t.Problem)
	}
	return t, err
}

// findSMI keeps one that is there and fails: the check of the GPU says why.
func (e *exam) findSMI(ctx context.Context) located {
	t, err := e.look(ctx, tool.NvidiaSMI, e.SMIPath)
	var nf *tool.NotFoundError
	switch {
	case errors.As(err, &nf):
		t = tool.Tool{}
	case err != nil:
		t = tool.Tool{Name: tool.NvidiaSMI, Path: or(t.Path, e.SMIPath)}
	}
	return located{t, err}
}

// missing words a tool that was not found or does not work.
func missing(wanted bool, err error, fix string) finding {
	var nf *tool.NotFoundError
	if !errors.As(err, &nf) {
		return problem(wanted, fix, "%v", err)
	}
	if !wanted {
		return notApplicable("not found, and not wanted")
	}
	return problem(true, nf.Hint, "not found in %s", shortList(nf.Tried, 4))
}

func shortList(list []string, n int) string {
	if len(list) <= n {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more places", strings.Join(list[:n], ", "), len(list)-n)
}

// others lists further installations, so that a surprise is visible.
func others(t tool.Tool) string {
	if len(t.Others) == 0 {
		return ""
	}
	var list []string
	for _, o := range t.Others {
		text := o.Version.String() + " " + o.Path
		if o.Problem != "" {
			text = o.Path + " (broken)"
		}
		list = append(list, text)
	}
	return "; also " + strings.Join(list, ", ")
}

func checkNsys(_ context.Context, e *exam) finding {
	if e.nsys.err != nil {
		return missing(e.Timeline, e.nsys.err, "reinstall Nsight Systems, or name a working one in pipeline.nsys.path")
	}
	t := e.nsys.Tool
	seen := fmt.Sprintf("%s %s%s", t.Version, t.Path, others(t))
	switch v := t.Version; {
	case t.Bundled:
		return warning("install Nsight Systems itself; this copy serves Nsight Compute and its importer often lacks libraries", "%s lies inside Nsight Compute", seen)
	case v.Compare(oldestNsys) < 0:
		return warning("install Nsight Systems 2022.4 or later", "%s is older than any that was tried", seen)
	case v.Major == 2023 && v.Minor == 4:
		return warning(`install Nsight Systems 2024.2 or later if reports fail with "Wrong event order"`, "%s; its importer loses reports of some programs with several streams or threads", seen)
	}
	return ok("%s", seen)
}

// An importer is what nsys makes its reports with; library is one that it
// cannot load.
type importer struct {
	path, version, library string
	err                    error
}

func (e *exam) askImporter(ctx context.Context) (i importer) {
	if e.nsys.Path == "" {
		return i
	}
	if i.path = e.Importer(e.nsys.Tool); i.path != "" {
		i.version, i.library, i.err = tool.CheckImporter(ctx, i.path, e.Run)
	}
	return i
}

func checkImporter(_ context.Context, e *exam) finding {
	if e.nsys.Path == "" {
		return notApplicable("no nsys")
	}
	path, version, library, err := e.importer.path, e.importer.version, e.importer.library, e.importer.err
	if path == "" {
		return problem(e.Timeline, "install the host part of Nsight Systems (package nsight-systems, not only its target), or link host-linux-x64 beside target-linux-x64", "no QdstrmImporter beside %s: nsys would leave a .qdstrm and no report", e.nsys.Path)
	}
	switch {
	case library != "":
		return problem(e.Timeline, fmt.Sprintf("install the package that holds %s (%s), or use another Nsight Systems", library, packageOf(library)), "%s cannot load %s: nsys would leave a .qdstrm and no report", path, library)
	case err != nil:
		return problem(e.Timeline, "run it by hand to see what is wrong: "+path+" --version", "%v", err)
	}
	if e.nsys.Version.Edition != "" && !strings.Contains(version, e.nsys.Version.Edition) {
		return problem(e.Timeline, "install nsys and its importer from one package: their versions must match exactly", "%s is %q, nsys is %s", path, version, e.nsys.Version.Raw)
	}
	return ok("%s starts", path)
}

// packageOf names the usual package of the libraries that are known to lack.
func packageOf(library string) string {
	for prefix, pkg := range map[string]string{
		"libdw": "libdw1 or elfutils-libs", "libelf": "libelf1 or elfutils-libelf", "libssh": "libssh-4 or libssh",
		"libxkb": "libxkbcommon0", "libglib": "libglib2.0-0 or glib2", "libGL": "libgl1", "libX11": "libx11-6",
	} {
		if strings.HasPrefix(library, prefix) {
			return pkg
		}
	}
	return "search it with apt-file or dnf provides"
}

func checkNcu(_ context.Context, e *exam) finding {
	if e.ncu.err != nil {
		return missing(e.Counters, e.ncu.err, "reinstall Nsight Compute, or name a working one in pipeline.ncu.path")
	}
	t := e.ncu.Tool
	seen := fmt.Sprintf("%s %s%s", t.Version, t.Path, others(t))
	switch {
	case strings.ContainsAny(t.Real, " \t"):
		return problem(e.Counters, "move the installation to a folder without blanks", "%s: ncu refuses to run from a path with blanks", seen)
	case t.Version.Compare(oldestNcu) < 0:
		return warning("install Nsight Compute 2022.3 or later", "%s is older than any that was tried", seen)
	}
	return ok("%s", seen)
}

// checkExchange knows that a .nsys-rep opens in the version that wrote it and
// later ones alone, and that ncu 2022 fails on newer reports with rules.
func checkExchange(_ context.Context, e *exam) finding {
	if e.nsys.Path == "" && e.ncu.Path == "" {
		return notApplicable("no tools")
	}
	var notes []string
	for _, o := range e.nsys.Others {
		if !o.Version.IsZero() && o.Version.Compare(e.nsys.Version) < 0 {
			notes = append(notes, fmt.Sprintf("nsys %s cannot open reports of %s", o.Version, e.nsys.Version))
		}
	}
	for _, o := range e.ncu.Others {
		if !o.Version.IsZero() && !o.Version.AtLeast(2024, 1) && e.ncu.Version.AtLeast(2024, 1) {
			notes = append(notes, fmt.Sprintf("ncu %s cannot open reports of %s that hold rules", o.Version, e.ncu.Version))
		}
	}
	if len(notes) > 0 {
		return warning("exchange the SQLite export, which every version reads, or open reports with the newest tool", "%s", strings.Join(notes, "; "))
	}
	return ok("one version of each tool, or the newest is used")
}

func checkSMI(_ context.Context, e *exam) finding {
	var nf *tool.NotFoundError
	switch {
	case errors.As(e.smi.err, &nf) && !e.wantsGPU():
		return notApplicable("not found, and no GPU wanted")
	case nf != nil:
		return warning(nf.Hint, "not found: GPU, driver and clocks cannot be described")
	case e.smi.err != nil:
		return warning("see the check of the GPU", "%v", e.smi.err)
	}
	return ok("%s %s", short(e.smi.Version), e.smi.Path)
}
