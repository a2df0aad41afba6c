package analysis

import "testing"

// TestHostFrames tells what Python did while the GPU waited for it.
func TestHostFrames(t *testing.T) {
	r := analyzeFiles(t, "../nsys/testdata/exports/python.sqlite.gz")
	if len(r.Stages) != 1 || len(r.Stages[0].HostFrames) == 0 {
		t.Fatalf("%+v", r.Stages)
	}
	if f := r.Stages[0].HostFrames[0]; f.Function != "sdpa_attention_forward" || f.Samples != 147 {
		t.Errorf("%+v", f)
	}
	said := false
	for _, f := range r.Findings {
		for _, more := range f.Params["more"].Facts {
			said = said || more.Code == codeHostFrames
		}
	}
	if !said {
		t.Errorf("no finding names the code: %+v", r.Findings)
	}
}
