// Package gpu owns what is known of NVIDIA GPUs apart from any measurement: how
// much an SM of each architecture can do in a cycle. It is for machines on
// which nothing was counted; where ncu reported a peak, that counts.
package gpu

import "strings"

// A DType is a data type with the pipe that computes in it.
type DType string

// The data types of peaks. Tensor types are dense.
const (
	TensorFP16 DType = "tensor_fp16"
	TensorBF16 DType = "tensor_bf16"
	TensorTF32 DType = "tensor_tf32"
	TensorFP8  DType = "tensor_fp8"
	TensorINT8 DType = "tensor_int8"
	TensorFP64 DType = "tensor_fp64"
	FP64       DType = "fp64"
	FP32       DType = "fp32"
	FP16       DType = "fp16"
)

// DTypes lists all, in the order to show.
var DTypes = []DType{TensorBF16, TensorFP16, TensorTF32, TensorFP8, TensorINT8, TensorFP64, FP32, FP16, FP64}

// Tensor tells whether tensor cores compute in it.
func (d DType) Tensor() bool { return strings.HasPrefix(string(d), "tensor_") }

// Parse gives the type of matrix products in a dtype of a model: bf16,
// bfloat16, torch.float16, fp8, int8, float32 and so on.
// It reports false for types without a peak in this package.
func Parse(name string) (DType, bool) {
	name = strings.ToLower(strings.TrimPrefix(name, "torch."))
	switch {
	case name == "bf16" || name == "bfloat16":
		return TensorBF16, true
	case name == "fp16" || name == "float16" || name == "half":
		return TensorFP16, true
	case name == "tf32":
		return TensorTF32, true
	case strings.HasPrefix(name, "fp8") || strings.HasPrefix(name, "float8"):
		return TensorFP8, true
	case name == "int8" || name == "uint8":
		return TensorINT8, true
	case name == "fp32" || name == "float32" || name == "float":
		return FP32, true
	case name == "fp64" || name == "float64" || name == "double":
		return FP64, true
	}
	return "", false
}

// An Arch is what an SM of a compute capability does in a cycle, in operations:
// a multiplication and an addition are two.
type Arch struct {
	Compute string // capability, "9.0"
	Name    string
	PerSM   map[DType]float64 // a type that is not there has no pipe, or is not published
	Source  string            // ID of the publication; internal/message has its title
}

// archs are from NVIDIA's architecture white papers: tensor throughput is dense
// and with 32-bit accumulation. Consumer cards of 8.6, 8.9 and 12.0 run half of
// it, so that the table is an upper bound for them.
var archs = []Arch{
	{"7.0", "Volta", map[DType]float64{TensorFP16: 1024, FP32: 128, FP16: 256, FP64: 64}, "tesla-v100-white-paper"},
	{"7.5", "Turing", map[DType]float64{TensorFP16: 1024, TensorINT8: 2048, FP32: 128, FP16: 256, FP64: 4}, "turing-white-paper"},
	{"8.0", "Ampere", map[DType]float64{
		TensorFP16: 2048, TensorBF16: 2048, TensorTF32: 1024, TensorINT8: 4096, TensorFP64: 128, FP32: 128, FP16: 512, FP64: 64,
	}, "a100-white-paper"},
	{"8.6", "Ampere", map[DType]float64{
		TensorFP16: 1024, TensorBF16: 1024, TensorTF32: 512, TensorINT8: 2048, FP32: 256, FP16: 256, FP64: 4,
	}, "ga102-white-paper"},
	{"8.9", "Ada", map[DType]float64{
		TensorFP16: 1024, TensorBF16: 1024, TensorTF32: 512, TensorFP8: 2048, TensorINT8: 2048, FP32: 256, FP16: 256, FP64: 4,
	}, "ada-white-paper"},
	{"9.0", "Hopper", map[DType]float64{
		TensorFP16: 4096, TensorBF16: 4096, TensorTF32: 2048, TensorFP8: 8192, TensorINT8: 8192, TensorFP64: 256, FP32: 256, FP16: 512, FP64: 128,
	}, "h100-white-paper"},
	{"10.0", "Blackwell", map[DType]float64{
		TensorFP16: 8192, TensorBF16: 8192, TensorTF32: 4096, TensorFP8: 16384, FP32: 256, FP16: 512, FP64: 128,
	}, "blackwell-data-sheets"},
	{"12.0", "Blackwell", map[DType]float64{
		TensorFP16: 1024, TensorBF16: 1024, TensorTF32: 512, TensorFP8: 2048, TensorINT8: 2048, FP32: 256, FP16: 256, FP64: 4,
	}, "rtx-blackwell-white-paper"},
}

// Lookup finds an architecture by its compute capability, such as "9.0".
func Lookup(compute string) (Arch, bool) {
	for _, a := range archs {
		if a.Compute == compute {
			return a, true
		}
	}
	return Arch{}, false
}

// Peak is what sms SMs do in a second at a clock; false where the table has no
// such pipe.
func (a Arch) Peak(d DType, sms int, hz float64) (float64, bool) {
	per, ok := a.PerSM[d]
	if !ok || sms <= 0 || hz <= 0 {
		return 0, false
	}
	return per * float64(sms) * hz, true
}
