"""Specs, recorders and a way to run a session as deepprof does, for the tests."""

import copy
import io
import json
import os
import sys
import tempfile
import unittest
from unittest import mock

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.dirname(HERE)
STANDIN = os.path.join(HERE, "standin")
for folder in (PROGRAM, STANDIN):
    if folder not in sys.path:
        sys.path.insert(0, folder)

import torch  # noqa: E402
import transformers  # noqa: E402

from session import run  # noqa: E402

SPEC = {
    "schema": 1,
    "stage": "baseline",
    "device": "cpu",
    "kind": "llm",
    "mode": "time",
    "model": {
        "name": "tiny",
        "kind": "causal_lm",
        "path": None,
        "config": {"model_type": "llama"},
        "dtype": "fp32",
        "attn_implementation": "sdpa",
        "image_size": None,
        "trust_remote_code": False,
        "stage_hooks": {},
    },
    "infer": {
        "batch_size": 1,
        "prompt_length": 7,
        "prompt": None,
        "max_new_tokens": 4,
        "ignore_eos": True,
        "do_sample": False,
        "temperature": 0.0,
        "top_k": 0,
        "top_p": 1.0,
        "seed": 0,
        "kv_cache": "dynamic",
        "compile": False,
        "cuda_graphs": False,
        "warmup": 1,
        "repeats": 2,
    },
    "dataset": {
        "name": "synthetic",
        "root": None,
        "subset_filelist": None,
        "fallback_patterns": [],
        "synthetic": {"num_samples": 1},
        "sampling": {"num_epochs": 1, "num_samples_per_epoch": None, "randomize": False, "seed": None},
    },
    "nvtx": {"sync": True},
    "torch_profiler": {
        "enable": True,
        "activities": ["cpu", "cuda"],
        "record_shapes": False,
        "profile_memory": False,
        "with_stack": False,
        "group_by_input_shape": False,
        "rep_max_new_tokens": 2,
        "chrome_trace": True,
        "timeout_s": None,
    },
    "predictions": True,
}

LLAVA = {
    "model_type": "llava",
    "image_token_id": 63,
    "vision_config": {"image_size": 16},
    "text_config": {"vocab_size": 64},
}
RESNET = {"model_type": "shallow_resnet", "channels": 4, "blocks": 2, "classes": 5}


def spec_with(**changes):
    """The spec with values set by path: spec_with(infer__repeats=3)."""
    spec = copy.deepcopy(SPEC)
    for path, value in changes.items():
        *folders, last = path.split("__")
        place = spec
        for folder in folders:
            place = place[folder]
        place[last] = value
    return spec


def vlm_spec(**changes):
    base = dict(
        kind="vlm",
        model__kind="image_text",
        model__config=copy.deepcopy(LLAVA),
        model__image_size=16,
        model__stage_hooks={"clip": "model.vision_tower", "projector": "model.multi_modal_projector"},
    )
    return spec_with(**{**base, **changes})


def resnet_spec(**changes):
    base = dict(kind="resnet", model__kind="resnet", model__config=dict(RESNET), model__image_size=32)
    return spec_with(**{**base, **changes})


class Recorder:
    """Stands where torch.cuda.nvtx does, and where the stand-in models report forward passes."""

    def __init__(self):
        self.events = []
        self.stack = []

    def range_push(self, name):
        self.stack.append(name)
        self.events.append(("push", "/".join(self.stack)))

    def range_pop(self):
        self.events.append(("pop", "/".join(self.stack)))
        self.stack.pop()

    def append(self, forward):
        self.events.append(("forward", "/".join(self.stack)))
        self.forwards.append(forward)

    def __iter__(self):
        return iter(self.forwards)

    forwards = None

    def pushes(self):
        return [path for event, path in self.events if event == "push"]

    def places(self):
        """The ranges around each forward pass."""
        return [path for event, path in self.events if event == "forward"]


class SessionCase(unittest.TestCase):
    """Runs sessions in this process, each in a folder of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.out = os.path.join(self.folder, "out")
        self.recorder = Recorder()
        self.recorder.forwards = []
        for place, name in ((torch.cuda, "nvtx"), (transformers, "forwards")):
            patch = mock.patch.object(place, name, self.recorder)
            patch.start()
            self.addCleanup(patch.stop)

    def write(self, name, content=""):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        mode = "wb" if isinstance(content, bytes) else "w"
        with open(path, mode) as file:
            file.write(content)
        return path

    def run_session(self, spec):
        """The exit code; what was printed is in self.stderr."""
        spec["out"] = self.out
        path = self.write("spec.json", json.dumps(spec))
        stderr = io.StringIO()
        code = run.main(["--spec", path], stderr)
        self.stderr = stderr.getvalue()
        return code

    def succeed(self, spec):
        self.assertEqual(self.run_session(spec), 0, getattr(self, "stderr", ""))
        metrics = self.load("metrics.json")
        self.assertIs(metrics["complete"], True)
        self.assertFalse(os.path.exists(os.path.join(self.out, "error.json")))
        return metrics

    def fail_with(self, kind, spec):
        """Runs a session that must fail, and returns its error.json."""
        self.assertEqual(self.run_session(spec), 1, getattr(self, "stderr", ""))
        error = self.load("error.json")
        self.assertEqual(error["schema"], 1)
        self.assertEqual(error["kind"], kind, error)
        self.assertTrue(error["fact"]["code"].startswith("session-"))
        self.assertTrue(error["traceback"][-1])
        self.assertIn(error["traceback"][-1], self.stderr)
        self.assertEqual(self.recorder.stack, [], "a range was left open")
        return error

    def load(self, name):
        with open(os.path.join(self.out, name), encoding="utf-8") as file:
            return json.load(file)

    def lines(self, name):
        with open(os.path.join(self.out, name), encoding="utf-8") as file:
            return [json.loads(line) for line in file]
