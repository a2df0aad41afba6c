package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/runs"
)

// A manifest of schema 2 that holds sentences in place of facts, as versions before
// the facts wrote it, reads and is shown with them. Synthetic.
const oldSentences = `{"schema":2,"id":"20260101T000000Z-1-000000000001","status":"failed","reason":"nsys: it failed","created":"2026-01-01T00:00:00Z","updated":"2026-01-01T00:00:00Z","owner":{},
"warnings":["the clocks were held down"],
"steps":[{"name":"unprofiled","state":"skipped","reason":"turned off"},
{"name":"nsys","state":"failed","reason":"it failed","attempts":[{"started":"2026-01-01T00:00:00Z","outcome":{"kind":"workload failed","usable":true,
"text":"nsys ended","evidence":"exit code 7","cause":"an error of its own","next":"read its output",
"warnings":["of schema 1",{"code":"exit","scope":"cublas","text":"of schema 2","next":"look at it"}]}}]}]}`

func TestSentencesOfEarlierVersions(t *testing.T) {
	m, err := runs.ParseManifest([]byte(oldSentences))
	if err != nil {
		t.Fatal(err)
	}
	o := m.Step("nsys").Last().Outcome
	if len(o.Warnings) != 2 || o.Warnings[1].Scope != "cublas" {
		t.Errorf("warnings %+v", o.Warnings)
	}
	d := &runs.Detail{Reason: m.Reason.Fact, Steps: []runs.StepRow{{Name: "unprofiled", Reason: m.Step("unprofiled").Reason.Fact}, {Name: "nsys", Outcome: o}}}
	for _, w := range m.Warnings {
		d.Warnings = append(d.Warnings, w.Fact)
	}
	var b bytes.Buffer
	if err := WriteRun(&b, Run(d)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"(nsys: it failed)", "reason    turned off", "workload failed: nsys ended", "evidence  exit code 7", "cause     an error of its own",
		"next      read its output", "warning   of schema 1\n", "warning   of schema 2; look at it\n", "warning: the clocks were held down"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
}
