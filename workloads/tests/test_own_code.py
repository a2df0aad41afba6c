"""Checkpoints that bring their own code: off by default, and run from the local folder when it is trusted."""

import json
import unittest

from tests.support import SessionCase, spec_with

from session import facts, failure

# A model as a checkpoint brings it: one file beside config.json, named by auto_map.
CODE = """
import torch
from torch import nn


class Out:
    def __init__(self, logits, cache):
        self.logits, self.past_key_values = logits, cache


class OwnModel(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.embed = nn.Embedding(config.vocab_size, 8)
        self.head = nn.Linear(8, config.vocab_size)

    def forward(self, input_ids=None, past_key_values=None, use_cache=None, **kwargs):
        return Out(self.head(self.embed(input_ids)), past_key_values)


class OwnTokenizer:
    def __call__(self, text):
        return {"input_ids": [1, 2, 3]}

    def decode(self, ids, skip_special_tokens=False):
        return "own"
"""


class OwnCodeTest(SessionCase):
    def checkpoint(self, auto_class="AutoModelForCausalLM", code=CODE, model_type="of_its_own"):
        config = {"model_type": model_type, "vocab_size": 32, "auto_map": {auto_class: "modeling_own.OwnModel"}}
        self.write("checkpoint/config.json", json.dumps(config))
        self.write("checkpoint/modeling_own.py", code)
        weights = self.write("checkpoint/model.safetensors", "x")
        return weights[: -len("/model.safetensors")]

    def spec(self, path, trusted, **changes):
        return spec_with(model__path=path, model__config=None, model__trust_remote_code=trusted, **changes)

    def test_it_runs_when_it_is_trusted(self):
        metrics = self.succeed(self.spec(self.checkpoint(), True))
        self.assertEqual(metrics["model"]["class"], "OwnModel")
        self.assertEqual(metrics["model"]["weights"], "loaded")

    def test_it_is_off_by_default_and_says_how_to_allow_it(self):
        error = self.fail_with(failure.UNTRUSTED_CODE, self.spec(self.checkpoint(), False))
        self.assertIn("modeling_own.py", facts.line(error["fact"]))

    def test_no_code_of_the_folder_runs_without_trust(self):
        trap = f"open({self.write('trap')!r}, 'w').write('ran')\n" + CODE
        self.fail_with(failure.UNTRUSTED_CODE, self.spec(self.checkpoint(code=trap), False))
        with open(self.write("other")[: -len("other")] + "trap", encoding="utf-8") as file:
            self.assertEqual(file.read(), "")

    def test_a_class_of_transformers_is_taken_without_trust(self):
        metrics = self.succeed(self.spec(self.checkpoint(model_type="llama"), False))
        self.assertEqual(metrics["model"]["class"], "LlamaForCausalLM")

    def test_a_model_that_is_registered_as_a_bare_one(self):
        metrics = self.succeed(self.spec(self.checkpoint("AutoModel"), True))
        self.assertEqual(metrics["model"]["class"], "OwnModel")

    def test_a_package_that_its_code_needs_is_named(self):
        error = self.fail_with(
            failure.MISSING_PACKAGE, self.spec(self.checkpoint(code="import no_such_package\n" + CODE), True)
        )
        self.assertIn("no_such_package", facts.line(error["fact"]))

    def test_a_tokenizer_of_its_own(self):
        path = self.checkpoint()
        self.write(
            "checkpoint/tokenizer_config.json",
            json.dumps({"auto_map": {"AutoTokenizer": ["modeling_own.OwnTokenizer", None]}}),
        )
        spec = self.spec(path, True, infer__prompt="say it")
        self.succeed(spec)
        self.assertEqual(self.lines("predictions.jsonl")[0]["text"], ["own"])
        self.fail_with(failure.UNTRUSTED_CODE, self.spec(path, False, infer__prompt="say it"))


if __name__ == "__main__":
    unittest.main()
