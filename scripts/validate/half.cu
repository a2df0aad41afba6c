// Kernels that do compute in packed half: their points on the roofline must stay.
#include <cstdio>
#include <cuda_fp16.h>

constexpr int N = 1 << 22;

// By FMA alone, which is also what a move of a constant is.
__global__ void real_half_fma(__half2 *x) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  __half2 v = x[i], a = __float2half2_rn(0.999f), b = __float2half2_rn(0.001f);
#pragma unroll 32
  for (int k = 0; k < 256; k++) v = __hfma2(v, a, b);
  x[i] = v;
}

// By additions and products.
__global__ void real_half_mixed(__half2 *x) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  __half2 v = x[i], a = __float2half2_rn(0.999f), b = __float2half2_rn(0.001f);
#pragma unroll 16
  for (int k = 0; k < 128; k++) v = __hmul2_rn(__hadd2_rn(v, b), a);
  x[i] = v;
}

// Two FMAs for eight bytes: bound by memory, the hardest case to tell from moves.
__global__ void real_half_axpy(__half2 *x) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  x[i] = __hfma2(x[i], __float2half2_rn(0.999f), __float2half2_rn(0.001f));
}

int main() {
  __half2 *x;
  cudaMalloc(&x, N * sizeof(__half2));
  cudaMemset(x, 0, N * sizeof(__half2));
  real_half_fma<<<N / 256, 256>>>(x);
  real_half_mixed<<<N / 256, 256>>>(x);
  real_half_axpy<<<N / 256, 256>>>(x);
  printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
