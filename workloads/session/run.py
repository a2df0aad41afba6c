"""The program: reads the spec, loads the model, warms up, measures."""

import argparse
import contextlib
import json
import os
import sys

from session import data, failure, flopcount, metrics, models, operators, ranges
from session.facts import fact, line
from session.llm import LlmSession
from session.resnet import ResnetSession
from session.timing import Clock
from session.vlm import VlmSession

SPEC_SCHEMA = 1
SESSIONS = {"llm": LlmSession, "vlm": VlmSession, "resnet": ResnetSession}
MODES = ("time", "profile", "torch_profiler", "flops")


class Context:
    """What every part of a session shares."""

    def __init__(self, torch, spec, say):
        self.torch = torch
        self.spec = spec
        self.say = say
        self.out = spec["out"]
        self.device = spec["device"]
        self.model = spec["model"]
        self.infer = dict(spec["infer"])
        self.dataset = spec["dataset"]
        self.clock = Clock(torch, self.device)
        # Doubts about the numbers that a reader must see beside them.
        self.notes = []
        if spec["mode"] == "flops":
            # Operators inside a graph or a compiled function cannot be counted; shapes are the same without.
            self.infer.update(cuda_graphs=False, compile=False)

    def note(self, stated):
        """Says a fact now and puts it into metrics.json."""
        self.notes.append(stated)
        self.say(line(stated))


def main(arguments, stderr=None):
    stderr = stderr or sys.stderr
    parser = argparse.ArgumentParser(prog="main.py", description="run one session of a model as a spec describes it")
    parser.add_argument("--spec", required=True, help="the spec.json that deepprof wrote for this stage")
    path = parser.parse_args(arguments).spec
    try:
        spec = read_spec(path)
    except (OSError, ValueError) as problem:
        print(f"read spec {path}: {problem}", file=stderr)
        return 2
    try:
        run(spec, lambda text: print(text, file=stderr, flush=True))
    except KeyboardInterrupt:
        print("interrupted; what was measured so far is in metrics.json", file=stderr)
        return 130
    except Exception as error:
        return failure.report(error, spec["out"], stderr)
    return 0


def read_spec(path):
    with open(path, encoding="utf-8") as file:
        spec = json.load(file)
    if not isinstance(spec, dict) or spec.get("schema") != SPEC_SCHEMA:
        raise ValueError(f"not a spec of schema {SPEC_SCHEMA}")
    wanted = ("stage", "out", "device", "kind", "mode", "model", "infer", "dataset", "nvtx")
    absent = [key for key in wanted if key not in spec]
    if absent:
        raise ValueError("lacks " + ", ".join(absent))
    if spec["kind"] not in SESSIONS:
        raise ValueError(f"kind {spec['kind']!r} is none of {', '.join(SESSIONS)}")
    if spec["mode"] not in MODES:
        raise ValueError(f"mode {spec['mode']!r} is none of {', '.join(MODES)}")
    if spec["mode"] == "torch_profiler" and not spec.get("torch_profiler"):
        raise ValueError("lacks torch_profiler")
    if spec.get("then") and (spec["mode"] != "time" or spec["then"].get("mode") != "torch_profiler"):
        raise ValueError("only a timed session can be followed, and only by one under torch.profiler")
    for key in ("batch_size", "max_new_tokens", "repeats"):
        value = spec["infer"].get(key)
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise ValueError(f"infer.{key} must be a positive integer, not {value!r}")
    return spec


def run(spec, say):
    """One session, from the spec to its files."""
    os.makedirs(spec["out"], exist_ok=True)
    remove_earlier(spec["out"])
    if spec["mode"] == "torch_profiler":
        operators.refuse_second_profiler(os.environ)
    torch = models.import_torch()
    models.check_device(torch, spec["device"], spec.get("device_asked"))
    context = Context(torch, spec, say)
    session = SESSIONS[spec["kind"]](context)
    session.check()

    sync = bool(spec["nvtx"]["sync"])
    backend = ranges.nvtx_backend(torch, context.note)
    session.ranges = ranges.Ranges(backend, context.clock, sync)
    say(f"load {context.model['name']} on {context.device}")
    session.load(session.ranges)
    note_doubts(context, session)
    book = metrics.Metrics(spec["out"], header(context, session))
    book.write(complete=False)

    first = session.samples[session.plan.used()[0]]
    if spec["mode"] == "flops":
        flopcount.count(context, session, session.device_inputs(first))
        book.write(complete=True)
        return
    say("warm up")
    session.warm_up(ranges.Ranges(ranges.Silent(), context.clock, sync))
    if spec["mode"] == "torch_profiler":
        profile_operators(context, session, book, first, backend)
    else:
        measure(context, session, book)
    session.refuse_nothing(book.samples)
    book.write(complete=True)
    say(f"done: {len(book.samples)} passes")
    if spec.get("then"):
        follow(context, session, backend, spec["then"])


def follow(context, session, backend, spec):
    """Profiles the model that is loaded and warm, behind everything that was timed. Whatever goes wrong here belongs to
    the second session: its folder gets the error, and the first one has succeeded."""
    warm = session.plan.used()
    try:
        os.makedirs(spec["out"], exist_ok=True)
        remove_earlier(spec["out"])
        operators.refuse_second_profiler(os.environ)
        context = Context(context.torch, spec, context.say)
        session.plan = data.plan_of(len(session.samples), context.dataset["sampling"])
        index = session.plan.used()[0]
        if index not in warm:
            context.say("the pass under torch.profiler needs another sample: it gets a process of its own")
            return
        book = metrics.Metrics(spec["out"], header(context, session))
        profile_operators(context, session, book, session.samples[index], backend)
        book.write(complete=True)
        context.say("done: one pass under torch.profiler")
    except Exception as error:
        failure.report(error, spec["out"], sys.stderr)


def profile_operators(context, session, book, sample, backend):
    record = operators.profile(context, session, session.device_inputs(sample), backend)
    book.add(dict(epoch=0, sample=0, repeat=0, input=sample.name, **record))


def note_doubts(context, session):
    asked = context.dataset["sampling"].get("num_samples_per_epoch")
    if asked is not None and asked > len(session.samples):
        context.note(fact("session-few-samples", asked=("count", asked), has=("count", len(session.samples))))
    if context.infer["batch_size"] > 1 and context.dataset.get("root") is not None:
        context.note(fact("session-samples-repeated", n=("count", context.infer["batch_size"])))
    if context.infer["warmup"] == 0 and context.spec["mode"] != "flops":
        context.note(fact("session-no-warmup"))


def remove_earlier(out):
    """An earlier attempt's files must not pass for this one's."""
    for name in ("metrics.json", "predictions.jsonl", "operators.json", "trace.json.gz", "flops.json", "error.json"):
        try:
            os.remove(os.path.join(out, name))
        except FileNotFoundError:
            pass


def header(context, session):
    infer, plan = context.infer, session.plan
    return {
        "kind": context.spec["kind"],
        "stage": context.spec["stage"],
        "mode": context.spec["mode"],
        "device": context.device,
        "clock": context.clock.source,
        "model": session.identity(),
        "software": metrics.software(context.torch, context.device),
        "plan": {
            "batch_size": infer["batch_size"],
            "prompt_length": infer["prompt_length"],
            "max_new_tokens": infer["max_new_tokens"],
            "epochs": len(plan.epochs),
            "samples": len(plan.epochs[0]),
            "repeats": infer["repeats"],
            "warmup": infer["warmup"],
            "sync": bool(context.spec["nvtx"]["sync"]),
            "dataset": context.dataset["name"],
            "order": plan.epochs,
            "order_seed": plan.seed,
        },
        "notes": context.notes,
    }


def measure(context, session, book):
    """Every pass of the plan."""
    with profiler_gate(context):
        for epoch, indices in enumerate(session.plan.epochs):
            for index in indices:
                measure_sample(context, session, book, epoch, index)


@contextlib.contextmanager
def profiler_gate(context):
    """Opens the gate that a capture may wait for behind the warm-up, and closes it whatever happens."""
    if context.spec["mode"] != "profile" or not context.clock.cuda:
        yield
        return
    gate = context.torch.cuda.profiler
    gate.start()
    try:
        yield
    except BaseException:
        # A device that failed cannot be told to stop either, and its first error is the one to report.
        with contextlib.suppress(RuntimeError):
            gate.stop()
        raise
    gate.stop()


def measure_sample(context, session, book, epoch, index):
    sample = session.samples[index]
    inputs = session.device_inputs(sample)
    for repeat in range(context.infer["repeats"]):
        memory = PeakMemory(context)
        record, result = session.measure(inputs, session.ranges)
        where = {"epoch": epoch, "sample": index, "repeat": repeat, "input": sample.name}
        book.add({**where, **record, "peak_memory_bytes": memory.peak()})
        if context.spec.get("predictions") and repeat == 0:
            append_prediction(context.out, {**where, **session.prediction(result)})


class PeakMemory:
    """The most that tensors occupied on the GPU since this was made; None on the CPU, where torch does not count."""

    def __init__(self, context):
        self._cuda = context.torch.cuda if context.clock.cuda else None
        if self._cuda is not None:
            self._cuda.reset_peak_memory_stats()

    def peak(self):
        return self._cuda.max_memory_allocated() if self._cuda is not None else None


def append_prediction(out, value):
    with open(os.path.join(out, "predictions.jsonl"), "a", encoding="utf-8") as file:
        json.dump(value, file, ensure_ascii=False)
        file.write("\n")
