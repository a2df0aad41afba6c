"""Labels of torch.profiler around the calls of modules, so that operators know the module that called them."""

import contextlib
import re

# What the labels begin with: no operator and no range does.
PREFIX = "deepprof.module "

_NUMBER = re.compile(r"\.\d+(?=\.|$)")


def place(name):
    """The place of a module in all layers: layers.3.mlp is layers.*.mlp."""
    return _NUMBER.sub(".*", name)


@contextlib.contextmanager
def labelled(torch, model, compiled):
    """Labels the calls of modules while it is open. Compiled code is left alone: labels would be traced into it."""
    if compiled or model is None:
        yield
        return
    names = {id(module): PREFIX + place(name) for name, module in model.named_modules() if name}
    original = torch.nn.Module.__call__

    def call(self, *args, **kwargs):
        name = names.get(id(self))
        if name is None:
            return original(self, *args, **kwargs)
        with torch.profiler.record_function(name):
            return original(self, *args, **kwargs)

    torch.nn.Module.__call__ = call
    try:
        yield
    finally:
        torch.nn.Module.__call__ = original
