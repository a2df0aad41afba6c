package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/analysis"
)

func rooflineResult() *analysis.Result {
	return &analysis.Result{
		Kernels: []analysis.Kernel{{ID: "k1", Short: `gemm<"&'\x01>`}, {ID: "k2", Short: "copy"}},
		Roofline: analysis.Roofline{
			Roofs: []analysis.Peak{
				{ID: "dram", Value: 4.8e12, Unit: "byte/s", Measured: true},
				{ID: "tensor_bf16", Value: 9.9e14, Unit: "flop/s"},
				{ID: "fp64", Value: 3e13, Unit: "flop/s", Measured: true},
			},
			Points: []analysis.Point{
				{Kernel: "k1", DType: "tensor_bf16", Memory: "dram", Intensity: 900, FLOPS: 7.8e14, Attained: 0.79, NS: 1000},
				{Kernel: "k2", DType: "tensor_bf16", Memory: "dram", Intensity: 0.5, FLOPS: 1e12, Attained: 0.4, NS: 10},
			},
		},
	}
}

func TestRooflineSVG(t *testing.T) {
	var b bytes.Buffer
	if err := RooflineSVG(&b, rooflineResult()); err != nil {
		t.Fatal(err)
	}
	wellFormed(t, b.String())
	for _, want := range []string{"gemm&lt;&quot;&amp;&#39;", "bf16 tensor, dense 990 TFLOP/s (not measured)", "DRAM 4.8 TB/s<", "79 % of its roof"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the picture lacks %q", want)
		}
	}
	if strings.Contains(b.String(), "fp64 30") {
		t.Error("a roof that no point refers to is drawn")
	}
	if n := strings.Count(b.String(), "<circle class=\"dram\" cx"); n < 2 {
		t.Errorf("%d dots, want one for each point", n)
	}
	recorded := rooflineResult()
	recorded.Source.Recorded = true
	var marked bytes.Buffer
	if err := RooflineSVG(&marked, recorded); err != nil || !strings.Contains(marked.String(), "recorded run") || strings.Contains(b.String(), "recorded run") {
		t.Error("a recorded run is not marked, or another is")
	}
	wellFormed(t, marked.String())
	var again bytes.Buffer
	if err := RooflineSVG(&again, rooflineResult()); err != nil || again.String() != b.String() {
		t.Error("two pictures of the same result differ")
	}
}

func TestRooflineSVGWithoutPoints(t *testing.T) {
	var b bytes.Buffer
	r := &analysis.Result{Roofline: analysis.Roofline{Why: says("no <counters> were taken")}}
	if err := RooflineSVG(&b, r); err != nil {
		t.Fatal(err)
	}
	wellFormed(t, b.String())
	if !strings.Contains(b.String(), "no &lt;counters&gt; were taken") {
		t.Error("the reason is missing")
	}
}

func wellFormed(t *testing.T, text string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("not well-formed: %v", err)
		}
	}
}
