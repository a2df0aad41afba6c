"""Tiny models with the forward signatures of transformers 5.17."""

import contextlib

import torch
from torch import nn

import transformers

from .cache import DynamicCache, StaticCache

CONFIGS = [
    "llama",
    "llava",
    "tiny_positions",
    "tiny_experts",
    "tiny_no_logits",
    "tiny_ends_at_once",
    "tiny_fails",
    "tiny_out_of_memory",
]


class TinyConfig:
    """The fields of a config; those of sub-configs become configs too."""

    def __init__(self, **fields):
        self.num_hidden_layers = 2
        self.hidden_size = 16
        self.num_attention_heads = 2
        self.vocab_size = 64
        self.eos_token_id = 2
        self._attn_implementation = None
        for name, value in fields.items():
            nested = isinstance(value, dict) and name.endswith("_config")
            setattr(self, name, TinyConfig(**value) if nested else value)

    def get_text_config(self, decoder=None, encoder=None):
        return getattr(self, "text_config", self)

    def to_dict(self):
        public = {name: value for name, value in vars(self).items() if not name.startswith("_")}
        return {name: value.to_dict() if isinstance(value, TinyConfig) else value for name, value in public.items()}


class Output:
    def __init__(self, **fields):
        self.__dict__.update(fields)


class TinyAttention(nn.Module):
    def __init__(self, config, layer_idx):
        super().__init__()
        self.layer_idx = layer_idx
        self.heads = config.num_attention_heads
        self.qkv = nn.Linear(config.hidden_size, 3 * config.hidden_size)
        self.o_proj = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(self, x, past_key_values):
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        before = past_key_values.get_seq_length(self.layer_idx)
        query_place = torch.arange(length) + before
        k, v = past_key_values.update(k, v, self.layer_idx)
        scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
        hidden = torch.arange(k.shape[-2])[None, :] > query_place[:, None]
        shares = scores.masked_fill(hidden, float("-inf")).softmax(dim=-1)
        return self.o_proj((shares @ v).transpose(1, 2).reshape(batch, length, width))


class TinyLayer(nn.Module):
    def __init__(self, config, layer_idx):
        super().__init__()
        self.self_attn = TinyAttention(config, layer_idx)
        self.mlp = nn.Sequential(nn.Linear(config.hidden_size, 32), nn.ReLU(), nn.Linear(32, config.hidden_size))

    def forward(self, x, past_key_values):
        x = x + self.self_attn(x, past_key_values)
        return x + self.mlp(x)


class TinyModel(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList([TinyLayer(config, i) for i in range(config.num_hidden_layers)])

    def forward(self, inputs_embeds, past_key_values):
        for layer in self.layers:
            inputs_embeds = layer(inputs_embeds, past_key_values)
        return inputs_embeds


class LlamaForCausalLM(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.generation_config = Output(eos_token_id=config.eos_token_id)
        self.model = TinyModel(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)

    def forward(
        self,
        input_ids=None,
        attention_mask=None,
        position_ids=None,
        past_key_values=None,
        inputs_embeds=None,
        labels=None,
        use_cache=None,
        logits_to_keep=0,
        **kwargs,
    ):
        assert not kwargs, kwargs
        if past_key_values is None:
            past_key_values = DynamicCache(config=self.config)
        kind = "static" if isinstance(past_key_values, StaticCache) else "dynamic"
        transformers.forwards.append((tuple(input_ids.shape), kind, logits_to_keep))
        hidden = self.model(self.model.embed_tokens(input_ids), past_key_values)
        logits = self.lm_head(hidden[:, slice(-logits_to_keep, None), :])
        return Output(logits=self.adjust(logits), past_key_values=past_key_values)

    def adjust(self, logits):
        return logits


class WithPositions(LlamaForCausalLM):
    """As releases before 5.3: a static cache is written where cache_position says, so it must say the right place."""

    def forward(self, input_ids=None, past_key_values=None, use_cache=None, cache_position=None, logits_to_keep=0):
        if isinstance(past_key_values, StaticCache):
            place = past_key_values.get_seq_length() + torch.arange(input_ids.shape[1])
            assert cache_position.tolist() == place.tolist(), (cache_position, place)
        return super().forward(input_ids=input_ids, past_key_values=past_key_values, logits_to_keep=logits_to_keep)


class Experts(LlamaForCausalLM):
    """A model whose experts run in one of several ways, which generate() changes for decode."""

    experts_implementation = "grouped_mm"
    ran = []

    @contextlib.contextmanager
    def _optimize_model_for_decode(self):
        self.experts_implementation = "batched_mm"
        try:
            yield
        finally:
            self.experts_implementation = "grouped_mm"

    def set_experts_implementation(self, implementation):
        self.experts_implementation = implementation

    def adjust(self, logits):
        self.ran.append(self.experts_implementation)
        return logits


class NoLogits(LlamaForCausalLM):
    def adjust(self, logits):
        return None


class EndsAtOnce(LlamaForCausalLM):
    def adjust(self, logits):
        forced = torch.zeros_like(logits)
        forced[..., 2] = 100
        return forced


class Fails(LlamaForCausalLM):
    """Works in the warm-up of one pass and the prefill behind it, then raises inside a hooked module in decode."""

    def __init__(self, config):
        super().__init__(config)
        self.model.layers[1].mlp.register_forward_pre_hook(self._fail)

    def _fail(self, _module, inputs):
        passes = [shape for shape, _, _ in transformers.forwards if shape[1] > 1]
        if len(passes) >= self.config.fail_in_pass and inputs[0].shape[1] == 1:
            raise KeyError("a failure inside the model")


class OutOfMemory(LlamaForCausalLM):
    def adjust(self, logits):
        raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB.")


class LlavaModel(nn.Module):
    def __init__(self, config):
        super().__init__()
        width = config.text_config.hidden_size
        self.vision_tower = nn.Conv2d(3, width, 8, stride=8)
        self.multi_modal_projector = nn.Linear(width, width)
        self.language_model = TinyModel(config.text_config)


class LlavaForConditionalGeneration(nn.Module):
    """Four patches and a separator an image, as deepseek_ocr2 has one."""

    def __init__(self, config):
        super().__init__()
        self.config = config
        self.model = LlavaModel(config)
        self.lm_head = nn.Linear(config.text_config.hidden_size, config.text_config.vocab_size, bias=False)

    def get_image_features(self, pixel_values, **kwargs):
        patches = self.model.vision_tower(pixel_values).flatten(2).transpose(1, 2)
        features = self.model.multi_modal_projector(patches)
        separator = torch.zeros_like(features[:, :1])
        return Output(pooler_output=list(torch.cat([features, separator], dim=1)))

    def forward(
        self,
        input_ids=None,
        pixel_values=None,
        attention_mask=None,
        position_ids=None,
        past_key_values=None,
        inputs_embeds=None,
        labels=None,
        use_cache=None,
        logits_to_keep=0,
        **kwargs,
    ):
        assert not kwargs, kwargs
        if past_key_values is None:
            past_key_values = DynamicCache(config=self.config)
        embeddings = self.model.language_model.embed_tokens(input_ids)
        if pixel_values is not None:
            features = torch.cat(self.get_image_features(pixel_values).pooler_output)
            place = input_ids == self.config.image_token_id
            if int(place.sum()) != features.shape[0]:
                raise ValueError(f"image tokens: {int(place.sum())}, features: {features.shape[0]}")
            embeddings = embeddings.masked_scatter(place.unsqueeze(-1), features)
        hidden = self.model.language_model(embeddings, past_key_values)
        return Output(logits=self.lm_head(hidden[:, slice(-logits_to_keep, None), :]), past_key_values=past_key_values)


MODELS = {
    ("causal_lm", "llama"): LlamaForCausalLM,
    ("causal_lm", "tiny_positions"): WithPositions,
    ("causal_lm", "tiny_experts"): Experts,
    ("causal_lm", "tiny_no_logits"): NoLogits,
    ("causal_lm", "tiny_ends_at_once"): EndsAtOnce,
    ("causal_lm", "tiny_fails"): Fails,
    ("causal_lm", "tiny_out_of_memory"): OutOfMemory,
    ("image_text", "llava"): LlavaForConditionalGeneration,
}
