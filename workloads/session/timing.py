"""Times from CUDA events on a GPU, from the monotonic clock elsewhere."""

import time


class Mark:
    """A moment: on the device's stream (event) and on the host's monotonic clock."""

    __slots__ = ("event", "host_ns")

    def __init__(self, event, host_ns):
        self.event = event
        self.host_ns = host_ns


class Clock:
    """Makes marks and measures between them.

    On a GPU a mark is an event in the current stream, so the time between two of them is right whether or not the host
    waited; it may be read only after the second event has happened. On the CPU work is done when the call returns, and
    the host's clock is enough.
    """

    def __init__(self, torch, device):
        self.torch = torch
        self.cuda = device.startswith("cuda")
        self.source = "cuda_events" if self.cuda else "monotonic"

    def mark(self):
        event = None
        if self.cuda:
            event = self.torch.cuda.Event(enable_timing=True)
            event.record()
        return Mark(event, time.perf_counter_ns())

    def host_mark(self):
        """A mark on the host's clock alone."""
        return Mark(None, time.perf_counter_ns())

    def synchronize(self):
        if self.cuda:
            self.torch.cuda.synchronize()

    def ms(self, start, end):
        """Milliseconds between two marks; on a GPU the stream must have passed the second."""
        if start.event is not None:
            return start.event.elapsed_time(end.event)
        return self.host_ms(start, end)

    def host_ms(self, start, end):
        """Milliseconds on the host's clock: the time of the work only if `end` was taken after waiting for it."""
        return (end.host_ns - start.host_ns) / 1e6
