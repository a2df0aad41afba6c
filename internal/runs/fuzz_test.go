package runs

import (
	"archive/tar"
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/deepprof/deepprof/internal/format"
)

// FuzzExtract: whatever the archive in a pack holds, nothing outside the folder
// is written, and no more than the limit inside it.
func FuzzExtract(f *testing.F) {
	for _, name := range []string{"run.json", "../out", "/etc/x", "a/../../out"} {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		index := `{"schema":1,"files":[{"path":"run.json","size":2,"sha256":"44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"},{"path":"` + name + `","size":2}]}`
		for _, m := range []struct{ name, text string }{{format.PackIndex, index}, {packRoot + "run.json", "{}"}, {packRoot + name, "{}"}} {
			if err := w.WriteHeader(&tar.Header{Name: m.name, Size: int64(len(m.text)), Mode: 0o644}); err != nil {
				f.Fatal(err)
			}
			w.Write([]byte(m.text))
		}
		w.Close()
		f.Add(b.Bytes())
	}
	z, err := zstd.NewWriter(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		const limit = 1 << 20
		top := t.TempDir()
		dir, pack := filepath.Join(top, "in"), filepath.Join(top, "pack")
		must(t, os.Mkdir(dir, 0o755))
		must(t, os.WriteFile(pack, z.EncodeAll(data, nil), 0o644))
		_ = extract(ctx, pack, dir, UnpackOptions{MaxBytes: limit, MaxFiles: 100})
		if left, err := os.ReadDir(top); err != nil || len(left) != 2 {
			t.Errorf("written beside the folder: %v, %v", left, err)
		}
		if n, _ := dirSize(dir); n > limit+maxManifest {
			t.Errorf("%d bytes written", n)
		}
	})
}

// FuzzParseGPUs: whatever nvidia-smi prints, each GPU has an index and its values,
// or the reason why not.
func FuzzParseGPUs(f *testing.F) {
	f.Add("0, NVIDIA H200, 590.48.01, GPU-1, 9.0, 1980, 3201, 143771, 700.00, Enabled, Disabled\n")
	f.Add("[N/A], [Unknown Error]\n")
	f.Fuzz(func(t *testing.T, text string) {
		var env Env
		if err := parseGPUs(&env, text, nil); err == nil && len(env.GPUs) == 0 {
			t.Errorf("%q: no GPU and no error", text)
		}
	})
}

// FuzzReadFolder: whatever the small files of a run hold, they are read or refused.
func FuzzReadFolder(f *testing.F) {
	f.Add("time,step\n", `{"schema":2,"name":"a","stamp":{"inode":1},"summary":{"id":"a"}}`, `{"tags":["a"]}`)
	f.Add("", "", `{"tags":null}`)
	f.Fuzz(func(t *testing.T, conditions, index, tags string) {
		dir := t.TempDir()
		for name, text := range map[string]string{ConditionsName: conditions, indexName: index, tagsName: tags} {
			must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		}
		_, _ = ReadConditions(dir)
		_, _ = readIndex(dir)
		if got := ReadTags(dir); got.check() != nil || got.Tags == nil {
			t.Errorf("%+v", got)
		}
	})
}
