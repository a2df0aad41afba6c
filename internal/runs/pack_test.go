package runs

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/ncruces/go-sqlite3"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/format"
	"github.com/deepprof/deepprof/internal/redact"
	"github.com/deepprof/deepprof/internal/redact/planted"
	"github.com/deepprof/deepprof/internal/sqlite"
	"github.com/deepprof/deepprof/internal/timeline"
)

func sha(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:])
}

func noise(n int) []byte {
	b := make([]byte, n)
	rand.New(rand.NewSource(1)).Read(b)
	return b
}

// packable makes a finished run with files of every kind.
func packable(t *testing.T, root string) *Run {
	t.Helper()
	r := mustCreate(t, root, CreateOptions{Label: "packed", Command: []string{"deepprof", "run", "--", "/home/mallory/bin/toy", "--token", "hf_abcdefghijklmnopqrstuvwx"}})
	must(t, r.StartStep("ncu"))
	must(t, r.StartAttempt("ncu", "/home/mallory/work", "ncu", "-o", "/scratch/exp/ncu"))
	for rel, text := range map[string]string{
		"ncu/k.ncu-rep":     report("/home/mallory/bin/toy", strings.Repeat("cubin", 100)),
		"ncu/cmd.txt":       "cd /home/mallory/work && ncu -o /scratch/exp/ncu\n",
		"ncu/stdout.log":    "==PROF== on node17.cluster.example by mallory: file:///home/mallory/x.py\n",
		"nsys/run.nsys-rep": "binary\x00environment",
		"config.yaml":       "model:\n  path: /scratch/exp/model.bin\n  name: llama\n",
		"result.json":       "{\n  \"path\": \"\\/home\\/mallory\\/a b\",\n  \"big\": 12345678901234567890.10,\n  \"op\": \"/model/layers.0/MatMul\"\n}\n",
		"report.md":         "# Report\nkernel `void k<(int)4>(float const*)` 3/4\n",
	} {
		must(t, r.WriteFile(rel, []byte(text)))
	}
	must(t, r.WriteJSON(EnvName, Env{Schema: 1, Host: Host{Name: "node17.cluster.example", User: "mallory", Dir: "/home/mallory/work", Kernel: "6.1"},
		Environment: map[string]redact.EnvVar{"HOME": {Value: "/home/mallory"}, "SHARE": {Value: "/gpfs2/groups/x"}}}))
	files, err := r.HashFiles(ctx, "ncu", "nsys")
	must(t, err)
	must(t, r.EndAttempt("ncu", Result{Outcome: Outcome{Kind: "captured", Usable: true, Text: fact.FromText("good")}, Files: files}))
	must(t, r.EndStep("ncu", StateDone, fact.Fact{}))
	must(t, r.Finish(StatusDone, fact.Fact{}))
	return r
}

// TestRedactRanks: the hosts of a job's ranks are in no name and no file of a
// redacted pack, also that of a rank without a report, and one that is a word.
func TestRedactRanks(t *testing.T) {
	r := mustCreate(t, t.TempDir(), CreateOptions{})
	must(t, r.StartStep("nsys"))
	must(t, r.StartAttempt("nsys", "", "srun"))
	hosts := []string{"nid001234", "node", "dead-a17"}
	for i, host := range hosts {
		must(t, r.WriteFile(fmt.Sprintf("nsys/ranks/%d.json", i), fmt.Appendf(nil, `{"rank": %d, "host": %q}`, i, host)))
	}
	must(t, r.WriteFile("nsys/stderr.log", []byte("srun: error: dead-a17: task 2: Killed\n")))
	var files []File
	for i, host := range hosts[:2] {
		name := fmt.Sprintf("nsys/run.%d.%s.txt", i, host)
		must(t, r.WriteFile(name, []byte("from "+hosts[0]+"\n")))
		hashed, err := r.HashFiles(ctx, name)
		must(t, err)
		hashed[0].Of = &timeline.Identity{Rank: &i, Host: host}
		files = append(files, hashed...)
	}
	must(t, r.EndAttempt("nsys", Result{Outcome: Outcome{Kind: "captured", Usable: true, Text: fact.FromText("good")}, Files: files}))
	must(t, r.Finish(StatusDone, fact.Fact{}))
	out := filepath.Join(t.TempDir(), "x"+PackExt)
	_, err := Pack(ctx, r, out, PackOptions{Redact: true})
	must(t, err)
	data := unzstd(t, out)
	for _, bad := range []string{hosts[0], hosts[2], ".node.", `"node"`} {
		if at := bytes.Index(data, []byte(bad)); at >= 0 {
			t.Errorf("%s is left: %.80q", bad, data[max(0, at-40):])
		}
	}
	m := openPack(t, out).Manifest()
	for i, f := range m.Steps[0].Attempts[0].Files {
		if f.Path != fmt.Sprintf("nsys/run.%d.redacted-host.txt", i) || !f.Omitted.IsZero() {
			t.Errorf("%+v", f)
		}
	}
}

func openPack(t *testing.T, path string) *Run {
	t.Helper()
	r, err := OpenWith(ctx, path, UnpackOptions{CacheDir: t.TempDir()})
	must(t, err)
	t.Cleanup(func() { r.Close() })
	return r
}

func TestPackRoundTrip(t *testing.T) {
	r := packable(t, t.TempDir())
	must(t, os.Symlink("/etc/passwd", r.Path("ncu/link")))
	out := filepath.Join(t.TempDir(), "run"+PackExt)
	rep, err := Pack(ctx, r, out, PackOptions{NsysReports: true})
	must(t, err)
	if rep.Files != 9 || len(rep.Omitted) != 1 || rep.Omitted[0].Path != "ncu/link" || rep.Bytes <= 0 {
		t.Errorf("report %+v", rep)
	}
	cache := t.TempDir()
	for pass := range 3 {
		p, err := OpenWith(ctx, out, UnpackOptions{CacheDir: cache})
		must(t, err)
		if p.ID() != r.ID() || p.Status() != StatusDone || p.writable() || p.Source() != out {
			t.Errorf("pass %d: %s %s %v %s", pass, p.ID(), p.Status(), p.writable(), p.Source())
		}
		for _, rel := range []string{"ncu/k.ncu-rep", "nsys/run.nsys-rep", "result.json", EnvName} {
			a, err1 := os.ReadFile(r.Path(rel))
			b, err2 := os.ReadFile(p.Path(rel))
			if err1 != nil || err2 != nil || !bytes.Equal(a, b) {
				t.Errorf("pass %d: %s differs: %v %v", pass, rel, err1, err2)
			}
		}
		if bad, err := Verify(ctx, p); err != nil || len(bad) > 0 {
			t.Errorf("pass %d: verify %v %v", pass, bad, err)
		}
		if _, err := Reopen(ctx, p.Dir()); err == nil {
			t.Error("a pack was resumed")
		}
		if pass == 0 { // damage the cache: the next use must notice
			must(t, os.WriteFile(p.Path("result.json"), []byte("{}"), 0o644))
		}
		must(t, p.Close())
	}
	if _, err := Pack(ctx, r, out, PackOptions{NsysReports: true}); err == nil {
		t.Error("an existing pack was overwritten unasked")
	}
	if _, err := Pack(ctx, r, out, PackOptions{Overwrite: true, NsysReports: true}); err != nil {
		t.Error(err)
	}
	// A pack of a pack is the same run.
	p := openPack(t, out)
	again := filepath.Join(t.TempDir(), "again"+PackExt)
	rep, err = Pack(ctx, p, again, PackOptions{NsysReports: true})
	if err != nil || rep.Files != 9 {
		t.Errorf("pack of a pack: %+v, %v", rep, err)
	}
}

func TestPackTemporaryWhenNoCache(t *testing.T) {
	r := packable(t, t.TempDir())
	out := filepath.Join(t.TempDir(), "run"+PackExt)
	_, err := Pack(ctx, r, out, PackOptions{})
	must(t, err)
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o644))
	p, err := OpenWith(ctx, out, UnpackOptions{CacheDir: filepath.Join(file, "cache")})
	must(t, err)
	dir := p.Dir()
	must(t, p.Close())
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the temporary folder is still there: %v", err)
	}
}

func TestPackRefusesRunning(t *testing.T) {
	r := mustCreate(t, t.TempDir(), CreateOptions{})
	if _, err := Pack(ctx, r, filepath.Join(t.TempDir(), "x"), PackOptions{}); !errors.Is(err, ErrRunning) {
		t.Errorf("pack of a running run: %v", err)
	}
}

func TestPackStrip(t *testing.T) {
	r := packable(t, t.TempDir())
	out := filepath.Join(t.TempDir(), "run"+PackExt)
	strip := func(r io.ReaderAt, size int64, w io.Writer) error {
		_, err := io.Copy(w, io.NewSectionReader(r, 0, 4))
		return err
	}
	rep, err := Pack(ctx, r, out, PackOptions{StripCubins: true, strip: strip})
	must(t, err)
	if len(rep.Altered) != 1 || rep.Altered[0].Altered != "stripped" || rep.Altered[0].Size != 4 {
		t.Errorf("report %+v", rep)
	}
	p := openPack(t, out)
	m := p.Manifest()
	if f := m.Step("ncu").Files()[1]; f.Path != "ncu/k.ncu-rep" || f.Size != 4 || f.Altered != "stripped" {
		t.Errorf("manifest of the pack lists %+v", f)
	}
	if bad, err := Verify(ctx, p); err != nil || len(bad) > 0 {
		t.Errorf("verify: %v, %v", bad, err)
	}
	// A report that cannot be stripped is packed as it is, and named.
	broken := func(io.ReaderAt, int64, io.Writer) error { return errors.New("truncated block") }
	rep, err = Pack(ctx, r, out, PackOptions{StripCubins: true, strip: broken, Overwrite: true})
	if err != nil || len(rep.Notes) != 1 || len(rep.Altered) != 0 {
		t.Errorf("report %+v, %v", rep, err)
	}
	if data, _ := os.ReadFile(openPack(t, out).Path("ncu/k.ncu-rep")); len(data) != len(report("/home/mallory/bin/toy", strings.Repeat("cubin", 100))) {
		t.Errorf("the report that could not be stripped has %d bytes", len(data))
	}
}

func TestPackRedact(t *testing.T) {
	r := packable(t, t.TempDir())
	must(t, r.reopenForTest(func() error { return r.WriteFile("workload/mallory.log", []byte("at /gpfs2/groups/x/y.bin\n")) }))
	out := filepath.Join(t.TempDir(), "run"+PackExt)
	rep, err := Pack(ctx, r, out, PackOptions{Redact: true})
	must(t, err)
	if len(rep.Omitted) != 1 || rep.Omitted[0].Path != "nsys/run.nsys-rep" {
		t.Errorf("omitted %+v", rep.Omitted)
	}
	whole := unzstd(t, out)
	for _, secret := range []string{"mallory", "node17", "/home", "/scratch", "/gpfs2", "hf_abc", "cluster.example"} {
		if i := bytes.Index(whole, []byte(secret)); i >= 0 {
			t.Errorf("%q is left: ...%q...", secret, whole[max(0, i-60):min(len(whole), i+60)])
		}
	}
	p := openPack(t, out)
	read := func(rel string) string {
		b, err := os.ReadFile(p.Path(rel))
		must(t, err)
		return string(b)
	}
	for rel, want := range map[string]string{
		"report.md":                  "# Report\nkernel `void k<(int)4>(float const*)` 3/4\n",
		"workload/redacted-user.log": "at /redacted/",
		"result.json":                "12345678901234567890.10",
		"config.yaml":                ".bin\n  name: llama\n",
		"ncu/stdout.log":             "redacted-host by redacted-user",
		EnvName:                      `"host.name": "removed by redaction"`,
		ManifestName:                 `"redacted": true`,
	} {
		if got := read(rel); !strings.Contains(got, want) {
			t.Errorf("%s reads %q, want %q in it", rel, got, want)
		}
	}
	if !strings.Contains(read("result.json"), "/model/layers.0/MatMul") {
		t.Error("the name of an operator was taken for a path")
	}
	var v any
	if err := json.Unmarshal([]byte(read("result.json")), &v); err != nil {
		t.Errorf("result.json is no longer JSON: %v", err)
	}
	if got := p.Manifest().Owner; got != (Owner{}) {
		t.Errorf("the owner is left: %+v", got)
	}
	plan := Show(p)
	if !plan.Files[3].Problem.Is(fileLeftOut) {
		t.Errorf("the file left out is shown as %+v", plan.Files[3])
	}
	// A report that is cut off cannot be cleaned and is left out.
	must(t, os.WriteFile(r.Path("ncu/k.ncu-rep"), []byte("NVR\x00\xff\x00\x00\x00/home/mallory"), 0o644))
	rep, err = Pack(ctx, r, out, PackOptions{Redact: true, Overwrite: true})
	if err != nil || len(rep.Omitted) != 2 || !strings.Contains(rep.Omitted[0].Why.Text("error"), "cut off") {
		t.Errorf("with a broken report: %+v, %v", rep.Omitted, err)
	}
}

// reopenForTest writes to a finished run.
func (r *Run) reopenForTest(f func() error) error {
	w, err := Reopen(ctx, r.Dir())
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.lock = w.lock
	r.mu.Unlock()
	err = f()
	return errors.Join(err, w.Finish(StatusDone, fact.Fact{}), r.Close())
}

func unzstd(t *testing.T, path string) []byte {
	t.Helper()
	f, err := os.Open(path)
	must(t, err)
	defer f.Close()
	z, err := zstd.NewReader(f)
	must(t, err)
	defer z.Close()
	b, err := io.ReadAll(z)
	must(t, err)
	return b
}

// forge writes a pack with any index and members.
func forge(t *testing.T, index any, members ...*tar.Header) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "evil"+PackExt)
	f, err := os.Create(path)
	must(t, err)
	defer f.Close()
	z, err := zstd.NewWriter(f)
	must(t, err)
	w := tar.NewWriter(z)
	head, err := json.Marshal(index)
	must(t, err)
	must(t, w.WriteHeader(&tar.Header{Name: format.PackIndex, Size: int64(len(head)), Mode: 0o644, Typeflag: tar.TypeReg}))
	_, err = w.Write(head)
	must(t, err)
	for _, h := range members {
		must(t, w.WriteHeader(h))
		if h.Typeflag == tar.TypeReg {
			_, err = w.Write(bytes.Repeat([]byte("x"), int(h.Size)))
			must(t, err)
		}
	}
	must(t, w.Close())
	must(t, z.Close())
	return path
}

func TestUnpackRefuses(t *testing.T) {
	run := File{Path: ManifestName, Size: 1, SHA256: sha("x")}
	reg := func(name string, n int64) *tar.Header {
		return &tar.Header{Name: name, Size: n, Mode: 0o644, Typeflag: tar.TypeReg}
	}
	index := func(files ...File) PackIndex { return PackIndex{Schema: 1, Files: files} }
	for name, c := range map[string]struct {
		path string
		want string
	}{
		"climbs":         {forge(t, index(run, File{Path: "../evil", Size: 1, SHA256: sha("x")}), reg("run/run.json", 1), reg("run/../evil", 1)), "not a path that a run may have"},
		"absolute":       {forge(t, index(run, File{Path: "/tmp/evil", Size: 1})), "not a path that a run may have"},
		"lock":           {forge(t, index(run, File{Path: ".lock", Size: 1})), "not a path that a run may have"},
		"twice":          {forge(t, index(run, run)), "listed twice"},
		"no manifest":    {forge(t, index()), "holds no run.json"},
		"too large":      {forge(t, index(run, File{Path: "a", Size: 1 << 40})), "limit"},
		"overflow":       {forge(t, index(run, File{Path: "a", Size: 1<<63 - 1}, File{Path: "b", Size: 1<<63 - 1})), "limit"},
		"negative":       {forge(t, index(run, File{Path: "a", Size: -1})), "limit"},
		"too many":       {forge(t, index(run, File{Path: "a"}, File{Path: "b"}, File{Path: "c"})), "more than the limit of 3"},
		"newer":          {forge(t, PackIndex{Schema: 9}), "schema 9"},
		"wrong content":  {forge(t, index(File{Path: ManifestName, Size: 1, SHA256: sha("y")}), reg("run/run.json", 1)), "damaged"},
		"other member":   {forge(t, index(run), reg("run/other", 1)), "in its place"},
		"other size":     {forge(t, index(run), reg("run/run.json", 2)), "in its place"},
		"link":           {forge(t, index(run), &tar.Header{Name: "run/run.json", Linkname: "/etc/passwd", Typeflag: tar.TypeSymlink}), "in its place"},
		"extra member":   {forge(t, index(run), reg("run/run.json", 1), reg("run/more", 1)), "not in the pack's index"},
		"missing member": {forge(t, index(run, File{Path: "a", Size: 1}), reg("run/run.json", 1)), "cut off"},
		"bad manifest":   {forge(t, index(run), reg("run/run.json", 1)), "run.json"},
		"not an index":   {forge(t, "hello"), "pack.json"},
	} {
		t.Run(name, func(t *testing.T) {
			cache := t.TempDir()
			r, err := OpenWith(ctx, c.path, UnpackOptions{CacheDir: cache, MaxFiles: 3})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("opened as %v, error %v; want %q", r, err, c.want)
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(cache), "evil")); err == nil {
				t.Error("a file was written outside")
			}
			left, _ := filepath.Glob(filepath.Join(cache, tempPrefix+"*"))
			if len(left) > 0 {
				t.Errorf("left in the cache: %v", left)
			}
		})
	}
}

func TestUnpackDamaged(t *testing.T) {
	r := packable(t, t.TempDir())
	must(t, os.WriteFile(r.Path("nsys/noise.bin"), noise(100_000), 0o644))
	out := filepath.Join(t.TempDir(), "run"+PackExt)
	_, err := Pack(ctx, r, out, PackOptions{})
	must(t, err)
	good, err := os.ReadFile(out)
	must(t, err)
	bad := filepath.Join(t.TempDir(), "bad")
	for _, cut := range []int{0, 1, 3, 4, 10, len(good) / 2, len(good) - 1} {
		must(t, os.WriteFile(bad, good[:cut], 0o644))
		if _, err := OpenWith(ctx, bad, UnpackOptions{CacheDir: t.TempDir()}); err == nil {
			t.Errorf("a pack cut to %d of %d bytes was opened", cut, len(good))
		}
	}
	for at := 4; at < len(good); at += len(good) / 40 {
		flipped := bytes.Clone(good)
		flipped[at] ^= 0x20
		must(t, os.WriteFile(bad, flipped, 0o644))
		p, err := OpenWith(ctx, bad, UnpackOptions{CacheDir: t.TempDir()})
		if err != nil {
			continue
		}
		if broken, _ := Verify(ctx, p); len(broken) > 0 {
			t.Errorf("a flipped bit at %d came through: %v", at, broken)
		}
	}
	for _, path := range []string{filepath.Join(t.TempDir(), "nosuch"), os.DevNull, t.TempDir()} {
		if _, err := Open(ctx, path); err == nil {
			t.Errorf("%s was opened as a run", path)
		}
	}
	text := filepath.Join(t.TempDir(), "text")
	must(t, os.WriteFile(text, []byte("just text, longer than a magic"), 0o644))
	if _, err := Open(ctx, text); !errors.Is(err, ErrNotRun) {
		t.Errorf("a text file: %v", err)
	}
}

const secretPlain = "correct horse battery staple"

// writeTimeline writes a synthetic timeline whose environment names a host, a
// user and a secret.
func writeTimeline(t *testing.T, path string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	db, err := sqlite3.Open(path)
	must(t, err)
	must(t, db.Exec(`CREATE TABLE META_DATA_CAPTURE (name TEXT NOT NULL, value TEXT);
		INSERT INTO META_DATA_CAPTURE VALUES ('PROCESS_0:ENVIRONMENT_VARIABLE', 'DB_PASSWORD=`+secretPlain+`'), ('EXPORT_USER', 'trudy'), ('EXPORT_HOST', 'gpunode42')`))
	must(t, db.Close())
}

func TestPackRedactsTimeline(t *testing.T) {
	r := packable(t, t.TempDir())
	writeTimeline(t, r.Path("nsys/run.sqlite"))
	// A secret known only from the timeline is removed from a log, too.
	must(t, os.WriteFile(r.Path("nsys/stderr.log"), []byte("login with "+secretPlain+" on gpunode42 as trudy\n"), 0o644))
	out := filepath.Join(t.TempDir(), "run"+PackExt)
	_, err := Pack(ctx, r, out, PackOptions{Redact: true})
	must(t, err)
	whole := unzstd(t, out)
	for _, s := range []string{secretPlain, "trudy", "gpunode42", "mallory"} {
		if bytes.Contains(whole, []byte(s)) {
			t.Errorf("%q is left in the pack", s)
		}
	}
	p := openPack(t, out)
	if _, err := sqlite.Open(p.Path("nsys/run.sqlite")); err != nil {
		t.Error(err)
	}
	if log, _ := os.ReadFile(p.Path("nsys/stderr.log")); string(log) != "login with [redacted] on redacted-host as redacted-user\n" {
		t.Errorf("log reads %q", log)
	}
	// A timeline that still has a write-ahead log would be incomplete.
	must(t, os.WriteFile(r.Path("nsys/run.sqlite-wal"), []byte("frames"), 0o644))
	rep, err := Pack(ctx, r, out, PackOptions{Redact: true, Overwrite: true})
	must(t, err)
	if text := fmt.Sprint(rep.Omitted); !slices.ContainsFunc(rep.Omitted, func(w Warning) bool { return w.Path == "nsys/run.sqlite" && w.Why.Is(packLog) }) {
		t.Errorf("omitted: %s", text)
	}
}

// report is a synthetic .ncu-rep of one message per text.
func report(texts ...string) string {
	out := []byte("NVR\x00")
	for _, s := range texts {
		msg := protowire.AppendString(protowire.AppendTag(nil, 8, protowire.BytesType), s)
		out = append(binary.LittleEndian.AppendUint32(out, uint32(len(msg))), msg...)
	}
	return string(out)
}

// TestPackRawReports: a report that cannot be cleaned is left out unless it is
// asked for, and what is in it is told.
func TestPackRawReports(t *testing.T) {
	r := packable(t, t.TempDir())
	var raw []byte
	for _, kv := range []string{"HF_TOKEN=hf_" + planted.Made(90, 30), "LANG=C"} {
		raw = append(append(raw, 0x0a, byte(len(kv))), kv...)
	}
	must(t, os.WriteFile(r.Path("nsys/run.nsys-rep"), append([]byte("NVIDIA Tegra Profiler Report 1."), raw...), 0o644))
	out := filepath.Join(t.TempDir(), "run"+PackExt)
	rep, err := Pack(ctx, r, out, PackOptions{})
	must(t, err)
	if !slices.ContainsFunc(rep.Omitted, func(w Warning) bool { return w.Path == "nsys/run.nsys-rep" }) || bytes.Contains(unzstd(t, out), raw) {
		t.Errorf("omitted: %v", rep.Omitted)
	}
	rep, err = Pack(ctx, r, out, PackOptions{NsysReports: true, Overwrite: true})
	must(t, err)
	if len(rep.Notes) != 1 || rep.Notes[0].Why.Text("names") != "HF_TOKEN, LANG" || rep.Notes[0].Why.Text("secrets") != "HF_TOKEN" || !bytes.Contains(unzstd(t, out), raw) {
		t.Errorf("notes: %v", rep.Notes)
	}
}
