package tool

import "testing"

// FuzzParseVersion: whatever a program prints for its version, it is one or refused.
func FuzzParseVersion(f *testing.F) {
	f.Add("NVIDIA Nsight Systems version 2025.3.2.474-253236389321v0")
	f.Add("Python 3.13.0rc2")
	f.Fuzz(func(t *testing.T, text string) {
		for name := range versionLines {
			if v, err := ParseVersion(name, text); err == nil && min(v.Major, v.Minor, v.Patch, v.Build) < 0 {
				t.Errorf("%s %q: %+v", name, text, v)
			}
		}
	})
}

// FuzzParseStat: a process may have any name.
func FuzzParseStat(f *testing.F) {
	f.Add([]byte("7 (a ) b) S 1 7 7 0 -1 4194560 1 0 0 0 1 2 0 0 20 0 1 0 99 1 1"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if p, ok := parseStat(7, data); ok && p.pid != 7 {
			t.Errorf("%+v", p)
		}
	})
}
