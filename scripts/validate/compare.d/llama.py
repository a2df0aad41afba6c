"""A Llama whose activation also launches a kernel that spins for CYCLES: llama.py CYCLES. Two calls differ in one kernel alone."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "annotate.d"))

import program  # noqa: E402
import torch  # noqa: E402


class Spinning(torch.nn.Module):
    def __init__(self, inner, cycles):
        super().__init__()
        self.inner, self.cycles = inner, cycles

    def forward(self, x):
        torch.cuda._sleep(self.cycles)
        return self.inner(x)


def main():
    model, ids = program.build("llama", program.TEXT), program.prompt()
    for layer in model.model.layers:
        layer.mlp.act_fn = Spinning(layer.mlp.act_fn, int(sys.argv[1]))
    with torch.no_grad():
        program.timed(2, lambda: model.generate(ids, max_new_tokens=program.NEW, do_sample=False))


if __name__ == "__main__":
    main()
