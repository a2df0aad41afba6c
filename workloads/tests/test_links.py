"""Operators linked to their kernels. The events here are stand-ins, made by hand after those of torch 2.x with CUDA:
the machines that run these tests have no GPU. The real profiler of the CPU is asked too: it links nothing."""

import json
import types

from session import modules, operators
from tests.support import SessionCase, spec_with

GEMM = "nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNT"
SPLIT = "void cublasLt::splitKreduce_kernel<32, 16>(float*)"


def kernel(name, us):
    return types.SimpleNamespace(name=name, device=0, duration=us)


def called(key, parent=None, kernels=(), shapes="", stack=()):
    """Stands for a FunctionEvent of the CPU."""
    return types.SimpleNamespace(
        key=key,
        device_type="DeviceType.CPU",
        cpu_parent=parent,
        kernels=[kernel(*k) for k in kernels],
        input_shapes=shapes,
        stack=list(stack),
    )


def ran(key, us, **more):
    """Stands for a FunctionEvent of the device."""
    return types.SimpleNamespace(
        key=key,
        device_type="DeviceType.CUDA",
        cpu_parent=None,
        kernels=[],
        input_shapes="",
        stack=[],
        time_range=types.SimpleNamespace(start=10.0, end=10.0 + us),
        **more,
    )


def linked(events, by_shape=False, stack_depth=0):
    links = operators.Links({"prefill"}, by_shape, stack_depth)
    links.walk(events)
    return links


def row(links, event):
    table = {"name": event.key, "kind": operators.kind_of(event, {"prefill"}), "calls": 1}
    links.attach(table, event)
    return table


class LinksTest(SessionCase):
    def linear(self):
        """Two calls of aten::linear, each with one aten::mm below it that launches two kernels."""
        events = []
        for gemm in (5.0, 7.0):
            label = called("prefill")
            linear = called("aten::linear", label)
            mm = called("aten::mm", called("aten::matmul", linear), [(GEMM, gemm), (SPLIT, 1.0)])
            events += [label, linear, mm.cpu_parent, mm, ran(GEMM, gemm), ran(SPLIT, 1.0)]
        return events

    def test_own_kernels_and_those_of_called_operators(self):
        events = self.linear()
        links = linked(events)
        own = [
            {"name": GEMM, "calls": 2, "us": 12.0, "own": True},
            {"name": SPLIT, "calls": 2, "us": 2.0, "own": True},
        ]
        self.assertEqual(row(links, events[3])["kernels"], own)
        through = [dict(k, own=False, by="aten::mm") for k in own]
        for event in events[:3]:
            self.assertEqual(row(links, event)["kernels"], through, event.key)
        self.assertEqual((links.notes, links.unlaunched()), ([], None))

    def test_modules_around_operators(self):
        events = []
        for place, gemm in (("layers.*.mlp.up", 5.0), ("layers.*.mlp.down", 9.0), ("layers.*.mlp.up", 6.0)):
            outer = called(modules.PREFIX + "layers.*", called("prefill"))
            linear = called("aten::linear", called(modules.PREFIX + place, outer))
            mm = called("aten::mm", linear, [(GEMM, gemm)])
            events += [outer.cpu_parent, outer, linear.cpu_parent, linear, mm, ran(GEMM, gemm)]
        events.append(called("aten::mm"))  # outside every module
        links = linked(events)
        want = [
            {"name": "layers.*.mlp.up", "calls": 2, "us": 11.0},
            {"name": "layers.*.mlp.down", "calls": 1, "us": 9.0},
        ]
        self.assertEqual(row(links, events[4])["modules"], want)
        self.assertEqual(row(links, events[3])["modules"], want, "kernels of operators that it calls count")
        self.assertNotIn("modules", row(links, events[0]))
        self.assertEqual(links.unattached(), [], "labels of modules have no rows")

    def test_kernels_of_the_runtime_and_of_the_profiler_are_not_taken_twice(self):
        mm = called("aten::mm", None, [(GEMM, 5.0)])
        call = called("cudaStreamIsCapturing", mm, [(GEMM, 5.0)])
        request = called("Activity Buffer Request", None, [(GEMM, 5.0)])
        links = linked([mm, call, request, ran(GEMM, 5.0)])
        self.assertNotIn("kernels", row(links, call))
        self.assertNotIn("kernels", row(links, ran(GEMM, 5.0)))
        self.assertEqual(row(links, mm)["kernels"], [{"name": GEMM, "calls": 1, "us": 5.0, "own": True}])
        self.assertIsNone(links.unlaunched())

    def test_an_operator_that_calls_itself_runs_a_kernel_once(self):
        outer = called("aten::arange")
        inner = called("aten::arange", outer, [("arange_kernel", 3.0)])
        got = row(linked([outer, inner]), outer)["kernels"]
        self.assertEqual(got, [{"name": "arange_kernel", "calls": 1, "us": 3.0, "own": True}])

    def test_grouped_as_the_table_is(self):
        small = called("aten::mm", None, [(GEMM, 2.0)], shapes=[[1, 8], [8, 8]], stack=["a.py(1): f", "b.py(2): g"])
        large = called("aten::mm", None, [(GEMM, 9.0)], shapes=[[64, 8], [8, 8]], stack=["a.py(1): f", "c.py(3): h"])
        for by_shape, depth, want in ((False, 0, 11.0), (True, 0, 2.0), (False, 1, 11.0), (False, 2, 2.0)):
            got = row(linked([small, large], by_shape, depth), small)["kernels"]
            self.assertEqual([k["us"] for k in got], [want], (by_shape, depth))

    def test_many_kernels_are_cut_and_summed(self):
        many = called("aten::foreach", None, [(f"k{i:02}", float(i)) for i in range(11)])
        got = row(linked([many]), many)
        self.assertEqual([k["name"] for k in got["kernels"]], [f"k{i:02}" for i in range(10, 2, -1)])
        self.assertEqual(got["kernels_more"], {"kernels": 3, "calls": 3, "us": 3.0, "own_us": 3.0})
        self.assertNotIn("kernels_more", row(linked(self.linear()), called("aten::mm")))

    def test_kernels_of_graphs_have_no_operator(self):
        events = self.linear() + [called("cudaGraphLaunch"), called("cudaGraphLaunch")]
        events += [ran(GEMM, 4.0), ran("graph_kernel", 2.0), ran("prefill", 99.0, is_user_annotation=True)]
        got = linked(events).unlaunched()
        self.assertEqual((got["calls"], got["us"], got["graph_launches"]), (2, 6.0, 2))
        self.assertEqual(got["note"]["code"], "operators-unlaunched")
        self.assertEqual(got["note"]["params"]["graphs"], {"count": 2})
        alone = linked([called("aten::view"), ran("triton_kernel", 4.0)]).unlaunched()
        self.assertNotIn("graphs", alone["note"]["params"])
        self.assertEqual((alone["calls"], alone["us"], alone["graph_launches"]), (1, 4.0, 0))

    def test_releases_that_tell_less(self):
        old = [types.SimpleNamespace(key="aten::mm", device_type="DeviceType.CPU")]
        links = linked(old)
        self.assertNotIn("kernels", row(links, old[0]))
        self.assertEqual(links.notes[0]["code"], "operators-no-launchers")
        self.assertIsNone(links.unlaunched())
        flat = types.SimpleNamespace(key="aten::mm", device_type="DeviceType.CPU", kernels=[kernel(GEMM, 5.0)])
        links = linked([flat])
        got = row(links, flat)
        self.assertEqual(got["kernels"][0]["us"], 5.0)
        self.assertNotIn("device_total_us", got)  # torch's own stays
        self.assertEqual(links.notes[0]["code"], "operators-no-callers")
        strange = called("aten::mm")
        strange.kernels = [object()]
        links = linked([strange])
        self.assertNotIn("kernels", row(links, strange))
        self.assertEqual(links.notes[0]["code"], "operators-other-events")
        self.assertEqual((linked([]).notes, linked(None).notes), ([], []))

    def test_durations_that_cannot_be(self):
        mm = called("aten::mm", None, [(GEMM, float("nan")), (GEMM, -1.0), (GEMM, None), (GEMM, 2.5)])
        self.assertEqual(row(linked([mm]), mm)["kernels"], [{"name": GEMM, "calls": 4, "us": 2.5, "own": True}])

    def test_a_ring_of_callers_ends(self):
        one, two = called("aten::one", None, [(GEMM, 1.0)]), called("aten::two")
        one.cpu_parent, two.cpu_parent = two, one
        self.assertEqual(row(linked([one, two]), two)["kernels"][0]["by"], "aten::one")

    def test_the_cpu_has_no_kernels(self):
        self.succeed(spec_with(mode="torch_profiler"))
        table = self.load("operators.json")
        rows = {entry["name"]: entry for entry in table["operators"]}
        self.assertEqual((rows["aten::linear"]["kernels"], rows["prefill"]["kernels"]), ([], []))
        self.assertNotIn("kernels_more", json.dumps(table))
        self.assertEqual((table["notes"], "unlaunched" in table), ([], False))
        self.assertIn("model.layers.*.self_attn.o_proj", [m["name"] for m in rows["aten::linear"]["modules"]])
        self.assertFalse([name for name in rows if name.startswith(modules.PREFIX)])
