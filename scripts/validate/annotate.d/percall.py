#!/usr/bin/env python3
"""What annotation costs a call of a module, by CPU time, on any torch and without a GPU: percall.py

A model of 30 blocks of 10 modules that do nothing is called with and without annotation, in rounds that alternate. Ranges
are opened by functions that do nothing, so that only deepprof's own code is measured.
"""

import os
import statistics
import sys
import time

import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "workloads", "annotate"))
import deepprof_annotate  # noqa: E402
import deepprof_annotate_call  # noqa: E402
import deepprof_annotate_ranges  # noqa: E402


class NoRanges:
    range_start = range_end = None

    def range_push(self, name):
        pass

    def range_pop(self):
        pass


class Leaf(torch.nn.Module):
    def forward(self, x):
        return x


class Product(Leaf):
    """Looks like a Linear to annotation, which then counts its work."""

    in_features = out_features = 8


class Block(torch.nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.inner = torch.nn.ModuleList(kind() for _ in range(10))

    def forward(self, x):
        for module in self.inner:
            x = module(x)
        return x


def measure(kind, rounds=25, passes=20):
    model, x = torch.nn.Sequential(*(Block(kind) for _ in range(30))).eval(), torch.zeros(1, 8)
    calls = 1 + 30 + 300
    original = vars(torch.nn.Module)["__call__"]
    annotator = deepprof_annotate_ranges.Annotator(torch, NoRanges(), deepprof_annotate.SideFile(None), "auto", 0, 20000)
    deepprof_annotate_call.install(torch, annotator)
    annotated = vars(torch.nn.Module)["__call__"]

    def once(call):
        torch.nn.Module.__call__ = call
        start = time.process_time()
        for _ in range(passes):
            model(x)
        return (time.process_time() - start) / passes / calls * 1e9

    with torch.no_grad():
        times = [(once(original), once(annotated)) for _ in range(rounds + 1)][1:]
    torch.nn.Module.__call__ = original
    plain, with_it = zip(*times)
    print(
        "%s: %.0f ns a call without, %.0f ns more with annotation (minima of %d rounds; %.0f by medians)"
        % (kind.__name__, min(plain), min(with_it) - min(plain), rounds, statistics.median(with_it) - statistics.median(plain))
    )


torch.set_num_threads(1)
measure(Leaf)
measure(Product)
