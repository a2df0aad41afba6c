#!/usr/bin/env python3
"""What annotation costs a pass, in one process: cost.py [--seconds S] [--new N] [--code NAME=FOLDER[,MODE]]... NAME...

Each program of program.py is built once. Its passes run in turns with annotation and without it, twice: what annotation replaced in torch and
transformers is put back for the passes without. The second without is a control, held against the first as annotation is. Python's garbage
collector is off meanwhile, and the main thread stays on one core. Prints a line a program and version, as soon as it is measured:

  cost, interval_95   median of the differences within a round, over the median pass without annotation, and its interval by ranks
  cost_cpu            the same by CPU time of the main thread, with its interval
  middle_half         of the differences
  one_pass            what passes without annotation do among themselves: distance of their quartiles, and of their 5th and 95th
                      percentile, over their median
  faster              share of the rounds in which the annotated pass was the faster one: 0.5 is a cost that single passes do not show

--new makes passes of generate() shorter, so that more of them fit: the cost of a step is the same. MODE is that of pipeline.annotate.
--no-nvtx opens ranges by functions that do nothing: what is left is deepprof's own code, also where torch has no NVTX (DEVICE=cpu).
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
import threading
import time
import types

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
        os.environ["DEEPPROF_ANNOTATE_OUT"] = tempfile.mkdtemp()
        self.places = places()
        self.hooks = [d for d in (getattr(sys.modules["torch.optim.optimizer"], "_global_optimizer_%s_hooks" % w, None) for w in ("pre", "post")) if d is not None]
        self.states = {"": self.current()}
        for name, folder in versions.items():
            folder, _, mode = folder.partition(",")
            os.environ["DEEPPROF_ANNOTATE"] = mode or "auto"
            self.install(os.path.abspath(folder))
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
    """Times of rounds in which each version has one pass: [{"": (ms, CPU ms) without, name: with, ...}, ...]. Their order is by chance, and
    every other round has that of the one before reversed."""

    def once(name):
        switch.turn(name)
        program.synchronize()
        start, cpu = time.perf_counter(), time.thread_time()
        run()
        program.synchronize()
        return 1000 * (time.perf_counter() - start), 1000 * (time.thread_time() - cpu)

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


def differences(rounds, version, clock):
    """What a version takes longer within each round, over the median pass without annotation."""
    base = statistics.median(r[""][clock] for r in rounds)
    return [(r[version][clock] - r[""][clock]) / base for r in rounds]


def shares(values):
    return [round(value, 4) for value in values]


def tell(program_name, version, rounds):
    without, annotated = ([r[v][0] for r in rounds] for v in ("", version))
    wall, cpu = (differences(rounds, version, clock) for clock in (0, 1))
    quarters, plain, base = statistics.quantiles(wall, n=4), statistics.quantiles(without, n=20), statistics.median(without)
    print(json.dumps({
        "cost_of": program_name, "version": version, "rounds": len(rounds), "without_ms": round(base, 3), "annotated_ms": round(statistics.median(annotated), 3),
        "cost": round(statistics.median(wall), 4), "interval_95": shares(interval(wall)), "middle_half": shares([quarters[0], quarters[2]]),
        "cost_cpu": shares([statistics.median(cpu), *interval(cpu)]),
        "one_pass": shares([(plain[14] - plain[4]) / base, (plain[18] - plain[0]) / base]), "faster": round(sum(d < 0 for d in wall) / len(wall), 3),
    }), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=12)
    parser.add_argument("--new", type=int, default=program.NEW, help="tokens that a pass of generate() makes")
    parser.add_argument("--code", action="append", metavar="NAME=FOLDER[,MODE]", help="a version of annotation; that of this tree without one")
    parser.add_argument("--no-nvtx", action="store_true")
    parser.add_argument("names", nargs="+", choices=program.PROGRAMS)
    args = parser.parse_args()
    program.NEW, runs = args.new, {}
    if args.no_nvtx:
        torch.cuda.nvtx._nvtx = types.SimpleNamespace(rangePushA=len, rangePop=gc.isenabled)
    if program.SMALL:
        torch.set_num_threads(1)

    def keep(name):
        def timed(passes, run):
            runs[name] = run
            return torch.zeros(1), [0.0]

        return timed

    for name in args.names:  # builds the model and keeps the function that is one pass
        program.timed = keep(name)
        program.PROGRAMS[name](1)
    versions = dict(text.split("=", 1) for text in args.code or ["annotated=" + NOW])
    switch = Switch(versions)
    os.sched_setaffinity(threading.get_native_id(), [max(os.sched_getaffinity(0))])  # threads of CUDA and autograd are there already
    for name in args.names:
        grad = name.startswith("train")
        with torch.enable_grad() if grad else torch.no_grad():
            rounds = measure(switch, runs[name], args.seconds)
        for version in [CONTROL, *versions]:
            tell(name, version, rounds)


if __name__ == "__main__":
    main()
