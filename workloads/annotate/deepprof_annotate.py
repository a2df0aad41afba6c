"""Opens an NVTX range around every call of a PyTorch module, in a program that nobody annotated.

A range is named by the part of the module's qualified name that its caller's range does not say yet ("layers.3",
"self_attn"), so that the path of the open ranges reads as the path of the module. Stages stand above them: prefill,
decode and step of a generation, forward, backward and optimizer of training. Nothing here looks at the values of
tensors or waits for the GPU.

How it gets in: torch.nn.Module.__call__ is replaced once, when torch has been imported and before torch._dynamo is.
Dynamo then takes ours for the original and goes straight to forward(), so that a compiled region has the same graphs
as without annotation and is one range.

Settings come from the environment, which spawned and forked processes inherit:
    DEEPPROF_ANNOTATE        stages, modules, or auto for both
    DEEPPROF_ANNOTATE_OUT    folder of the side files, one per process: PID.jsonl
    DEEPPROF_ANNOTATE_DEPTH  how deep modules are annotated, 0 for no limit
    DEEPPROF_ANNOTATE_LIMIT  how many ranges a pass may open; a deeper level is left out from the next pass on
    DEEPPROF_ANNOTATE_GATES  file that says between which ranges ncu counts; see deepprof_annotate_gates
    DEEPPROF_NVTX_LIBRARY    a library with nvtxRangePushA, for a torch that is built without NVTX (tests)
"""

import atexit
import functools
import importlib.abc
import importlib.machinery
import json
import os
import sys
import threading

import deepprof_annotate_call as call_of
import deepprof_annotate_gates as gates_of
import deepprof_annotate_work as work_of
from deepprof_annotate_ranges import Annotator

DEFAULT_LIMIT = 20000


class _AfterImport(importlib.abc.MetaPathFinder):
    """Calls a function once after a module has been imported.

    A module may be looked for and not imported: transformers asks importlib.util.find_spec() whether there is a torch.
    """

    def __init__(self, actions):
        self.actions = actions

    def find_spec(self, name, path=None, target=None):
        if name not in self.actions:
            return None
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                if spec.loader is not None and hasattr(spec.loader, "exec_module"):
                    spec.loader = _Loader(spec.loader, self.imported)
                return spec
        return None

    def imported(self, module):
        action = self.actions.pop(module.__name__, None)
        if action is not None:
            action(module)


class _Loader(importlib.abc.Loader):
    """Runs the loader that it stands for, then the action. Everything else is the loader's own."""

    def __init__(self, loader, action):
        self._loader = loader
        self._action = action

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        self._loader.exec_module(module)
        self._action(module)

    def __getattr__(self, name):
        return getattr(self._loader, name)


class SideFile:
    """Lines of JSON about what was annotated. A killed process loses nothing that it wrote."""

    def __init__(self, folder):
        self.folder = folder
        self._fd = None  # below 0 where nothing can be written
        self._lock = threading.Lock()
        os.register_at_fork(after_in_child=self._forked)

    def write(self, **record):
        if not self.folder:
            return
        try:
            self.line(json.dumps(record, separators=(",", ":")))
        except (TypeError, ValueError):  # sizes that are no numbers
            pass

    def step(self, step, stage, batch, tokens, cached):
        """The line of a step, which comes often."""
        if not self.folder:
            return
        if type(batch) is int and type(tokens) is int:
            line = '{"step":%d,"stage":"%s","batch":%d,"tokens":%d,"cached":%d}' % (step, stage, batch, tokens, cached)
            self.line(line)
        else:
            self.write(step=step, stage=stage, batch=batch, tokens=tokens, cached=cached)

    def line(self, text):
        fd = self._fd
        if fd is None:
            fd = self._open()
        if fd >= 0:
            try:
                os.write(fd, (text + "\n").encode())  # in one piece, at the end: threads do not mix
            except OSError:
                self._fd = -1

    def _open(self):
        with self._lock:
            if self._fd is None:
                path = os.path.join(self.folder, "%d.jsonl" % os.getpid())
                try:
                    self._fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
                except OSError:
                    self._fd = -1
            return self._fd

    def _forked(self):
        """A child has a file of its own."""
        self._fd, self._lock = None, threading.Lock()


class CtypesNVTX:
    """NVTX from a library, for a torch that has none."""

    def __init__(self, path):
        import ctypes

        library = ctypes.CDLL(path)
        self._push = library.nvtxRangePushA
        self._push.argtypes = [ctypes.c_char_p]
        self._pop = library.nvtxRangePop
        self._start = library.nvtxRangeStartA
        self._start.argtypes, self._start.restype = [ctypes.c_char_p], ctypes.c_uint64
        self.range_end = library.nvtxRangeEnd
        self.range_end.argtypes, self.range_end.restype = [ctypes.c_uint64], None

    def range_push(self, name):
        self._push(name.encode())

    def range_pop(self):
        self._pop()

    def range_start(self, name):
        return self._start(name.encode())


def nvtx_backend(torch):
    """What opens ranges; None where this build of torch has no NVTX."""
    path = os.environ.get("DEEPPROF_NVTX_LIBRARY")
    if path:
        return CtypesNVTX(path)
    nvtx = torch.cuda.nvtx
    if type(getattr(nvtx, "_nvtx", None)).__name__ == "_NVTXStub":
        return None
    return nvtx


def _patch_ranges(torch, annotator):
    """Follows the ranges that the program opens itself, so that the paths of ours are whole."""
    nvtx = torch.cuda.nvtx
    push, pop = nvtx.range_push, nvtx.range_pop

    def range_push(msg, *args, **kwargs):
        result = push(msg, *args, **kwargs)  # first, as it may raise
        annotator.push_own(str(msg))
        return result

    def range_pop(*args, **kwargs):
        result = pop(*args, **kwargs)
        annotator.pop_own()
        return result

    range_push.__doc__, range_pop.__doc__ = push.__doc__, pop.__doc__
    nvtx.range_push, nvtx.range_pop = range_push, range_pop


def _patch_attention(torch, annotator):
    """Notes the FLOPs of attention, which has no weights to tell them by. Dynamo sees the original alone."""
    functions = torch.nn.functional
    original = getattr(functions, "scaled_dot_product_attention", None)
    if original is None:
        return
    compiling, count, tensor, flops = annotator.compiling, annotator.count_function, torch.Tensor, work_of.attention

    @functools.wraps(original)
    def scaled_dot_product_attention(*args, **kwargs):
        if compiling():
            return original(*args, **kwargs)
        given = args[0] if args else kwargs.get("query")
        if type(given) is tensor:
            try:
                count(flops(args, kwargs), given)
            except Exception:  # arguments that the original will refuse
                pass
        return original(*args, **kwargs)

    functions.scaled_dot_product_attention = scaled_dot_product_attention
    builtins = getattr(torch.jit, "_builtins", None)
    if hasattr(builtins, "_register_builtin"):  # scripts are compiled with the original
        builtins._register_builtin(scaled_dot_product_attention, "aten::scaled_dot_product_attention")


def _patch_graphs(torch, annotator):
    """Calls that are captured into a CUDA graph do not run yet: their work is noted apart."""
    graph, here = torch.cuda.CUDAGraph, annotator.here
    begin, end = graph.capture_begin, graph.capture_end

    @functools.wraps(begin)
    def capture_begin(*args, **kwargs):
        result = begin(*args, **kwargs)
        here.state.capturing += 1
        return result

    @functools.wraps(end)
    def capture_end(*args, **kwargs):
        here.state.capturing = max(0, here.state.capturing - 1)
        return end(*args, **kwargs)

    graph.capture_begin, graph.capture_end = capture_begin, capture_end


def _patch_training(torch, annotator):
    """backward() becomes a stage of all threads, the optimizer's step() one of the thread that calls it."""
    tensor_backward = torch.Tensor.backward

    def backward(self, *args, **kwargs):
        return annotator.stage("backward", lambda: tensor_backward(self, *args, **kwargs))

    backward.__doc__ = tensor_backward.__doc__
    torch.Tensor.backward = backward
    optimizer = sys.modules.get("torch.optim.optimizer")  # some releases delete it from torch.optim
    before = getattr(optimizer, "register_optimizer_step_pre_hook", None)  # torch 2.0
    if not annotator.stages:
        return
    if before is None:
        _patch_optimizers(torch.optim.Optimizer, annotator)
        return
    before(lambda optimizer, args, kwargs: annotator.push("optimizer"))
    optimizer.register_optimizer_step_post_hook(lambda optimizer, args, kwargs: annotator.pop())


def _patch_optimizers(base, annotator):
    """torch 1 has no hooks of optimizers: step() of each class is wrapped once, when the first of it is made."""
    made = base.__init__

    def init(self, *args, **kwargs):
        made(self, *args, **kwargs)
        kind = type(self)
        step = kind.step
        if getattr(step, "annotated", False):
            return

        @functools.wraps(step)
        def annotated_step(*args, **kwargs):
            annotator.push("optimizer")
            try:
                return step(*args, **kwargs)
            finally:
                annotator.pop()

        annotated_step.annotated = True
        kind.step = annotated_step

    base.__init__ = init


def _patch_generate(annotator, utils):
    mixin = getattr(utils, "GenerationMixin", None)
    if mixin is None:
        return
    original = mixin.generate

    def generate(self, *args, **kwargs):
        return annotator.generate(self, lambda: original(self, *args, **kwargs))

    generate.__wrapped__ = original
    generate.__doc__ = original.__doc__
    mixin.generate = generate


def _patch_compiled_call(annotator, modeling):
    """transformers compiles Module.__call__ itself for static caches: our ranges would lie inside what is compiled."""
    model = getattr(modeling, "PreTrainedModel", None)
    original = getattr(model, "get_compiled_call", None)
    if original is None:
        return

    def get_compiled_call(self, *args, **kwargs):
        compiled = original(self, *args, **kwargs)

        def call(*inputs, **named):
            if not annotator.try_enter(self, inputs, named):
                return compiled(*inputs, **named)
            annotator.enter_compiled()
            try:
                return compiled(*inputs, **named)
            finally:
                annotator.leave()

        return call

    model.get_compiled_call = get_compiled_call


_annotator = None


def _on_torch(torch):
    global _annotator
    side = SideFile(os.environ.get("DEEPPROF_ANNOTATE_OUT"))
    try:
        nvtx = nvtx_backend(torch)
        if nvtx is None:
            side.write(off="no-nvtx")
            return
        mode = os.environ.get("DEEPPROF_ANNOTATE", "auto")
        depth = int(os.environ.get("DEEPPROF_ANNOTATE_DEPTH") or 0)
        limit = int(os.environ.get("DEEPPROF_ANNOTATE_LIMIT") or DEFAULT_LIMIT)
        _annotator = Annotator(torch, nvtx, side, mode, depth, limit)
        gates = os.environ.get("DEEPPROF_ANNOTATE_GATES")
        if gates:
            gates_of.install(torch, _annotator, gates)
        call_of.install(torch, _annotator)
        _patch_ranges(torch, _annotator)
        _patch_training(torch, _annotator)
        for patch in (_patch_attention, _patch_graphs):  # MFU needs them, ranges do not
            _when_annotated(lambda annotator, torch, patch=patch: patch(torch, annotator))(torch)
        side.write(on=mode, torch=torch.__version__, argv=sys.argv[:1])
        atexit.register(_annotator.end)
    except Exception as error:  # the program must run whatever happens here
        side.write(off="error", error="%s: %s" % (type(error).__name__, error))


def _when_annotated(patch):
    def action(module):
        if _annotator is not None:
            try:
                patch(_annotator, module)
            except Exception as error:
                _annotator.side.write(warning="%s: %s" % (type(error).__name__, error))

    return action


def arm():
    """Waits for torch and transformers to be imported."""
    if os.environ.get("DEEPPROF_ANNOTATE", "none") == "none":
        return
    actions = {
        "torch": _on_torch,
        "transformers.generation.utils": _when_annotated(_patch_generate),
        "transformers.modeling_utils": _when_annotated(_patch_compiled_call),
    }
    sys.meta_path.insert(0, _AfterImport(actions))
