"""Ranges: pairing under exceptions, waiting before a range closes, labels of hooks."""

import unittest

import torch

from session.ranges import Ranges, Recorded
from session.timing import Clock
from tests.support import Recorder


class WaitingClock(Clock):
    """A clock that notes when the device is waited for; its marks come from the host."""

    def __init__(self, recorder):
        super().__init__(torch, "cpu")
        self.cuda = True
        self._recorder = recorder

    def mark(self):
        return self.host_mark()

    def synchronize(self):
        self._recorder.events.append(("wait", "/".join(self._recorder.stack)))


class Failing(torch.nn.Module):
    def forward(self, x):
        raise ValueError("inside a hooked module")


class RangesTest(unittest.TestCase):
    def setUp(self):
        self.recorder = Recorder()
        self.clock = WaitingClock(self.recorder)

    def test_the_device_is_waited_for_before_a_range_closes(self):
        ranges = Ranges(self.recorder, self.clock, sync=True)
        with ranges.open("decode"):
            with ranges.open("step") as step:
                pass
        self.assertEqual(
            self.recorder.events,
            [
                ("push", "decode"),
                ("push", "decode/step"),
                ("wait", "decode/step"),
                ("pop", "decode/step"),
                ("wait", "decode"),
                ("pop", "decode"),
            ],
        )
        self.assertIsNotNone(step.host_ms())
        self.assertIsNotNone(ranges.settle())

    def test_without_sync_nobody_waits_and_the_host_has_no_time(self):
        ranges = Ranges(self.recorder, self.clock, sync=False)
        with ranges.open("prefill") as span:
            pass
        self.assertNotIn("wait", [event for event, _ in self.recorder.events])
        self.assertIsNone(span.host_ms())
        self.assertIsNone(ranges.settle())

    def test_an_exception_closes_every_range_once(self):
        ranges = Ranges(self.recorder, self.clock, sync=True)
        model = torch.nn.Sequential(torch.nn.Sequential(Failing()))
        ranges.attach(model, {"outer": "0", "inner": "0.0"})
        with self.assertRaises(ValueError):
            with ranges.open("decode"):
                with ranges.open("step"):
                    model(torch.zeros(1))
        self.assertEqual(self.recorder.stack, [])
        self.assertEqual(
            [path for event, path in self.recorder.events if event == "pop"],
            ["decode/step/outer/inner", "decode/step/outer", "decode/step", "decode"],
        )
        self.assertEqual(ranges.take_hooked(), [])

    def test_ranges_pair_after_an_exception_that_was_handled(self):
        ranges = Ranges(self.recorder, self.clock, sync=True)
        model = torch.nn.Sequential(torch.nn.ReLU())
        ranges.attach(model, {"relu": "0"})
        failing = model[0].register_forward_pre_hook(lambda *_: 1 / 0)
        with self.assertRaises(ZeroDivisionError):
            with ranges.open("prefill"):
                model(torch.zeros(1))
        failing.remove()
        with ranges.open("prefill"):
            model(torch.zeros(1))
        self.assertEqual(self.recorder.stack, [])
        self.assertEqual([(span.name, span.parent) for span in ranges.take_hooked()], [("relu", "prefill")])

    def test_a_device_that_fails_while_it_is_waited_for(self):
        def broken():
            raise RuntimeError("CUDA error: an illegal memory access was encountered")

        self.clock.synchronize = broken
        ranges = Ranges(self.recorder, self.clock, sync=True)
        with self.assertRaises(RuntimeError):
            with ranges.open("prefill"):
                pass
        self.assertEqual(self.recorder.stack, [])

    def test_hooks_are_silent_outside_every_range(self):
        ranges = Ranges(self.recorder, self.clock, sync=True)
        model = torch.nn.Sequential(torch.nn.ReLU())
        ranges.attach(model, {"relu": "0"})
        model(torch.zeros(1))
        self.assertEqual(self.recorder.events, [])

    def test_a_module_called_twice_is_two_spans(self):
        ranges = Ranges(self.recorder, self.clock, sync=True)
        shared = torch.nn.ReLU()
        model = torch.nn.Sequential(shared, shared)
        ranges.attach(model, {"relu": "0"})
        with ranges.open("prefill"):
            model(torch.zeros(1))
        self.assertEqual(len(ranges.take_hooked()), 2)

    def test_recorded_labels_pair_with_the_ranges(self):
        labels = []

        class Label:
            def __init__(self, name):
                self.name = name

            def __enter__(self):
                labels.append("+" + self.name)

            def __exit__(self, *_):
                labels.append("-" + self.name)

        ranges = Ranges(Recorded(self.recorder, Label), self.clock, sync=True)
        with self.assertRaises(KeyError):
            with ranges.open("decode"):
                with ranges.open("step"):
                    raise KeyError
        self.assertEqual(labels, ["+decode", "+step", "-step", "-decode"])
        self.assertEqual(self.recorder.stack, [])
