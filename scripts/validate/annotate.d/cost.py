#!/usr/bin/env python3
"""What annotation costs a pass, in one process: cost.py [--seconds S] [--new N] [--code NAME=FOLDER]... NAME...

Each program of program.py is built once. Its passes run in turns with annotation and without it, twice: what annotation replaced in torch and
transformers is put back for the passes without. The second without is a control, held against the first as annotation is. Python's garbage
collector is off meanwhile. Prints a line a program and version: the median of each side, the median of the differences within a round, and the
middle half and a 95 % interval of that median, by the order of the differences.

--new makes passes of generate() shorter, so that more of them fit: the cost of a step is the same.
"""

import argparse
import gc
import importlib
import json
import math
import os
import random
import statistics
import sys
import tempfile
import time

os.environ.pop("PYTHONPATH", None)
import torch  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
NOW = os.path.join(HERE, "..", "..", "..", "workloads", "annotate")
sys.path.insert(0, HERE)
import program  # noqa: E402


CONTROL = "none again"  # passes without annotation held against others without it: what the method itself tells apart


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
    return [(owner, name) for owner, name in found if name in vars(owner)]  # as it stands there: getattr may give something else


class Switch:
    """Puts a version of annotation into this process, and takes it out again."""

    def __init__(self, versions):
        os.environ["DEEPPROF_ANNOTATE"] = "auto"
        os.environ["DEEPPROF_ANNOTATE_OUT"] = tempfile.mkdtemp()
        self.places = places()
        self.hooks = [d for d in (getattr(sys.modules["torch.optim.optimizer"], "_global_optimizer_%s_hooks" % w, None) for w in ("pre", "post")) if d is not None]
        self.states = {"": self.current()}
        for name, folder in versions.items():
            self.install(folder)
            self.states[name] = self.current()
            self.turn("")
        self.states[CONTROL] = self.states[""]

    def current(self):
        return [vars(owner)[name] for owner, name in self.places], [dict(d) for d in self.hooks]

    def install(self, folder):
        for name in [n for n in sys.modules if n.startswith("deepprof_annotate")]:
            del sys.modules[name]
        sys.path.insert(0, folder)
        annotate = importlib.import_module("deepprof_annotate")
        sys.path.remove(folder)
        annotate._on_torch(torch)
        if annotate._annotator is None:
            sys.exit("cost.py: torch has no NVTX here")
        if "transformers" in sys.modules:
            annotate._patch_generate(annotate._annotator, sys.modules["transformers.generation.utils"])
            annotate._patch_compiled_call(annotate._annotator, sys.modules["transformers.modeling_utils"])

    def turn(self, name):
        values, hooks = self.states[name]
        for (owner, key), value in zip(self.places, values):
            setattr(owner, key, value)
        for current, wanted in zip(self.hooks, hooks):
            current.clear()
            current.update(wanted)


def measure(switch, run, seconds):
    """Times of rounds in which each version has one pass: [{"": without, name: with, ...}, ...]. Their order is by chance, and every other
    round has that of the one before reversed."""
    def once(name):
        switch.turn(name)
        program.synchronize()
        start = time.perf_counter()
        run()
        program.synchronize()
        return 1000 * (time.perf_counter() - start)

    names = list(switch.states)
    for name in names * 2:
        once(name)
    gc.collect()
    gc.disable()
    rounds, end = [], time.monotonic() + seconds
    order, dice = names, random.Random(1)
    while time.monotonic() < end or len(rounds) < 4:
        order = order[::-1] if len(rounds) % 2 else dice.sample(names, len(names))
        rounds.append({name: once(name) for name in order})
    switch.turn("")
    gc.enable()
    return rounds


def interval(values):
    """The 95 % interval of a median by the ranks of its sample."""
    values, n = sorted(values), len(values)
    reach = math.ceil(0.98 * math.sqrt(n))
    return values[max(0, n // 2 - reach)], values[min(n - 1, (n - 1) // 2 + reach)]


def tell(program_name, version, rounds):
    without, annotated = [r[""] for r in rounds], [r[version] for r in rounds]
    base = statistics.median(without)
    shares = [(b - a) / base for a, b in zip(without, annotated)]
    low, high = interval(shares)
    quarters, plain = statistics.quantiles(shares, n=4), statistics.quantiles(without, n=4)
    print(json.dumps({
        "cost_of": program_name, "version": version, "rounds": len(rounds), "without_ms": round(base, 3), "annotated_ms": round(statistics.median(annotated), 3),
        "cost": round(statistics.median(shares), 4), "interval_95": [round(low, 4), round(high, 4)], "middle_half": [round(quarters[0], 4), round(quarters[2], 4)],
        "fastest": [round(min(without), 3), round(min(annotated), 3)], "noise_of_one_pass": round((plain[2] - plain[0]) / base, 4),
    }), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=12)
    parser.add_argument("--new", type=int, default=program.NEW, help="tokens that a pass of generate() makes")
    parser.add_argument("--code", action="append", metavar="NAME=FOLDER", help="a version of annotation; that of this tree without one")
    parser.add_argument("names", nargs="+", choices=program.PROGRAMS)
    args = parser.parse_args()
    program.NEW, runs = args.new, {}

    def keep(name):
        def timed(passes, run):
            runs[name] = run
            return torch.zeros(1), [0.0]

        return timed

    for name in args.names:  # builds the model and keeps the function that is one pass
        program.timed = keep(name)
        program.PROGRAMS[name](1)
    versions = dict(text.split("=", 1) for text in args.code or ["annotated=" + NOW])
    switch = Switch({name: os.path.abspath(folder) for name, folder in versions.items()})
    for name in args.names:
        grad = name.startswith("train")
        with torch.enable_grad() if grad else torch.no_grad():
            rounds = measure(switch, runs[name], args.seconds)
        for version in [CONTROL, *versions]:
            tell(name, version, rounds)


if __name__ == "__main__":
    main()
