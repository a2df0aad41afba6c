package analysis

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/deepprof/deepprof/internal/cxx"
)

// Names as nsys prints them for PyTorch, cuBLAS, cuDNN, CUTLASS, FlashAttention,
// Triton, vLLM, NCCL, CUB and Thrust.
func TestCategories(t *testing.T) {
	c, err := LoadCategories()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNT":                                                                                       "gemm",
		"ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x4_tn":                                                                   "gemm",
		"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize64x64x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas":         "gemm",
		"void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_16x16_128x2_tn_align8>(T1::Params)":                      "gemm",
		"cutlass_80_simt_sgemm_128x32_8x5_tn_align1":                                                                                   "gemm",
		"void gemv2T_kernel_val<int, int, __nv_bfloat16, __nv_bfloat16, __nv_bfloat16, float, (int)128>(T7)":                           "gemm",
		"void splitKreduce_kernel<(int)32, (int)16, int, float, __nv_bfloat16>(T4)":                                                    "gemm",
		"cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x128_4x1x1_cga1x1x1_kernel0_0":                       "attention",
		"void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<(int)128>>(pytorch_flash::Flash_fwd_params)":                     "attention",
		"fmha_cutlassF_bf16_aligned_64x128_rf_sm80(PyTorchMemEffAttention::AttentionKernel<T1>::Params)":                               "attention",
		"void vllm::paged_attention_v2_kernel<__nv_bfloat16>()":                                                                        "attention",
		"void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16>()":                                                                   "attention",
		"void implicit_convolve_sgemm<float, float, (int)1024>(int)":                                                                   "convolution",
		"sm90_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc":                                                             "convolution",
		"void cudnn::ops::nchwToNhwcKernel<__nv_bfloat16, __nv_bfloat16, float, (bool)0, (bool)1>(int)":                                "layout",
		"void cudnn::ops::nhwcToNchwKernel<float, float, float, (bool)1, (bool)0>(int)":                                                "layout",
		"void at::native::<unnamed>::vectorized_layer_norm_kernel<c10::BFloat16, float>()":                                             "normalisation",
		"void vllm::rms_norm_kernel<c10::BFloat16>()":                                                                                  "normalisation",
		"void <unnamed>::softmax_warp_forward<float, float, float, (int)10>()":                                                         "softmax",
		"void at::native::vectorized_elementwise_kernel<(int)4, at::native::BinaryFunctor<float>>(int)":                                "elementwise",
		"void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase &)::[lambda()]>(int)": "copy_cast",
		"void at::native::<unnamed>::CatArrayBatchedCopy<at::native::<unnamed>::OpaqueType<(unsigned int)2>>(T1 *)":                    "copy_cast",
		"void at::native::reduce_kernel<(int)512, (int)1, at::native::ReduceOp<float, at::native::MeanOps<float>>>(T3)":                "reduction",
		"void at::native::reduce_kernel<(int)512, (int)1, at::native::ReduceOp<float, at::native::ArgMaxOps<float>>>(T3)":              "sampling",
		"void at::native::<unnamed>::indexSelectSmallIndex<c10::BFloat16, long>(int)":                                                  "embedding",
		"void vllm::rotary_embedding_kernel<c10::BFloat16, true>()":                                                                    "position",
		"void at::native::(anonymous namespace)::upsample_linear1d_out_frame<c10::BFloat16, float>(int)":                               "pooling",
		"void at::native::(anonymous namespace)::grid_sampler_2d_kernel<float, int>(int)":                                              "pooling",
		"void flashinfer::BatchDecodeWithPagedKVCacheKernel<(flashinfer::PosEncodingMode)0, 2u>(flashinfer::DecodeParams)":             "attention",
		"void flashinfer::norm::RMSNormKernel<8u, __half>(__half*)":                                                                    "normalisation",
		"void flashinfer::sampling::TopKTopPSamplingFromProbKernel<1024u>(float*)":                                                     "sampling",
		"void at::native::sbtopk::gatherTopK<float, unsigned int, (int)1, (bool)0>()":                                                  "sampling",
		"void vllm::moe::topkGatingSoftmax<(int)8>()":                                                                                  "moe",
		"void at::native::<unnamed>::distribution_elementwise_grid_stride_kernel<float, (int)4>()":                                     "random",
		"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096>)":                                                     "communication",
		"void vllm::cross_device_reduce_1stage<__nv_bfloat16, (int)8>()":                                                               "communication",
		"void cub::DeviceRadixSortOnesweepKernel<int>()":                                                                               "scan_sort",
		"void at_cuda_detail::cub::DeviceScanKernel<int>()":                                                                            "scan_sort",
		"triton_poi_fused_add_mul_silu_3":                                                                                              "elementwise",
		"triton_red_fused__to_copy_mean_pow_0":                                                                                         "copy_cast|reduction",
		"void at::native::multi_tensor_apply_kernel<at::native::TensorListMetadata<(int)4>>()":                                         "optimiser",
		"saxpy(int, float, const float *, float *)":                                                                                    "elementwise",
		"my_own_thing(int)": otherCategory,
	} {
		i, rule := c.of(name, cxx.Short(name))
		if got := c.List[i].ID; !strings.Contains("|"+want+"|", "|"+got+"|") {
			t.Errorf("%s is %s by rule %q, want %s", name, got, rule, want)
		}
	}
}

func TestCategoriesOverlay(t *testing.T) {
	file := func(text string) fstest.MapFS { return fstest.MapFS{CategoriesFile: {Data: []byte(text)}} }
	c, err := LoadCategories(file("categories: [{id: mine, label: My kernels}]\nrules: [{name: own, category: mine, match: ^my_}, {category: gemm, match: special_add_}]"))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"my_gemm": "mine", "special_add_": "gemm", "nvjet_x": "gemm", "zzz": otherCategory} {
		if i, _ := c.of(name); c.List[i].ID != want {
			t.Errorf("%s is %s, want %s", name, c.List[i].ID, want)
		}
	}
	alone, err := LoadCategories(file("shipped: false\ncategories: [{id: mine}]\nrules: [{category: mine, match: ^my_}]"))
	if err != nil {
		t.Fatal(err)
	}
	if i, _ := alone.of("nvjet_x"); alone.List[i].ID != otherCategory {
		t.Error("shipped: false left the shipped rules in")
	}
	for _, bad := range []string{
		"rules: [{category: nosuch, match: x}]", "rules: [{category: gemm, match: '('}]", "rules: [{category: gemm, match: ''}]",
		"colour: blue", "categories: [{label: no id}]",
	} {
		if _, err := LoadCategories(file(bad)); err == nil {
			t.Errorf("accepted %q", bad)
		}
	}
	if _, err := LoadCategories(fstest.MapFS{}, nil); err != nil {
		t.Errorf("an overlay without the file: %v", err)
	}
}
