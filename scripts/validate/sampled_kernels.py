"""Kernels whose counters are known, in NVTX ranges of 1 to 20 ms: for scripts/validate/sampled.

Each range holds launches of one kernel. Prints a line of JSON for each name: bytes read and written and FLOPs of a launch, and its milliseconds by CUDA
events, so that shares of the peaks follow without a profiler. With the argument `once`, only one launch of each lies between cudaProfilerStart and Stop.
"""

import json
import sys

import torch

GIB = 1 << 30


def main():
    torch.backends.cuda.matmul.allow_tf32 = False
    a = torch.ones(GIB // 2, device="cuda")  # 2 GiB of fp32, far more than the L2 cache
    b = torch.empty_like(a)
    half = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
    other = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
    single = torch.randn(4096, 4096, device="cuda")
    out = torch.empty_like(half)
    flat = torch.empty_like(single)
    kernels = {  # name: (call, bytes read, bytes written, FLOPs), milliseconds of a launch are measured
        "add": (lambda: torch.add(a, 1.0, out=b), 2 * GIB, 2 * GIB, 0),
        "read": (lambda: torch.amax(a), 2 * GIB, 0, 0),
        "write": (lambda: b.fill_(2.0), 0, 2 * GIB, 0),
        "bf16": (lambda: torch.matmul(half, other, out=out), None, None, 2 * 8192**3),
        "fp32": (lambda: torch.matmul(single, single, out=flat), None, None, 2 * 4096**3),
    }
    for name, (call, read, written, flops) in kernels.items():
        for _ in range(3):
            call()
        if sys.argv[1:] == ["once"]:
            torch.cuda.synchronize()
            torch.cuda.profiler.start()
            call()
            torch.cuda.synchronize()
            torch.cuda.profiler.stop()
            continue
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(20):
            call()
        end.record()
        torch.cuda.synchronize()
        ms = begin.elapsed_time(end) / 20
        print(json.dumps({"name": name, "ms": ms, "read": read, "written": written, "flops": flops}), flush=True)
        for target, times in ((2, 40), (6, 15), (20, 6)):
            launches = max(1, round(target / ms))
            for _ in range(times):
                torch.cuda.synchronize()
                torch.cuda.nvtx.range_push(f"{name} {target} ms")
                for _ in range(launches):
                    call()
                torch.cuda.synchronize()
                torch.cuda.nvtx.range_pop()


if __name__ == "__main__":
    main()
