package flops

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// counted is what a class of transformers 5.17 has, built on the meta device by
// scripts/validate/params, and for small models what torch's FlopCounterMode saw
// in prefill of 2 x 24 tokens and in one decode step.
type counted struct {
	Class      string `json:"class"`
	Parameters int64  `json:"parameters"`
	Prefill    int64  `json:"prefill"`
	Decode     int64  `json:"decode"`
	// MM: only products of matrices with weights. What torch counts of recurrent
	// states depends on the kernels, of which it sees none.
	MM bool `json:"mm"`
}

// published are counts of models whose class cannot be built: that of dbrx in
// transformers 5.17 fails on a field that its configs lack.
var published = map[string]counted{"real/dbrx": {Parameters: 131596523520}}

func fixture(t testing.TB, name string) *Model {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "models", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m, err := Parse(f)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return m
}

func fixtures(t testing.TB) []string {
	t.Helper()
	paths, err := filepath.Glob("testdata/models/*/*.json")
	if err != nil || len(paths) < 100 {
		t.Fatalf("%d configs, %v", len(paths), err)
	}
	var out []string
	for _, path := range paths {
		out = append(out, strings.TrimSuffix(strings.TrimPrefix(filepath.ToSlash(path), "testdata/models/"), ".json"))
	}
	return out
}

// TestFamilies: every family has the parameters of the real class, and no config
// of a known family has a field that is not understood.
func TestFamilies(t *testing.T) {
	want := transformersCounts(t)
	seen := map[string]bool{}
	for _, name := range fixtures(t) {
		m := fixture(t, name)
		w, ok := want[name]
		if !ok {
			w, ok = published[name]
		}
		if !ok {
			t.Errorf("%s: nothing to compare with", name)
		}
		equal(t, name, m.Parameters(), w.Parameters)
		if len(m.warnings) > 0 {
			t.Errorf("%s: %+v", name, m.warnings)
		}
		for _, f := range m.assumptions {
			if f.Is(FieldsUnused) {
				t.Errorf("%s: %+v", name, f)
			}
		}
		for _, kind := range []string{m.Type, strings.TrimSuffix(m.Type, "_text"), aliases[m.Type]} {
			seen[kind] = true
		}
	}
	for name := range families {
		if !seen[name] && name != "deepseek_ocr2" { // TestOCR2
			t.Errorf("family %s is held against nothing", name)
		}
	}
}

func transformersCounts(t testing.TB) map[string]counted {
	t.Helper()
	text, err := os.ReadFile("testdata/models/transformers-5.17.json")
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]counted
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestFamilyFLOPs: the FLOPs of small models are those that torch saw, prefill
// and decode.
func TestFamilyFLOPs(t *testing.T) {
	for name, w := range transformersCounts(t) {
		if w.Prefill == 0 {
			continue
		}
		m := fixture(t, name)
		r := count(t, m, Shape{Batch: 2, Prompt: 24, New: 2})
		for stageName, want := range map[string]int64{"prefill": w.Prefill, "decode": w.Decode} {
			got := int64(0)
			for _, c := range stage(t, r, stageName).Components {
				if !w.MM || !slices.Contains([]string{Scores, StateUpdate, Convolution, Rotary}, c.Name) {
					got += c.Torch
				}
			}
			equal(t, name+" "+stageName, got, want)
		}
	}
}
