"""A rank of a job on one GPU: steps of kernels, a planted delay in one rank, and an all-reduce of gloo on the host.

usage: job.py STEPS LATE-RANK MILLISECONDS host|gpu OUT

The delay is a sleep of the host, or a kernel that spins. Each rank measures its own delays and writes their sum to OUT/planted.RANK.json.
"""

import json
import sys
import time

import torch
import torch.distributed as dist

steps, late, ms, how, out = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), sys.argv[4], sys.argv[5]
dist.init_process_group("gloo")
rank = dist.get_rank()
x = torch.randn(2048, 2048, device="cuda", dtype=torch.bfloat16)
message = torch.ones(1000)
cycles = 0


def spin():
    torch.cuda._sleep(cycles)
    torch.cuda.synchronize()


if how == "gpu" and rank == late:  # how many cycles the delay takes
    cycles = 10_000_000
    spin()
    begin = time.perf_counter()
    spin()
    cycles = int(cycles * ms / 1e3 / (time.perf_counter() - begin))
y = x @ x
dist.all_reduce(message)
dist.barrier()
planted = 0.0
for _ in range(steps):
    torch.cuda.nvtx.range_push("step")
    torch.cuda.nvtx.range_push("compute")
    for _ in range(8):
        y = torch.relu(x @ x)
    torch.cuda.synchronize()
    torch.cuda.nvtx.range_pop()
    torch.cuda.nvtx.range_push("input")
    if rank == late:
        begin = time.perf_counter()
        if how == "gpu":
            spin()
        else:
            time.sleep(ms / 1e3)
        planted += time.perf_counter() - begin
    torch.cuda.nvtx.range_pop()
    torch.cuda.nvtx.range_push("gloo:all_reduce")
    dist.all_reduce(message)
    torch.cuda.nvtx.range_pop()
    torch.cuda.nvtx.range_pop()
with open(f"{out}/planted.{rank}.json", "w") as f:
    json.dump({"rank": rank, "seconds": planted, "steps": steps if rank == late else 0}, f)
dist.barrier()
dist.destroy_process_group()
