"""Statistics, sampling of tokens and of datasets, versions."""

import types
import unittest

import torch

from session import data, failure, metrics, models, vlm
from session.cache import StaticPolicy
from session.choose import Chooser
from session.generation import token_times
from tests.support import spec_with


class StatisticsTest(unittest.TestCase):
    def test_known_values(self):
        self.assertEqual(
            metrics.statistics([4.0, 1.0, 3.0, 2.0]),
            {
                "n": 4,
                "mean": 2.5,
                "std": (5 / 3) ** 0.5,
                "min": 1.0,
                "p50": 2.5,
                "p90": 3.7,
                "p99": 3.97,
                "max": 4.0,
            },
        )

    def test_one_value_has_no_deviation(self):
        self.assertIsNone(metrics.statistics([2.0])["std"])

    def test_values_that_were_not_measured_are_left_out(self):
        summary = metrics.summary([{"prefill_ms": None, "stages_ms": {"a": 1.0}}, {"prefill_ms": 2.0}])
        self.assertEqual(summary["prefill_ms"]["n"], 1)
        self.assertEqual(summary["stages_ms"]["a"]["n"], 1)
        self.assertNotIn("decode_ms", summary)


class ChooserTest(unittest.TestCase):
    def chooser(self, **changes):
        infer = dict(spec_with()["infer"], do_sample=True, temperature=1.0)
        return Chooser(torch, dict(infer, **changes))

    def test_greedy_takes_the_last_position(self):
        logits = torch.tensor([[[9.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
        self.assertEqual(self.chooser(do_sample=False)(logits).tolist(), [[1]])

    def test_frequencies_follow_the_shares(self):
        torch.manual_seed(0)
        shares = torch.tensor([0.5, 0.3, 0.2])
        drawn = self.chooser()(shares.log().repeat(20000, 1, 1)).flatten()
        found = torch.bincount(drawn, minlength=3) / 20000
        self.assertTrue(torch.allclose(found, shares, atol=0.02), found)

    def test_temperature_sharpens(self):
        torch.manual_seed(0)
        logits = torch.tensor([0.5, 0.3, 0.2]).log().repeat(5000, 1, 1)
        drawn = self.chooser(temperature=0.1)(logits)
        self.assertGreater((drawn == 0).float().mean().item(), 0.98)

    def test_top_k_and_top_p_leave_out_the_rest(self):
        torch.manual_seed(0)
        logits = torch.tensor([0.1, 0.4, 0.2, 0.3]).log().repeat(2000, 1, 1)
        self.assertEqual(set(self.chooser(top_k=2)(logits).flatten().tolist()), {1, 3})
        self.assertEqual(set(self.chooser(top_p=0.6)(logits).flatten().tolist()), {1, 3})
        self.assertEqual(set(self.chooser(top_p=0.01)(logits).flatten().tolist()), {1})
        self.assertEqual(set(self.chooser(top_k=99)(logits).flatten().tolist()), {0, 1, 2, 3})


class PlanTest(unittest.TestCase):
    def plan(self, count, **sampling):
        return data.plan_of(count, {"num_epochs": 1, "num_samples_per_epoch": None, "randomize": False, **sampling})

    def test_file_order(self):
        plan = self.plan(3, num_epochs=2, num_samples_per_epoch=2)
        self.assertEqual((plan.epochs, plan.seed, plan.used()), ([[0, 1], [0, 1]], None, [0, 1]))

    def test_random_draws_differ_by_epoch_and_agree_by_seed(self):
        plan = self.plan(100, num_epochs=2, num_samples_per_epoch=5, randomize=True, seed=3)
        again = self.plan(100, num_epochs=2, num_samples_per_epoch=5, randomize=True, seed=3)
        self.assertEqual(plan.epochs, again.epochs)
        self.assertNotEqual(plan.epochs[0], plan.epochs[1])
        self.assertEqual(len(set(plan.epochs[0])), 5)
        self.assertGreater(max(plan.used()), 50)

    def test_a_fresh_seed_is_recorded_and_reproduces(self):
        plan = self.plan(100, randomize=True, seed=None)
        self.assertEqual(self.plan(100, randomize=True, seed=plan.seed).epochs, plan.epochs)

    def test_never_more_samples_than_there_are(self):
        self.assertEqual(self.plan(2, num_samples_per_epoch=9).epochs, [[0, 1]])
        self.assertEqual(sorted(self.plan(2, num_samples_per_epoch=9, randomize=True, seed=0).epochs[0]), [0, 1])


class InputsTest(unittest.TestCase):
    def test_random_tokens_differ_by_row_and_sample_and_avoid(self):
        one, two = data.Sample("a", None, 0), data.Sample("b", None, 1)
        first = data.random_tokens(torch, one, 50, 2, 10, seed=0, avoid=(0, 9))
        self.assertEqual(first.tolist(), data.random_tokens(torch, one, 50, 2, 10, seed=0, avoid=(0, 9)).tolist())
        self.assertNotEqual(first.tolist(), data.random_tokens(torch, two, 50, 2, 10, seed=0, avoid=(0, 9)).tolist())
        self.assertNotEqual(first[0].tolist(), first[1].tolist())
        self.assertFalse({0, 9} & set(first.flatten().tolist()))

    def test_image_tokens_of_every_return_type(self):
        class Output:
            pooler_output = torch.zeros(10, 4)

        for found in (Output(), torch.zeros(2, 5, 4), [torch.zeros(4, 4), torch.zeros(6, 4)]):
            self.assertEqual(vlm.count_tokens(torch, found, 4), 10)


class OutOfMemoryTest(unittest.TestCase):
    def test_every_wording(self):
        for text in (
            "CUDA error: out of memory",
            "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
            "cuDNN error: CUDNN_STATUS_ALLOC_FAILED",
            "[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory",
        ):
            self.assertTrue(failure.is_out_of_memory(RuntimeError(text)), text)
        self.assertFalse(failure.is_out_of_memory(RuntimeError("CUDA error: invalid device ordinal")))
        self.assertFalse(failure.is_out_of_memory(KeyError("out of memory")))


class VersionTest(unittest.TestCase):
    def test_versions(self):
        self.assertEqual(models.version_tuple("5.17.0.dev0"), (5, 17, 0))
        self.assertEqual(models.version_tuple("2.11.0+cu130"), (2, 11, 0))
        self.assertEqual(models.version_tuple(None), ())

    def test_values_that_json_cannot_hold(self):
        value = {1: torch.float32, "b": (float("nan"), float("inf"), 1.5), "c": None}
        self.assertEqual(models.plain(value), {"1": "float32", "b": ["nan", "inf", 1.5], "c": None})


class StaticPolicyTest(unittest.TestCase):
    """Releases differ in what StaticCache takes and in what reset does to the counter of tokens."""

    class Loaded:
        model = torch.nn.Linear(2, 2)

        def text_config(self):
            return "text config"

    def test_older_constructors_are_told_the_shape(self):
        class Older:
            class StaticCache:
                def __init__(self, config, max_batch_size, max_cache_len=None, device=None, dtype=None):
                    self.given = config, max_batch_size, max_cache_len, device, dtype

        policy = StaticPolicy(torch, Older, self.Loaded(), 3, 40)
        self.assertEqual(policy._cache.given, ("text config", 3, 40, torch.device("cpu"), torch.float32))

    def test_a_counter_on_the_device_stays_in_place(self):
        class Layer:
            cumulative_length = torch.tensor([7])
            keys = torch.zeros(1)

        layer = Layer()

        class Release:
            class StaticCache:
                def __init__(self, config, max_cache_len):
                    self.layers = [layer]

                def reset(self):
                    layer.cumulative_length = 0

        counter = layer.cumulative_length
        StaticPolicy(torch, Release, self.Loaded(), 1, 8).fresh()
        self.assertIs(layer.cumulative_length, counter)
        self.assertEqual(counter.item(), 0)

    def test_a_cache_that_moves_is_an_error(self):
        class Layer:
            keys = torch.zeros(1)

        layer = Layer()

        class Release:
            class StaticCache:
                def __init__(self, config, max_cache_len):
                    self.layers = [layer]

                def reset(self):
                    layer.keys = torch.zeros(1)

        with self.assertRaisesRegex(RuntimeError, "moved the cache"):
            StaticPolicy(torch, Release, self.Loaded(), 1, 8).fresh()

    def obstacle(self, length, *windows):
        """For a cache of layers with these windows; None is a layer without one."""
        layers = []
        for window in windows:
            layer = types.SimpleNamespace(is_sliding=window is not None)
            layer.max_cache_len = length if window is None else min(window, length)
            layers.append(layer)

        class Release:
            class StaticCache:
                def __init__(self, config, max_cache_len):
                    self.layers = layers

        return StaticPolicy(torch, Release, self.Loaded(), 1, length).obstacle_to_replay()

    def test_windows_that_a_replay_cannot_follow(self):
        full = {"code": "session-graph-window", "params": {"tokens": {"count": 4}}}
        self.assertEqual(full, self.obstacle(8, None, 4))
        self.assertEqual(full, self.obstacle(8, 4))
        self.assertEqual({"code": "session-graph-first-window"}, self.obstacle(4, 4, None))
        self.assertIsNone(self.obstacle(4, None, 4))
        self.assertIsNone(self.obstacle(8, None, None))


class TokenTimesTest(unittest.TestCase):
    def test_the_time_between_two_steps_belongs_to_a_token(self):
        def span(start, end):
            return types.SimpleNamespace(start=start, end=end)

        clock = types.SimpleNamespace(ms=lambda before, after: after - before)
        result = types.SimpleNamespace(decode=span(10, 33), steps=[span(11, 15), span(18, 22), span(25, 32)])
        self.assertEqual(token_times(result, clock), [5, 7, 10])
        self.assertEqual(token_times(types.SimpleNamespace(decode=None, steps=[]), clock), [])
