"""The passes under torch.profiler and FlopCounterMode, and decoding with CUDA graphs."""

import contextlib
import functools
import gzip
import io
import json
import os
import time
import types
from unittest import mock

import torch

from session import data, facts, flopcount, generation, models, operators
from tests.support import SessionCase, resnet_spec, spec_with, transformers, vlm_spec


class ProfilerTest(SessionCase):
    def test_operators_and_trace(self):
        hooks = {"attention": "model.layers.0.self_attn"}
        metrics = self.succeed(spec_with(mode="torch_profiler", model__stage_hooks=hooks))
        self.assertEqual(self.recorder.pushes().count("decode/step"), 1)
        self.assertEqual(metrics["samples"][0]["new_tokens"], 2)
        table = self.load("operators.json")
        self.assertEqual((table["schema"], table["activities"]), (1, ["cpu"]))
        rows = {row["name"]: row for row in table["operators"]}
        self.assertEqual({name for name, row in rows.items() if row["kind"] == "range"} >= {"prefill", "decode"}, True)
        self.assertEqual(rows["attention"]["calls"], 2)
        linear = rows["aten::linear"]
        self.assertEqual((linear["kind"], linear["calls"]), ("operator", 2 * (4 * 2 + 1)))
        self.assertGreaterEqual(linear["cpu_total_us"], linear["cpu_self_us"])
        self.assertAlmostEqual(linear["cpu_mean_us"], linear["cpu_total_us"] / linear["calls"])
        self.assertIsNone(linear["shapes"])
        with gzip.open(os.path.join(self.out, "trace.json.gz"), "rt") as file:
            trace = json.load(file)
        # Builds of torch without Kineto write the events alone.
        events = trace["traceEvents"] if isinstance(trace, dict) else trace
        names = {event.get("name") for event in events}
        self.assertTrue({"prefill", "step", "aten::linear"} <= names)
        self.assertFalse(os.path.exists(os.path.join(self.out, "trace.json")))

    def followed(self, **changes):
        out = os.path.join(self.out, "operators")
        return out, spec_with(predictions=False, then=dict(spec_with(mode="torch_profiler", **changes), out=out))

    def test_behind_the_timed_passes_of_one_process(self):
        out, spec = self.followed()
        metrics = self.succeed(spec)
        self.assertEqual((metrics["mode"], metrics["complete"], len(metrics["samples"])), ("time", True, 2))
        second = self.load("operators/metrics.json")
        self.assertEqual((second["mode"], second["complete"], len(second["samples"])), ("torch_profiler", True, 1))
        self.assertEqual(second["samples"][0]["new_tokens"], 2)
        self.assertTrue(self.load("operators/operators.json")["operators"])
        self.assertFalse(os.path.exists(os.path.join(self.out, "operators.json")))

    def test_failure_behind_the_timed_passes_is_that_of_the_second_session(self):
        out, spec = self.followed()
        broken = mock.patch.object(torch.profiler, "profile", side_effect=RuntimeError("no CUPTI"))
        with broken, contextlib.redirect_stderr(io.StringIO()):
            metrics = self.succeed(spec)
        self.assertTrue(metrics["complete"])
        self.assertIn("no CUPTI", facts.line(self.load("operators/error.json")["fact"]))
        self.assertFalse(os.path.exists(os.path.join(out, "operators.json")))

    def test_another_sample_needs_another_process(self):
        out, spec = self.followed(dataset__sampling__num_samples_per_epoch=1)
        spec["dataset"]["synthetic"]["num_samples"] = 2
        spec["then"]["dataset"]["synthetic"]["num_samples"] = 2
        spec["dataset"]["sampling"].update(num_samples_per_epoch=1)
        with mock.patch("session.data.plan_of", side_effect=[data.Plan([[0]], None), data.Plan([[1]], None)]):
            self.succeed(spec)
        self.assertFalse(os.path.exists(os.path.join(out, "operators.json")))

    def test_only_a_timed_session_is_followed(self):
        out, spec = self.followed()
        self.assertEqual(self.run_session(dict(spec, mode="profile")), 2)
        self.assertIn("timed", self.stderr)

    def test_shapes_and_memory_when_asked(self):
        options = dict(
            spec_with()["torch_profiler"],
            record_shapes=True,
            group_by_input_shape=True,
            profile_memory=True,
            chrome_trace=False,
        )
        self.succeed(spec_with(mode="torch_profiler", torch_profiler=options))
        rows = [row for row in self.load("operators.json")["operators"] if row["name"] == "aten::linear"]
        self.assertGreater(len({json.dumps(row["shapes"]) for row in rows}), 1)
        self.assertIn("cpu_memory_bytes", rows[0])
        self.assertFalse(os.path.exists(os.path.join(self.out, "trace.json.gz")))

    def test_stacks_when_asked(self):
        options = dict(spec_with()["torch_profiler"], with_stack=True, chrome_trace=False)
        with mock.patch.object(torch.profiler, "profile", side_effect=torch.profiler.profile) as made:
            self.succeed(spec_with(mode="torch_profiler", torch_profiler=options))
        self.assertTrue(made.call_args.kwargs["experimental_config"])
        rows = [row for row in self.load("operators.json")["operators"] if row["name"] == "aten::linear"]
        self.assertTrue(all(0 < len(row["stack"]) <= 5 for row in rows))
        plain = types.SimpleNamespace(_C=types.SimpleNamespace())
        self.assertEqual(operators._stacks(plain), {})
        plain._C._profiler = types.SimpleNamespace(_ExperimentalConfig=lambda: None)
        self.assertEqual(operators._stacks(plain), {})

    def test_rows_of_newer_and_older_releases(self):
        common = dict(
            key="aten::mm",
            count=4,
            cpu_time_total=40.0,
            self_cpu_time_total=10.0,
            input_shapes=[[2, 3]],
            stack=["model.py(7): forward"],
            self_cpu_memory_usage=64,
            device_type="DeviceType.CPU",
        )
        newer = dict(device_time_total=8.0, self_device_time_total=2.0, self_device_memory_usage=32)
        older = dict(cuda_time_total=8.0, self_cuda_time_total=2.0, self_cuda_memory_usage=32)
        options = dict(spec_with()["torch_profiler"], with_stack=True, profile_memory=True, group_by_input_shape=True)
        for release in (newer, older):
            row = operators.row_of(types.SimpleNamespace(**common, **release), set(), options)
            self.assertEqual((row["device_self_us"], row["device_total_us"], row["device_mean_us"]), (2.0, 8.0, 2.0))
            self.assertEqual((row["cpu_mean_us"], row["shapes"]), (10.0, [[2, 3]]))
            self.assertEqual((row["cpu_memory_bytes"], row["device_memory_bytes"]), (64, 32))
            self.assertEqual(row["stack"], ["model.py(7): forward"])

    def test_old_names_are_not_touched_where_the_new_ones_exist(self):
        class Event(types.SimpleNamespace):
            @property
            def cuda_time_total(self):
                raise AssertionError("deprecated")

            self_cuda_time_total = cuda_time_total

        event = Event(key="aten::view", count=1, cpu_time_total=1.0, self_cpu_time_total=1.0, device_type="CPU")
        event.device_time_total = event.self_device_time_total = 0.0
        row = operators.row_of(event, set(), spec_with()["torch_profiler"])
        self.assertEqual((row["device_self_us"], row["device_total_us"]), (0.0, 0.0))

    def test_shadows_of_labels_on_the_device_are_left_out(self):
        for key, device, annotation, shadow in (
            ("prefill", "DeviceType.CPU", True, False),
            ("prefill", "DeviceType.CUDA", True, True),
            ("prefill", "DeviceType.CUDA", False, True),
            ("Optimizer.step", "DeviceType.CUDA", True, True),
            ("void gemm_kernel<float>(int)", "DeviceType.CUDA", False, False),
        ):
            event = types.SimpleNamespace(key=key, device_type=device, is_user_annotation=annotation)
            self.assertEqual(operators.is_shadow(event, {"prefill"}), shadow, key)
        older = types.SimpleNamespace(key="void gemm_kernel<float>(int)", device_type="DeviceType.CUDA")
        self.assertFalse(operators.is_shadow(older, {"prefill"}))

    def test_kinds_of_rows(self):
        for key, device, kind in (
            ("aten::mm", "DeviceType.CPU", "operator"),
            ("prefill", "DeviceType.CPU", "range"),
            ("prefill", "DeviceType.CUDA", "range"),
            ("void gemm_kernel<float>(int)", "DeviceType.CUDA", "kernel"),
            ("cudaLaunchKernel", "DeviceType.CPU", "runtime"),
            ("cuLaunchKernelEx", "DeviceType.CPU", "runtime"),
            ("cuEventRecord", "DeviceType.CPU", "runtime"),
            ("cudnn_convolution", "DeviceType.CPU", "operator"),
            ("cuda_rms_norm", "DeviceType.CPU", "operator"),
        ):
            event = types.SimpleNamespace(key=key, device_type=device)
            self.assertEqual(operators.kind_of(event, {"prefill"}), kind)

    def test_nothing_to_record_is_refused(self):
        options = dict(spec_with()["torch_profiler"], activities=["cuda"])
        self.fail_with("exception", spec_with(mode="torch_profiler", torch_profiler=options))

    def test_vlm_and_resnet(self):
        for spec, label in ((vlm_spec(mode="torch_profiler"), "clip"), (resnet_spec(mode="torch_profiler"), "stem")):
            with self.subTest(label):
                self.succeed(spec)
                kinds = {row["name"]: row["kind"] for row in self.load("operators.json")["operators"]}
                self.assertEqual(kinds[label], "range")


class CountsCalls:
    """Stands for FlopCounterMode where torch has none: every pass is worth a hundred."""

    def __init__(self, display=True):
        self.display = display

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def get_total_flops(self):
        return 100

    def get_flop_counts(self):
        return {"Global": {"mm": 100}, "Llama.lm_head": {"mm": 60, "bmm": 10}}


class FlopsTest(SessionCase):
    def test_stages_and_modules(self):
        with mock.patch.object(flopcount, "_counter_class", return_value=CountsCalls):
            metrics = self.succeed(spec_with(mode="flops", infer__cuda_graphs=True, infer__kv_cache="static"))
        self.assertEqual(metrics["samples"], [])
        counted = self.load("flops.json")
        self.assertEqual(counted["stages"]["prefill"]["flops"], 100)
        self.assertEqual(counted["stages"]["prefill"]["logits_positions"], 1)
        self.assertEqual(counted["stages"]["decode"]["flops"], 300)
        self.assertEqual(counted["stages"]["decode"]["flops_per_step"], [100, 100, 100])
        self.assertEqual(counted["stages"]["decode"]["by_module"], {"Llama.lm_head": 210})
        self.assertEqual((counted["prompt_tokens"], counted["new_tokens"], counted["batch_size"]), (7, 4, 1))
        self.assertEqual([shape for shape, _, _ in self.recorder.forwards], [(1, 7), (1, 1), (1, 1), (1, 1)])

    def test_resnet(self):
        with mock.patch.object(flopcount, "_counter_class", return_value=CountsCalls):
            self.succeed(resnet_spec(mode="flops"))
        self.assertEqual(set(self.load("flops.json")["stages"]), {"stem", "residual", "head"})

    def test_real_counter(self):
        try:
            from torch.utils.flop_counter import FlopCounterMode  # noqa: F401
        except ImportError:
            error = self.fail_with("missing_package", spec_with(mode="flops"))
            self.assertIn("session-no-flop-counter", facts.line(error["fact"]))
            return
        self.succeed(spec_with(mode="flops"))
        # Weights of both layers' linear maps, used once a token, and the head once.
        linear = 2 * 2 * (16 * 48 + 16 * 16 + 2 * 16 * 32)
        attention = 2 * 2 * 2 * 16 * 7 * 7
        self.assertEqual(self.load("flops.json")["stages"]["prefill"]["flops"], 7 * linear + attention + 2 * 16 * 64)


class FakeEvent:
    def __init__(self, enable_timing=False):
        self.at = None

    def record(self):
        self.at = time.perf_counter()

    def elapsed_time(self, other):
        return (other.at - self.at) * 1e3


class FakeStream:
    def wait_stream(self, _other):
        pass


class FakeGraphs:
    """Stands for CUDA graphs on the CPU: a replay runs the recorded step again, on the same buffers."""

    def __init__(self):
        self.replays = 0
        self.captured = []

    def graph(self, recorded):
        self.captured.append(recorded)
        return contextlib.nullcontext()

    def new(self):
        fakes = self

        class Graph:
            def replay(self):
                fakes.replays += 1
                fakes.step._one()

        return Graph()


class GraphTest(SessionCase):
    def test_decode_replays_one_captured_step_and_chooses_the_same_tokens(self):
        for model_type in ("llama", "tiny_positions"):
            with self.subTest(model_type):
                self.compare({"model_type": model_type})

    def test_experts_are_captured_as_generate_decodes_them(self):
        ran = transformers.modelling.Experts.ran
        ran.clear()
        self.compare({"model_type": "tiny_experts"})
        lengths = [shape[1] for shape, _, _ in self.recorder.forwards]
        self.assertEqual(ran, ["batched_mm" if length == 1 else "grouped_mm" for length in lengths])

    def compare(self, config):
        self.succeed(spec_with(model__config=config, infer__kv_cache="static", infer__max_new_tokens=6))
        eager = self.lines("predictions.jsonl")[0]["tokens"]
        self.recorder.events.clear()

        fakes = FakeGraphs()
        original = generation._GraphStep.__init__

        def noted(step, *arguments):
            fakes.step = step
            original(step, *arguments)

        replacements = dict(
            is_available=lambda: True,
            device_count=lambda: 1,
            get_device_name=lambda _: "fake",
            Event=FakeEvent,
            synchronize=lambda: None,
            Stream=FakeStream,
            current_stream=FakeStream,
            stream=lambda _: contextlib.nullcontext(),
            CUDAGraph=fakes.new,
            graph=fakes.graph,
            reset_peak_memory_stats=lambda: None,
            max_memory_allocated=lambda: 4096,
            profiler=types.SimpleNamespace(
                start=lambda: self.recorder.events.append(("gate opens", "")),
                stop=lambda: self.recorder.events.append(("gate closes", "")),
            ),
        )
        graphs = dict(infer__kv_cache="static", infer__cuda_graphs=True, infer__max_new_tokens=6)
        spec = spec_with(device="cuda:0", mode="profile", model__config=config, **graphs)
        moves = mock.patch.object(torch.Tensor, "to", on_the_cpu(torch.Tensor.to))
        modules = mock.patch.object(torch.nn.Module, "to", on_the_cpu(torch.nn.Module.to))
        steps = mock.patch.object(generation._GraphStep, "__init__", noted)
        places = mock.patch.object(models, "_on_device", lambda *_: contextlib.nullcontext())
        with mock.patch.multiple(torch.cuda, **replacements), moves, modules, steps, places:
            metrics = self.succeed(spec)
        self.assertEqual(self.lines("predictions.jsonl")[0]["tokens"], eager)
        self.assertEqual(len(fakes.captured), 1)
        self.assertEqual(fakes.replays, 5 * 3)
        self.assertEqual(metrics["clock"], "cuda_events")
        self.assertEqual(metrics["samples"][0]["peak_memory_bytes"], 4096)
        self.assertEqual(len(metrics["samples"][0]["token_ms"]), 5)
        # The capture and its warm-up lie before the profiler's gate, and the gate before the first range.
        first = self.recorder.events.index(("push", "prefill"))
        self.assertEqual(self.recorder.events[first - 1], ("gate opens", ""))
        self.assertEqual(self.recorder.events[-1], ("gate closes", ""))
        self.assertEqual({place for event, place in self.recorder.events[:first] if event == "forward"}, {""})
        self.assertNotIn("decode", self.recorder.places())


class CompileTest(SessionCase):
    def test_a_compiled_model_keeps_its_ranges(self):
        if not hasattr(torch, "compile"):
            self.skipTest("this torch has no torch.compile")
        traced = functools.partial(torch.compile, backend="eager")
        hooks = {"attention": "model.layers.0.self_attn"}
        for cache in ("dynamic", "static"):
            with self.subTest(cache), mock.patch.object(torch, "compile", traced):
                self.recorder.events.clear()
                spec = spec_with(infer__compile=True, infer__kv_cache=cache, model__stage_hooks=hooks, infer__repeats=1)
                metrics = self.succeed(spec)
                step = ["decode/step", "decode/step/attention"]
                self.assertEqual(self.recorder.pushes(), ["prefill", "prefill/attention", "decode"] + 3 * step)
                self.assertIs(metrics["model"]["compile"], True)


def on_the_cpu(move):
    """`to` that takes a GPU for the CPU."""

    def moved(self, target, *rest):
        return self if isinstance(target, str) and target.startswith("cuda") else move(self, target, *rest)

    return moved
