"""The ranges that deepprof opens in a program: which modules and stages are open on each thread, and their names.

Nothing here looks at the values of tensors or waits for the GPU.
"""

import functools
import itertools
import re
import sys
import time
import weakref

import deepprof_annotate_work as work_of
from deepprof_annotate_places import Node, Thread, known_name, node_place, remove_node

NUMBERS = re.compile(r"\d+")
WORK_EVERY = 5  # seconds


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
        own = getattr(nvtx, "_nvtx", None)  # without the wrapper of torch.cuda.nvtx
        self.range_push = getattr(own, "rangePushA", None) or nvtx.range_push
        self.range_pop = getattr(own, "rangePop", None) or nvtx.range_pop
        self.range_start = getattr(nvtx, "range_start", None)  # older versions of torch have none
        self.range_end = getattr(nvtx, "range_end", None)
        self.side = side
        self.modules = mode != "stages"
        self.stages = mode != "modules"
        self.depth = depth or sys.maxsize
        self.limit = limit
        self.root = Node("", ())
        self.here = Thread(self.root)
        self.names = weakref.WeakKeyDictionary()  # root module -> {id(module): qualified name}
        self.loops = {}  # id of a root module -> (weak reference to it, tokens in its cache by its own calls)
        self.steps = 0
        self.wide = {}  # name -> how many ranges of all threads are open; its keys are in the side file
        self.deepest = 0  # modules nested in each other
        self.off = False  # after an error of ours
        self.worked = []  # nodes with work
        self.fresh = []  # of them those that are not in the side file yet
        self.due = time.monotonic() + WORK_EVERY  # when the work of all nodes is written again
        self.direct = lambda module: False  # whether deepprof_annotate_call can call a module, inside another one
        self.graph_module = getattr(getattr(torch, "fx", None), "GraphModule", ())
        self.denoisers = {}  # class -> whether its forward() takes a timestep
        compiler = getattr(torch, "compiler", None)
        self.tracing = getattr(torch._C, "_get_tracing_state", lambda: None)
        self.compiling = getattr(compiler, "is_compiling", lambda: False)

    # Ranges.

    def push(self, name, state=None):
        """state is that of this thread, where it is known already."""
        state = state or self.here.state
        above = state.node
        node = above.by_name.get(name)
        if node is None:
            node = above.by_name[name] = self.new_node(above, name)
        state.node = node
        state.ranges += 1
        self.range_push(name)

    def new_node(self, above, name):
        node = Node(name, above.path + (name,), above.own, above)
        self.side.write(range=list(node.path), **node_place(node))
        return node

    def push_own(self, name):
        """The program opens a range itself: ours inside it have their path below it."""
        state = self.here.state
        above = state.node
        pattern = NUMBERS.sub("*", name)
        node = above.by_name.get((pattern,))
        if node is None:
            node = Node(pattern, above.path + (pattern,), above.own + (len(above.path),), above)
            above.by_name[(pattern,)] = node
            if above.inner is None:
                node.inner = None
        node.calls += 1
        state.node = node

    def pop_own(self):
        state = self.here.state
        node = state.node
        if node.above is not None and len(node.own) > len(node.above.own):
            state.node = node.above

    def pop(self, state=None):
        state = state or self.here.state
        node = state.node
        state.node = node.above
        if node.pushed:
            self.range_pop()

    # Modules.

    def try_enter(self, module, args, kwargs):
        """Opens the ranges of a call; False where that failed: nothing stays open then, and nothing is tried again."""
        state = self.here.state
        above = state.node
        if self.off or state.busy or self.tracing():  # sizes are no numbers while torch.jit traces
            return False
        if above.inner is None:
            return False
        if above.compiled and self.is_compiled(above.ref(), module):
            return False
        depth = above.depth
        state.busy = True
        try:
            self.enter(state, module, args, kwargs)
            return True
        except Exception as error:
            self.off = True
            self.side.write(warning="%s: %s" % (type(error).__name__, error))
            self.close_to(depth, state)
            return False
        finally:
            state.busy = False

    def enter(self, state, module, args, kwargs):
        if not state.node.level:
            state.ranges = 0
            state.opened = self.begin_outermost(state, module, args, kwargs) if self.stages else 0
        above = state.node
        node = above.by_module.get(id(module))
        if node is None:
            node = self.module_node(state, above, module)
            above.by_module[id(module)] = node
            self.find_work(node, module, args, kwargs)
            if above.level and node.pushed and node.per_element >= 0 and self.direct(module):
                above.inner[id(module)] = node
        state.node = node
        self.deepest = max(self.deepest, node.level)
        if node.pushed:
            state.ranges += 1
            self.range_push(node.name)
            self.count(state, node, args, kwargs)

    # Work.

    def find_work(self, node, module, args, kwargs):
        """What a module computes by itself, once: later calls only multiply it."""
        if not node.pushed:
            return
        try:
            node.counts = work_of.counter(self.torch, module)
            node.per_element = -1 if node.counts else work_of.products(self.torch, module, args)
        except Exception:  # a module that looks like another one
            node.per_element, node.counts = 0, None
        given = args[0] if args else kwargs.get("query")
        if node.per_element and isinstance(given, self.torch.Tensor):
            self.add_worked(node, work_of.data_type(self.torch, module, given))

    def add_worked(self, node, dtype):
        node.number = len(self.worked)
        self.worked.append((node, dtype))
        self.fresh.append(self.worked[-1])

    def count(self, state, node, args, kwargs):
        """Adds the FLOPs of one call of a module to its node."""
        flops = elements = 0
        try:
            if node.per_element < 0:
                flops = node.counts(args, kwargs)
            elif node.per_element:
                if not args or type(args[0]) is not self.torch.Tensor:
                    return  # not known of this call
                elements = args[0].numel()
        except Exception:
            return
        if state.capturing:
            node.captured.append(flops + node.per_element * elements)
            return
        node.calls += 1
        node.elements += elements
        node.other_flops += flops

    def count_function(self, flops, given):
        """Adds the FLOPs of a function to the module that calls it, unless all products of that are known already."""
        state = self.here.state
        node = state.node
        if not self.modules or not node.level:
            return
        if node.per_element:
            return
        if node.number < 0:
            self.add_worked(node, work_of.data_type(self.torch, None, given))
        if not state.capturing:
            node.other_flops += flops
        elif node.captured:
            node.captured[-1] += flops

    def write_work(self, nodes):
        for node, dtype in nodes:
            where = dict(node_place(node), work=list(node.path), node=node.number)
            if node.captured:
                where["captured"] = runs_of(node.captured)
            self.side.write(flops=node.flops(), calls=node.calls, dtype=dtype, **where)

    def end(self):
        self.write_work(self.worked)
        self.side.write(ended=True)

    def leave(self):
        state = self.here.state
        self.pop(state)
        if state.node.level:
            return
        for _ in range(state.opened):
            self.pop(state)
        state.opened = 0
        now, nodes = time.monotonic(), self.fresh
        if now > self.due:
            self.due, nodes = now + WORK_EVERY, self.worked
        if nodes:  # in case the process is killed
            self.fresh = []
            self.write_work(nodes)
        generation = state.generation
        if generation is not None and generation.running:
            generation.running = False
            self.push("sample", state)  # up to the next step: choosing the token is no module's work
        if state.ranges > self.limit and self.depth > 1:
            self.depth = min(self.depth, max(2, self.deepest)) - 1
            self.forget(self.root)
            self.side.write(limited=state.ranges, depth=self.depth)

    def forget(self, node):
        """Lets every module be looked at again, after the depth has changed."""
        node.by_module, node.inner = {}, {}
        for below in node.by_name.values():
            self.forget(below)

    def module_node(self, state, above, module):
        """The node of a module below the open ones."""
        name, names, at = self.name(state, module)
        pushed = self.modules and above.level < self.depth
        if pushed:
            known = above.by_name.get(name)
            node = known if known is not None and known.ref is None else None
            if node is None:
                node = self.new_node(above, name) if known is None else Node(name, known.path, known.own, above)
            above.by_name.setdefault(name, node)
        else:
            node = Node(name, above.path, above.own, above)
            node.pushed = False
        node.level = above.level + 1
        if node.level >= self.depth or not self.modules:
            node.inner = None
        node.names, node.at = names, at
        node.ref = weakref.ref(module, functools.partial(remove_node, above, id(module)))
        if hasattr(module, "_orig_mod") or getattr(module, "_compiled_call_impl", None) is not None:
            self.write_compiled(node)
        return node

    def enter_compiled(self):
        """The module that was entered last runs compiled."""
        node = self.here.state.node
        if not node.compiled:
            self.write_compiled(node)

    def is_compiled(self, outer, module):
        """Whether a module inside a compiled one is what was compiled, or what came out: these are one range."""
        return getattr(outer, "_orig_mod", None) is module or isinstance(module, self.graph_module)

    def write_compiled(self, node):
        """A compiled module is one range: of the modules in it nothing is known."""
        node.compiled = True
        if node.pushed:
            self.side.write(compiled=list(node.path), **node_place(node))

    def name(self, state, module):
        """The name of a range for a module, the names of all modules below its root, and its own."""
        above = state.node
        while above is not None:
            full = above.names and known_name(above, module)
            if not full:
                above = above.above
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
                self.next_step(state, generation, shape)
                generation.running = True
            return 0
        if self.wide.get("backward"):
            return 0  # computed again for the gradients
        if module.training and self.torch.is_grad_enabled():
            self.push("forward", state)
            return 1
        if self.denoises(type(module)):
            self.push("denoise", state)
            self.push("step", state)
            return 2
        if shape is None:
            return 0
        batch, tokens = shape
        number = id(module)
        known = self.loops.get(number)
        if tokens > 1 or known is None:
            if tokens <= 1:
                return 0
            ref = known[0] if known else weakref.ref(module, lambda ref: self.loops.pop(number, None))
            self.loops[number] = ref, tokens
            self.push("prefill", state)
            self.record("prefill", batch, tokens, 0)
            return 1
        ref, cached = known
        self.loops[number] = ref, cached + tokens
        self.push("decode", state)
        self.push("step", state)
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
        self.side.step(self.steps, stage, batch, tokens, cached)
        self.steps += 1

    def next_step(self, state, generation, shape):
        """The model of a generation is called: its first call is prefill, each later one a step of decode."""
        batch, tokens = shape or (None, None)
        self.close_to(generation.base + 1, state)  # "prepare", "sample", the step before
        if generation.calls == 1:
            self.pop(state)
            self.push("decode", state)
        if generation.calls:
            self.push("step", state)
        self.record("decode" if generation.calls else "prefill", batch, tokens, generation.cached)
        generation.cached += tokens or 0
        generation.calls += 1
        state.ranges = 0

    def close_to(self, depth, state):
        while state.node.depth > depth:
            self.pop(state)

    def generate(self, model, call):
        """Runs one generate(); one inside another belongs to the outer one."""
        state = self.here.state
        if state.generation is not None or state.node.level or not self.stages:
            return call()
        generation = Generation(model)
        generation.base = state.node.depth
        state.generation = generation
        self.push("prefill", state)
        self.push("prepare", state)
        try:
            return call()
        finally:
            state.generation = None
            self.close_to(generation.base, state)

    def stage(self, name, call):
        """Runs something whose work other threads launch: autograd launches backward from a thread of its own.
        The range is one of all threads."""
        if self.here.state.node.level or not self.stages or self.range_start is None:
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


def runs_of(numbers):
    """The numbers with how often each comes in a row: [[number, times], ...]."""
    return [[number, len(list(group))] for number, group in itertools.groupby(numbers)]


def token_shape(torch, args, kwargs):
    """(batch, tokens) of a call of a language model, by its inputs alone; None where it is not one."""

    plain = torch.Tensor
    given = kwargs.get("inputs_embeds")
    if type(given) is not plain or given.dim() != 3:
        given = kwargs.get("input_ids", args[0] if args else None)
        if type(given) is not plain or given.dim() != 2 or given.dtype not in (torch.int64, torch.int32):
            return None
    shape = given.shape
    batch, tokens = shape[0], shape[1]
    return (batch, tokens) if type(batch) is int and type(tokens) is int else None
