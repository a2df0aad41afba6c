package format

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// heads are synthetic beginnings of files of every kind that has content.
var heads = map[Kind]string{
	SQLite:      "SQLite format 3\x00\x10\x00",
	NsysReport:  "NVIDIA Tegra Profiler Report 36398880.\n",
	NcuReport:   "NVR\x00\x02\x00\x00\x00",
	Stream:      "U3w[END]rest",
	CutStream:   "\x00\xff\x00\xff\x00\xff\x00\xff\x00",
	Parquet:     "PAR1\x15\x04",
	Result:      `{"schema":2,"deepprof_version":"1","source":{"files":[{"path":"x"}]}}`,
	Targets:     `{"schema":1,"timeline":"run.sqlite","limits":{}}`,
	Operators:   `{"schema":1,"activities":["cpu"],"operators":[]}`,
	Metrics:     `{"schema":1,"complete":true,"kind":"causal_lm","stage":"baseline"}`,
	Flops:       `{"schema":1,"model":{},"shape":{}}`,
	ModelConfig: `{"architectures":["X"],"model_type":"llama"}`,
	JSON:        `{"rows":[1,2]}`,
	NcuCSV:      "==PROF== Connected\n\"ID\",\"Process ID\",\"Process Name\"\n",
	NsysCSV:     "Time (%),Total Time (ns),Instances\n100.0,5,1\n",
	CSV:         "epoch 1, loss 2\n",
	Unknown:     "hello",
	Empty:       "",
}

func write(t *testing.T, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func gzipped(data string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	io.WriteString(z, data)
	z.Close()
	return b.Bytes()
}

func zstded(t *testing.T, data string) []byte {
	t.Helper()
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return z.EncodeAll([]byte(data), nil)
}

func TestRecognize(t *testing.T) {
	for kind, head := range heads {
		for _, c := range []struct {
			name string
			data []byte
		}{{"", []byte(head)}, {"gzip", gzipped(head)}, {"zstd", zstded(t, head)}} {
			if kind == Empty && c.name != "" {
				continue
			}
			f, err := Recognize(write(t, "anything", c.data))
			if err != nil || f.Kind != kind || f.Compression != c.name {
				t.Errorf("%s %s: recognized as %s %s, %v", c.name, kind, f.Compression, f.Kind, err)
			}
			if f.Description == "" {
				t.Errorf("%s has no description", kind)
			}
		}
	}
}

// TestFormatsAreTested: a new row needs a sample above.
func TestFormatsAreTested(t *testing.T) {
	for _, f := range formats {
		if _, ok := heads[f.Kind]; !ok && f.Kind != Pack {
			t.Errorf("no sample of %s", f.Kind)
		}
	}
}

func TestRecognizeJSONByName(t *testing.T) {
	if f, err := Recognize(write(t, "flops.json", []byte(`{"total":1}`))); err != nil || f.Kind != Flops {
		t.Errorf("%s, %v", f.Kind, err)
	}
	// A log that begins like JSON is not.
	if f, _ := Recognize(write(t, "result.json", []byte("{\"a\":1} and, then text"))); f.Kind != CSV {
		t.Errorf("%s", f.Kind)
	}
}

func TestRecognizeFolders(t *testing.T) {
	dir := t.TempDir()
	if f, err := Recognize(dir); err != nil || f.Kind != Folder {
		t.Errorf("%s, %v", f.Kind, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "run.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if f, err := Recognize(dir); err != nil || f.Kind != Run {
		t.Errorf("%s, %v", f.Kind, err)
	}
}

// TestRecognizeRefuses: what cannot be read as a file is refused without opening
// it, which could wait for ever.
func TestRecognizeRefuses(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := exec.Command("mkfifo", fifo).Run(); err != nil {
		t.Fatal(err)
	}
	sparse := write(t, "sparse.nsys-rep", []byte(heads[NsysReport]))
	if err := os.Truncate(sparse, 10<<30); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]error{
		fifo: errNotFile, "/dev/zero": errNotFile, sparse: ErrHoles, "a\xff.sqlite": ErrPath,
		filepath.Join(t.TempDir(), "none"): os.ErrNotExist,
	} {
		if _, err := Recognize(path); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", path, err, want)
		}
	}
}

func TestPlain(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	content := heads[NcuReport] + strings.Repeat("content", 1000)
	for name, data := range map[string][]byte{"r.ncu-rep.gz": gzipped(content), "r.ncu-rep.zst": zstded(t, content), "r.ncu-rep": []byte(content)} {
		path := write(t, name, data)
		plain, done, err := Plain(context.Background(), path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(plain)
		if err != nil || string(got) != content || filepath.Base(plain) != "r.ncu-rep" {
			t.Errorf("%s: %d bytes in %s, %v", name, len(got), plain, err)
		}
		done()
		if _, err := os.Stat(path); err != nil {
			t.Errorf("the input is gone: %v", err)
		}
	}
	if left, _ := os.ReadDir(os.TempDir()); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestPlainSweeps: the copy of a process that was killed goes with the next one.
func TestPlainSweeps(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	dead := filepath.Join(os.TempDir(), tempPrefix+"plain-2147483646-x")
	if err := os.Mkdir(dead, 0o700); err != nil {
		t.Fatal(err)
	}
	_, done, err := Plain(context.Background(), write(t, "r.sqlite.gz", gzipped(heads[SQLite])))
	if err != nil {
		t.Fatal(err)
	}
	done()
	if _, err := os.Stat(dead); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder of a dead process is still there: %v", err)
	}
}

// TestPlainBomb: data that is made to fill a disk is refused, and nothing of it
// stays.
func TestPlainBomb(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var b bytes.Buffer
	z, err := zstd.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(z, heads[SQLite])
	zeros := make([]byte, 1<<20)
	for range freeRatio>>20 + 1 {
		z.Write(zeros)
	}
	z.Close()
	_, _, err = Plain(context.Background(), write(t, "bomb.sqlite.zst", b.Bytes()))
	if !errors.Is(err, ErrTooLarge) {
		t.Errorf("%d bytes of zeros in %d: %v", freeRatio, b.Len(), err)
	}
	if left, _ := os.ReadDir(os.TempDir()); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestBaseName(t *testing.T) {
	for path, want := range map[string]string{"a/report.sqlite.gz": "report", "r.ncu-rep": "r", "x.nsys-rep.zst": "x", "plain": "plain"} {
		if got := BaseName(path); got != want {
			t.Errorf("BaseName(%s) = %s", path, got)
		}
	}
}
