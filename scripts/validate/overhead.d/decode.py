"""A decode loop that is told what to do: decode.py [tiny|llama_8b] [cuda|cpu].

It builds the model of workloads/llm_server once and then obeys lines of standard input. `KIND ANNOTATED STEPS` runs that many decode steps of eight
sequences and prints one line of JSON: the milliseconds of each. KIND is eager or graphs; ANNOTATED is 0 or 1 and works where deepprof's annotation was
loaded. All kinds run in one process, because equal processes differ by more than a profiler costs.
"""

import json
import sys
import time

import torch

ANNOTATED = torch.nn.Module.__call__  # replaced by deepprof's annotation where that is loaded
PLAIN = torch.nn.Module._wrapped_call_impl if hasattr(torch.nn.Module, "_wrapped_call_impl") else torch.nn.Module._call_impl

from llm_server.engine import Engine  # noqa: E402
from llm_server.shapes import load  # noqa: E402
from llm_server.worker import nvtx_of  # noqa: E402

PROMPT, BATCH = 300, 8


def fill(engine):
    """Eight sequences in the middle of their answers, in one bucket of context."""
    for number in list(s.id for s in engine.running.values()):
        engine.cancel(number)
    for number in range(BATCH):
        engine.add({"id": number, "prompt": list(range(1, PROMPT + 1)), "max_tokens": 512 - PROMPT})
    engine.step()  # the prompts
    for _ in range(3):
        engine.step()


def measure(engine, graphs, kind, annotated, steps):
    engine.graphs = graphs if kind == "graphs" else {}
    torch.nn.Module.__call__ = ANNOTATED if annotated else PLAIN
    fill(engine)
    times = []
    for _ in range(steps):
        began = time.perf_counter()
        engine.step()
        times.append(1e3 * (time.perf_counter() - began))
    return times


def main():
    shape, device = (sys.argv[1:] + ["llama_8b", "cuda"][len(sys.argv) - 1 :])[:2]
    options = {
        "device": device, "dtype": "bf16" if device == "cuda" else "fp32", "shape": load(shape), "seed": 0, "kv_cache": "static", "max_batch": BATCH, "max_len": 512,
        "max_step_tokens": 8192, "context_bucket": 512, "step_names": "vllm", "cuda_graphs": device == "cuda",
    }
    engine = Engine(options, nvtx_of(torch))
    graphs = engine.graphs
    for kind in ("eager", "graphs"):
        measure(engine, graphs, kind, True, 20)
    print(json.dumps({"ready": torch.__version__, "annotation": ANNOTATED is not PLAIN}), flush=True)
    for line in sys.stdin:
        kind, annotated, steps = line.split()
        print(json.dumps(measure(engine, graphs, kind, annotated == "1", int(steps))), flush=True)


if __name__ == "__main__":
    main()
