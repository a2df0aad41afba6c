"""The places at which ranges are, or were, open, and which of them are open on each thread."""

import threading


class Place:
    """What every call of a known module reads. Slots of a base class lie together, those of one class by the alphabet:
    between two launches little of this is in a cache, and these few take two lines of it."""

    __slots__ = ("inner", "name", "calls", "elements", "per_element")

    def __init__(self, name):
        # id(module) -> node, of those in by_module that deepprof_annotate_call knows how to call; None where no module
        # inside this one gets a range
        self.inner = {}
        self.name = name
        self.calls = 0  # that ran at once
        self.elements = 0  # of the inputs of these calls, where per_element is above 0
        self.per_element = 0  # FLOPs of the module's own products by element of its input; -1 where counts() tells them


class Node(Place):
    """A range that is, or was, open at one place: its name, and the nodes below it.

    Modules find their node by identity, so that a call of a known module costs one look-up.
    """

    __slots__ = (
        "path",
        "above",
        "depth",
        "level",
        "own",
        "by_name",
        "by_module",
        "ref",
        "names",
        "at",
        "pushed",
        "counts",
        "number",
        "other_flops",
        "captured",
        "compiled",
    )

    def __init__(self, name, path, own=(), above=None):
        super().__init__(name)
        self.path = path
        self.above = above  # the node around it; None of the root
        self.depth = above.depth + 1 if above else 0
        self.level = above.level if above else 0  # how many modules are open while it is the innermost one
        self.own = own  # which parts of the path are ranges of the program, with a * for numbers
        self.by_name = {}
        self.by_module = {}  # id(module) -> node
        self.ref = None  # of the module; removes the node when that is gone
        self.names = None  # id(module) -> qualified name, of all modules below the root
        self.at = ""  # qualified name of the module itself
        self.pushed = True
        self.counts = None  # FLOPs of a call by its arguments
        self.number = -1  # in the side file; below 0 where no work was seen yet
        self.other_flops = 0  # of calls at once, beside those by element
        self.compiled = False
        self.captured = []  # FLOPs of each call that was captured into a CUDA graph

    def flops(self):
        """Of the calls that ran at once."""
        return self.other_flops + (self.per_element * self.elements if self.elements else 0)


class State:
    """What is open on a thread."""

    __slots__ = ("node", "opened", "ranges", "generation", "busy", "capturing")

    def __init__(self, root):
        self.node = root  # innermost open range of ours, or a module that is too deep for one
        self.opened = 0  # ranges of the stage around the outermost module, closed with it
        self.ranges = 0  # pushed since the outermost module was entered
        self.generation = None
        self.busy = False
        self.capturing = 0  # CUDA graphs


class Thread(threading.local):
    """The state of each thread."""

    def __init__(self, root):
        self.state = State(root)


def known_name(node, module):
    """The qualified name of a module below the root of an open one; None where it is not there. Modules may have been
    put in or replaced since the names were made, and a new one may have the number of one that is gone."""
    names, number = node.names, id(module)
    full = names.get(number)
    caller = node.ref and node.ref()
    if caller is None:
        return full
    if full is not None:
        root = node
        while root.names is not names or root.at:
            root = root.above
        if below(root.ref(), full) is module:
            return full
        del names[number]
    for name, child in caller._modules.items():
        inner = getattr(child, "_modules", None) or {}
        name = next((name + "." + n for n, m in inner.items() if m is module), name if child is module else None)
        if name is not None:
            names[number] = full = node.at + "." + name if node.at else name
            return full
    return None


def below(module, name):
    """The module of a qualified name; None where there is none."""
    for part in name.split("."):
        module = getattr(module, "_modules", {}).get(part)
        if module is None:
            return None
    return module


def remove_node(above, number, ref):
    """A module is gone, and another one may get its number."""
    node = above.by_module.get(number)
    if node is not None and node.ref is ref:
        del above.by_module[number]
        if above.inner is not None:
            above.inner.pop(number, None)


def node_place(node):
    """What the line of a node says of ranges of the program in its path."""
    return {"own": list(node.own)} if node.own else {}
