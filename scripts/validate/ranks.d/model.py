"""One of two models that share a GPU and know nothing of each other. usage: model.py sin|cos LAUNCHES"""

import sys
import time

import torch

name, launches = sys.argv[1], int(sys.argv[2])
x = torch.randn(1024, 1024, device="cuda")
w = torch.randn(1024, 1024, device="cuda")
for _ in range(launches):
    torch.cuda.nvtx.range_push(name + " model")
    x = torch.mm(x, w)
    getattr(torch, name + "_")(x)
    torch.cuda.synchronize()
    torch.cuda.nvtx.range_pop()
    time.sleep(0.002)
