"""A Llama in plain torch over a key-value cache that is allocated once, so that its decode step can be a CUDA graph."""

import math

import torch
from torch import nn
from torch.nn import functional


class RMSNorm(nn.Module):
    def __init__(self, size, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.eps = eps

    def forward(self, x):
        wide = x.float()
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.eps)
        return self.weight * wide.to(x.dtype)


def rotate(x, cos, sin):
    """Rotary position embedding; x is [tokens, heads, head_dim], cos and sin are [tokens, 1, head_dim / 2]."""
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)


class Attention(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.heads, self.kv_heads, self.size = (
            shape["num_attention_heads"],
            shape["num_key_value_heads"],
            shape["head_dim"],
        )
        width = shape["hidden_size"]
        self.q_proj = nn.Linear(width, self.heads * self.size, bias=False)
        self.k_proj = nn.Linear(width, self.kv_heads * self.size, bias=False)
        self.v_proj = nn.Linear(width, self.kv_heads * self.size, bias=False)
        self.o_proj = nn.Linear(self.heads * self.size, width, bias=False)

    def forward(self, x, batch, keys, values):
        tokens = x.shape[0]
        q = rotate(self.q_proj(x).view(tokens, self.heads, self.size), batch.cos, batch.sin)
        k = rotate(self.k_proj(x).view(tokens, self.kv_heads, self.size), batch.cos, batch.sin)
        v = self.v_proj(x).view(tokens, self.kv_heads, self.size)
        batch.write(keys, k)
        batch.write(values, v)
        out = self._prefill(q, k, v) if batch.prefill else self._decode(q, batch, keys, values)
        return self.o_proj(out.reshape(tokens, self.heads * self.size))

    def _prefill(self, q, k, v):
        """Attention of one prompt over itself."""
        groups = self.heads // self.kv_heads
        q = q.transpose(0, 1)
        k = k.transpose(0, 1).repeat_interleave(groups, dim=0)
        v = v.transpose(0, 1).repeat_interleave(groups, dim=0)
        fused = getattr(functional, "scaled_dot_product_attention", None)
        if fused is not None:
            return fused(q[None], k[None], v[None], is_causal=True)[0].transpose(0, 1)
        scores = q @ k.transpose(1, 2) / math.sqrt(self.size)
        ahead = torch.ones(q.shape[1], q.shape[1], dtype=torch.bool, device=q.device).triu(1)
        return (scores.masked_fill(ahead, -math.inf).softmax(-1) @ v).transpose(0, 1)

    def _decode(self, q, batch, keys, values):
        """Attention of one token a sequence over its cache. The heads that share keys are rows of one product."""
        sequences = q.shape[0]
        k, v = batch.read(keys), batch.read(values)  # [sequences, kv_heads, context, size]
        q = q.view(sequences, self.kv_heads, self.heads // self.kv_heads, self.size)
        scores = (q @ k.transpose(2, 3)) / math.sqrt(self.size) + batch.mask
        return scores.softmax(-1) @ v


class MLP(nn.Module):
    def __init__(self, shape):
        super().__init__()
        width, inner = shape["hidden_size"], shape["intermediate_size"]
        self.gate_proj = nn.Linear(width, inner, bias=False)
        self.up_proj = nn.Linear(width, inner, bias=False)
        self.down_proj = nn.Linear(inner, width, bias=False)

    def forward(self, x):
        return self.down_proj(functional.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.input_layernorm = RMSNorm(shape["hidden_size"], shape["rms_norm_eps"])
        self.self_attn = Attention(shape)
        self.post_attention_layernorm = RMSNorm(shape["hidden_size"], shape["rms_norm_eps"])
        self.mlp = MLP(shape)

    def forward(self, x, batch, keys, values):
        x = x + self.self_attn(self.input_layernorm(x), batch, keys, values)
        return x + self.mlp(self.post_attention_layernorm(x))


class Llama(nn.Module):
    """Calls take token ids [tokens] and a batch of cache.py, and give the logits of the tokens in batch.wanted."""

    def __init__(self, shape):
        super().__init__()
        self.embed_tokens = nn.Embedding(shape["vocab_size"], shape["hidden_size"])
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape["num_hidden_layers"]))
        self.norm = RMSNorm(shape["hidden_size"], shape["rms_norm_eps"])
        self.lm_head = nn.Linear(shape["hidden_size"], shape["vocab_size"], bias=False)
        if shape["tie_word_embeddings"]:
            self.lm_head.weight = self.embed_tokens.weight

    def forward(self, ids, batch):
        x = self.embed_tokens(ids)
        for layer, (keys, values) in zip(self.layers, batch.cache.layers):
            x = layer(x, batch, keys, values)
        return self.lm_head(self.norm(x[batch.wanted]))


def build(shape, dtype, device, seed):
    """A model with random weights, drawn on the device itself."""
    torch.manual_seed(seed)
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        if hasattr(torch, "set_default_device"):  # torch 2
            with torch.device(device):
                model = _without_init(Llama, shape)
        else:
            model = _without_init(Llama, shape).to(device)
    finally:
        torch.set_default_dtype(before)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.dim() > 1:
                weight.normal_(0.0, 0.02)
    return model.eval()


def _without_init(kind, shape):
    """Builds a model without torch's own initial values, which take minutes for billions of weights."""
    kept = nn.Linear.reset_parameters, nn.Embedding.reset_parameters
    nn.Linear.reset_parameters = nn.Embedding.reset_parameters = lambda self: None
    try:
        return kind(shape)
    finally:
        nn.Linear.reset_parameters, nn.Embedding.reset_parameters = kept
