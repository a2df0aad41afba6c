import sys, torch
n = int(sys.argv[1]) if len(sys.argv) > 1 else 8192
a = torch.randn(n, n, device="cuda", dtype=torch.bfloat16)
b = torch.randn(n, n, device="cuda", dtype=torch.bfloat16)
for _ in range(5):
    a @ b
torch.cuda.synchronize()
s, e = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
torch.cuda.nvtx.range_push("gemm")
s.record()
for _ in range(20):
    c = a @ b
e.record()
torch.cuda.synchronize()
torch.cuda.nvtx.range_pop()
ms = s.elapsed_time(e) / 20
print(f"gemm {n} {ms:.4f} ms {2 * n**3 / ms / 1e9:.1f} TFLOP/s")
