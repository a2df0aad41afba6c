package gpu

import (
	"regexp"
	"strings"
)

// A DataSheet is what NVIDIA publishes of a GPU. Published MFU is of these peaks,
// which are at the boost clock that the sheet states; a GPU can run faster.
type DataSheet struct {
	Names  []string          // as CUDA names the device, without maker, family and memory size
	Dense  map[DType]float64 // operations per second without sparsity, with 32-bit accumulation
	Source string            // ID of the publication, as in Arch
}

// tera makes a column of rates from teraFLOP/s; 0 is a type that the GPU lacks, or
// that the sheet does not state.
func tera(bf16, fp16, tf32, fp8, int8, tensor64, fp32, fp64 float64) map[DType]float64 {
	out := map[DType]float64{}
	for d, v := range map[DType]float64{TensorBF16: bf16, TensorFP16: fp16, TensorTF32: tf32, TensorFP8: fp8, TensorINT8: int8, TensorFP64: tensor64, FP32: fp32, FP64: fp64} {
		if v > 0 {
			out[d] = v * 1e12
		}
	}
	return out
}

// sheets holds only numbers that were found again in NVIDIA's publication or in a
// transcript of it (November 2026); what could not be confirmed is absent, and MFU
// then says that no data sheet is known. Rates that NVIDIA prints with sparsity are
// halved. Publications:
//
//   - Blackwell: "NVIDIA Blackwell Architecture Technical Brief", individual GPU
//     specifications of HGX B200 and GB200 NVL72 (4.5 and 5 PFLOPS of BF16 with sparsity)
//   - Hopper: "NVIDIA H100 Tensor Core GPU Architecture" (white paper), tables of H100
//     SXM5 and PCIe; data sheets of H100 NVL, H200 SXM (1,979 TFLOPS of BF16 with
//     sparsity) and H200 NVL (1,671)
//   - Ada: "NVIDIA Ada GPU Architecture" v2.02, appendix A, "with FP32 Accumulate", v2.1
//     for L4 and L40; data sheets of L4, L40 and L40S
//   - Ampere: data sheets of A100, A30, A40 and A10; "NVIDIA Ampere GA102 GPU
//     Architecture", tables of RTX A6000, RTX 3090 and RTX 3080
//   - GeForce of Blackwell: "NVIDIA RTX Blackwell GPU Architecture", table 3
//   - Volta, Turing: data sheets of V100 (update r5) and T4
var sheets = []DataSheet{
	//                                              bf16   fp16   tf32   fp8    int8   t64   fp32  fp64
	{[]string{"B200"}, tera(2250, 2250, 1100, 4500, 4500, 37, 75, 37), "blackwell-technical-brief-hgx-b200"},
	{[]string{"GB200"}, tera(2500, 2500, 1250, 5000, 5000, 40, 80, 40), "blackwell-technical-brief-gb200-nvl72"},
	{[]string{"GH200"}, tera(989.4, 989.4, 0, 0, 0, 0, 66.9, 33.5), "gh200-by-h100-white-paper"},
	{[]string{"H200"}, tera(989.4, 989.4, 494.7, 1978.9, 1978.9, 66.9, 66.9, 33.5), "h200-data-sheet-sxm"},
	{[]string{"H200 NVL"}, tera(835.5, 835.5, 0, 0, 0, 0, 0, 30), "h200-data-sheet-nvl"},
	{[]string{"H100 80GB HBM3", "H100 SXM5"}, tera(989.4, 989.4, 494.7, 1978.9, 1978.9, 66.9, 66.9, 33.5), "h100-white-paper-h100-sxm5"},
	{[]string{"H100 PCIe"}, tera(756, 756, 378, 1513, 1513, 51.2, 51.2, 25.6), "h100-white-paper-h100-pcie"},
	{[]string{"H100 NVL"}, tera(835.5, 835.5, 0, 0, 0, 0, 0, 0), "h100-data-sheet-nvl"},
	{[]string{"H20"}, tera(148, 148, 74, 296, 296, 1, 44, 1), "h20-specifications"},
	{[]string{"A100-SXM4", "A100-SXM", "A100-PCIE", "A100 80GB PCIe", "A100 PCIe"}, tera(312, 312, 156, 0, 624, 19.5, 19.5, 9.7), "a100-data-sheet"},
	{[]string{"A30"}, tera(165, 165, 82, 0, 0, 0, 0, 0), "a30-data-sheet"},
	{[]string{"A40"}, tera(149.7, 149.7, 74.8, 0, 299.3, 0, 37.4, 0), "a40-data-sheet"},
	{[]string{"A10"}, tera(125, 125, 62.5, 0, 250, 0, 31.2, 0), "a10-data-sheet"},
	{[]string{"L4"}, tera(121, 121, 60, 242.5, 242.5, 0, 30.3, 0), "l4-data-sheet"},
	{[]string{"L40"}, tera(181.05, 181.05, 90.5, 362, 362, 0, 90.5, 0), "l40-data-sheet"},
	{[]string{"L40S"}, tera(362.05, 362.05, 183, 733, 733, 0, 91.6, 0), "l40s-data-sheet"},
	{[]string{"V100-SXM2", "V100-SXM3"}, tera(0, 125, 0, 0, 0, 0, 15.7, 7.8), "v100-data-sheet-sxm"},
	{[]string{"V100-PCIE"}, tera(0, 112, 0, 0, 0, 0, 14, 7), "v100-data-sheet-pcie"},
	{[]string{"V100S-PCIE"}, tera(0, 130, 0, 0, 0, 0, 16.4, 8.2), "v100-data-sheet-v100s"},
	{[]string{"T4"}, tera(0, 65, 0, 0, 130, 0, 8.1, 0), "t4-data-sheet"},
	{[]string{"RTX A6000"}, tera(154.8, 154.8, 77.4, 0, 309.7, 0, 38.7, 0), "ga102-white-paper-rtx-a6000"},
	{[]string{"RTX 5090"}, tera(209.5, 209.5, 0, 419, 838, 0, 104.8, 0), "rtx-blackwell-white-paper-rtx-5090"},
	{[]string{"RTX 4090"}, tera(165.2, 165.2, 82.6, 330.3, 660.6, 0, 82.6, 0), "ada-white-paper-rtx-4090"},
	{[]string{"RTX 4080"}, tera(97.5, 97.5, 48.7, 0, 389.9, 0, 48.7, 0), "ada-white-paper-rtx-4080"},
	{[]string{"RTX 3090"}, tera(71, 71, 35.6, 0, 284, 0, 35.6, 0), "ga102-white-paper-rtx-3090"},
	{[]string{"RTX 3080"}, tera(59.5, 59.5, 29.8, 0, 238, 0, 29.8, 0), "ga102-white-paper-rtx-3080"},
}

// memorySize ends the name of a device that comes with several.
var memorySize = regexp.MustCompile(`[- ]\d+ ?GB$`)

// Sheet is the data sheet of a device by its CUDA name, "NVIDIA H200". A part of a
// GPU (MIG) or a laptop's version of it has none.
func Sheet(name string) (DataSheet, bool) {
	for _, family := range []string{"NVIDIA ", "Tesla ", "GeForce "} {
		name = strings.TrimPrefix(name, family)
	}
	for _, s := range sheets {
		for _, n := range s.Names {
			if name == n || memorySize.ReplaceAllString(name, "") == n {
				return s, true
			}
		}
	}
	return DataSheet{}, false
}
