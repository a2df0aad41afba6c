"""Shapes of models, in the fields of a Hugging Face config.json."""

import json

BUILT_IN = {
    # Small enough for the CPU of a test machine.
    "tiny": {
        "vocab_size": 512,
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
    },
    # Llama 3.1 8B.
    "llama_8b": {
        "vocab_size": 128256,
        "hidden_size": 4096,
        "intermediate_size": 14336,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "rope_theta": 500000.0,
    },
}
NEEDED = (
    "vocab_size",
    "hidden_size",
    "intermediate_size",
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
)


def load(name):
    """The shape of that built-in name, or of the config.json at that path, with every field that the model reads.

    Fields that change the work of the model and that it does not implement are refused.
    """
    if name in BUILT_IN:
        shape = dict(BUILT_IN[name])
    else:
        with open(name, encoding="utf-8") as file:
            shape = json.load(file)
    shape.setdefault("model_type", "llama")
    if shape["model_type"] != "llama":
        raise ValueError(f"{name}: the server runs models of model_type llama, not {shape['model_type']}")
    shape.setdefault("num_key_value_heads", shape.get("num_attention_heads"))
    missing = [field for field in NEEDED if not shape.get(field)]
    if missing:
        raise ValueError(f"{name}: no {', '.join(missing)}")
    if shape.get("quantization_config"):
        raise ValueError(f"{name}: quantized weights are not supported")
    shape.setdefault("head_dim", shape["hidden_size"] // shape["num_attention_heads"])
    shape.setdefault("rope_theta", 10000.0)
    shape.setdefault("rms_norm_eps", 1e-5)
    shape.setdefault("tie_word_embeddings", False)
    return shape
