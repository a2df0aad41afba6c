"""A program whose GPU work is done by a worker that it spawns, on two streams, in ranges of the worker."""

import multiprocessing


def work():
    import torch

    streams = [torch.cuda.Stream(), torch.cuda.Stream()]
    matrix = torch.randn(2048, 2048, device="cuda", dtype=torch.bfloat16)
    torch.cuda.synchronize()
    for label in ("prefill", "decode"):
        torch.cuda.nvtx.range_push(label)
        for step in range(10):
            with torch.cuda.stream(streams[step % 2]):
                (matrix @ matrix).relu_().sum(dim=0)
        torch.cuda.synchronize()
        torch.cuda.nvtx.range_pop()


if __name__ == "__main__":
    worker = multiprocessing.get_context("spawn").Process(target=work)
    worker.start()
    worker.join()
    raise SystemExit(worker.exitcode)
