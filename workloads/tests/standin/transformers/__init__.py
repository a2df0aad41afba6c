"""A stand-in for Hugging Face transformers, for tests on machines that have torch alone.

It is not transformers and shares no code with it: tiny models on real torch, with the class names, method names and
signatures of transformers 5.17 for what the sessions call, and nothing else. Real models are run on a GPU.
"""

import importlib.util
import json
import os

import torch

from . import logging  # noqa: F401
from .cache import DynamicCache, StaticCache  # noqa: F401
from .modelling import CONFIGS, MODELS, TinyConfig

__version__ = "5.17.0"

# Set by tests: appended to by every forward pass, so that they see what ran and when.
forwards = []


class AutoConfig:
    @classmethod
    def for_model(cls, model_type, *args, **kwargs):
        if model_type not in CONFIGS:
            raise ValueError(f"Unrecognized model identifier: {model_type}. Should contain one of {', '.join(CONFIGS)}")
        return TinyConfig(model_type=model_type, **kwargs)


def _own_class(path, fields, auto_class, trust_remote_code):
    """The class that auto_map names, from the folder's own file; None where the folder brings none.

    As transformers does it: without trust a class of its own is taken where it has one, else it refuses.
    """
    named = fields.get("auto_map", {}).get(auto_class)
    if named is None:
        return None
    if not trust_remote_code:
        if fields.get("model_type") in CONFIGS:
            return None
        raise ValueError(
            f"The repository {path} contains custom code which must be executed to correctly load the model. "
            "Please pass the argument `trust_remote_code=True` to allow custom code to be run."
        )
    module, name = named.split(".")
    spec = importlib.util.spec_from_file_location(module, os.path.join(path, module + ".py"))
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return getattr(loaded, name)


class SafetensorError(Exception):
    """As the package safetensors raises it."""


class _AutoModel:
    kind = None

    @classmethod
    def from_config(cls, config, *, dtype=None, attn_implementation=None, **kwargs):
        if kwargs:
            raise TypeError(f"unexpected arguments: {sorted(kwargs)}")
        if attn_implementation == "flash_attention_2":
            raise ImportError("FlashAttention2 has been toggled on, but the package flash_attn is not installed.")
        config._attn_implementation = attn_implementation or "sdpa"
        return MODELS[(cls.kind, config.model_type)](config).to(dtype or torch.float32)

    @classmethod
    def from_pretrained(
        cls,
        path,
        *,
        local_files_only=False,
        use_safetensors=None,
        dtype=None,
        attn_implementation=None,
        output_loading_info=False,
        trust_remote_code=None,
    ):
        assert local_files_only and use_safetensors
        assert trust_remote_code is not None, "transformers would ask on the terminal"
        with open(os.path.join(path, "config.json"), encoding="utf-8") as file:
            fields = json.load(file)
        for name in os.listdir(path):
            if name.endswith(".safetensors") and os.path.getsize(os.path.join(path, name)) == 0:
                raise OSError(f"Unable to load weights from {name}")
            if name.startswith("cut"):
                raise SafetensorError("Error while deserializing header: incomplete metadata, file not fully covered")
        missing = set(fields.pop("missing_keys", []))
        own = _own_class(path, fields, cls.__name__, trust_remote_code)
        fields.pop("auto_map", None)
        if own is not None:
            model = own(TinyConfig(**fields)).to(dtype or torch.float32)
            return (model, {"missing_keys": missing}) if output_loading_info else model
        model = cls.from_config(AutoConfig.for_model(**fields), dtype=dtype, attn_implementation=attn_implementation)
        return (model, {"missing_keys": missing}) if output_loading_info else model


class AutoModel(_AutoModel):
    kind = "bare"


class AutoModelForCausalLM(_AutoModel):
    kind = "causal_lm"


class AutoModelForImageTextToText(_AutoModel):
    kind = "image_text"


class _Tokenizer:
    """A token a character."""

    def __call__(self, text):
        return {"input_ids": [ord(character) % 64 for character in text]}

    def decode(self, ids, skip_special_tokens=False):
        return "".join(chr(33 + token) for token in ids)


class AutoTokenizer:
    @classmethod
    def from_pretrained(cls, path, *, local_files_only=False, trust_remote_code=None):
        assert local_files_only and trust_remote_code is not None
        name = os.path.join(path, "tokenizer_config.json")
        if os.path.exists(name) and os.path.getsize(name) > 0:
            with open(name, encoding="utf-8") as file:
                fields = json.load(file)
            own = fields.get("auto_map", {}).get(cls.__name__)
            if own is not None:
                return _own_class(path, {"auto_map": {cls.__name__: own[0]}}, cls.__name__, trust_remote_code)()
        return _Tokenizer()


class _Processor:
    chat_template = None
    image_token = "<image>"

    def __init__(self, image_token_id):
        self.tokenizer = _Tokenizer()
        self._image_token_id = image_token_id

    def __call__(self, images=None, text=None, return_tensors=None):
        assert return_tensors == "pt" and len(images) == len(text)
        rows = [[self._image_token_id] * 5 + self.tokenizer(line.replace("<image>", ""))["input_ids"] for line in text]
        ids = torch.tensor(rows)
        return {
            "input_ids": ids,
            "attention_mask": torch.ones_like(ids),
            "pixel_values": torch.rand(len(images), 3, 16, 16),
        }


class AutoProcessor:
    @classmethod
    def from_pretrained(cls, path, *, local_files_only=False, trust_remote_code=None):
        assert local_files_only and trust_remote_code is not None
        if os.path.exists(os.path.join(path, "needs_torchvision")):
            raise ImportError("Processor requires the Torchvision library but it was not found in your environment.")
        return _Processor(63)
