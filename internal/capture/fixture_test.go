package capture

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/deepprof/deepprof/internal/tool"
)

// outputs holds what real runs of nsys and ncu printed and left, one file for
// each: a head of "# name: value" lines, then "--- stdout", "--- stderr",
// "--- files after" (ls -la) and "--- processes left".
var outputs = sync.OnceValues(func() (map[string]string, error) {
	f, err := os.Open("testdata/outputs.txtar.gz")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(z)
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	_, files := parseArchive(string(data))
	for _, f := range files {
		all[f.name] = f.data
	}
	return all, nil
})

func loadOutputs(t *testing.T) map[string]string {
	t.Helper()
	all, err := outputs()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var headLine = regexp.MustCompile(`(?m)^# (\w+): (.*)$`)

// evidenceOf turns one recorded output into the evidence a run would give.
func evidenceOf(t *testing.T, name string) Evidence {
	t.Helper()
	all := loadOutputs(t)
	text, ok := all[name]
	if !ok {
		t.Fatalf("no recorded output %s", name)
	}
	if strings.HasPrefix(name, "h200/") {
		return evidenceOfLog(t, text)
	}
	head, _, _ := strings.Cut(text, "\n--- ")
	meta := map[string]string{}
	for _, m := range headLine.FindAllStringSubmatch(head, -1) {
		meta[m[1]] = m[2]
	}
	part := sections(text)
	cmd := strings.ReplaceAll(meta["cmd"], `\`, "")
	e := Evidence{
		Tool: toolOf(cmd), Stdout: part["stdout"], Stderr: part["stderr"],
		Gated: strings.Contains(cmd, "--capture-range="),
	}
	code, killed, _ := strings.Cut(meta["rc"], " (killed by signal ")
	e.Code, _ = strconv.Atoi(code)
	if killed != "" {
		e.Killer, _ = strconv.Atoi(strings.TrimSuffix(killed, ")"))
	}
	if e.Code == 124 {
		e.Stopped = tool.TimedOut
	}
	// What the recorder sent is what the engine would have sent, save the
	// signals that stand for somebody else's kill.
	if s := meta["signals"]; strings.Contains(s, "SIGINT") || strings.Contains(s, "SIGTERM") {
		e.Stopped, e.TargetSeen = tool.Interrupted, true
	}
	e.EndsTarget = e.Tool == Nsys && (strings.Contains(cmd, "--duration=") || strings.Contains(cmd, "--kill=") ||
		strings.Contains(cmd, "repeat-shutdown") || (e.Gated && !regexp.MustCompile(`--capture-range-end=(none|stop|repeat)(:\d+)?( |$)`).MatchString(cmd)))
	if strings.Contains(meta["what"], "TMPDIR f") && e.Code == 139 || strings.HasPrefix(meta["what"], "TMPDIR 2") || strings.HasPrefix(meta["what"], "TMPDIR 6") {
		e.LowSpace = "TMPDIR"
	}
	if m := repeats.FindStringSubmatch(cmd); m != nil {
		e.Expect.Reports, _ = strconv.Atoi(m[1])
	}
	if _, program, ok := strings.Cut(cmd, "/data/job/"); ok {
		for line := range strings.Lines(part["processes left"]) {
			if strings.Contains(line, program) {
				e.Left = append(e.Left, strings.Fields(line)[4])
			}
		}
	}
	e.Want, e.Files = filesOf(meta, cmd, e.Tool, part["files after"], e.Stdout)
	for line := range strings.Lines(all[strings.TrimSuffix(name, ".txt")+".diag.txt"]) {
		e.Diagnostics = append(e.Diagnostics, parseDiagnostic(line))
	}
	return e
}

// evidenceOfLog reads a log of the H200: the output, then "## rc=N S s: args".
func evidenceOfLog(t *testing.T, text string) Evidence {
	t.Helper()
	out, tail, ok := strings.Cut(text, "\n## rc=")
	if !ok {
		t.Fatalf("no exit code in %q", text)
	}
	code, args, _ := strings.Cut(tail, " ")
	e := Evidence{Tool: Ncu, Stdout: out, Want: "/tmp/w/x.ncu-rep"}
	e.Code, _ = strconv.Atoi(code)
	if strings.Contains(args, "nsys") {
		e.Tool, e.Want = Nsys, "/tmp/w/x.nsys-rep"
	}
	for _, m := range regexp.MustCompile(`(?:Report: |^\t|\n\t)(/\S+\.(?:ncu-rep|nsys-rep|qdstrm))`).FindAllStringSubmatch(out, -1) {
		e.Files = append(e.Files, File{Path: m[1], Size: 1 << 20, Format: formatByName(m[1], 1<<20), Fresh: true})
		if strings.HasSuffix(m[1], filepath.Ext(e.Want)) {
			e.Want = m[1]
		}
	}
	return e
}

func sections(text string) map[string]string {
	part := map[string]string{}
	name := ""
	var b strings.Builder
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, "--- "); ok {
			part[name] = b.String()
			b.Reset()
			name = strings.TrimSpace(rest)
			continue
		}
		b.WriteString(line)
	}
	part[name] = b.String()
	return part
}

func toolOf(cmd string) Tool {
	has := func(s string) bool { return strings.Contains(cmd, s) }
	switch {
	case has("QdstrmImporter"):
		return NsysImport
	case has("ncu ") && (has("--import") || has("--query") || has("--list-s") || has("--section-folder-restore")):
		return NcuImport
	case has("ncu "):
		return Ncu
	case has("=help"):
		return NsysOther
	case has("nsys profile") || has("...("):
		return Nsys
	case has("nsys stats") || has("nsys analyze"):
		return NsysStats
	case has("nsys export"):
		return NsysExport
	case has("nsys recipe") && !has("2022.4"):
		return NsysRecipe
	}
	return NsysOther
}

var (
	listing      = regexp.MustCompile(`(?m)^-\S+ +\d+ \S+ \S+ +(\d+)  ?(?:\w{3} +\d+ \d\d:\d\d )?(.+)$`)
	named        = regexp.MustCompile(`(?m)^[ \t]+(/\S.*\.(?:nsys-rep|qdstrm))$`)
	outFlag      = regexp.MustCompile(` (?:-o|--output[ =]|-fo) ?(\S+)`)
	exportsOther = regexp.MustCompile(`(?:--type|-t)[ =](?:arrow|hdf|json|text|parquet|bogus)`)
	stale        = regexp.MustCompile(`^stats: (?:stale|garbage|other valid)`)
	numbered     = regexp.MustCompile(`\.\d+\.nsys-rep$`)
	repeats      = regexp.MustCompile(`repeat(?:-shutdown)?:([1-9]\d*)`)
	oldBytes     = int64(100) // files of an earlier run in the recordings hold a few bytes
)

// filesOf lists the files of a recording. Old ones hold a few bytes of text;
// reports named on stdout but not in the listing lie under TMPDIR.
func filesOf(meta map[string]string, cmd string, t Tool, ls, stdout string) (want string, files []File) {
	ext := map[Tool]string{Nsys: ".nsys-rep", Ncu: ".ncu-rep", NsysExport: ".sqlite", NsysImport: ".nsys-rep"}[t]
	dir := "/w/"
	if t == Nsys || strings.Contains(cmd, "nsys stop") {
		ext, want = ".nsys-rep", dir+"report1.nsys-rep"
	}
	for _, m := range outFlag.FindAllStringSubmatch(cmd, -1) {
		if ext != "" && !strings.Contains(m[1], "=") && (t != NsysExport || !exportsOther.MatchString(cmd)) {
			name := strings.TrimSuffix(strings.TrimSuffix(m[1], ext), ".qdrep")
			want = dir + filepath.Base(name) + ext
		}
	}
	seen := map[string]bool{}
	add := func(path string, size int64) {
		if seen[filepath.Base(path)] {
			return
		}
		seen[filepath.Base(path)] = true
		files = append(files, File{Path: path, Size: size, Format: formatByName(path, size), Fresh: size > oldBytes || size == 0})
	}
	for _, m := range listing.FindAllStringSubmatch(ls, -1) {
		size, _ := strconv.ParseInt(m[1], 10, 64)
		add(dir+m[2], size)
		if t == NsysStats && strings.HasSuffix(m[2], ".sqlite") && stale.MatchString(meta["what"]) {
			want, files[len(files)-1].Fresh = dir+m[2], false
		}
	}
	// A name that the shell, a macro or a cut command line hides: the report
	// that stands there is the one asked for.
	if t == Nsys && !seen[filepath.Base(want)] {
		for _, f := range files {
			if f.Fresh && f.Format == NsysReport && !numbered.MatchString(f.Path) {
				want = f.Path
			}
		}
	}
	for _, m := range named.FindAllStringSubmatch(stdout, -1) {
		path := m[1]
		if base := filepath.Base(path); !strings.HasPrefix(base, "nsys-report-") {
			path = dir + base
			if !seen[base] && strings.Contains(ls, "root") && !strings.Contains(cmd, "unshare") && !strings.Contains(cmd, "setpriv") && !strings.Contains(cmd, "su ") {
				continue
			}
		}
		add(path, 200000)
	}
	return want, files
}

func formatByName(path string, size int64) Format {
	switch {
	case size == 0:
		return EmptyFile
	case size <= oldBytes:
		return OtherFile
	case strings.HasSuffix(path, ".nsys-rep"):
		return NsysReport
	case strings.HasSuffix(path, ".qdstrm"):
		return Stream
	case strings.HasSuffix(path, ".ncu-rep"):
		return NcuReport
	case strings.HasSuffix(path, ".sqlite"):
		return SQLite
	}
	return OtherFile
}

func TestSections(t *testing.T) {
	got := sections("# a: b\n--- stdout\nx\ny\n--- stderr\nz\n")
	if got["stdout"] != "x\ny\n" || got["stderr"] != "z\n" {
		t.Errorf("%q", got)
	}
	if !bytes.Contains([]byte(got[""]), []byte("# a: b")) {
		t.Errorf("%q", got)
	}
}
