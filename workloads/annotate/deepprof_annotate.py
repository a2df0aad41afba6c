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
import functools
import importlib.abc
import importlib.machinery
import json
import os
import re
import sys
import threading
import weakref

DEFAULT_LIMIT = 20000
NUMBERS = re.compile(r"\d+")


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


class _Node:
    """A range that is, or was, open at one place: its name, and the nodes below it.

    Modules find their node by identity, so that a call of a known module costs one look-up.
    """

    __slots__ = (
        "name",
        "path",
        "own",
        "by_name",
        "by_module",
        "ref",
        "names",
        "at",
        "pushed",
        "work",
        "number",
        "calls",
        "elements",
    )

    def __init__(self, name, path, own=()):
        self.name = name
        self.path = path
        self.own = own  # which parts of the path are ranges of the program, with a * for numbers
        self.by_name = {}
        self.by_module = {}  # id(module) -> node
        self.ref = None  # of the module; ids are used again
        self.names = None  # id(module) -> qualified name, of all modules below the root
        self.at = ""  # qualified name of the module itself
        self.pushed = True
        self.work = 0  # FLOPs of the module's own products per element of its input; 0 where they are not known
        self.number = 0  # among those with work
        self.calls = 0  # of those with work
        self.elements = 0  # of the inputs of these calls


class _State:
    """What is open on a thread."""

    __slots__ = ("nodes", "modules", "opened", "ranges", "generation", "busy")

    def __init__(self, root):
        self.nodes = [root]  # open ranges of ours, and modules that are too deep for one
        self.modules = 0  # open ones
        self.opened = 0  # ranges of the stage around the outermost module, closed with it
        self.ranges = 0  # pushed since the outermost module was entered
        self.generation = None
        self.busy = False


class _Thread(threading.local):
    """The state of each thread."""

    def __init__(self, root):
        self.state = _State(root)


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
        native = getattr(nvtx, "_nvtx", None)  # without the wrapper of torch.cuda.nvtx
        self.range_push = getattr(native, "rangePushA", None) or nvtx.range_push
        self.range_pop = getattr(native, "rangePop", None) or nvtx.range_pop
        self.range_start = getattr(nvtx, "range_start", None)  # older versions of torch have none
        self.range_end = getattr(nvtx, "range_end", None)
        self.side = side
        self.modules = mode != "stages"
        self.stages = mode != "modules"
        self.depth = depth or sys.maxsize
        self.limit = limit
        self.here = _Thread(_Node("", ()))
        self.names = weakref.WeakKeyDictionary()  # root module -> {id(module): qualified name}
        self.loops = weakref.WeakKeyDictionary()  # root module -> tokens in its cache by its own calls
        self.steps = 0
        self.wide = {}  # name -> how many ranges of all threads are open; its keys are in the side file
        self.deepest = 0  # modules nested in each other
        self.off = False  # after an error of ours
        self.worked = []  # nodes with work
        self.fresh = []  # of them those that are not in the side file yet
        self.denoisers = {}  # class -> whether its forward() takes a timestep
        compiler = getattr(torch, "compiler", None)
        self.compiling = getattr(compiler, "is_compiling", lambda: False)

    # Ranges.

    def push(self, name):
        state = self.here.state
        above = state.nodes[-1]
        node = above.by_name.get(name)
        if node is None:
            node = above.by_name[name] = self.new_node(above, name)
        state.nodes.append(node)
        state.ranges += 1
        self.range_push(name)

    def new_node(self, above, name):
        node = _Node(name, above.path + (name,), above.own)
        self.side.write(range=list(node.path), **node_place(node))
        return node

    def push_own(self, name):
        """The program opens a range itself: ours inside it have their path below it."""
        state = self.here.state
        above = state.nodes[-1]
        pattern = NUMBERS.sub("*", name)
        node = above.by_name.get((pattern,))
        if node is None:
            node = _Node(pattern, above.path + (pattern,), above.own + (len(above.path),))
            above.by_name[(pattern,)] = node
        state.nodes.append(node)

    def pop_own(self):
        nodes = self.here.state.nodes
        if len(nodes) > 1 and len(nodes[-1].own) > len(nodes[-2].own):
            nodes.pop()

    def pop(self):
        if self.here.state.nodes.pop().pushed:
            self.range_pop()

    # Modules.

    def try_enter(self, module, args, kwargs):
        """Opens the ranges of a call; False where that failed: nothing stays open then, and nothing is tried again."""
        state = self.here.state
        if self.off or state.busy:
            return False
        depth, modules = len(state.nodes), state.modules
        state.busy = True
        try:
            self.enter(state, module, args, kwargs)
            return True
        except Exception as error:
            self.off = True
            self.side.write(warning="%s: %s" % (type(error).__name__, error))
            self.close_to(depth)
            state.modules = modules
            return False
        finally:
            state.busy = False

    def enter(self, state, module, args, kwargs):
        if not state.modules:
            state.ranges = 0
            state.opened = self.begin_outermost(state, module, args, kwargs) if self.stages else 0
        above = state.nodes[-1]
        node = above.by_module.get(id(module))
        if node is None or node.ref() is not module:
            node = self.module_node(state, above, module)
            above.by_module[id(module)] = node
            self.find_work(node, module, args)
        state.nodes.append(node)
        state.modules += 1
        self.deepest = max(self.deepest, state.modules)
        if node.pushed:
            state.ranges += 1
            self.range_push(node.name)
        if node.work and args and type(args[0]) is self.torch.Tensor:
            node.calls += 1
            node.elements += args[0].numel()

    def find_work(self, node, module, args):
        """What a module computes by itself, once: later calls only count the elements of their input."""
        if not node.pushed:
            return
        try:
            node.work = products(self.torch, module, args)
        except Exception:  # a module that looks like another one
            node.work = 0
        if node.work:
            node.number = len(self.worked)
            self.worked.append((node, data_type(self.torch, module, args[0])))
            self.fresh.append(self.worked[-1])

    def write_work(self, nodes):
        for node, dtype in nodes:
            where = dict(node_place(node), work=list(node.path), node=node.number)
            self.side.write(flops=node.work * node.elements, calls=node.calls, dtype=dtype, **where)

    def end(self):
        self.write_work(self.worked)
        self.side.write(ended=True)

    def leave(self):
        state = self.here.state
        if state.nodes.pop().pushed:
            self.range_pop()
        state.modules -= 1
        if state.modules:
            return
        for _ in range(state.opened):
            self.pop()
        state.opened = 0
        if self.fresh:  # in case the process is killed
            nodes, self.fresh = self.fresh, []
            self.write_work(nodes)
        generation = state.generation
        if generation is not None and generation.running:
            generation.running = False
            self.push("sample")  # up to the next step: choosing the token is no module's work
        if state.ranges > self.limit and self.depth > 1:
            self.depth = min(self.depth, max(2, self.deepest)) - 1
            self.forget(self.here.state.nodes[0])
            self.side.write(limited=state.ranges, depth=self.depth)

    def forget(self, node):
        """Lets every module be looked at again, after the depth has changed."""
        node.by_module = {}
        for below in node.by_name.values():
            self.forget(below)

    def module_node(self, state, above, module):
        """The node of a module below the open ones."""
        name, names, at = self.name(state, module)
        pushed = self.modules and state.modules < self.depth
        if pushed:
            known = above.by_name.get(name)
            node = known if known is not None and known.ref is None else None
            if node is None:
                node = self.new_node(above, name) if known is None else _Node(name, known.path, known.own)
            above.by_name.setdefault(name, node)
        else:
            node = _Node(name, above.path, above.own)
            node.pushed = False
        node.ref, node.names, node.at = weakref.ref(module), names, at
        return node

    def name(self, state, module):
        """The name of a range for a module, the names of all modules below its root, and its own."""
        for above in reversed(state.nodes):
            full = above.names and above.names.get(id(module))
            if not full:
                continue
            if above.at and full.startswith(above.at + "."):
                return full[len(above.at) + 1 :], above.names, full
            return full, above.names, full
        return self.root_name(module), self.names_of(module), ""

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

    def begin_outermost(self, state, module, args, kwargs):
        """Opens the stage of an outermost call; returns how many ranges that were, to be closed with the call."""
        shape = token_shape(self.torch, args, kwargs)
        generation = state.generation
        if generation is not None:
            if module is generation.model or getattr(module, "_orig_mod", None) is generation.model:
                self.next_step(generation, shape)
                generation.running = True
            return 0
        if self.wide.get("backward"):
            return 0  # computed again for the gradients
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
        self.here.state.ranges = 0

    def close_to(self, depth):
        while len(self.here.state.nodes) > depth:
            self.pop()

    def generate(self, model, call):
        """Runs one generate(); one inside another belongs to the outer one."""
        state = self.here.state
        if state.generation is not None or state.modules or not self.stages:
            return call()
        generation = Generation(model)
        generation.base = len(state.nodes)
        state.generation = generation
        self.push("prefill")
        self.push("prepare")
        try:
            return call()
        finally:
            state.generation = None
            self.close_to(generation.base)

    def stage(self, name, call):
        """Runs something whose work other threads launch: autograd launches backward from a thread of its own.
        The range is one of all threads."""
        if self.here.state.modules or not self.stages or self.range_start is None:
            return call()
        if name not in self.wide:
            self.side.write(range=[name])
        self.wide[name] = self.wide.get(name, 0) + 1
        handle = self.range_start(name)
        try:
            return call()
        finally:
            self.range_end(handle)
            self.wide[name] -= 1


def node_place(node):
    """What the line of a node says of ranges of the program in its path."""
    return {"own": list(node.own)} if node.own else {}


def products(torch, module, args):
    """FLOPs of a module's own matrix products and convolutions, per element of its first input; 0 where it has none."""
    given = args[0] if args else None
    if type(given) is not torch.Tensor or not given.is_floating_point() or not given.dim():
        return 0
    own, width = module._parameters, given.shape[-1]
    if isinstance(module, torch.nn.modules.conv._ConvNd):
        return convolution(module, given)
    if getattr(module, "in_features", None) == width and type(getattr(module, "out_features", None)) is int:
        return 2 * module.out_features
    weight = own.get("weight")
    if weight is not None and weight.dim() == 2 and width in weight.shape:
        return 2 * (weight.shape[0] if weight.shape[1] == width else weight.shape[1])
    stacked = [p for p in own.values() if p is not None and p.dim() == 3]  # one matrix for each expert
    chosen = args[1] if len(args) > 1 else None
    if stacked and type(chosen) is torch.Tensor and chosen.dim() == 2 and not chosen.is_floating_point():
        experts = stacked[0].shape[0]
        return 2 * chosen.shape[1] * sum(p.numel() for p in stacked) / experts / width
    return 0


def convolution(module, given):
    kernel = 1
    for size in module.kernel_size:
        kernel *= size
    if module.transposed:  # every element of the input goes to all places of the kernel
        return 2 * module.out_channels // module.groups * kernel
    size = 1
    for i, length in enumerate(given.shape[-len(module.kernel_size) :]):
        reach = module.dilation[i] * (module.kernel_size[i] - 1)
        if module.padding == "same":
            around = reach
        else:
            around = 0 if module.padding == "valid" else 2 * module.padding[i]
        size *= (length + around - reach - 1) // module.stride[i] + 1
    batch = given.numel()
    for length in given.shape[-len(module.kernel_size) - 1 :]:
        batch //= length
    done = 2 * batch * module.out_channels * size * (module.in_channels // module.groups) * kernel
    return done / given.numel()


def data_type(torch, module, given):
    """The type in which the products of a module are made, as torch names it; tf32 where fp32 is allowed to be."""
    weight = module._parameters.get("weight")
    if weight is not None and "float8" in str(weight.dtype):
        return str(weight.dtype)
    dtype = given.dtype
    if torch.is_autocast_enabled():
        ask = getattr(torch, "get_autocast_dtype", None)
        dtype = ask("cuda") if ask else torch.get_autocast_gpu_dtype()
    if dtype is torch.float32:
        if isinstance(module, torch.nn.modules.conv._ConvNd):
            tf32 = torch.backends.cudnn.allow_tf32
        else:
            tf32 = torch.get_float32_matmul_precision() != "highest"
        return "tf32" if tf32 else "float32"
    return str(dtype)


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
    compiling, enter, leave, here = annotator.compiling, annotator.try_enter, annotator.leave, annotator.here
    range_push, range_pop, tensor = annotator.range_push, annotator.range_pop, torch.Tensor

    def call(self, *args, **kwargs):
        if compiling():
            return original(self, *args, **kwargs)
        state = here.state
        nodes = state.nodes
        node = nodes[-1].by_module.get(id(self)) if state.modules else None
        if node is None or node.ref() is not self:
            if not enter(self, args, kwargs):
                return original(self, *args, **kwargs)
            try:
                return original(self, *args, **kwargs)
            finally:
                leave()
        # The usual case, without a call of ours: a known module inside another one.
        nodes.append(node)
        state.modules += 1
        if node.pushed:
            state.ranges += 1
            range_push(node.name)
            if node.work and args and type(args[0]) is tensor:
                node.calls += 1
                node.elements += args[0].numel()
        try:
            return original(self, *args, **kwargs)
        finally:
            if nodes.pop().pushed:
                range_pop()
            state.modules -= 1

    call.__name__, call.__qualname__, call.__doc__ = "__call__", "Module.__call__", original.__doc__
    module.__call__ = call
    for name, loaded in list(sys.modules.items()):  # where dynamo was imported with torch
        if name.startswith("torch._dynamo") and getattr(loaded, "unpatched_nn_module_call", None) is original:
            loaded.unpatched_nn_module_call = call
    try:  # dynamo leaves this frame alone and goes on inside
        torch._C._dynamo.eval_frame.skip_code(call.__code__)
    except (AttributeError, TypeError):
        pass


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
        _patch_ranges(torch, _annotator)
        _patch_training(torch, _annotator)
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
