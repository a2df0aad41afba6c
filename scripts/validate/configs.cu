// What does ncu take for one launch configuration, and how does it number launches?
#include <cstdio>
#include <unistd.h>
#include <sys/wait.h>
#include <thread>
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>
template<int K> __global__ void ew(float* x, int n){ int i=blockIdx.x*blockDim.x+threadIdx.x; if(i<n) x[i]=x[i]*K+1; }
__global__ void lone(float* x, int n){ int i=blockIdx.x*blockDim.x+threadIdx.x; if(i<n) x[i]+=1; }
static int work(){
  const int n=1<<20; float* x; if(cudaMalloc(&x,n*4)) return 1; cudaStream_t s[2]; for(auto& q:s) cudaStreamCreate(&q);
  ew<1><<<n/256,256>>>(x,n); cudaDeviceSynchronize();                               // outside every range
  nvtxRangePushA("decode");
  for(int i=0;i<6;i++){                                                             // numbers of ew: 1..., template, stream, shared
    ew<1><<<n/256,256,0,s[i&1]>>>(x,n); ew<2><<<n/256,256,0,s[0]>>>(x,n); ew<2><<<n/256,256,1024*(i&1),s[1]>>>(x,n); ew<3><<<n/512,512,0,s[0]>>>(x,n); lone<<<n/256,256>>>(x,n);
  }
  cudaDeviceSynchronize(); nvtxRangePop();
  cudaGraph_t g; cudaGraphExec_t e; cudaStreamBeginCapture(s[0],cudaStreamCaptureModeGlobal); ew<1><<<64,256,0,s[0]>>>(x,n); ew<2><<<64,256,0,s[0]>>>(x,n); lone<<<64,256,0,s[0]>>>(x,n);
  cudaStreamEndCapture(s[0],&g); cudaGraphInstantiate(&e,g,0); nvtxRangePushA("replay"); for(int i=0;i<4;i++) cudaGraphLaunch(e,s[0]); cudaDeviceSynchronize(); nvtxRangePop();
  return cudaGetLastError(); }
int main(int c,char**v){ if(c>1){ for(int i=0;i<2;i++) if(!fork()) return work(); int st,bad=0; while(wait(&st)>0) bad|=st; return bad!=0; } return work(); }
