"""Module.__call__ of an annotated program: the one place where annotation costs something.

What call() uses are globals: a function with closures touches every cell of them at each call, used or not, and between
two launches of kernels none of these is in a cache.
"""

import sys
import threading
import types

original = None  # Module.__call__ of torch
traced = flags = None  # whether somebody compiles: see _compiling_checks()
main = main_state = None  # the main thread and its state: to look into a threading.local touches much memory
here = enter = leave = range_push = range_pop = None  # of the annotator
hooks_before = hooks_after = hooks_back = hooks_back_before = pre_hooks = tracing = None  # of torch
thread = threading.get_ident


def call(self, *args, **kwargs):
    if traced() or flags["_is_compiling_flag"]:
        return original(self, *args, **kwargs)
    state = main_state if thread() == main else here.state
    above = state.node
    inner = above.inner
    if inner is None:
        return original(self, *args, **kwargs)
    node = inner.get(id(self))
    if node is None or state.capturing:
        if not enter(self, args, kwargs):
            return original(self, *args, **kwargs)
        try:
            return original(self, *args, **kwargs)
        finally:
            leave()
    # The usual case, without a call of ours: a known module inside another one.
    state.node = node
    state.ranges += 1
    range_push(node.name)
    if not node.per_element:
        node.calls += 1
    else:
        try:
            node.elements += args[0].numel()
            node.calls += 1
        except (AttributeError, IndexError):  # an input by name, or no tensor
            pass
    try:
        own = self.__dict__
        if (
            own["_forward_hooks"]
            or own["_forward_pre_hooks"]
            or own["_backward_hooks"]
            or own[pre_hooks]
            or hooks_before
            or hooks_after
            or hooks_back
            or hooks_back_before
            or "_compiled_call_impl" in own
            or tracing["_trace_module_map"] is not None
        ):
            return original(self, *args, **kwargs)
        if kwargs:  # what the original does then, without two calls of its own
            return self.forward(*args, **kwargs)
        return self.forward(*args)
    finally:
        state.node = above
        range_pop()


def install(torch, annotator):
    global original, traced, flags, main, main_state, here, enter, leave, range_push, range_pop
    global hooks_before, hooks_after, hooks_back, hooks_back_before, pre_hooks, tracing
    module, hooks = torch.nn.Module, torch.nn.modules.module
    original = module.__call__
    traced, flags = _compiling_checks(annotator.compiling, getattr(torch, "compiler", None))
    here, enter, leave = annotator.here, annotator.try_enter, annotator.leave
    range_push, range_pop = annotator.range_push, annotator.range_pop
    hooks_before, hooks_after, hooks_back = (
        hooks._global_forward_pre_hooks,
        hooks._global_forward_hooks,
        hooks._global_backward_hooks,
    )
    hooks_back_before = getattr(hooks, "_global_backward_pre_hooks", None)
    pre_hooks = "_backward_hooks" if hooks_back_before is None else "_backward_pre_hooks"  # torch 1 has none
    tracing = torch.jit._trace.__dict__
    if thread() == threading.main_thread().ident:
        main, main_state = thread(), here.state
    call.__name__, call.__qualname__, call.__doc__ = "__call__", "Module.__call__", original.__doc__
    module.__call__ = call
    annotator.direct = _direct_calls(torch)
    for name, loaded in list(sys.modules.items()):  # where dynamo was imported with torch
        if name.startswith("torch._dynamo") and getattr(loaded, "unpatched_nn_module_call", None) is original:
            loaded.unpatched_nn_module_call = call
    _hide_from_dynamo(torch)


def _compiling_checks(compiling, compiler):
    """What torch.compiler.is_compiling() tells, with one call less: a function that dynamo takes for True where it
    traces the code that calls it, and a dict with the flag that everything else sets."""
    dynamo = getattr(compiler, "is_dynamo_compiling", None)
    if dynamo is None or "_is_compiling_flag" not in vars(compiler):
        return compiling, {"_is_compiling_flag": False}
    return dynamo, vars(compiler)


def _direct_calls(torch):
    """Tells of a module whether torch itself calls its forward() straight where there are no hooks."""
    module = torch.nn.Module
    implementation = getattr(module, "_call_impl", None)
    stock = getattr(module, "_wrapped_call_impl", implementation)
    if implementation is None or original is not stock or "_trace_module_map" not in tracing:
        return lambda module: False  # another version, or somebody replaced it before
    needed = {"_forward_hooks", "_forward_pre_hooks", "_backward_hooks", pre_hooks}

    def direct(module):
        own = module.__dict__
        return type(module)._call_impl is implementation and needed <= own.keys() and "_call_impl" not in own

    return direct


def _hide_from_dynamo(torch):
    """Dynamo leaves the frames of annotation alone and goes on inside, as it does with those of torch: what is compiled
    is called through our call() too."""
    frames = getattr(getattr(torch._C, "_dynamo", None), "eval_frame", None)
    skip = getattr(frames, "skip_code", None)
    if skip is None and hasattr(frames, "set_code_exec_strategy"):  # torch 2.7
        action = frames._FrameAction
        strategy = frames._FrameExecStrategy(action.SKIP, action.DEFAULT)

        def skip(code):
            frames.set_code_exec_strategy(code, strategy)

    if skip is None:
        return
    mine = {id(vars(m)): m for name, m in sys.modules.items() if name.startswith("deepprof_annotate")}
    for module in mine.values():
        for value in list(vars(module).values()):
            for function in vars(value).values() if isinstance(value, type) else [value]:
                if isinstance(function, types.FunctionType) and id(function.__globals__) in mine:
                    _with_inner(function.__code__, skip)


def _with_inner(code, skip):
    """Marks a function and those that it makes."""
    skip(code)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            _with_inner(constant, skip)
