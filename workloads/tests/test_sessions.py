"""Whole sessions on the CPU: what they mark, what they write."""

import json
import os
from unittest import mock

import torch
from PIL import Image

from session.choose import Chooser
from session.generation import Generation
from tests.support import LLAVA, SessionCase, resnet_spec, spec_with, transformers, vlm_spec

STEP = ["decode", "decode/step", "decode/step", "decode/step"]


class LlmTest(SessionCase):
    def test_ranges_are_exactly_those_promised(self):
        self.succeed(spec_with())
        self.assertEqual(self.recorder.pushes(), 2 * (["prefill"] + STEP))

    def test_warm_up_is_outside_every_range(self):
        self.succeed(spec_with(infer__warmup=2, infer__repeats=1))
        one_pass = ["prefill"] + 3 * ["decode/step"]
        self.assertEqual(self.recorder.places(), 8 * [""] + one_pass)

    def test_the_warm_up_can_be_brief(self):
        self.succeed(spec_with(infer__warmup=1, infer__warm_tokens=2, infer__repeats=1))
        self.assertEqual(self.recorder.places(), 2 * [""] + ["prefill"] + 3 * ["decode/step"])

    def test_tokens_are_chosen_inside_the_steps_and_the_first_one_between_the_stages(self):
        places = []
        choose = Chooser.__call__

        def noted(chooser, logits):
            places.append("/".join(self.recorder.stack))
            return choose(chooser, logits)

        with mock.patch.object(Chooser, "__call__", noted):
            self.succeed(spec_with(infer__warmup=0, infer__repeats=1))
        self.assertEqual(places, [""] + 3 * ["decode/step"])

    def test_the_search_for_end_tokens_stays_in_the_steps(self):
        places = []
        search = Generation._finished

        def noted(generation, token, before):
            places.append("/".join(self.recorder.stack))
            return search(generation, token, before)

        with mock.patch.object(Generation, "_finished", noted):
            metrics = self.succeed(spec_with(infer__warmup=0, infer__repeats=1, infer__ignore_eos=False))
        steps = len(metrics["samples"][0]["token_ms"])
        self.assertEqual(places, [""] + steps * ["decode/step"])

    def test_hook_labels_nest_and_stay_silent_in_the_warm_up(self):
        hooks = {"attention": "model.layers.0.self_attn", "first": "model.layers.0"}
        metrics = self.succeed(spec_with(model__stage_hooks=hooks, infer__repeats=1))
        pushes = self.recorder.pushes()
        self.assertEqual(pushes[:3], ["prefill", "prefill/first", "prefill/first/attention"])
        self.assertEqual(pushes.count("decode/step/first/attention"), 3)
        self.assertEqual(len(pushes), 1 + 1 + 3 + 2 * 4)
        sample = metrics["samples"][0]
        self.assertEqual(sample["substage_calls"], {"attention": 4, "first": 4})
        self.assertGreater(sample["substages_ms"]["first"], sample["substages_ms"]["attention"])
        self.assertEqual(set(sample["substages_by_stage_ms"]), {"prefill", "decode"})
        self.assertEqual(metrics["summary"]["substages_ms"]["first"]["n"], 1)

    def test_metrics(self):
        metrics = self.succeed(spec_with(infer__batch_size=3))
        self.assertEqual((metrics["schema"], metrics["kind"], metrics["stage"]), (1, "llm", "baseline"))
        self.assertEqual(metrics["clock"], "monotonic")
        self.assertEqual(len(metrics["samples"]), 2)
        for repeat, sample in enumerate(metrics["samples"]):
            self.assertEqual((sample["epoch"], sample["sample"], sample["repeat"]), (0, 0, repeat))
            self.assertEqual((sample["tokens_in"], sample["tokens_out"]), (21, 12))
            self.assertEqual((sample["prompt_tokens"], sample["new_tokens"]), (7, 4))
            self.assertEqual(len(sample["token_ms"]), 3)
            self.assertGreater(sample["ttft_ms"], sample["prefill_ms"])
            self.assertGreaterEqual(sample["decode_ms"], sum(sample["token_ms"]))
            self.assertAlmostEqual(sample["tokens_per_s"], 9000 / sample["decode_ms"])
            self.assertIsNone(sample["peak_memory_bytes"])
        self.assertEqual(metrics["summary"]["prefill_ms"]["n"], 2)
        self.assertEqual(metrics["summary"]["token_ms"]["n"], 6)
        model = metrics["model"]
        self.assertEqual((model["family"], model["layers"], model["dtype"]), ("llama", 2, "float32"))
        self.assertEqual(model["weights_bytes"], 4 * model["parameters"])
        self.assertEqual((model["attention"], model["kv_cache"]), ("sdpa", "dynamic"))
        self.assertEqual(model["config"]["hidden_size"], 16)
        self.assertEqual(metrics["software"]["transformers"], "5.17.0")
        self.assertIsNone(metrics["software"]["gpu"])

    def test_predictions_are_written_when_asked_for(self):
        self.succeed(spec_with())
        rows = self.lines("predictions.jsonl")
        self.assertEqual(len(rows), 1)
        self.assertEqual(len(rows[0]["tokens"][0]), 4)
        self.assertIsNone(rows[0]["text"])
        self.succeed(spec_with(predictions=False))
        self.assertFalse(os.path.exists(os.path.join(self.out, "predictions.jsonl")))

    def test_a_static_cache_chooses_the_same_tokens(self):
        self.succeed(spec_with())
        dynamic = self.lines("predictions.jsonl")[0]["tokens"]
        self.assertEqual({kind for _, kind, _ in self.recorder.forwards}, {"dynamic"})
        self.recorder.forwards.clear()
        metrics = self.succeed(spec_with(infer__kv_cache="static"))
        self.assertEqual({kind for _, kind, _ in self.recorder.forwards}, {"static"})
        self.assertEqual(self.lines("predictions.jsonl")[0]["tokens"], dynamic)
        self.assertEqual(metrics["model"]["kv_cache"], "static")

    def test_experts_run_in_decode_as_generate_runs_them(self):
        ran = transformers.modelling.Experts.ran
        ran.clear()
        self.succeed(spec_with(model__config={"model_type": "tiny_experts"}, infer__warmup=0, infer__repeats=1))
        self.assertEqual(ran, ["grouped_mm"] + 3 * ["batched_mm"])

    def test_only_the_last_position_is_projected(self):
        self.succeed(spec_with(infer__repeats=1, infer__warmup=0))
        self.assertEqual([shape for shape, _, _ in self.recorder.forwards], [(1, 7), (1, 1), (1, 1), (1, 1)])
        self.assertEqual([kept for _, _, kept in self.recorder.forwards], [1, 1, 1, 1])

    def test_older_releases_are_told_the_position_in_a_static_cache(self):
        for cache in ("dynamic", "static"):
            self.succeed(spec_with(model__config={"model_type": "tiny_positions"}, infer__kv_cache=cache))

    def test_one_token_opens_no_decode_range_and_says_so(self):
        metrics = self.succeed(spec_with(infer__max_new_tokens=1))
        self.assertEqual(self.recorder.pushes(), ["prefill", "prefill"])
        sample = metrics["samples"][0]
        self.assertIsNone(sample["decode_ms"])
        self.assertIsNone(sample["tokens_per_s"])
        self.assertEqual(sample["no_decode"], {"code": "session-one-token"})
        self.assertEqual(sample["tokens_out"], 1)
        self.assertNotIn("decode_ms", metrics["summary"])

    def test_sampling_is_repeatable_and_follows_the_seed(self):
        def tokens(seed):
            self.succeed(
                spec_with(
                    infer__do_sample=True,
                    infer__temperature=5.0,
                    infer__top_k=40,
                    infer__top_p=0.9,
                    infer__seed=seed,
                    infer__max_new_tokens=12,
                )
            )
            return self.lines("predictions.jsonl")[0]["tokens"]

        self.assertEqual(tokens(1), tokens(1))
        self.assertNotEqual(tokens(1), tokens(2))

    def test_epochs_and_random_samples_follow_the_plan(self):
        sampling = {"num_epochs": 3, "num_samples_per_epoch": 2, "randomize": True, "seed": 5}
        metrics = self.succeed(
            spec_with(dataset__synthetic={"num_samples": 6}, dataset__sampling=sampling, infer__repeats=1)
        )
        order = metrics["plan"]["order"]
        ran = [(sample["epoch"], sample["sample"]) for sample in metrics["samples"]]
        self.assertEqual(ran, [(epoch, index) for epoch, indices in enumerate(order) for index in indices])
        self.assertEqual(metrics["plan"]["order_seed"], 5)

    def test_prompts_of_a_dataset_keep_their_length(self):
        folder = self.model_folder()
        self.write("prompts/a.txt", "hello")
        self.write("prompts/b/c.txt", "good morning")
        root = os.path.join(self.folder, "prompts")
        metrics = self.succeed(
            spec_with(
                model__path=folder,
                model__config=None,
                dataset__root=root,
                dataset__fallback_patterns=["**/*.txt"],
                infer__kv_cache="static",
                infer__prompt="Say",
                infer__repeats=1,
            )
        )
        self.assertEqual([sample["input"] for sample in metrics["samples"]], ["a.txt", "b/c.txt"])
        self.assertEqual([sample["prompt_tokens"] for sample in metrics["samples"]], [9, 16])
        self.assertEqual(metrics["model"]["weights"], "loaded")
        self.assertEqual(len(self.lines("predictions.jsonl")[0]["text"]), 1)

    def model_folder(self):
        self.write("model/config.json", '{"model_type": "llama"}')
        self.write("model/tokenizer.json", "{}")
        return os.path.dirname(self.write("model/model.safetensors", b"weights"))

    def test_a_config_file_is_as_good_as_a_mapping(self):
        path = self.write("config.json", '{"model_type": "llama", "num_hidden_layers": 3}')
        self.assertEqual(self.succeed(spec_with(model__config=path))["model"]["layers"], 3)

    def test_doubts_ride_along(self):
        sampling = {"num_epochs": 1, "num_samples_per_epoch": 9, "randomize": False, "seed": None}
        metrics = self.succeed(spec_with(dataset__sampling=sampling, infer__warmup=0))
        self.assertIn(
            {"code": "session-few-samples", "params": {"asked": {"count": 9}, "has": {"count": 1}}}, metrics["notes"]
        )
        self.assertIn({"code": "session-no-warmup"}, metrics["notes"])
        self.assertEqual(self.succeed(spec_with())["notes"], [])

    def test_an_earlier_attempt_leaves_nothing(self):
        self.write("out/error.json", "{}")
        self.write("out/predictions.jsonl", "old\n")
        self.succeed(spec_with())
        self.assertEqual(len(self.lines("predictions.jsonl")), 1)

    def test_without_nvtx_it_says_so_once(self):
        class _NVTXStub:
            pass

        stub = mock.Mock(_nvtx=_NVTXStub())
        with mock.patch.object(torch.cuda, "nvtx", stub):
            self.succeed(spec_with())
        self.assertEqual(self.stderr.count("session-no-nvtx"), 1)
        self.assertEqual(self.load("metrics.json")["notes"][0], {"code": "session-no-nvtx"})
        stub.range_push.assert_not_called()


class VlmTest(SessionCase):
    def test_stages_of_the_vision_tower_nest_in_prefill(self):
        metrics = self.succeed(vlm_spec(infer__repeats=1, infer__batch_size=2))
        self.assertEqual(self.recorder.pushes(), ["prefill", "prefill/clip", "prefill/projector"] + STEP)
        sample = metrics["samples"][0]
        self.assertEqual(sample["prompt_tokens"], 5 + 7)
        self.assertEqual(set(sample["substages_ms"]), {"clip", "projector"})
        self.assertEqual(metrics["model"]["image_tokens"], 5)
        self.assertEqual(metrics["model"]["image_size"], 16)

    def test_the_image_size_comes_from_the_config_when_none_is_given(self):
        self.assertEqual(self.succeed(vlm_spec(model__image_size=None))["model"]["image_size"], 16)

    def test_image_files(self):
        os.makedirs(os.path.join(self.folder, "images"))
        for name in ("a.png", "b.png"):
            Image.new("RGB", (20, 30), (10, 200, 30)).save(os.path.join(self.folder, "images", name))
        root = os.path.join(self.folder, "images")
        listing = self.write("list.txt", "# two of them\nb.png\n" + os.path.join(root, "a.png") + "\n")
        metrics = self.succeed(vlm_spec(dataset__root=root, dataset__subset_filelist=listing, infer__repeats=1))
        self.assertEqual([sample["input"] for sample in metrics["samples"]], ["b.png", "a.png"])

    def test_a_folder_with_a_processor_prepares_its_inputs(self):
        self.write("model/config.json", json.dumps(LLAVA))
        self.write("model/processor_config.json", "{}")
        folder = os.path.dirname(self.write("model/model.safetensors", b"weights"))
        metrics = self.succeed(vlm_spec(model__path=folder, model__config=None, infer__prompt="Free OCR."))
        self.assertEqual(metrics["samples"][0]["prompt_tokens"], 5 + len("\nFree OCR."))
        self.assertEqual(len(self.lines("predictions.jsonl")[0]["text"]), 1)


class ResnetTest(SessionCase):
    def test_three_ranges_and_their_times(self):
        metrics = self.succeed(resnet_spec(infer__batch_size=2))
        self.assertEqual(self.recorder.pushes(), 2 * ["stem", "residual", "head"])
        sample = metrics["samples"][0]
        self.assertEqual(list(sample["stages_ms"]), ["stem", "residual", "head"])
        self.assertGreaterEqual(sample["forward_ms"], sum(sample["stages_ms"].values()))
        self.assertIsNone(sample["prefill_ms"])
        self.assertEqual(set(metrics["summary"]["stages_ms"]), {"stem", "residual", "head"})
        self.assertEqual(len(self.lines("predictions.jsonl")[0]["classes"]), 2)
        self.assertEqual(metrics["model"]["layers"], 2)

    def test_hooks_nest_in_the_stages(self):
        self.succeed(resnet_spec(model__stage_hooks={"block": "residual.1"}, infer__repeats=1))
        self.assertEqual(self.recorder.pushes(), ["stem", "residual", "residual/block", "head"])

    def test_it_runs_in_bf16(self):
        self.assertEqual(self.succeed(resnet_spec(model__dtype="bf16"))["model"]["dtype"], "bfloat16")
