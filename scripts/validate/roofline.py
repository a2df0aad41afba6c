"""Kernels of PyTorch for `ncu --set roofline`: products, and copies and float arithmetic, which hold HFMA instructions that only move constants."""

import torch


def main():
    x = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
    h, f = x.half(), x.float()
    torch.cuda.synchronize()
    torch.cuda.profiler.start()
    y = torch.nn.functional.silu(x @ x) * x
    torch.cat([y, x], 1).t().contiguous()
    z = (f.pow(2).mean(-1, keepdim=True) + 1e-6).rsqrt() * f
    torch.softmax(z, -1).argmax(-1)
    g = torch.nn.functional.gelu(h @ h) + h
    g.neg().clone()
    torch.cuda.synchronize()
    torch.cuda.profiler.stop()


if __name__ == "__main__":
    main()
