#!/usr/bin/env python3
"""What annotation costs a pass, in one process: cost.py [--seconds S] NAME...

Each program of program.py is built once. Its passes run in turns (ABBA) with annotation and without it: what annotation replaced in torch and
transformers is put back for the passes without. Prints a line a program: the median of each side, the median of the differences
of neighbors, and the middle half and a 95 % interval of that median, by the order of the differences.
"""

import argparse
import json
import math
import os
import statistics
import sys
import time

os.environ.pop("PYTHONPATH", None)
import torch  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "..", "workloads", "annotate")]
import deepprof_annotate  # noqa: E402
import program  # noqa: E402


def places():
    """What annotation replaces: (owner, name)."""
    found = [(torch.nn.Module, "__call__"), (torch.nn.functional, "scaled_dot_product_attention"), (torch.Tensor, "backward")]
    found += [(torch.cuda.nvtx, "range_push"), (torch.cuda.nvtx, "range_pop"), (torch.cuda.CUDAGraph, "capture_begin"), (torch.cuda.CUDAGraph, "capture_end")]
    try:
        import transformers.generation.utils as utils
        import transformers.modeling_utils as modeling

        found += [(utils.GenerationMixin, "generate"), (modeling.PreTrainedModel, "get_compiled_call")]
    except ImportError:
        pass
    return [(owner, name) for owner, name in found if hasattr(owner, name)]


class Switch:
    """Puts annotation into this process, and takes it out again."""

    def __init__(self):
        os.environ["DEEPPROF_ANNOTATE"] = "auto"
        self.places = places()
        self.without = [getattr(owner, name) for owner, name in self.places]
        self.hooks = [d for d in (getattr(sys.modules["torch.optim.optimizer"], "_global_optimizer_%s_hooks" % w, None) for w in ("pre", "post")) if d is not None]
        before = [dict(d) for d in self.hooks]
        deepprof_annotate._on_torch(torch)
        annotator = deepprof_annotate._annotator
        if annotator is None:
            sys.exit("cost.py: torch has no NVTX here")
        if "transformers" in sys.modules:
            deepprof_annotate._patch_generate(annotator, sys.modules["transformers.generation.utils"])
            deepprof_annotate._patch_compiled_call(annotator, sys.modules["transformers.modeling_utils"])
        self.annotated = [getattr(owner, name) for owner, name in self.places]
        self.states = {False: (self.without, before), True: (self.annotated, [dict(d) for d in self.hooks])}
        self.turn(False)

    def turn(self, on):
        values, hooks = self.states[on]
        for (owner, name), value in zip(self.places, values):
            setattr(owner, name, value)
        for current, wanted in zip(self.hooks, hooks):
            current.clear()
            current.update(wanted)


def measure(switch, run, seconds):
    """Times of neighboring passes: [(without, with), ...]."""
    def once(on):
        switch.turn(on)
        program.synchronize()
        start = time.perf_counter()
        run()
        program.synchronize()
        return 1000 * (time.perf_counter() - start)

    for on in (False, True, False):
        once(on)
    pairs, end = [], time.monotonic() + seconds
    while time.monotonic() < end or len(pairs) < 4:
        first = len(pairs) % 2 == 1
        times = {first: once(first)}
        times[not first] = once(not first)
        pairs.append((times[False], times[True]))
    switch.turn(False)
    return pairs


def interval(values):
    """The 95 % interval of a median by the ranks of its sample."""
    values, n = sorted(values), len(values)
    reach = math.ceil(0.98 * math.sqrt(n))
    return values[max(0, n // 2 - reach)], values[min(n - 1, (n - 1) // 2 + reach)]


def tell(name, pairs):
    without, annotated = zip(*pairs)
    base = statistics.median(without)
    shares = [(b - a) / base for a, b in pairs]
    low, high = interval(shares)
    quarters = statistics.quantiles(shares, n=4)
    plain = statistics.quantiles(without, n=4)
    print(json.dumps({
        "cost_of": name, "pairs": len(pairs), "without_ms": round(base, 3), "annotated_ms": round(statistics.median(annotated), 3),
        "cost": round(statistics.median(shares), 4), "interval_95": [round(low, 4), round(high, 4)], "middle_half": [round(quarters[0], 4), round(quarters[2], 4)],
        "noise_of_one_pass": round((plain[2] - plain[0]) / base, 4),
    }), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=12)
    parser.add_argument("names", nargs="+", choices=program.PROGRAMS)
    args = parser.parse_args()
    runs = {}

    def keep(name):
        def timed(passes, run):
            runs[name] = run
            return torch.zeros(1), [0.0]

        return timed

    for name in args.names:  # builds the model and keeps the function that is one pass
        program.timed = keep(name)
        program.PROGRAMS[name](1)
    switch = Switch()
    for name in args.names:
        grad = name.startswith("train")
        with torch.enable_grad() if grad else torch.no_grad():
            tell(name, measure(switch, runs[name], args.seconds))


if __name__ == "__main__":
    main()
