"""Annotation of programs that know nothing of it: each test is a program in a process of its own."""

import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ANNOTATE = HERE.parent / "annotate"
STANDIN = HERE / "standin"

MODEL = """
import torch

class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.attn = torch.nn.Linear(8, 8)
        self.mlp = torch.nn.Linear(8, 8)

    def forward(self, x):
        return self.mlp(self.attn(x))

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(16, 8)
        self.layers = torch.nn.ModuleList(Block() for _ in range(2))
        self.head = torch.nn.Linear(8, 16)

    def forward(self, ids):
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)

torch.manual_seed(0)
"""


@unittest.skipUnless(shutil.which("cc"), "no C compiler for the library that stands in for NVTX")
class AnnotateTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.built = tempfile.TemporaryDirectory()
        cls.library = os.path.join(cls.built.name, "nvtxlog.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", cls.library, str(HERE / "nvtxlog.c")], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.built.cleanup()

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.dir = pathlib.Path(folder.name)
        (self.dir / "out").mkdir()

    def run_program(self, program, *flags, path=(), **env):
        """Runs a program; returns what it printed. self.paths() and self.records() then tell what was annotated."""
        file = self.dir / "program.py"
        file.write_text(textwrap.dedent(program))
        full = dict(os.environ)
        full.update(
            PYTHONPATH=os.pathsep.join([str(ANNOTATE), *map(str, path)]),
            PYTHONDONTWRITEBYTECODE="1",
            DEEPPROF_ANNOTATE="auto",
            DEEPPROF_ANNOTATE_OUT=str(self.dir / "out"),
            DEEPPROF_NVTX_LIBRARY=self.library,
            NVTX_LOG=str(self.dir / "log"),
        )
        full.update({k: str(v) for k, v in env.items()})
        done = subprocess.run(
            [sys.executable, *flags, str(file)], env=full, capture_output=True, text=True, cwd=self.dir
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def paths(self, log="log"):
        """The paths of all ranges in the order in which they were opened; every one was closed."""
        log = self.dir / log
        if not log.exists():
            return []
        stack, paths, wide = [], [], 0
        for line in log.read_text().splitlines():
            if line == "<":
                stack.pop()
            elif line == "-":
                wide -= 1
            elif line.startswith("+"):
                wide += 1
                paths.append(line)
            else:
                stack.append(line)
                paths.append("/".join(stack))
        self.assertEqual((stack, wide), ([], 0), "ranges are still open")
        return paths

    def records(self):
        files = sorted((self.dir / "out").glob("*.jsonl"))
        return [json.loads(line) for file in files for line in file.read_text().splitlines()]

    def test_gates_follow_the_ranges(self):
        """A torch without CUDA cannot open one; that it was tried says that the range was met. Nothing else fails."""
        gates = self.dir / "gates.json"
        gates.write_text(json.dumps([{"path": ["decode", "step", "Model", "layers.1", "mlp"], "n": 2, "open": True}]))
        loop = """
model = Model().eval()
ids = torch.arange(5)[None]
with torch.no_grad():
    for _ in range(3):
        ids = model(ids)[:, -1:].argmax(-1)
print(ids.tolist())
"""
        out = self.run_program(MODEL + loop, DEEPPROF_ANNOTATE_GATES=gates)
        self.assertEqual(self.paths().count("decode/step/Model/layers.1/mlp"), 2)
        warnings = [r["warning"] for r in self.records() if "warning" in r]
        self.assertEqual(len(warnings), 1, self.records())
        self.assertEqual(out, self.run_program(MODEL + loop))

    def test_a_loop_of_prefill_and_decode(self):
        out = self.run_program(
            MODEL
            + """
model = Model().eval()
ids = torch.arange(5)[None]
with torch.no_grad():
    for _ in range(3):
        ids = model(ids)[:, -1:].argmax(-1)
print(ids.tolist())
"""
        )
        paths = self.paths()
        self.assertEqual(
            paths[:6],
            [
                "prefill",
                "prefill/Model",
                "prefill/Model/embed",
                "prefill/Model/layers.0",
                "prefill/Model/layers.0/attn",
                "prefill/Model/layers.0/mlp",
            ],
        )
        self.assertEqual(paths.count("decode/step/Model/layers.1/mlp"), 2)
        steps = [r for r in self.records() if "step" in r]
        self.assertEqual(
            [(r["stage"], r["batch"], r["tokens"], r["cached"]) for r in steps],
            [("prefill", 1, 5, 0), ("decode", 1, 1, 5), ("decode", 1, 1, 6)],
        )
        told = {"/".join(r["range"]) for r in self.records() if "range" in r}
        self.assertEqual(told, set(paths))
        plain = self.run_program(pathlib.Path(self.dir / "program.py").read_text(), DEEPPROF_ANNOTATE="none")
        self.assertEqual(out, plain)

    def work(self):
        """The last line of each place with work: its path -> (FLOPs, calls, data type)."""
        lines = [r for r in self.records() if "work" in r]
        last = {r["node"]: r for r in lines}
        return {"/".join(r["work"]): (r["flops"], r["calls"], r["dtype"]) for r in last.values()}

    def test_work_of_modules(self):
        self.run_program(
            MODEL
            + """
model = Model().eval()
ids = torch.arange(5)[None]
with torch.no_grad():
    for _ in range(3):
        ids = model(ids)[:, -1:].argmax(-1)
"""
        )
        work = self.work()
        # Two FLOPs for each weight and token: five tokens of prefill, one in each of two steps.
        self.assertEqual(work["prefill/Model/layers.0/attn"], (2 * 8 * 8 * 5, 1, "float32"))
        self.assertEqual(work["decode/step/Model/layers.1/mlp"], (2 * 8 * 8 * 2, 2, "float32"))
        self.assertEqual(work["decode/step/Model/head"], (2 * 8 * 16 * 2, 2, "float32"))
        self.assertFalse([path for path in work if path.endswith(("embed", "Model", "layers.0"))])

    def test_work_of_convolutions_and_experts(self):
        self.run_program(
            """
import torch

class Experts(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gate_up_proj = torch.nn.Parameter(torch.zeros(4, 6, 8))
        self.down_proj = torch.nn.Parameter(torch.zeros(4, 8, 3))

    def forward(self, x, chosen, weights):
        return x

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.down = torch.nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.same = torch.nn.Conv2d(8, 8, 3, padding="same", groups=4)
        self.up = torch.nn.ConvTranspose2d(8, 2, 2, stride=2)
        self.experts = Experts()

    def forward(self, x):
        x = self.up(self.same(self.down(x)))
        tokens = torch.zeros(10, 8)
        return x, self.experts(tokens, torch.zeros(10, 2, dtype=torch.int64), torch.zeros(10, 2))

with torch.no_grad():
    Net().eval()(torch.zeros(2, 3, 16, 16))
"""
        )
        work = {path: flops for path, (flops, _, _) in self.work().items()}
        self.assertEqual(
            work,
            {
                "Net/down": 2 * 2 * 8 * (8 * 8) * 3 * 9,
                "Net/same": 2 * 2 * 8 * (8 * 8) * 2 * 9,
                "Net/up": 2 * 2 * 8 * (8 * 8) * 2 * 4,
                "Net/experts": 2 * 10 * 2 * (6 * 8 + 8 * 3),
            },
        )

    def test_work_of_attention(self):
        """torch 1.13 has no scaled_dot_product_attention: a stand-in takes its place before it is patched."""
        self.run_program(
            """
import sys
import torch
import torch.nn.functional as F

def attend(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False):
    return query @ key.transpose(-1, -2) @ value

F.scaled_dot_product_attention = attend
annotate = sys.modules["deepprof_annotate"]
annotate._patch_attention(torch, annotate._annotator)

class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.q_proj = torch.nn.Linear(16, 16)
        self.multi = torch.nn.MultiheadAttention(16, 2, batch_first=True)

    def forward(self, x, keys, causal):
        q = self.q_proj(x).view(2, -1, 4, 4).transpose(1, 2)
        F.scaled_dot_product_attention(q, keys, keys, is_causal=causal)
        return self.multi(x, x, x)[0]

with torch.no_grad():
    model = Attention().eval()
    model(torch.zeros(2, 5, 16), torch.zeros(2, 4, 5, 4), True)
    model(torch.zeros(2, 1, 16), torch.zeros(2, 4, 6, 4), False)
    F.scaled_dot_product_attention(torch.zeros(1, 1, 9, 4), torch.zeros(1, 1, 9, 4), torch.zeros(1, 1, 9, 4))
"""
        )
        work = self.work()
        # Eight heads of width 4; 15 pairs below the diagonal, then 6.
        self.assertEqual(work["Attention"], (2 * 8 * (15 + 6) * 8, 2, "float32"))
        self.assertEqual(work["Attention/q_proj"], (2 * 16 * 16 * 12, 2, "float32"))
        # Four projections of 12 tokens, and two products of each pair.
        self.assertEqual(work["Attention/multi"], (2 * 4 * 12 * 16 * 16 + 4 * 16 * (2 * 25 + 2), 2, "float32"))

    def test_work_that_a_graph_captures(self):
        """A call that is captured did not run: it is no call, and its FLOPs stand apart."""
        self.run_program(
            MODEL
            + """
base = torch.cuda.CUDAGraph.__mro__[1]  # what a torch without CUDA has there
base.capture_begin = base.capture_end = lambda self, *args, **kwargs: None
graph = object.__new__(torch.cuda.CUDAGraph)
model = Model().eval()
with torch.no_grad():
    model(torch.arange(5)[None])
    for tokens in (2, 2, 3):
        graph.capture_begin()
        model(torch.arange(tokens)[None])
        graph.capture_end()
    model(torch.arange(5)[None])
"""
        )
        last = {tuple(r["work"]): r for r in self.records() if "work" in r}
        mlp = last[("prefill", "Model", "layers.0", "mlp")]
        self.assertEqual((mlp["calls"], mlp["flops"]), (2, 2 * 2 * 8 * 8 * 5))
        self.assertEqual(mlp["captured"], [[2 * 8 * 8 * 2, 2], [2 * 8 * 8 * 3, 1]])

    def test_ranges_of_the_program_are_part_of_paths(self):
        self.run_program(
            MODEL
            + """
import ctypes, os
library = ctypes.CDLL(os.environ["DEEPPROF_NVTX_LIBRARY"])
torch.cuda.nvtx._nvtx.rangePushA = lambda name: library.nvtxRangePushA(name.encode())
torch.cuda.nvtx._nvtx.rangePop = lambda: library.nvtxRangePop()
model = Model().eval()
with torch.no_grad():
    for i in range(2):
        torch.cuda.nvtx.range_push("request %d" % i)
        model(torch.arange(5)[None])
        torch.cuda.nvtx.range_pop()
torch.cuda.nvtx.range_pop()  # one too many is the program's own affair
model(torch.arange(5)[None])
""",
            NVTX_LOG=os.devnull,
        )
        told = [(r["range"], r.get("own")) for r in self.records() if "range" in r]
        self.assertIn((["request *", "prefill", "Model", "head"], [0]), told)
        self.assertIn((["prefill", "Model", "head"], None), told)
        self.assertEqual(len([path for path, _ in told if path == ["request *", "prefill", "Model"]]), 1)
        self.assertEqual(self.work()["request */prefill/Model/head"], (2 * 8 * 16 * 5 * 2, 2, "float32"))

    def test_generate_of_transformers(self):
        program = (
            MODEL
            + """
import transformers.generation.utils as utils

class Chat(Model, utils.GenerationMixin):
    pass

model = Chat().eval()
with torch.no_grad():
    print(model.generate(torch.arange(4)[None], 3).tolist())
    torch.nn.Linear(8, 8)(torch.zeros(1, 8))
"""
        )
        package = self.dir / "lib" / "transformers" / "generation"
        package.mkdir(parents=True)
        (package.parent / "__init__.py").write_text("")
        (package / "__init__.py").write_text("")
        (package / "utils.py").write_text(
            """
import torch
class GenerationMixin:
    def generate(self, ids, n):
        for _ in range(n):
            ids = torch.cat([ids, self(ids)[:, -1:].argmax(-1)], 1)
        return ids
"""
        )
        self.run_program(program, path=[self.dir / "lib"])
        paths = self.paths()
        self.assertEqual(paths.count("prefill"), 1)
        self.assertEqual(paths.count("decode"), 1)
        self.assertEqual(paths.count("decode/step"), 2)
        self.assertIn("decode/step/Chat/layers.1/attn", paths)
        self.assertEqual(paths[:3], ["prefill", "prefill/prepare", "prefill/Chat"])
        self.assertEqual(paths.count("decode/step/sample"), 2)
        self.assertEqual(paths[-1], "Linear", "a call after generate() is outside its stages")

    def test_training(self):
        self.run_program(
            MODEL
            + """
model = Model()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
model(torch.arange(5)[None]).sum().backward()
optimizer.step()
"""
        )
        paths = self.paths()
        self.assertEqual(paths[0], "forward")
        self.assertIn("forward/Model/head", paths)
        self.assertIn("+backward", paths, "a range of all threads: autograd launches from its own")
        self.assertEqual(paths[-1], "optimizer")
        self.assertIn(["backward"], [r.get("range") for r in self.records()])

    def test_modules_that_run_again_in_backward(self):
        """Checkpointing calls modules while gradients are computed: they open no forward."""
        self.run_program(
            MODEL
            + """
import torch.utils.checkpoint as checkpoint

model = Model()
x = model.embed(torch.arange(5)[None])
checkpoint.checkpoint(model.layers[0], x, use_reentrant=False).sum().backward()
"""
        )
        paths = self.paths()
        again = paths[paths.index("+backward") + 1 :]
        self.assertIn("Block/attn", again)
        self.assertNotIn("forward", again)

    def test_a_denoising_loop(self):
        self.run_program(
            MODEL
            + """
class UNet(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv_in = torch.nn.Linear(8, 8)

    def forward(self, sample, timestep, encoder_hidden_states=None):
        return self.conv_in(sample)

model, x = UNet().eval(), torch.zeros(1, 8)
with torch.no_grad():
    for t in range(3):
        x = x - model(x, timestep=t)
"""
        )
        self.assertEqual(
            self.paths(), ["denoise", "denoise/step", "denoise/step/UNet", "denoise/step/UNet/conv_in"] * 3
        )

    def test_stages_alone_and_depth(self):
        program = (
            MODEL
            + """
with torch.no_grad():
    Model().eval()(torch.arange(5)[None])
"""
        )
        self.run_program(program, DEEPPROF_ANNOTATE="stages")
        self.assertEqual(self.paths(), ["prefill"])
        (self.dir / "log").unlink()
        self.run_program(program, DEEPPROF_ANNOTATE="modules")
        self.assertEqual(self.paths()[:2], ["Model", "Model/embed"])
        (self.dir / "log").unlink()
        self.run_program(program, DEEPPROF_ANNOTATE_DEPTH=2)
        self.assertEqual(max(path.count("/") for path in self.paths()), 2)

    def test_limit_of_ranges_a_pass(self):
        self.run_program(
            MODEL
            + """
model = Model().eval()
with torch.no_grad():
    for _ in range(4):
        model(torch.arange(5)[None])
""",
            DEEPPROF_ANNOTATE_LIMIT=5,
        )
        self.assertTrue(any("limited" in r for r in self.records()))
        per_pass = "\n".join(self.paths()).split("prefill\n")
        self.assertLess(len(per_pass[-1].splitlines()), len(per_pass[1].splitlines()))

    def test_hooks_and_traces_of_the_program(self):
        """A call goes straight to forward() only where torch would: later hooks run, and a trace has its scopes."""
        program = (
            MODEL
            + """
model, ids, seen = Model().eval(), torch.arange(5)[None], []
with torch.no_grad():
    model(ids), model(ids)
    model.layers[0].mlp.register_forward_pre_hook(lambda module, args: seen.append("before"))
    model.layers[1].mlp.register_forward_hook(lambda module, args, out: out + 1)
    print(model(ids).sum().item(), seen)
    everywhere = torch.nn.modules.module.register_module_forward_hook
    handle = everywhere(lambda module, args, out: seen.append(type(module).__name__))
    model(ids)
    handle.remove()
    print(seen)
    model.layers[0].attn.forward = lambda x: x * 0
    print(model(ids).sum().item())
    print(torch.jit.trace(Model().eval(), ids).inlined_graph)
    wide = torch.nn.Sequential(torch.nn.Sigmoid(), torch.nn.Flatten())
    print(torch.jit.trace(lambda x: wide(x.float()), ids).graph)
model.train()
grads = []
model.layers[1].attn.register_full_backward_hook(lambda module, into, out: grads.append(len(out)))
model(ids).sum().backward()
print(grads)
"""
        )
        annotated = self.run_program(program)
        self.assertTrue(self.paths())
        self.assertEqual(annotated, self.run_program(program, DEEPPROF_ANNOTATE="none"))
        self.assertIn("scope: __module.layers.0/__module.layers.0.attn", annotated)

    def test_dynamo_makes_the_same_graphs(self):
        """Modules compiled from outside and in place, a function, a graph break: same graphs, breaks and outputs, and
        one range for each call of what is compiled."""
        if importlib.util.find_spec("torch._dynamo") is None:
            self.skipTest("torch 1 has no dynamo")
        folder = HERE.parent.parent / "scripts" / "validate" / "annotate.d"
        program = f"""
import runpy, sys
sys.path.insert(0, {str(folder)!r})
sys.argv = ["program.py", "dynamo", "--passes", "1"]
runpy.run_path({str(folder / "program.py")!r}, run_name="__main__")
"""
        told = []
        for mode in ("none", "auto"):
            out = self.run_program(program, DEEPPROF_ANNOTATE=mode, DEVICE="cpu", USER="root")
            lines = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
            told.append((lines[0]["dynamo"], lines[1]["outputs"]))
        self.assertEqual(told[0], told[1])
        eager = self.paths().index("Model/last/1") + 1  # the call before anything is compiled
        self.assertEqual(self.paths()[eager:], ["Model", "Model", "Talks"] * 2)

    def test_an_exception_closes_the_ranges(self):
        self.run_program(
            MODEL
            + """
model = Model().eval()
for bad in (99, 1):
    try:
        model(torch.tensor([[bad, 1]]))
    except IndexError:
        pass
"""
        )
        self.assertEqual(self.paths().count("prefill/Model"), 2)

    def test_threads_have_their_own_stacks(self):
        """A thread that the model starts in the middle of its forward() calls a part of the model: what it launches is
        no work of the module that waits for it, and afterwards that one goes on where it was."""
        self.run_program(
            MODEL
            + """
import threading

class Outer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.part, self.last = torch.nn.Linear(8, 8), Block(), torch.nn.Linear(8, 8)

    def forward(self, x):
        x = self.first(x)
        for _ in range(2):
            thread = threading.Thread(target=lambda: [self.part(x), self.part(x)])
            thread.start()
            thread.join()
        try:
            self.part(None)
        except (AttributeError, TypeError):
            pass
        return self.last(x)

with torch.no_grad():
    model = Outer().eval()
    for _ in range(3):
        model(torch.zeros(2, 8))
""",
            NVTX_LOG_THREADS="1",
        )
        block = ["Block", "Block/attn", "Block/mlp"]
        failed = ["Outer/part", "Outer/part/attn"]
        logs = sorted(self.dir.glob("log.*"), key=lambda log: len(self.paths(log.name)))
        threads = [self.paths(log.name) for log in logs]
        self.assertEqual(threads.pop(), (["Outer", "Outer/first"] + failed + ["Outer/last"]) * 3)
        self.assertEqual(
            [p for paths in threads for p in paths], block * 12
        )  # a thread may get the number of one before

    def test_many_threads_at_once(self):
        self.run_program(
            MODEL
            + """
import threading

def work(model):
    with torch.no_grad():
        for _ in range(50):
            model(torch.zeros(2, 8))

shared = Block().eval()
threads = [threading.Thread(target=work, args=(m,)) for m in (shared, shared, Block().eval(), Block().eval())]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
""",
            NVTX_LOG_THREADS="1",
        )
        logs = [self.paths(log.name) for log in self.dir.glob("log.*")]
        self.assertTrue(all(paths == ["Block", "Block/attn", "Block/mlp"] * (len(paths) // 3) for paths in logs), logs)
        self.assertEqual(sum(map(len, logs)), 4 * 50 * 3)
        last = {r["node"]: r["calls"] for r in self.records() if "work" in r}
        self.assertEqual(sum(last.values()), 4 * 50 * 2)

    def test_modules_that_come_and_go(self):
        """A new module may get the number of one that is gone."""
        self.run_program(
            MODEL
            + """
class Holder(torch.nn.Module):
    def forward(self, x):
        return self.inner(x)

class Other(torch.nn.Module):
    def forward(self, x):
        return x

holder = Holder().eval()
with torch.no_grad():
    for i in range(40):
        holder.inner = Other() if i % 2 else torch.nn.Linear(8, 8)
        holder(torch.zeros(2, 8))
        holder(torch.zeros(2, 8))
        if i % 5 == 4:
            del holder.inner
"""
        )
        self.assertEqual(self.paths(), ["Holder", "Holder/inner"] * 80)

    def test_spawned_and_forked_processes(self):
        self.run_program(
            MODEL
            + """
import multiprocessing

def work(n):
    with torch.no_grad():
        Model().eval()(torch.arange(5)[None])

if __name__ == "__main__":
    for method in ("spawn", "fork"):
        process = multiprocessing.get_context(method).Process(target=work, args=(1,))
        process.start()
        process.join()
        assert process.exitcode == 0
"""
        )
        self.assertEqual(self.paths().count("prefill/Model/head"), 2)

    def test_an_existing_sitecustomize_still_runs(self):
        site = self.dir / "site"
        site.mkdir()
        (site / "sitecustomize.py").write_text("import builtins; builtins.hidden = 'ran'")
        out = self.run_program("import torch, sitecustomize\nprint(hidden, sitecustomize.__file__)", path=[site])
        self.assertEqual(out.split(), ["ran", str(site / "sitecustomize.py")])

    def test_a_program_that_looks_for_torch_before_it_imports_it(self):
        """As transformers does, and the sessions that ship with deepprof."""
        self.run_program(
            "import importlib.util\nassert importlib.util.find_spec('torch').loader\n"
            + MODEL
            + "Model().eval()(torch.zeros(1, 4, dtype=torch.long))"
        )
        self.assertIn("prefill/Model/layers.1/mlp", self.paths())

    def test_a_program_without_torch(self):
        self.assertEqual(self.run_program("print(1)"), "1\n")
        self.assertEqual(self.records(), [])

    def test_isolated_python_is_told_by_silence(self):
        """python -I does not look at PYTHONPATH: no side file tells the run that annotation did not get in."""
        self.run_program("import torch", "-I")
        self.assertEqual(self.records(), [])

    def test_a_torch_without_nvtx_says_so(self):
        self.run_program("import torch", DEEPPROF_NVTX_LIBRARY="")
        self.assertEqual([r["off"] for r in self.records()], ["no-nvtx"])

    def test_an_error_of_ours_does_not_reach_the_program(self):
        self.run_program(
            MODEL
            + """
class Odd(torch.nn.Module):
    def named_modules(self, *args, **kwargs):
        raise RuntimeError("not now")

    def forward(self, x):
        return x

assert Odd()(1) == 1
"""
        )
        self.assertTrue(any("not now" in r.get("warning", "") for r in self.records()))


if __name__ == "__main__":
    unittest.main()
