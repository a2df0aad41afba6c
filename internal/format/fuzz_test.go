package format

import (
	"os"
	"path/filepath"
	"testing"
)

// FuzzRecognize: every content has a kind or an error.
func FuzzRecognize(f *testing.F) {
	for _, s := range []string{"", "SQLite format 3\x00", "NVR\x00", "NVIDIA Tegra Profiler Report ", "PAR1", `{"schema":2}`, "\x1f\x8b\x08", "\x28\xb5\x2f\xfd", "\"ID\",\"Process ID\"\n"} {
		f.Add([]byte(s))
	}
	path := filepath.Join(f.TempDir(), "file")
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		if got, err := Recognize(path); err == nil && got.Kind == "" {
			t.Errorf("%q has no kind", data)
		}
	})
}
