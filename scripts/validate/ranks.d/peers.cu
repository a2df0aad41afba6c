// Two processes on one GPU whose kernels wait for each other, as a custom all-reduce does. usage: peers FILE STEPS (RANK is in the environment)
//
// Each rank counts up its own flag in memory that both share, and spins until the other has counted as far. A kernel that ncu replays counts too far: the
// other rank never follows, and it spins for good.
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { printf("%s: %s\n", #x, cudaGetErrorString(e)); exit(1); } } while (0)

__global__ void scale(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = x[i] * 1.0001f + 0.5f;
}

__global__ void two_shot_all_reduce_kernel(volatile unsigned *flags, int rank) {
  unsigned mine = flags[rank * 32] + 1;
  __threadfence_system();
  flags[rank * 32] = mine;
  __threadfence_system();
  while (flags[(1 - rank) * 32] < mine) __nanosleep(1000);
}

int main(int argc, char **argv) {
  int rank = atoi(getenv("RANK")), steps = atoi(argv[2]);
  int fd = open(argv[1], O_RDWR | O_CREAT, 0600);
  if (fd < 0 || ftruncate(fd, 4096)) { perror(argv[1]); return 1; }
  void *shared = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  unsigned *flags;
  CHECK(cudaHostRegister(shared, 4096, cudaHostRegisterMapped));
  CHECK(cudaHostGetDevicePointer((void **)&flags, shared, 0));
  float *x;
  int n = 1 << 20;
  CHECK(cudaMalloc(&x, n * sizeof(float)));
  for (int i = 0; i < steps; i++) {
    scale<<<n / 256, 256>>>(x, n);
    two_shot_all_reduce_kernel<<<1, 1>>>(flags, rank);
    CHECK(cudaDeviceSynchronize());
  }
  printf("rank %d is done\n", rank);
}
