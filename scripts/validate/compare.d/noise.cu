// Two stages of several kernels, for measuring the noise between processes: noise [KERNEL FACTOR [STAGE FACTOR]].
// KERNEL (saxpy, gemm, softmax, reduce) does FACTOR times its work; STAGE (prefill, decode) runs FACTOR times as many of 100 rounds.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>
#define CK(x) do { cudaError_t e=(x); if(e){fprintf(stderr,"%s:%d %s\n",__FILE__,__LINE__,cudaGetErrorString(e)); return 1;} } while(0)

__global__ void saxpy(int n, int rounds, const float* x, float* y) {
  for (int r = 0; r < rounds; r++)
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = 1e-3f * x[i] + y[i];
}
__global__ void gemm(int n, int depth, const float* a, const float* b, float* c) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
  float s = 0;
  for (int k = 0; k < depth; k++) s += a[row * n + k % n] * b[(k % n) * n + col];
  c[row * n + col] = s;
}
__global__ void softmax(int n, int rounds, float* y) {
  float v = y[(blockIdx.x * blockDim.x + threadIdx.x) % n];
  for (int r = 0; r < rounds; r++) v = __expf(-v * v);
  y[(blockIdx.x * blockDim.x + threadIdx.x) % n] = v;
}
__global__ void reduce(int n, int rounds, const float* x, float* out) {
  float s = 0;
  for (int r = 0; r < rounds; r++)
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) s += x[i];
  for (int o = 16; o; o >>= 1) s += __shfl_down_sync(~0u, s, o);
  if ((threadIdx.x & 31) == 0) atomicAdd(out, s);
}

static const char *slowKernel = "", *slowStage = "";
static double kernelFactor = 1, stageFactor = 1;
static int work(const char* name, int n) { return strcmp(name, slowKernel) ? n : (int)(n * kernelFactor + 0.5); }
static int rounds(const char* name, int n) { return strcmp(name, slowStage) ? n : (int)(n * stageFactor + 0.5); }

int main(int argc, char** argv) {
  if (argc > 2) { slowKernel = argv[1]; kernelFactor = atof(argv[2]); }
  if (argc > 4) { slowStage = argv[3]; stageFactor = atof(argv[4]); }
  const int n = 1 << 22, m = 1024;
  float *x, *y, *a, *b, *c, *o;
  CK(cudaMalloc(&x, n * 4)); CK(cudaMalloc(&y, n * 4)); CK(cudaMalloc(&a, m * m * 4)); CK(cudaMalloc(&b, m * m * 4)); CK(cudaMalloc(&c, m * m * 4)); CK(cudaMalloc(&o, 4));
  CK(cudaMemset(x, 0, n * 4)); CK(cudaMemset(y, 0, n * 4)); CK(cudaMemset(a, 0, m * m * 4)); CK(cudaMemset(b, 0, m * m * 4)); CK(cudaMemset(o, 0, 4));
  dim3 grid(m / 32, m / 8), block(32, 8);
  for (int pass = -2; pass < 5; pass++) {  // two warm-up passes outside every range
    if (pass >= 0) nvtxRangePushA("prefill");
    for (int i = 0; i < rounds("prefill", 100); i++) { gemm<<<grid, block>>>(m, work("gemm", 400), a, b, c); saxpy<<<528, 256>>>(n, work("saxpy", 3), x, y); }
    CK(cudaDeviceSynchronize());
    if (pass >= 0) { nvtxRangePop(); nvtxRangePushA("decode"); }
    for (int i = 0; i < rounds("decode", 100); i++) { softmax<<<1056, 256>>>(n, work("softmax", 1000), y); reduce<<<528, 256>>>(n, work("reduce", 4), x, o); }
    CK(cudaDeviceSynchronize());
    if (pass >= 0) nvtxRangePop();
  }
  return 0;
}
