"""Models from a local folder, or from a config with random weights."""

import contextlib
import inspect
import json
import os
import re
import sys

from session import failure
from session.facts import fact
from session.failure import SessionError

CAUSAL_LM = "causal_lm"
IMAGE_TEXT = "image_text"

# transformers' automatic classes for each kind of model, newest name first.
_AUTO_CLASSES = {
    CAUSAL_LM: ["AutoModelForCausalLM"],
    IMAGE_TEXT: ["AutoModelForImageTextToText", "AutoModelForVision2Seq"],
}


def import_torch():
    try:
        import torch
    except ImportError as problem:
        raise failure.missing_package("torch", problem) from problem
    return torch


def import_transformers():
    try:
        import transformers
    except ImportError as problem:
        raise failure.missing_package("transformers", problem, fact("session-needed-models")) from problem
    transformers.logging.set_verbosity_error()
    disable_bars = getattr(transformers.logging, "disable_progress_bar", None)
    if disable_bars is not None:
        disable_bars()
    return transformers


def version_tuple(version):
    """The leading numbers of a version: "5.17.0.dev0" gives (5, 17, 0)."""
    numbers = re.match(r"\d+(\.\d+)*", version or "")
    return tuple(int(part) for part in numbers.group().split(".")) if numbers else ()


def check_device(torch, device, asked=None):
    """Refuses a GPU that is not there before anything slow starts.

    `asked` is the device by the name that the configuration gives it: through CUDA_VISIBLE_DEVICES every one is cuda:0.
    """
    if not device.startswith("cuda"):
        return
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if getattr(torch.version, "cuda", None) is None and not torch.cuda.is_available():
        raise SessionError(
            failure.GPU_INDEX,
            fact("session-no-cuda-build", device=("name", asked or device), version=("name", torch.__version__)),
        )
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    index = int(device.split(":", 1)[1]) if ":" in device else 0
    if index >= count:
        params = {"device": ("name", asked or device), "n": ("count", count)}
        if visible is not None:
            params["visible"] = ("name", visible)
        raise SessionError(failure.GPU_INDEX, fact("session-no-gpu", **params))


def dtype_of(torch, name):
    return {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}[name]


class Loaded:
    """A model on its device, with what came along with it."""

    def __init__(self, torch, model, spec, processor=None, tokenizer=None, missing=()):
        self.torch = torch
        self.model = model
        self.name = spec["name"]
        self.processor = processor
        self.tokenizer = tokenizer
        # Parameters that the weight files do not have; transformers draws them at random.
        self.missing = sorted(missing)
        self.random_weights = not spec.get("path")

    @property
    def config(self):
        return self.model.config

    def text_config(self):
        """The part of the config that describes the language model."""
        get = getattr(self.config, "get_text_config", None)
        return get() if get is not None else self.config

    def eos_tokens(self):
        """Ids that end a text; empty where the model names none."""
        ids = None
        generation = getattr(self.model, "generation_config", None)
        if generation is not None:
            ids = getattr(generation, "eos_token_id", None)
        if ids is None:
            ids = getattr(self.text_config(), "eos_token_id", None)
        if ids is None:
            return []
        return list(ids) if isinstance(ids, (list, tuple)) else [int(ids)]

    def identity(self):
        """What the model is, for metrics.json."""
        parameters = list(self.model.parameters())
        config = self.config
        layers = getattr(self.text_config(), "num_hidden_layers", None)
        return {
            "name": self.name,
            "family": getattr(config, "model_type", None),
            "class": type(self.model).__name__,
            "weights": "random" if self.random_weights else "loaded",
            "parameters": sum(p.numel() for p in parameters),
            "weights_bytes": sum(p.numel() * p.element_size() for p in parameters),
            "layers": layers,
            "dtype": _dtype_name(parameters),
            "attention": getattr(config, "_attn_implementation", None),
            "config": plain(config.to_dict() if hasattr(config, "to_dict") else dict(config)),
        }


def _dtype_name(parameters):
    """The type that most of the weights have."""
    counts = {}
    for parameter in parameters:
        name = str(parameter.dtype).replace("torch.", "")
        counts[name] = counts.get(name, 0) + parameter.numel()
    return max(counts, key=counts.get) if counts else None


def plain(value):
    """The value as JSON can hold it; what it cannot becomes its text."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return value if value == value and value not in (float("inf"), float("-inf")) else str(value)
    if value is None or isinstance(value, (bool, int, str)):
        return value
    return str(value).replace("torch.", "")


def load(torch, spec, kind, device, seed):
    """Builds or loads the model that spec (the `model` section) describes and moves it to device."""
    path = spec.get("path")
    if path:
        check_folder(path)
    elif not spec.get("config"):
        raise SessionError(failure.BAD_PATH, fact("session-no-model"))
    transformers = import_transformers()
    torch.manual_seed(seed)
    if path:
        loaded = _from_folder(torch, transformers, spec, kind)
    else:
        loaded = _from_config(torch, transformers, spec, kind, device)
    loaded.model = loaded.model.to(device)
    loaded.model.eval()
    return loaded


def check_folder(path):
    """Refuses a folder without a model before anything slow starts; names each missing file."""
    if not os.path.isdir(path):
        code = "session-model-no-folder" if os.path.exists(path) else "session-model-absent"
        raise SessionError(failure.BAD_PATH, fact(code, file=("file", path)))
    if not os.path.isfile(os.path.join(path, "config.json")):
        raise SessionError(failure.BAD_PATH, fact("session-no-config-file", file=("file", path)))
    index = os.path.join(path, "model.safetensors.index.json")
    if os.path.isfile(index):
        _check_shards(path, index)
        return
    if not any(name.endswith(".safetensors") for name in os.listdir(path)):
        raise SessionError(
            failure.MISSING_WEIGHTS,
            fact("session-no-weights", file=("file", path), config=("file", os.path.join(path, "config.json"))),
        )


def _check_shards(path, index):
    try:
        with open(index, encoding="utf-8") as file:
            shards = sorted(set(json.load(file)["weight_map"].values()))
    except (OSError, ValueError, KeyError, AttributeError, TypeError) as problem:
        raise SessionError(
            failure.MISSING_WEIGHTS, fact("session-index-unread", file=("file", index), error=("error", str(problem)))
        ) from problem
    absent = [shard for shard in shards if not os.path.isfile(os.path.join(path, shard))]
    if absent:
        raise SessionError(
            failure.MISSING_WEIGHTS,
            fact(
                "session-shards-missing",
                file=("file", path),
                n=("count", len(absent)),
                of=("count", len(shards)),
                names=("name", absent[:10]),
            ),
        )


def _own_code(path, name="config.json"):
    """The classes that the folder brings along, by the automatic class that stands for them: auto_map of the file."""
    try:
        with open(os.path.join(path, name), encoding="utf-8") as file:
            found = json.load(file).get("auto_map")
    except (OSError, ValueError, AttributeError):
        return {}
    return found if isinstance(found, dict) else {}


def _auto_class(transformers, kind, own=()):
    """`own` are the automatic classes for which the folder brings code that may be run.

    The first DeepSeek-OCR, for one, is registered as AutoModel alone.
    """
    if own and not any(name in own for name in _AUTO_CLASSES[kind]) and "AutoModel" in own:
        return transformers.AutoModel
    for name in _AUTO_CLASSES[kind]:
        found = getattr(transformers, name, None)
        if found is not None:
            return found
    raise SessionError(
        failure.MISSING_PACKAGE,
        fact(
            "session-no-auto-class",
            version=("name", transformers.__version__),
            name=("name", _AUTO_CLASSES[kind][0]),
        ),
    )


def _dtype_argument(transformers, dtype):
    """The keyword was renamed from torch_dtype in 4.56."""
    name = "dtype" if version_tuple(transformers.__version__) >= (4, 56) else "torch_dtype"
    return {name: dtype}


def _from_folder(torch, transformers, spec, kind):
    path = spec["path"]
    trusted = bool(spec.get("trust_remote_code"))
    own = _own_code(path)
    try:
        model, loading = _auto_class(transformers, kind, own if trusted else ()).from_pretrained(
            path,
            local_files_only=True,
            # Never left out: transformers would ask on the terminal.
            trust_remote_code=trusted,
            use_safetensors=True,
            attn_implementation=spec["attn_implementation"],
            output_loading_info=True,
            **_dtype_argument(transformers, dtype_of(torch, spec["dtype"])),
        )
    except ImportError as problem:
        if trusted and own:
            needed = fact("session-needed-code", file=("file", path))
            raise failure.missing_package(_package_of(problem), problem, needed) from problem
        raise _missing_attention(spec, problem) from problem
    except Exception as problem:
        if own and not trusted and isinstance(problem, (ValueError, KeyError)):
            raise _untrusted(path, _flat(own.values())) from problem
        # A file cut short is an error of the safetensors package, which has no common base with OSError.
        if not isinstance(problem, OSError) and type(problem).__name__ != "SafetensorError":
            raise
        raise SessionError(
            failure.MISSING_WEIGHTS,
            fact("session-weights-unread", file=("file", path), error=("error", failure.first_line(problem))),
        ) from problem
    processor = _optional(transformers, "AutoProcessor", path, trusted) if kind == IMAGE_TEXT else None
    tokenizer = getattr(processor, "tokenizer", None) or _optional(transformers, "AutoTokenizer", path, trusted)
    return Loaded(torch, model, spec, processor, tokenizer, _missing_keys(loading))


def _untrusted(path, classes):
    files = sorted({str(name).split(".")[0].split("--")[-1] + ".py" for name in classes})
    return SessionError(failure.UNTRUSTED_CODE, fact("session-own-code", file=("file", path), names=("name", files)))


def _package_of(problem):
    """The package that an ImportError is about, as transformers or Python names it."""
    found = re.search(r"not found in your environment: ([\w-]+)|requires the (\w+) library", str(problem))
    name = next(filter(None, found.groups())) if found else getattr(problem, "name", None)
    return (name or "a further package").lower()


def _missing_keys(loading):
    """Releases give the account of loading as a mapping or as an object."""
    keys = loading.get("missing_keys") if isinstance(loading, dict) else getattr(loading, "missing_keys", None)
    return keys or ()


_PROCESSOR_FILES = ["processor_config.json", "preprocessor_config.json", "image_processor_config.json"]
_TOKENIZER_FILES = ["tokenizer.json", "tokenizer_config.json", "tokenizer.model", "vocab.json", "vocab.txt"]


def _optional(transformers, auto_class, path, trusted):
    """The processor or tokenizer of the folder; None where the folder has no files for one."""
    wanted = _PROCESSOR_FILES if auto_class == "AutoProcessor" else _TOKENIZER_FILES
    if not any(os.path.isfile(os.path.join(path, name)) for name in wanted):
        return None
    try:
        return getattr(transformers, auto_class).from_pretrained(path, local_files_only=True, trust_remote_code=trusted)
    except ImportError as problem:
        needed = fact("session-needed-class", name=("name", auto_class), file=("file", path))
        raise failure.missing_package(_package_of(problem), problem, needed) from problem
    except ValueError as problem:
        classes = [_own_code(path, name).get(auto_class) for name in [*wanted, "config.json"] if name.endswith(".json")]
        if trusted or not any(classes):
            raise
        raise _untrusted(path, _flat(classes)) from problem


def _flat(classes):
    """Names of classes; auto_map gives a tokenizer as a pair, slow and fast."""
    for names in classes:
        yield from (name for name in (names if isinstance(names, list) else [names]) if name)


def read_config(config):
    """The fields of model.config, which is a mapping or the path of a config.json."""
    if isinstance(config, dict):
        return dict(config)
    try:
        with open(config, encoding="utf-8") as file:
            fields = json.load(file)
    except OSError as problem:
        raise SessionError(
            failure.BAD_PATH,
            fact("session-config-unread", file=("file", config), error=("error", str(problem.strerror))),
        ) from problem
    except ValueError as problem:
        raise SessionError(
            failure.BAD_PATH, fact("session-config-no-json", file=("file", config), error=("error", str(problem)))
        ) from problem
    if not isinstance(fields, dict):
        raise SessionError(failure.BAD_PATH, fact("session-config-no-object", file=("file", config)))
    return fields


def _from_config(torch, transformers, spec, kind, device):
    fields = read_config(spec["config"])
    model_type = fields.pop("model_type", None)
    if not model_type:
        raise SessionError(failure.BAD_PATH, fact("session-no-model-type"))
    try:
        config = transformers.AutoConfig.for_model(model_type, **fields)
    except Exception as problem:  # strict configs raise classes of their own
        raise _refused(transformers, problem) from problem
    build = _auto_class(transformers, kind).from_config
    arguments = {
        "attn_implementation": spec["attn_implementation"],
        **_dtype_argument(transformers, dtype_of(torch, spec["dtype"])),
    }
    try:
        with _on_device(torch, device):
            model = build(config, **arguments)
    except ImportError as problem:
        raise _missing_attention(spec, problem) from problem
    except Exception as problem:
        if failure.is_out_of_memory(problem):
            raise
        raise _refused(transformers, problem) from problem
    return Loaded(torch, model, spec)


def _refused(transformers, problem):
    cause = " ".join(str(problem).split())[:400]
    return SessionError(
        failure.EXCEPTION,
        fact(
            "session-config-refused",
            version=("name", transformers.__version__),
            name=("name", type(problem).__name__),
            error=("error", cause),
        ),
    )


def _missing_attention(spec, problem):
    return SessionError(
        failure.MISSING_PACKAGE,
        fact(
            "session-no-attention",
            python=("file", sys.executable),
            key=("key", f"model.attn_implementation={spec['attn_implementation']}"),
            error=("error", failure.first_line(problem)),
        ),
    )


def _on_device(torch, device):
    """Random weights are drawn where they are used: seconds on a GPU, minutes on the host. torch 2 can do that."""
    if hasattr(torch.device(device), "__enter__"):
        return torch.device(device)
    return contextlib.nullcontext()


def decoding(model):
    """A context for decode in which experts run as generate() of transformers runs them there.

    From 5.0 on it leaves grouped matrix products, which are made for many tokens and wait for the host on some devices,
    for batched ones, which a CUDA graph can hold. Other models, and older releases, are left as they are.
    """
    switch = getattr(model, "_optimize_model_for_decode", None)
    return switch() if switch is not None else contextlib.nullcontext()


def accepts(function, name):
    """Whether a forward method takes the argument by name. A catch-all **kwargs does not count."""
    try:
        return name in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False
