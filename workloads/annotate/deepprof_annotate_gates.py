"""Lets Nsight Compute count between chosen openings and closings of ranges, and nowhere else.

ncu can tell launches by their configuration or by their number, and each rule applies to all kernels alike. Ranges tell
them one by one: the file that DEEPPROF_ANNOTATE_GATES names lists after which opening or closing of which range
counting begins ({"path": ["prefill", "layers.0"], "n": 1, "exit": false, "open": true}, n from 1 for each path) and
after which it ends. cudaProfilerStart and cudaProfilerStop are then ours alone: calls of the program do nothing.

A server does not do the same twice, so that no range can be named before: its file is {"while": PATH}. Counting begins
at the first outermost range, or replay of a CUDA graph, once that file is there, and ends at the first once it is gone.
"""

import functools
import json
import os
import threading


class _Open(threading.local):
    """The names of the ranges that are open on a thread."""

    def __init__(self):
        self.names = []


class Gates:
    def __init__(self, switches, start, stop, failed=lambda why: None):
        self.switches = {(tuple(s["path"]), s["n"], bool(s.get("exit"))): bool(s.get("open")) for s in switches}
        self.start, self.stop, self.failed = start, stop, failed
        self.entered, self.left = {}, {}  # how often, by path
        self.here = _Open()

    def enter(self, name):
        """A range has been opened on this thread."""
        self.here.names.append(name)
        self._switch(self.entered, False)

    def leave(self):
        """The innermost range of this thread has been closed."""
        if self.here.names:
            self._switch(self.left, True)
            self.here.names.pop()

    def _switch(self, counts, leaves):
        path = tuple(self.here.names)
        counts[path] = n = counts.get(path, 0) + 1
        opens = self.switches.get((path, n, leaves))
        if opens is not None:
            try:
                (self.start if opens else self.stop)()
            except Exception as error:  # the program must run; what was not counted is missed and tried again
                self.switches = {}
                self.failed("%s: %s" % (type(error).__name__, error))

    def push(self, original):
        """A function that opens a range, as one that tells of it."""

        def push(name, *args, **kwargs):
            result = original(name, *args, **kwargs)
            self.enter(str(name))
            return result

        return push

    def pop(self, original):
        def pop(*args, **kwargs):
            result = original(*args, **kwargs)
            self.leave()
            return result

        return pop


class Armed(Gates):
    """One gate that is open while a file is there."""

    def __init__(self, file, start, stop, failed):
        super().__init__([], start, stop, failed)
        self.file, self.open = file, False

    def enter(self, name):
        self.look()
        self.here.names.append(name)

    def leave(self):
        if self.here.names:
            self.here.names.pop()

    def look(self):
        """Before work of this thread that no range of it is around yet."""
        if self.here.names or os.path.exists(self.file) == self.open:
            return
        self.open = not self.open
        try:
            (self.start if self.open else self.stop)()
        except Exception as error:  # the program must run; what was not counted is missed
            self.failed("%s: %s" % (type(error).__name__, error))

    def follow_graphs(self, graph):
        """Steps that only replay CUDA graphs open no range."""
        original = graph.replay

        @functools.wraps(original)
        def replay(*args, **kwargs):
            self.look()
            return original(*args, **kwargs)

        graph.replay = replay


def install(torch, annotator, path):
    """Follows the ranges of an annotator and those that the program opens by torch. Comes before they are patched
    otherwise, and initializes nothing: CUDA is in use when the first gate opens."""
    with open(path, encoding="utf-8") as file:
        switches = json.load(file)
    profiler, runtime = torch.cuda.profiler, getattr(torch.cuda, "_cudart", None)
    said = lambda why: annotator.side.write(warning=why)  # noqa: E731
    if isinstance(switches, dict):
        gates = Armed(switches["while"], profiler.start, profiler.stop, said)
        if hasattr(torch.cuda, "CUDAGraph"):
            gates.follow_graphs(torch.cuda.CUDAGraph)
    else:
        gates = Gates(switches, profiler.start, profiler.stop, said)
    if runtime is not None:  # None in a torch without CUDA
        gates.start, gates.stop = runtime.cudaProfilerStart, runtime.cudaProfilerStop
        runtime.cudaProfilerStart = runtime.cudaProfilerStop = lambda: 0
    profiler.start = profiler.stop = lambda: None
    annotator.range_push, annotator.range_pop = gates.push(annotator.range_push), gates.pop(annotator.range_pop)
    nvtx = torch.cuda.nvtx
    nvtx.range_push, nvtx.range_pop = gates.push(nvtx.range_push), gates.pop(nvtx.range_pop)
    return gates
