// Three kernels whose answers are known: a copy bound by DRAM, a tiny one, and
// a launch-heavy loop; a bf16 GEMM runs in hand_gemm.py.
#include <cstdio>
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>
// Each thread copies four float4 that lie a block apart, with all loads under way before the first store.
__global__ void copy_kernel(const float4* __restrict__ in, float4* __restrict__ out) {
  size_t i = blockIdx.x * (size_t)blockDim.x * 4 + threadIdx.x;
  float4 v[4];
#pragma unroll
  for (int k = 0; k < 4; k++) v[k] = __ldcs(in + i + k * blockDim.x);
#pragma unroll
  for (int k = 0; k < 4; k++) __stcs(out + i + k * blockDim.x, v[k]);
}
__global__ void tiny_kernel(float* x) { x[threadIdx.x] += 1.0f; }
int main() {
  size_t bytes = 4ull << 30, n = bytes / sizeof(float4);
  float4 *a, *b; float* x;
  if (cudaMalloc(&a, bytes) || cudaMalloc(&b, bytes) || cudaMalloc(&x, 4096)) { fprintf(stderr, "cudaMalloc failed\n"); return 1; }
  cudaMemset(a, 1, bytes); cudaMemset(b, 0, bytes); cudaMemset(x, 0, 4096);
  const int threads = 256; const unsigned blocks = n / (threads * 4);
  copy_kernel<<<blocks, threads>>>(a, b); tiny_kernel<<<1, 32>>>(x); cudaDeviceSynchronize();
  cudaEvent_t s, e; cudaEventCreate(&s); cudaEventCreate(&e);
  nvtxRangePushA("copy"); cudaEventRecord(s);
  for (int i = 0; i < 10; i++) copy_kernel<<<blocks, threads>>>(a, b);
  cudaEventRecord(e); cudaDeviceSynchronize(); nvtxRangePop();
  float ms; cudaEventElapsedTime(&ms, s, e);
  printf("copy %.3f TB/s\n", 2.0 * bytes * 10 / ms / 1e9);
  nvtxRangePushA("tiny");
  for (int i = 0; i < 1000; i++) tiny_kernel<<<1, 32>>>(x);
  cudaDeviceSynchronize(); nvtxRangePop();
  printf("%s\n", cudaGetErrorString(cudaGetLastError()));
  return 0;
}
