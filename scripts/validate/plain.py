"""A PyTorch program without any NVTX range: a small network, trained for a few steps."""

import torch

torch.manual_seed(0)
model = torch.nn.Sequential(
    torch.nn.Linear(2048, 8192), torch.nn.GELU(), torch.nn.LayerNorm(8192), torch.nn.Linear(8192, 2048)
)
model = model.to("cuda", torch.bfloat16)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
data = torch.randn(1024, 2048, device="cuda", dtype=torch.bfloat16)
for _ in range(20):
    loss = (model(data) - data).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
torch.cuda.synchronize()
print("loss", loss.item())
