"""NVTX ranges that pair under every exception and close after the work inside them.

A range is opened with `with ranges.open("prefill") as span`. Labels of stage hooks are pushed by hooks on modules, and
only while such a range is open: in a warm-up, where none is, they stay silent.
"""

import contextlib
import difflib

from session import failure
from session.facts import fact


class Span:
    """One execution of a range. `parent` is the name of the outermost range around it ("" for an outermost one)."""

    __slots__ = ("name", "parent", "start", "end", "closed", "_clock", "_synchronized")

    def __init__(self, name, parent, clock):
        self.name = name
        self.parent = parent
        self.start = None
        self.end = None
        self.closed = None
        self._clock = clock
        self._synchronized = False

    def ms(self):
        """Milliseconds of the work in the range. Read it after the device has finished."""
        return self._clock.ms(self.start, self.end)

    def host_ms(self):
        """Milliseconds on the host's clock until the work was done; None where nobody waited for it."""
        if not self._synchronized:
            return None
        return self._clock.host_ms(self.start, self.closed)


class Ranges:
    """Opens ranges through `backend`, an object with range_push(name) and range_pop().

    With sync the device is waited for before a range closes, so that no kernel runs past its range. Every push has its
    pop: what a failing module leaves open is closed by the range around it.
    """

    def __init__(self, backend, clock, sync):
        self._backend = backend
        self._clock = clock
        self._sync = sync
        self._open = []
        self._hooked = []

    @contextlib.contextmanager
    def open(self, name):
        span = self._push(name)
        try:
            yield span
            self._finish(span)
        finally:
            self._close(span)

    def _push(self, name):
        parent = self._open[0].name if self._open else ""
        span = Span(name, parent, self._clock)
        self._backend.range_push(name)
        self._open.append(span)
        span.start = self._clock.mark()
        return span

    def _finish(self, span):
        span.end = self._clock.mark()
        if self._sync:
            self._clock.synchronize()
        span._synchronized = self._sync or not self._clock.cuda
        span.closed = self._clock.host_mark()

    def _close(self, span):
        """Pops everything down to span. More than span itself is open only where an exception skipped a hook."""
        while span in self._open:
            self._open.pop()
            self._backend.range_pop()

    def use(self, backend):
        """Opens ranges through another backend from now on; none may be open."""
        self._backend = backend

    def settle(self):
        """Waits for the device where ranges do, so that work launched between two ranges runs in neither.

        Returns the moment after it, or None where nobody waited.
        """
        if self._sync:
            self._clock.synchronize()
        return self._clock.host_mark() if self._sync or not self._clock.cuda else None

    def take_hooked(self):
        """The spans of stage hooks since the last call."""
        spans, self._hooked = self._hooked, []
        return spans

    def attach(self, model, stage_hooks, disable=lambda function: function):
        """Puts a range around the forward pass of each module that stage_hooks (label: module path) names.

        `disable` marks functions that a compiler must not trace.
        """
        modules = dict(model.named_modules())
        for label, path in stage_hooks.items():
            if path not in modules or path == "":
                raise _unknown_module(type(model).__name__, label, path, modules)
        for label, path in stage_hooks.items():
            before, after = self._hooks(label)
            modules[path].register_forward_pre_hook(disable(before))
            modules[path].register_forward_hook(disable(after))

    def _hooks(self, label):
        running = []

        def before(_module, _inputs):
            if self._open:
                running.append(self._push(label))

        def after(_module, _inputs, _output):
            # A span that is no longer open was closed from outside, after an exception in an earlier call.
            while running:
                span = running.pop()
                if span in self._open:
                    self._finish(span)
                    self._close(span)
                    self._hooked.append(span)
                    return

        return before, after


def _unknown_module(model_class, label, path, modules):
    names = [name for name in modules if name]
    near = difflib.get_close_matches(path, names, n=5, cutoff=0.5)
    if not near:
        near = [name for name in names if name.count(".") <= 1][:8]
    return failure.SessionError(
        failure.BAD_PATH,
        fact(
            "session-no-module",
            key=("key", f"model.stage_hooks.{label}"),
            name=("name", model_class),
            path=("name", path),
            near=("name", near),
        ),
    )


class Recorded:
    """A backend that also opens a torch.profiler label, so that a range shows in the profiler's trace."""

    def __init__(self, backend, record_function):
        self._backend = backend
        self._record_function = record_function
        self._labels = []

    def range_push(self, name):
        self._backend.range_push(name)
        label = self._record_function(name)
        label.__enter__()
        self._labels.append(label)

    def range_pop(self):
        self._labels.pop().__exit__(None, None, None)
        self._backend.range_pop()


class Silent:
    """A backend without NVTX: for warm-ups, and for builds of torch that have none."""

    def range_push(self, name):
        pass

    def range_pop(self):
        pass


def nvtx_backend(torch, note):
    """torch's NVTX where this build has it; otherwise ranges are timed but not marked, which is said once.

    It is recognized without pushing anything: a range for the check would show in every timeline.
    """
    nvtx = torch.cuda.nvtx
    if type(getattr(nvtx, "_nvtx", None)).__name__ == "_NVTXStub":
        note(fact("session-no-nvtx"))
        return Silent()
    return nvtx
