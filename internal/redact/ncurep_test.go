package redact

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/deepprof/deepprof/internal/fixture"
	"github.com/deepprof/deepprof/internal/ncurep"
)

const reportMagic = "NVR\x00"

func field(b []byte, num protowire.Number, v string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, num, protowire.BytesType), v)
}

// report builds a file of framed messages, each text in a message of its own.
func report(texts ...string) string {
	out := []byte(reportMagic)
	for _, s := range texts {
		inner := field(nil, 8, s) // its tag is the letter B: it could go on a path
		msg := field(field(nil, 1, string(inner)), 8, "in "+s)
		msg = protowire.AppendVarint(protowire.AppendTag(msg, 3, protowire.VarintType), 1<<40)
		out = append(binary.LittleEndian.AppendUint32(out, uint32(len(msg))), msg...)
	}
	return string(out)
}

func TestEditFramed(t *testing.T) {
	run := func(in string, edit func(string) string) (string, error) {
		var out bytes.Buffer
		err := ncurep.EditTexts(strings.NewReader(in), int64(len(in)), &out, edit)
		return out.String(), err
	}
	same := func(s string) string { return s }
	elf := "\x7fELF\x02\x01\xff\x00.text\x00/home/mallory/k.cu\x00\xfe\xff"
	in := report("/home/mallory/bin/toy", "void k<(int)4>(float*)", elf, "A=1\x00B=2\x00HOME=/home/mallory")
	if got, err := run(in, same); err != nil || got != in {
		t.Errorf("without an edit the copy differs: %v", err)
	}
	r := testRedactor()
	got, err := run(in, r.cleanString)
	must(t, err)
	if len(got) != len(in) || strings.Contains(got, "mallory") || strings.Contains(got, "/home") {
		t.Errorf("edited: %q", got)
	}
	for _, keep := range []string{"void k<(int)4>(float*)", "\x7fELF\x02\x01\xff\x00.text\x00/redacted/xxxxxxxx\x00\xfe\xff", "/redacted/xxxxxxxxxxx", "(environment removed)"} {
		if !strings.Contains(got, keep) {
			t.Errorf("%q is not in %q", keep, got)
		}
	}
	if again, err := run(got, same); err != nil || again != got {
		t.Errorf("the edited report cannot be read: %v", err)
	}
	for _, bad := range []string{"", "NVR", "PK\x03\x04", in[:len(in)-1], in[:6], reportMagic + "\x02\x00\x00\x00\xff\xff"} {
		if _, err := run(bad, same); err == nil {
			t.Errorf("%.20q was accepted", bad)
		}
	}
}

func FuzzEditFramed(f *testing.F) {
	f.Add([]byte(report("/home/mallory/bin/toy", "x")))
	f.Fuzz(func(t *testing.T, data []byte) {
		var out bytes.Buffer
		if ncurep.EditTexts(bytes.NewReader(data), int64(len(data)), &out, testRedactor().cleanString) == nil && out.Len() != len(data) {
			t.Errorf("%d bytes became %d", len(data), out.Len())
		}
	})
}

// A report of the real tool, with its paths removed, still opens in it and
// gives the same counters.
func TestRedactRealReport(t *testing.T) {
	data := fixture.Read(t, "testdata/toy_range.ncu-rep.gz")
	var out bytes.Buffer
	must(t, ncurep.EditTexts(bytes.NewReader(data), int64(len(data)), &out, testRedactor().cleanString))
	if !bytes.Contains(data, []byte("/tmp/w")) || bytes.Contains(out.Bytes(), []byte("/tmp/w")) || out.Len() != len(data) {
		t.Errorf("a path is left, or was never there")
	}
	base := os.Getenv("DEEPPROF_NSIGHT")
	if base == "" {
		t.Skip("DEEPPROF_NSIGHT names no folder with ncu: the cleaned report was not opened in it")
	}
	raw := func(data []byte) string {
		path := filepath.Join(t.TempDir(), "r.ncu-rep")
		must(t, os.WriteFile(path, data, 0o644))
		c := exec.CommandContext(t.Context(), filepath.Join(base, "trixie", "ncu"), "--import", path, "--page", "raw", "--csv")
		c.Env = append(os.Environ(), "LC_ALL=C")
		text, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		return string(text)
	}
	before, after := raw(data), raw(out.Bytes())
	if !strings.Contains(before, `"toy"`) || strings.ReplaceAll(before, `"toy"`, `"xxxxxxxxxx"`) != after {
		t.Errorf("ncu prints other counters:\n%.600s\nand\n%.600s", before, after)
	}
}
