"""Every input that must be refused: exit code, error.json, and what was written before stays."""

import json
import os
import subprocess
import sys
from unittest import mock

import torch
from PIL import Image

from session import facts, models, run
from tests.support import PROGRAM, SessionCase, resnet_spec, spec_with, vlm_spec


class ModelTest(SessionCase):
    def test_wrong_path(self):
        error = self.fail_with("bad_path", spec_with(model__path="/nonexistent/model"))
        self.assertIn("session-model-absent (file /nonexistent/model)", facts.line(error["fact"]))

    def test_a_folder_above_the_model(self):
        error = self.fail_with("bad_path", spec_with(model__path=self.folder))
        self.assertIn("session-no-config-file", facts.line(error["fact"]))

    def test_missing_weights(self):
        folder = os.path.dirname(self.write("model/config.json", '{"model_type": "llama"}'))
        error = self.fail_with("missing_weights", spec_with(model__path=folder))
        self.assertIn("session-no-weights", facts.line(error["fact"]))
        self.assertIn(os.path.join(folder, "config.json"), facts.line(error["fact"]))

    def test_missing_shards_are_named(self):
        self.write("model/config.json", '{"model_type": "llama"}')
        self.write("model/model-1.safetensors", b"weights")
        index = '{"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}'
        folder = os.path.dirname(self.write("model/model.safetensors.index.json", index))
        error = self.fail_with("missing_weights", spec_with(model__path=folder))
        self.assertIn("n 1, of 2, names ['model-2.safetensors']", facts.line(error["fact"]))

    def test_a_damaged_index(self):
        self.write("model/config.json", '{"model_type": "llama"}')
        folder = os.path.dirname(self.write("model/model.safetensors.index.json", "[]"))
        self.fail_with("missing_weights", spec_with(model__path=folder))

    def test_damaged_weights(self):
        self.write("model/config.json", '{"model_type": "llama"}')
        folder = os.path.dirname(self.write("model/model.safetensors", b""))
        error = self.fail_with("missing_weights", spec_with(model__path=folder))
        self.assertIn("Unable to load weights", facts.line(error["fact"]))

    def test_weights_cut_short(self):
        self.write("model/config.json", '{"model_type": "llama"}')
        folder = os.path.dirname(self.write("model/cut.safetensors", b"weights"))
        error = self.fail_with("missing_weights", spec_with(model__path=folder))
        self.assertIn("not fully covered", facts.line(error["fact"]))

    def test_weights_that_no_file_has_are_named(self):
        self.write("model/config.json", '{"model_type": "llama", "missing_keys": ["lm_head.weight"]}')
        folder = os.path.dirname(self.write("model/model.safetensors", b"weights"))
        metrics = self.succeed(spec_with(model__path=folder))
        self.assertEqual(metrics["notes"][0]["params"]["n"], {"count": 1})
        self.assertIn("lm_head.weight", metrics["notes"][0]["params"]["names"]["name"])

    def test_no_model_at_all(self):
        self.fail_with("bad_path", spec_with(model__config=None))

    def test_unknown_model_type(self):
        error = self.fail_with("exception", spec_with(model__config={"model_type": "lama"}))
        self.assertIn("session-config-refused (version 5.17.0", facts.line(error["fact"]))

    def test_fields_that_do_not_fit(self):
        error = self.fail_with("exception", spec_with(model__config={"model_type": "llama", "hidden_size": "wide"}))
        self.assertIn("version 5.17.0, name TypeError", facts.line(error["fact"]))

    def test_an_attention_that_is_not_installed(self):
        folder = os.path.dirname(self.write("model/config.json", '{"model_type": "llama"}'))
        self.write("model/model.safetensors", b"weights")
        for path in (None, folder):
            spec = spec_with(model__attn_implementation="flash_attention_2", model__path=path)
            error = self.fail_with("missing_package", spec)
            self.assertIn("model.attn_implementation=flash_attention_2", facts.line(error["fact"]))
            self.assertIn("flash_attn", facts.line(error["fact"]))

    def test_config_without_a_model_type(self):
        error = self.fail_with("bad_path", spec_with(model__config={"hidden_size": 16}))
        self.assertIn("session-no-model-type", facts.line(error["fact"]))

    def test_config_files_that_cannot_be_used(self):
        for content, part in (("{", "session-config-no-json"), ("[]", "session-config-no-object")):
            with self.subTest(content):
                path = self.write("config.json", content)
                self.assertIn(part, facts.line(self.fail_with("bad_path", spec_with(model__config=path))["fact"]))
        self.fail_with("bad_path", spec_with(model__config="/nonexistent/config.json"))

    def test_a_hook_on_no_module_lists_the_nearest(self):
        error = self.fail_with("bad_path", spec_with(model__stage_hooks={"attention": "model.layers.0.self_atn"}))
        self.assertIn("model.stage_hooks.attention", facts.line(error["fact"]))
        self.assertIn("model.layers.0.self_attn", error["fact"]["params"]["near"]["name"])

    def test_a_hook_far_from_any_module_lists_the_outermost(self):
        error = self.fail_with("bad_path", spec_with(model__stage_hooks={"x": "qqqqqqqqqqqqqqqqqqqqqqqqqqq"}))
        self.assertIn("model.embed_tokens", error["fact"]["params"]["near"]["name"])

    def test_no_logits(self):
        error = self.fail_with("no_logits", spec_with(model__config={"model_type": "tiny_no_logits"}))
        self.assertIn("session-no-logits (name NoLogits", facts.line(error["fact"]))

    def test_out_of_memory(self):
        error = self.fail_with("out_of_memory", spec_with(model__config={"model_type": "tiny_out_of_memory"}))
        self.assertIn("Tried to allocate 20.00 GiB", facts.line(error["fact"]))

    def test_out_of_memory_on_the_host(self):
        with mock.patch.object(models, "load", side_effect=MemoryError()):
            self.fail_with("out_of_memory", spec_with())

    def test_resnet_without_its_fields(self):
        error = self.fail_with("bad_path", resnet_spec(model__config={"channels": 4}))
        self.assertIn("session-resnet-fields (names ['blocks', 'classes'])", facts.line(error["fact"]))

    def test_image_token_beyond_the_vocabulary(self):
        config = {"model_type": "llava", "image_token_id": 64, "text_config": {"vocab_size": 64}}
        error = self.fail_with("exception", vlm_spec(model__config=config))
        self.assertIn("session-image-token-range (token 64, size 64", facts.line(error["fact"]))

    def test_a_processor_that_needs_another_package(self):
        self.write("model/config.json", '{"model_type": "llava", "text_config": {}}')
        self.write("model/processor_config.json", "{}")
        self.write("model/needs_torchvision", "")
        folder = os.path.dirname(self.write("model/model.safetensors", b"weights"))
        error = self.fail_with("missing_package", vlm_spec(model__path=folder, model__config=None))
        self.assertIn("torchvision", facts.line(error["fact"]))

    def test_compile_needs_torch_2(self):
        if hasattr(torch, "compile"):
            self.skipTest("this torch has torch.compile")
        error = self.fail_with("missing_package", spec_with(infer__compile=True))
        self.assertIn("session-no-compile", facts.line(error["fact"]))

    def test_cuda_graphs_need_a_gpu(self):
        error = self.fail_with("exception", spec_with(infer__cuda_graphs=True, infer__kv_cache="static"))
        self.assertIn("session-graphs-no-gpu", facts.line(error["fact"]))


class DatasetTest(SessionCase):
    def test_root_does_not_exist(self):
        error = self.fail_with("dataset", spec_with(dataset__root="/nonexistent/data"))
        self.assertIn("session-data-absent (file /nonexistent/data)", facts.line(error["fact"]))

    def test_empty(self):
        error = self.fail_with(
            "dataset", spec_with(dataset__root=self.folder, dataset__fallback_patterns=["**/*.nothing"])
        )
        self.assertIn("session-data-empty", facts.line(error["fact"]))

    def test_absent_files_of_a_list_are_all_named(self):
        listing = self.write("list.txt", "a.png\nb.png\n")
        error = self.fail_with("dataset", vlm_spec(dataset__root=self.folder, dataset__subset_filelist=listing))
        self.assertIn("session-files-unread (n 2, of 2", facts.line(error["fact"]))
        self.assertIn("a.png (No such file", facts.line(error["fact"]))
        self.assertIn("b.png (No such file", facts.line(error["fact"]))

    def test_many_absent_files_are_counted(self):
        listing = self.write("list.txt", "\n".join(f"{i}.png" for i in range(50)))
        error = self.fail_with("dataset", vlm_spec(dataset__root=self.folder, dataset__subset_filelist=listing))
        self.assertIn("more 30", facts.line(error["fact"]))

    def test_unreadable_images_are_named_before_the_model_is_loaded(self):
        self.write("images/bad.png", b"no image")
        Image.new("RGB", (4, 4)).save(os.path.join(self.folder, "images", "good.png"))
        root = os.path.join(self.folder, "images")
        error = self.fail_with("dataset", vlm_spec(dataset__root=root, dataset__fallback_patterns=["*.png"]))
        self.assertIn("session-images-unread (n 1, of 2", facts.line(error["fact"]))
        self.assertIn("bad.png", facts.line(error["fact"]))
        self.assertNotIn("load tiny", self.stderr)

    def test_images_cut_short(self):
        for kind in ("png", "jpg"):
            with self.subTest(kind):
                whole = os.path.join(self.folder, "whole." + kind)
                Image.effect_noise((64, 64), 50).save(whole)
                with open(whole, "rb") as file:
                    half = file.read()[:1500]
                self.write("images/cut." + kind, half)
                root = os.path.join(self.folder, "images")
                spec = vlm_spec(dataset__root=root, dataset__fallback_patterns=["*." + kind])
                self.assertIn("cut." + kind, facts.line(self.fail_with("dataset", spec)["fact"]))
                self.assertNotIn("load tiny", self.stderr)

    def test_an_empty_list(self):
        listing = self.write("list.txt", "\n# nothing\n")
        self.fail_with("dataset", spec_with(dataset__root=self.folder, dataset__subset_filelist=listing))

    def test_an_absent_list(self):
        listing = os.path.join(self.folder, "absent.txt")
        self.fail_with("dataset", spec_with(dataset__root=self.folder, dataset__subset_filelist=listing))

    def test_prompts_need_a_tokenizer(self):
        self.write("prompts/a.txt", "hello")
        root = os.path.join(self.folder, "prompts")
        error = self.fail_with("dataset", spec_with(dataset__root=root, dataset__fallback_patterns=["*.txt"]))
        self.assertIn("session-no-tokenizer-random", facts.line(error["fact"]))
        self.fail_with("dataset", vlm_spec(infer__prompt="Free OCR."))

    def test_prompts_that_are_not_text_or_empty(self):
        self.write("model/config.json", '{"model_type": "llama"}')
        self.write("model/tokenizer.json", "{}")
        folder = os.path.dirname(self.write("model/model.safetensors", b"weights"))
        for content, part in ((b"\xff\xfe", "session-not-text"), (b"", "session-empty-prompt")):
            with self.subTest(part):
                self.write("prompts/a.txt", content)
                root = os.path.join(self.folder, "prompts")
                spec = spec_with(model__path=folder, dataset__root=root, dataset__fallback_patterns=["*.txt"])
                self.assertIn(part, facts.line(self.fail_with("dataset", spec)["fact"]))

    def test_an_image_file_needs_pillow(self):
        self.write("images/a.png", b"no image")
        root = os.path.join(self.folder, "images")
        with mock.patch.dict(sys.modules, {"PIL": None, "PIL.Image": None}):
            error = self.fail_with("missing_package", vlm_spec(dataset__root=root, dataset__fallback_patterns=["*"]))
        self.assertIn("session-needed-images", facts.line(error["fact"]))


class RunTest(SessionCase):
    def test_an_exception_keeps_what_was_measured(self):
        config = {"model_type": "tiny_fails", "fail_in_pass": 3}
        spec = spec_with(model__config=config, model__stage_hooks={"mlp": "model.layers.1.mlp"}, infer__repeats=5)
        error = self.fail_with("exception", spec)
        self.assertIn("KeyError", error["traceback"][-1])
        metrics = self.load("metrics.json")
        self.assertIs(metrics["complete"], False)
        self.assertEqual(len(metrics["samples"]), 1)
        self.assertEqual(metrics["summary"]["decode_ms"]["n"], 1)
        self.assertEqual(len(self.lines("predictions.jsonl")), 1)
        pushed = [event for event, _ in self.recorder.events].count("push")
        self.assertEqual(pushed, [event for event, _ in self.recorder.events].count("pop"))

    def test_no_tokens_when_every_text_ends_at_once(self):
        config = {"model_type": "tiny_ends_at_once"}
        error = self.fail_with("no_tokens", spec_with(model__config=config, infer__ignore_eos=False))
        self.assertIn("session-no-tokens", facts.line(error["fact"]))
        self.assertEqual(self.recorder.pushes(), ["prefill", "prefill"])
        sample = self.load("metrics.json")["samples"][0]
        self.assertEqual(sample["tokens_out"], 0)
        self.assertIsNone(sample["decode_ms"])
        self.assertEqual(sample["no_decode"], {"code": "session-end-token"})

    def test_end_tokens_are_ignored_when_asked(self):
        config = {"model_type": "tiny_ends_at_once"}
        self.assertEqual(self.succeed(spec_with(model__config=config))["samples"][0]["new_tokens"], 4)

    def test_a_gpu_that_is_not_there(self):
        with mock.patch.object(torch.cuda, "is_available", return_value=True), mock.patch.object(
            torch.cuda, "device_count", return_value=0
        ), mock.patch.object(torch.version, "cuda", "13.0"), mock.patch.dict(os.environ, CUDA_VISIBLE_DEVICES="7"):
            error = self.fail_with("gpu_index", spec_with(device="cuda:0", device_asked="cuda:7"))
        self.assertIn("session-no-gpu (device cuda:7, n 0, visible 7)", facts.line(error["fact"]))

    def test_a_torch_without_cuda(self):
        if torch.version.cuda is not None:
            self.skipTest("this torch is built with CUDA")
        error = self.fail_with("gpu_index", spec_with(device="cuda:0"))
        self.assertIn("session-no-cuda-build", facts.line(error["fact"]))

    def test_the_profiler_is_refused_under_another(self):
        for variable, tool in (("NSYS_PROFILING_SESSION_ID", "Systems"), ("NV_TPS_LAUNCH_TOKEN", "Compute")):
            with self.subTest(tool), mock.patch.dict(os.environ, {variable: "1"}):
                error = self.fail_with("exception", spec_with(mode="torch_profiler"))
                self.assertIn(f"session-second-profiler (tool Nsight {tool}", facts.line(error["fact"]))

    def test_an_interruption_keeps_what_was_measured(self):
        taken = run.measure_sample

        def interrupted(context, session, book, epoch, index):
            if epoch == 1:
                raise KeyboardInterrupt
            taken(context, session, book, epoch, index)

        sampling = {"num_epochs": 2, "num_samples_per_epoch": None, "randomize": False, "seed": None}
        with mock.patch.object(run, "measure_sample", interrupted):
            self.assertEqual(self.run_session(spec_with(dataset__sampling=sampling)), 130)
        self.assertEqual(len(self.load("metrics.json")["samples"]), 2)

    def test_specs_that_cannot_be_used(self):
        for changes, part in (
            ({"schema": 2}, "schema 1"),
            ({"kind": "lm"}, "kind 'lm'"),
            ({"mode": "fast"}, "mode 'fast'"),
            ({"infer__max_new_tokens": 0}, "infer.max_new_tokens must be a positive integer, not 0"),
            ({"infer__max_new_tokens": True}, "not True"),
            ({"mode": "torch_profiler", "torch_profiler": None}, "lacks torch_profiler"),
        ):
            with self.subTest(part):
                self.assertEqual(self.run_session(spec_with(**changes)), 2)
                self.assertIn(part, self.stderr)


class ProgramTest(SessionCase):
    """The program as deepprof starts it, in a process of its own."""

    def start(self, *options, spec):
        spec["out"] = self.out
        path = self.write("spec.json", json.dumps(spec))
        program = os.path.join(PROGRAM, "main.py")
        return subprocess.run(
            [sys.executable, *options, program, "--spec", path],
            env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            universal_newlines=True,
            timeout=300,
        )

    def test_it_runs_and_prints_no_data_on_stdout(self):
        done = self.start(spec=resnet_spec())
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        self.assertIs(self.load("metrics.json")["complete"], True)

    def test_a_missing_torch_names_the_interpreter(self):
        # -S leaves out the folders of installed packages, so that torch is really absent.
        done = self.start("-S", spec=spec_with())
        self.assertEqual(done.returncode, 1)
        error = self.load("error.json")
        self.assertEqual(error["kind"], "missing_package")
        self.assertIn(f"session-package-missing (python {sys.executable}, package torch", facts.line(error["fact"]))

    def test_a_missing_transformers_names_the_interpreter(self):
        probe = subprocess.run([sys.executable, "-c", "import transformers"], stderr=subprocess.DEVNULL, cwd="/")
        if probe.returncode == 0:
            self.skipTest("this interpreter has transformers")
        done = self.start(spec=spec_with())
        self.assertEqual(done.returncode, 1)
        self.assertIn("package transformers", facts.line(self.load("error.json")["fact"]))
