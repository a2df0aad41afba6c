package ncurep

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// withCubin puts contents into the first source of a report.
func withCubin(t *testing.T, b []byte, cubin []byte) []byte {
	t.Helper()
	r, err := NewReader(bytes.NewReader(b), int64(len(b)), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, bl := range r.blocks {
		if bl.sources != 1 {
			continue
		}
		entry := bytes.Clone(b[bl.at+4 : bl.at+bl.size])
		entry = protowire.AppendBytes(protowire.AppendTag(entry, 4, protowire.BytesType), cubin)
		payload := append([]byte{byte(len(entry)), byte(len(entry) >> 8), byte(len(entry) >> 16), 0}, entry...)
		start := headerStart(b, bl.at)
		header := withPayloadSize(b[start+4:bl.at], uint64(len(payload)))
		out := append([]byte(nil), b[:start]...)
		out = append(out, byte(len(header)), byte(len(header)>>8), byte(len(header)>>16), 0)
		out = append(append(out, header...), payload...)
		return append(out, b[bl.at+bl.size:]...)
	}
	t.Fatal("no source in the report")
	return nil
}

// headerStart finds the frame of the header that ends at a payload.
func headerStart(b []byte, payload int64) int64 {
	for at := payload - 5; at > 0; at-- {
		n := int64(b[at]) | int64(b[at+1])<<8 | int64(b[at+2])<<16 | int64(b[at+3])<<24
		if at+4+n == payload {
			return at
		}
	}
	return -1
}

func TestStrip(t *testing.T) {
	original := fixture(t, "toy_nest.ncu-rep")
	cubin := bytes.Repeat([]byte("cubin "), 100_000)
	big := withCubin(t, original, cubin)
	var out bytes.Buffer
	if err := Strip(bytes.NewReader(big), int64(len(big)), &out); err != nil {
		t.Fatal(err)
	}
	if out.Len() > len(original)+100 || out.Len() > len(big)-len(cubin) {
		t.Errorf("%d bytes left of %d", out.Len(), len(big))
	}
	opts := Options{Instances: true, Rules: true, Sections: true, Sources: true}
	want, got := dumpBytes(t, original, opts), dumpBytes(t, out.Bytes(), opts)
	if !bytes.Equal(stripSourceLines(want), stripSourceLines(got)) {
		t.Error("the copy reads differently")
	}
}

func dumpBytes(t *testing.T, b []byte, opts Options) []byte {
	t.Helper()
	r, err := NewReader(bytes.NewReader(b), int64(len(b)), opts)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := Dump(&out, r); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func stripSourceLines(b []byte) []byte {
	i := bytes.Index(b, []byte("\nsource "))
	if i < 0 {
		return b
	}
	return b[:i]
}

func TestStripBadInput(t *testing.T) {
	var out bytes.Buffer
	if err := Strip(bytes.NewReader([]byte("nonsense")), 8, &out); !errors.Is(err, errFormat) {
		t.Errorf("nonsense: %v", err)
	}
	b := fixture(t, "toy_nest.ncu-rep")
	out.Reset()
	if err := Strip(bytes.NewReader(b[:len(b)-1000]), int64(len(b)-1000), &out); err != nil {
		t.Fatal(err)
	}
	if rep := readBytes(t, out.Bytes(), Options{}); len(rep.Results) != 5 || len(rep.Warnings) != 0 {
		t.Errorf("%d results, warnings %v", len(rep.Results), rep.Warnings)
	}
}

// The vendor's tool opens a stripped report and prints the same page.
func TestStripWithNcu(t *testing.T) {
	ncu := vendor(t, "trixie")
	original := fixture(t, "toy_nest.ncu-rep")
	big := withCubin(t, original, bytes.Repeat([]byte("cubin "), 1000))
	var out bytes.Buffer
	if err := Strip(bytes.NewReader(big), int64(len(big)), &out); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "stripped.ncu-rep")
	if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	page, err := importRaw(t.Context(), path, ncu.Path, "auto")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(page, fixture(t, "toy_nest.2024.1.raw.csv")) {
		t.Error("ncu prints another page of the stripped report")
	}
}
