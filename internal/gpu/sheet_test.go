package gpu

import (
	"math"
	"testing"
)

// Devices are found by the names that CUDA gives them; parts of them are not.
func TestSheet(t *testing.T) {
	for name, bf16 := range map[string]float64{
		"NVIDIA H200": 989.4, "NVIDIA H100 80GB HBM3": 989.4, "NVIDIA H100 PCIe": 756, "NVIDIA A100-SXM4-80GB": 312, "NVIDIA A100 80GB PCIe": 312, "NVIDIA A100-PCIE-40GB": 312,
		"NVIDIA GeForce RTX 4090": 165.2, "NVIDIA L40S": 362.05, "NVIDIA GH200 480GB": 989.4, "Tesla T4": 0, "Tesla V100-SXM2-16GB": 0,
	} {
		s, ok := Sheet(name)
		if !ok || s.Source == "" || math.Abs(s.Dense[TensorBF16]-bf16*1e12) > 1 {
			t.Errorf("%s: %v, %g", name, ok, s.Dense[TensorBF16])
		}
	}
	for _, name := range []string{"", "NVIDIA A100-SXM4-80GB MIG 1g.10gb", "NVIDIA GeForce RTX 4090 Laptop GPU", "NVIDIA A10G", "NVIDIA H100"} {
		if s, ok := Sheet(name); ok {
			t.Errorf("%s is taken for %v", name, s.Names)
		}
	}
}

// A sheet states no more than the SMs can do at the highest clock of the device:
// the table of architectures is an upper bound.
func TestSheetsFitTheArchitectures(t *testing.T) {
	for _, c := range []struct {
		name, compute string
		sms           int
		hz            float64
	}{{"NVIDIA H200", "9.0", 132, 1.98e9}, {"NVIDIA A100-SXM4-80GB", "8.0", 108, 1.41e9}, {"NVIDIA GeForce RTX 4090", "8.9", 128, 2.52e9}, {"Tesla T4", "7.5", 40, 1.59e9}, {"Tesla V100-SXM2-16GB", "7.0", 80, 1.53e9}} {
		arch, _ := Lookup(c.compute)
		sheet, ok := Sheet(c.name)
		if !ok {
			t.Fatalf("no sheet of %s", c.name)
		}
		for d, v := range sheet.Dense {
			if most, ok := arch.Peak(d, c.sms, c.hz); ok && v > 1.01*most && d != TensorINT8 { // Ada's int8 is twice its half precision with 32-bit accumulation
				t.Errorf("%s, %s: %g is more than the %g of its SMs", c.name, d, v, most)
			}
		}
	}
}
