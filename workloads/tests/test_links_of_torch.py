"""Operators linked to their kernels, through events that follow the classes of torch with CUDA: see profiled.py."""

import collections

from session import operators
from tests.profiled import CPU, CUDA, Kernel, Record, events_of, key_averages
from tests.support import SessionCase, spec_with

GEMM = "nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNT"
SPLIT = "void cublasLt::splitKreduce_kernel<32, 16>(float*)"
ARANGE = "void arange_kernel<long>(long*)"
LABELS = {"prefill", "decode"}


def operator(name, number, start, end, **more):
    return Record(name, start, end, number, **more)


def label(name, number, start, end):
    return Record(name, start, end, number, is_user_annotation=True, scope=7)


def launch(number, operator, start, call="cudaLaunchKernel"):
    """A call to the runtime; its number is CUPTI's."""
    return Record(call, start, start + 500, number, operator)


def kernel(name, number, operator, start, us):
    return Record(name, start, start + round(us * 1000), number, operator, CUDA)


def table(records, by_shape=False, stack_depth=0):
    """The rows of operators.json of a profile, and its links."""
    events = events_of(records)
    averages = key_averages(events, by_shape, stack_depth)
    options = dict(spec_with()["torch_profiler"], group_by_input_shape=by_shape, with_stack=stack_depth > 0)
    links = operators.Links(LABELS, by_shape, stack_depth)
    links.walk(events)
    rows = []
    for event in averages:
        if not operators.is_shadow(event, LABELS):
            rows.append(operators.row_of(event, LABELS, options))
            links.attach(rows[-1], event)
    return rows, links


def linear(first, start, us):
    """aten::linear that calls aten::matmul that calls aten::mm, which launches two kernels. Numbers go up by one."""
    mm = first + 2
    return [
        operator("aten::linear", first, start, start + 30_000),
        operator("aten::matmul", first + 1, start + 1000, start + 29_000),
        operator("aten::mm", mm, start + 2000, start + 28_000),
        launch(900 + first, mm, start + 3000, "cuLaunchKernelEx"),
        launch(901 + first, mm, start + 6000),
        kernel(GEMM, 900 + first, mm, start + 90_000, us),
        kernel(SPLIT, 901 + first, mm, start + 110_000, 1.5),
    ]


class TorchEventsTest(SessionCase):
    def holds(self, rows, links):
        """What holds for every profile: own kernels are the row's own time, all kernels its time with what it calls,
        and every kernel either has one operator or is told to have none."""
        for row in rows:
            if row["kind"] == "kernel":
                continue
            if "kernels" not in row:
                self.assertTrue(row["kind"] == "runtime" or row["name"] in operators.OVERHEAD, row)
                continue
            own = sum(k["us"] for k in row["kernels"] if k["own"]) + row.get("kernels_more", {}).get("own_us", 0)
            every = sum(k["us"] for k in row["kernels"]) + row.get("kernels_more", {}).get("us", 0)
            self.assertAlmostEqual(own, row["device_self_us"], 6, row)
            self.assertAlmostEqual(every, row["device_total_us"], 6, row)
        ran = sum(row["device_self_us"] for row in rows if row["kind"] == "kernel")
        linked = sum(
            row["device_self_us"] for row in rows if row["kind"] == "operator" and row["name"] not in operators.OVERHEAD
        )
        alone = links.unlaunched() or {"us": 0}
        self.assertAlmostEqual(ran, linked + alone["us"], 6)
        self.assertEqual((links.notes, links.unattached()), ([], []))

    def test_a_pass(self):
        records = [label("prefill", 1, 0, 500_000)] + linear(2, 10_000, 20.25) + linear(5, 60_000, 10.75)
        # torch draws labels on the device too.
        records.append(Record("prefill", 100_000, 200_000, 1, 0, CUDA, is_user_annotation=True))
        rows, links = table(records)
        self.holds(rows, links)
        by_name = {row["name"]: row for row in rows if row["kind"] != "kernel"}
        own = [
            {"name": GEMM, "calls": 2, "us": 31.0, "own": True},
            {"name": SPLIT, "calls": 2, "us": 3.0, "own": True},
        ]
        self.assertEqual(by_name["aten::mm"]["kernels"], own)
        through = [dict(k, own=False, by="aten::mm") for k in own]
        for name in ("aten::matmul", "aten::linear", "prefill"):
            row = by_name[name]
            self.assertEqual(row["kernels"], through, name)
            self.assertEqual((row["device_self_us"], row["device_total_us"]), (0, 34.0), name)
        self.assertEqual(by_name["aten::linear"]["device_mean_us"], 17.0)
        self.assertIsNone(links.unlaunched())

    def test_numbers_of_cupti_that_are_those_of_operators(self):
        """As recorded on an H200: cudaStreamIsCapturing and cudaEventRecordWithFlags outside of operators, and
        Activity Buffer Request within aten::fill_, had device time, which was an operator's already."""
        records = [label("prefill", 1, 0, 500_000)] + linear(2, 10_000, 20.0) + linear(5, 60_000, 10.0)
        records.append(launch(4, 0, 200_000, "cudaStreamIsCapturing"))
        records.append(Record("Lazy Function Loading", 63_000, 64_000, 4))
        records.append(Record("UVM Activity Init", 65_000, 65_100, 7))
        events = events_of(records)
        handed = {event.name: len(event.kernels) for event in events if event.device_type == CPU and event.kernels}
        self.assertEqual(
            handed,
            {"aten::mm": 2, "cudaStreamIsCapturing": 2, "Lazy Function Loading": 2, "UVM Activity Init": 2},
        )
        torch_says = {row.key: row.device_time_total for row in key_averages(events)}
        self.assertAlmostEqual(torch_says["aten::mm"], 66.0)
        rows, links = table(records)
        self.holds(rows, links)
        by_name = {row["name"]: row for row in rows if row["kind"] != "kernel"}
        for name in ("aten::mm", "aten::linear", "prefill"):
            self.assertEqual(by_name[name]["device_total_us"], 33.0, name)
        self.assertNotIn("kernels", by_name["Lazy Function Loading"])

    def test_operators_that_call_themselves(self):
        # aten::arange calls aten::empty and aten::arange: both events stay. aten::to calls aten::to alone: one does.
        records = [
            operator("aten::arange", 1, 0, 50_000),
            operator("aten::empty", 2, 1000, 2000),
            operator("aten::arange", 3, 3000, 49_000),
            launch(91, 3, 10_000),
            kernel(ARANGE, 91, 3, 60_000, 3.0),
            operator("aten::to", 4, 100_000, 150_000),
            operator("aten::to", 5, 101_000, 149_000),
            launch(92, 5, 110_000, "cudaMemcpyAsync"),
            kernel("Memcpy DtoD (Device -> Device)", 92, 5, 160_000, 2.0),
        ]
        rows, links = table(records)
        self.holds(rows, links)
        by_name = {row["name"]: row for row in rows if row["kind"] == "operator"}
        arange, to = by_name["aten::arange"], by_name["aten::to"]
        self.assertEqual((arange["calls"], arange["device_self_us"], arange["device_total_us"]), (2, 3.0, 3.0))
        self.assertEqual(arange["kernels"], [{"name": ARANGE, "calls": 1, "us": 3.0, "own": True}])
        self.assertEqual((to["calls"], to["device_self_us"], to["kernels"][0]["own"]), (1, 2.0, True))

    def test_rows_that_differ_in_one_part_of_their_key(self):
        first, second = linear(10, 0, 20.0), linear(20, 400_000, 10.0)
        for name, values in (
            ("is_user_annotation", (False, True)),
            ("node_id", (0, 1)),
        ):
            for part, value in zip((first, second), values):
                part[2].more = {name: value}
            rows, links = table(first + second)
            self.holds(rows, links)
            found = [row["kernels"][0]["us"] for row in rows if row["name"] == "aten::mm"]
            self.assertEqual(found, [20.0, 10.0], name)
        shapes, stacks = ([[1, 8], [8, 8]], [[64, 8], [8, 8]]), (["a.py(1): f", "b.py(2): g"], ["a.py(1): f"])
        for part, shape, stack in zip((first, second), shapes, stacks):
            part[2].more = {"input_shapes": shape, "stack": stack}
        for by_shape, depth, want in ((True, 0, 2), (False, 2, 2), (False, 1, 1), (True, 5, 2), (False, 0, 1)):
            rows, links = table(first + second, by_shape, depth)
            self.holds(rows, links)
            self.assertEqual(sum(row["name"] == "aten::mm" for row in rows), want, (by_shape, depth))

    def test_kernels_without_an_operator(self):
        """A replayed graph: cudaGraphLaunch is called outside of operators, and so are its kernels. An operator around
        the replay has them."""
        records = [label("decode", 1, 0, 500_000)] + linear(2, 10_000, 20.0)
        records += [launch(95, 0, 100_000, "cudaGraphLaunch"), kernel(GEMM, 95, 0, 150_000, 7.0)]
        rows, links = table(records)
        self.holds(rows, links)
        alone = links.unlaunched()
        self.assertEqual((alone["calls"], alone["us"], alone["graph_launches"]), (1, 7.0, 1))
        records += [operator("CompiledFunction", 8, 200_000, 300_000), launch(96, 8, 210_000, "cudaGraphLaunch")]
        records.append(kernel(GEMM, 96, 8, 310_000, 5.0))
        rows, links = table(records)
        self.holds(rows, links)
        compiled = next(row for row in rows if row["name"] == "CompiledFunction")
        self.assertEqual(compiled["kernels"], [{"name": GEMM, "calls": 1, "us": 5.0, "own": True}])

    def test_asynchronous_operators_have_no_kernels(self):
        records = [operator("c10d::allreduce_", 1, 0, 50_000, is_async=True), launch(91, 1, 1000)]
        rows, links = table(records + [kernel("ncclKernel", 91, 1, 9000, 4.0)])
        self.holds(rows, links)
        self.assertEqual(links.unlaunched()["us"], 4.0)

    def test_many_kernels_of_its_own_and_of_others(self):
        records = [operator("aten::outer", 1, 0, 400_000), operator("aten::inner", 2, 200_000, 390_000)]
        for i in range(7):
            records += [launch(50 + i, 1, 1000 + 1000 * i), kernel(f"own{i}", 50 + i, 1, 500_000 + 9000 * i, 1 + i)]
            records += [launch(70 + i, 2, 201_000 + 1000 * i), kernel(f"its{i}", 70 + i, 2, 700_000 + 9000 * i, 1 + i)]
        rows, links = table(records)
        self.holds(rows, links)
        outer = next(row for row in rows if row["name"] == "aten::outer")
        self.assertEqual(outer["kernels_more"], {"kernels": 6, "calls": 6, "us": 12.0, "own_us": 6.0})

    def test_times_of_cuda_events_are_not_kernels(self):
        events = events_of([operator("aten::mm", 1, 0, 9000, is_legacy=True)])
        events[0].kernels.append(Kernel("aten::mm", 0, 9.0))  # torch makes one up, of the operator's own name
        links = operators.Links(LABELS, False, 0)
        links.walk(events)
        row = {"name": "aten::mm", "kind": "operator", "calls": 1, "device_total_us": 9.0}
        links.attach(row, events[0])
        self.assertEqual(row, {"name": "aten::mm", "kind": "operator", "calls": 1, "device_total_us": 9.0})
        self.assertEqual(links.notes[0]["code"], "operators-no-cupti")
        self.assertIsNone(links.unlaunched())

    def test_kernels_left_without_a_row_are_told(self):
        events = events_of(linear(1, 0, 20.0))
        links = operators.Links(LABELS, False, 0)
        links.walk(events)
        told = links.unattached()[0]
        self.assertEqual("operators-unattached", told["code"])
        self.assertEqual({"n": {"count": 3}, "name": {"name": "aten::linear"}}, told["params"])

    def test_memory_and_unnumbered_events(self):
        records = linear(1, 0, 20.0) + [Record("[memory]", 5000, 5000), Record("INVALID", 6000, 6100, 3)]
        rows, links = table(records)
        self.holds(rows, links)
        kinds = collections.Counter(row["kind"] for row in rows)
        self.assertEqual(kinds, {"operator": 5, "runtime": 2, "kernel": 2})
