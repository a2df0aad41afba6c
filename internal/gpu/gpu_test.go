package gpu

import (
	"math"
	"testing"
)

// The published dense figures of well-known boards.
func TestPeaksOfBoards(t *testing.T) {
	for _, c := range []struct {
		board   string
		compute string
		sms     int
		hz      float64
		dtype   DType
		want    float64 // TFLOP/s
	}{
		{"V100 SXM2", "7.0", 80, 1.53e9, TensorFP16, 125},
		{"T4", "7.5", 40, 1.59e9, TensorFP16, 65},
		{"A100 SXM4", "8.0", 108, 1.41e9, TensorBF16, 312},
		{"A100 SXM4", "8.0", 108, 1.41e9, TensorTF32, 156},
		{"A100 SXM4", "8.0", 108, 1.41e9, FP64, 9.7},
		{"A10", "8.6", 72, 1.695e9, TensorFP16, 125},
		{"L40S", "8.9", 142, 2.52e9, TensorBF16, 362},
		{"H100 SXM5", "9.0", 132, 1.83e9, TensorBF16, 989},
		{"H100 SXM5", "9.0", 132, 1.83e9, TensorFP8, 1979},
		{"H100 SXM5", "9.0", 132, 1.98e9, FP32, 67},
		{"H100 SXM5", "9.0", 132, 1.98e9, TensorFP64, 67},
	} {
		a, ok := Lookup(c.compute)
		if !ok {
			t.Fatalf("no architecture %s", c.compute)
		}
		got, ok := a.Peak(c.dtype, c.sms, c.hz)
		if !ok || math.Abs(got/1e12-c.want) > 0.02*c.want {
			t.Errorf("%s %s: %.1f TFLOP/s, published %.1f", c.board, c.dtype, got/1e12, c.want)
		}
	}
	if _, ok := Lookup("3.5"); ok {
		t.Error("an architecture that is not in the table was found")
	}
	a, _ := Lookup("7.0")
	if _, ok := a.Peak(TensorBF16, 80, 1e9); ok {
		t.Error("Volta has no bf16 tensor cores")
	}
}

func TestParse(t *testing.T) {
	for name, want := range map[string]DType{
		"torch.bfloat16": TensorBF16, "half": TensorFP16, "fp8_e4m3": TensorFP8, "float8_e5m2": TensorFP8, "float32": FP32, "double": FP64, "TF32": TensorTF32,
	} {
		if got, ok := Parse(name); !ok || got != want {
			t.Errorf("Parse(%q) = %q, want %q", name, got, want)
		}
	}
	if _, ok := Parse("int4"); ok {
		t.Error("int4 has no peak in the table")
	}
}
