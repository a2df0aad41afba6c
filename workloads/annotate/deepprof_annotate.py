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
    DEEPPROF_NVTX_LIBRARY    a library with nvtxRangePushA, for a torch that is built without NVTX (tests)
"""

import atexit
import importlib.abc
import importlib.machinery
import json
import os
import sys
import threading
import weakref

DEFAULT_LIMIT = 20000


class _AfterImport(importlib.abc.MetaPathFinder):
    """Calls a function once after a module has been imported."""

    def __init__(self, actions):
        self.actions = actions

    def find_spec(self, name, path=None, target=None):
        action = self.actions.get(name)
        if action is None:
            return None
        del self.actions[name]
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                if spec.loader is not None and hasattr(spec.loader, "exec_module"):
                    spec.loader = _Loader(spec.loader, action)
                return spec
        return None


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
        self._fd = None
        self._pid = None
        self._lock = threading.Lock()

    def write(self, **record):
        if not self.folder:
            return
        line = json.dumps(record, separators=(",", ":")) + "\n"
        with self._lock:
            if self._pid != os.getpid():  # also after a fork
                self._pid = os.getpid()
                path = os.path.join(self.folder, "%d.jsonl" % self._pid)
                try:
                    self._fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
                except OSError:
                    self._fd = None
            if self._fd is not None:
                try:
                    os.write(self._fd, line.encode())
                except OSError:
                    self._fd = None


class CtypesNVTX:
    """NVTX from a library, for a torch that has none."""

    def __init__(self, path):
        import ctypes

        library = ctypes.CDLL(path)
        self._push = library.nvtxRangePushA
        self._push.argtypes = [ctypes.c_char_p]
        self._pop = library.nvtxRangePop

    def range_push(self, name):
        self._push(name.encode())

    def range_pop(self):
        self._pop()


def nvtx_backend(torch):
    """What opens ranges; None where this build of torch has no NVTX."""
    path = os.environ.get("DEEPPROF_NVTX_LIBRARY")
    if path:
        return CtypesNVTX(path)
    nvtx = torch.cuda.nvtx
    if type(getattr(nvtx, "_nvtx", None)).__name__ == "_NVTXStub":
        return None
    return nvtx


class _Thread(threading.local):
    """What is open on a thread."""

    def __init__(self):
        self.modules = []  # (qualified name, or None for a root; names below it; whether a range was pushed)
        self.depth = 0  # of modules
        self.ranges = 0  # pushed since the outermost module was entered
        self.path = []  # of the open ranges that are ours
        self.generation = None
        self.busy = False


class Generation:
    """One call of generate(): the stage and the step that are open."""

    def __init__(self, model):
        self.model = model
        self.calls = 0  # of the model
        self.cached = 0  # tokens
        self.base = 0  # our ranges that were open before
        self.running = False  # the model is being called


class Annotator:
    """Opens and closes the ranges. One per process; a thread has its own stack."""

    def __init__(self, torch, nvtx, side, mode, depth, limit):
        self.torch = torch
        self.nvtx = nvtx
        self.side = side
        self.modules = mode != "stages"
        self.stages = mode != "modules"
        self.depth = depth or sys.maxsize
        self.limit = limit
        self.here = _Thread()
        self.names = weakref.WeakKeyDictionary()  # root module -> {id(module): qualified name}
        self.loops = weakref.WeakKeyDictionary()  # root module -> tokens in its cache by its own calls
        self.seen = set()  # paths that were told
        self.steps = 0
        self.off = False  # after an error of ours
        self.denoisers = {}  # class -> whether its forward() takes a timestep
        compiler = getattr(torch, "compiler", None)
        self.compiling = getattr(compiler, "is_compiling", lambda: False)

    # Ranges.

    def push(self, name):
        here = self.here
        self.nvtx.range_push(name)
        here.path.append(name)
        here.ranges += 1
        path = tuple(here.path)
        if path not in self.seen:
            self.seen.add(path)
            self.side.write(range=list(path))

    def pop(self):
        self.here.path.pop()
        self.nvtx.range_pop()

    # Modules.

    def try_enter(self, module, args, kwargs):
        """Opens the ranges of a call; False where that failed: nothing stays open then, and nothing is tried again."""
        here = self.here
        if self.off:
            return False
        ranges, modules = len(here.path), len(here.modules)
        here.busy = True
        try:
            self.enter(module, args, kwargs)
            return True
        except Exception as error:
            self.off = True
            self.side.write(warning="%s: %s" % (type(error).__name__, error))
            self.close_to(ranges)
            del here.modules[modules:]
            return False
        finally:
            here.busy = False

    def enter(self, module, args, kwargs):
        here = self.here
        opened = 0
        if not here.modules:
            here.ranges = 0
            if self.stages:
                opened = self.begin_outermost(module, args, kwargs)
        name, below = self.name(module)
        pushed = self.modules and here.depth < self.depth
        here.modules.append((below, pushed, opened))
        here.depth += 1
        if pushed:
            self.push(name)

    def leave(self):
        here = self.here
        _, pushed, opened = here.modules.pop()
        here.depth -= 1
        if pushed:
            self.pop()
        for _ in range(opened):
            self.pop()
        generation = here.generation
        if not here.modules and generation is not None and generation.running:
            generation.running = False
            self.push("sample")  # up to the next step: choosing the token is no module's work
        if not here.modules and here.ranges > self.limit and self.depth > 1:
            self.depth = min(self.depth, max(2, len(max(self.seen, key=len)))) - 1
            self.side.write(limited=here.ranges, depth=self.depth)

    def name(self, module):
        """The name of a range for a module under the open ones, and the names of all modules below its root."""
        here = self.here
        for below, _, _ in reversed(here.modules):
            full = below["names"].get(id(module))
            if full is None:
                continue
            above = below["at"]
            if not above:
                return full, {"names": below["names"], "at": full}
            if full.startswith(above + "."):
                return full[len(above) + 1 :], {"names": below["names"], "at": full}
            return full, {"names": below["names"], "at": full}
        return self.root_name(module), {"names": self.names_of(module), "at": ""}

    def root_name(self, module):
        return type(getattr(module, "_orig_mod", module)).__name__  # of torch.compile(module): the module

    def names_of(self, root):
        try:
            names = self.names.get(root)
            if names is None or names["count"] != len(root._modules):
                names = {"count": len(root._modules), "ids": {id(m): name for name, m in root.named_modules() if name}}
                self.names[root] = names
            return names["ids"]
        except TypeError:  # a module that cannot be a weak key
            return {id(m): name for name, m in root.named_modules() if name}

    # Stages.

    def begin_outermost(self, module, args, kwargs):
        """Opens the stage of an outermost call; returns how many ranges that were, to be closed with the call."""
        here = self.here
        shape = token_shape(self.torch, args, kwargs)
        generation = here.generation
        if generation is not None:
            if module is generation.model or getattr(module, "_orig_mod", None) is generation.model:
                self.next_step(generation, shape)
                generation.running = True
            return 0
        if module.training and self.torch.is_grad_enabled():
            self.push("forward")
            return 1
        if self.denoises(type(module)):
            self.push("denoise")
            self.push("step")
            return 2
        if shape is None:
            return 0
        batch, tokens = shape
        cached = self.loops.get(module)
        if tokens > 1 or cached is None:
            if tokens <= 1:
                return 0
            self.loops[module] = tokens
            self.push("prefill")
            self.record("prefill", batch, tokens, 0)
            return 1
        self.loops[module] = cached + tokens
        self.push("decode")
        self.push("step")
        self.record("decode", batch, tokens, cached)
        return 2

    def denoises(self, kind):
        """Whether a module is the denoiser of a diffusion pipeline: its forward() takes a timestep."""
        known = self.denoisers.get(kind)
        if known is None:
            code = getattr(kind.forward, "__code__", None)
            names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount] if code else ()
            known = self.denoisers[kind] = "timestep" in names or "timesteps" in names
        return known

    def record(self, stage, batch, tokens, cached):
        self.side.write(step=self.steps, stage=stage, batch=batch, tokens=tokens, cached=cached)
        self.steps += 1

    def next_step(self, generation, shape):
        """The model of a generation is called: its first call is prefill, each later one a step of decode."""
        here = self.here
        batch, tokens = shape or (None, None)
        self.close_to(generation.base + 1)  # "prepare", "sample", the step before
        if generation.calls == 1:
            self.pop()
            self.push("decode")
        if generation.calls:
            self.push("step")
        self.record("decode" if generation.calls else "prefill", batch, tokens, generation.cached)
        generation.cached += tokens or 0
        generation.calls += 1
        here.ranges = 0

    def close_to(self, depth):
        while len(self.here.path) > depth:
            self.pop()

    def generate(self, model, call):
        """Runs one generate(); one inside another belongs to the outer one."""
        here = self.here
        if here.generation is not None or here.modules or not self.stages:
            return call()
        generation = Generation(model)
        generation.base = len(here.path)
        here.generation = generation
        self.push("prefill")
        self.push("prepare")
        try:
            return call()
        finally:
            here.generation = None
            self.close_to(generation.base)

    def stage(self, name, call):
        """Runs something of its own name, such as backward."""
        if self.here.modules or not self.stages:
            return call()
        self.push(name)
        try:
            return call()
        finally:
            self.pop()


def token_shape(torch, args, kwargs):
    """(batch, tokens) of a call of a language model, by its inputs alone; None where it is not one."""

    def plain(tensor, dims):
        return type(tensor) is torch.Tensor and tensor.dim() == dims

    def sizes(tensor):
        batch, tokens = tensor.shape[0], tensor.shape[1]
        return (batch, tokens) if type(batch) is int and type(tokens) is int else None

    embeds = kwargs.get("inputs_embeds")
    if plain(embeds, 3):
        return sizes(embeds)
    ids = kwargs.get("input_ids", args[0] if args else None)
    if plain(ids, 2) and ids.dtype in (torch.int64, torch.int32):
        return sizes(ids)
    return None


def _patch_module(torch, annotator):
    module = torch.nn.Module
    original = module.__call__
    compiling = annotator.compiling
    here = annotator.here

    def call(self, *args, **kwargs):
        if compiling() or here.busy or not annotator.try_enter(self, args, kwargs):
            return original(self, *args, **kwargs)
        try:
            return original(self, *args, **kwargs)
        finally:
            annotator.leave()

    call.__name__, call.__qualname__, call.__doc__ = "__call__", "Module.__call__", original.__doc__
    module.__call__ = call
    for name, loaded in list(sys.modules.items()):  # where dynamo was imported with torch
        if name.startswith("torch._dynamo") and getattr(loaded, "unpatched_nn_module_call", None) is original:
            loaded.unpatched_nn_module_call = call
    try:  # dynamo leaves this frame alone and goes on inside
        torch._C._dynamo.eval_frame.skip_code(call.__code__)
    except (AttributeError, TypeError):
        pass


def _patch_training(torch, annotator):
    """backward() and the optimizer's step() become stages of the thread that calls them."""
    tensor_backward = torch.Tensor.backward

    def backward(self, *args, **kwargs):
        return annotator.stage("backward", lambda: tensor_backward(self, *args, **kwargs))

    backward.__doc__ = tensor_backward.__doc__
    torch.Tensor.backward = backward
    optim = getattr(torch, "optim", None)
    hooks = getattr(getattr(optim, "optimizer", None), "register_optimizer_step_pre_hook", None)
    if hooks is None:
        return
    if not annotator.stages:
        return
    hooks(lambda optimizer, args, kwargs: annotator.push("optimizer"))
    optim.optimizer.register_optimizer_step_post_hook(lambda optimizer, args, kwargs: annotator.pop())


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
        _patch_module(torch, _annotator)
        _patch_training(torch, _annotator)
        side.write(on=mode, torch=torch.__version__, argv=sys.argv[:1])
        atexit.register(side.write, ended=True)
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
