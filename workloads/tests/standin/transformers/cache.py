"""Stand-in for the caches of transformers 5.17: the same constructors, attributes and in-place rules."""

import torch


class DynamicCache:
    is_compileable = False

    def __init__(self, config=None):
        self._layers = {}

    def update(self, keys, values, layer_idx, *args, **kwargs):
        if layer_idx in self._layers:
            old_keys, old_values = self._layers[layer_idx]
            keys, values = torch.cat([old_keys, keys], dim=-2), torch.cat([old_values, values], dim=-2)
        self._layers[layer_idx] = keys, values
        return keys, values

    def get_seq_length(self, layer_idx=0):
        return self._layers[layer_idx][0].shape[-2] if layer_idx in self._layers else 0


class StaticLayer:
    is_sliding = False

    def __init__(self, max_cache_len):
        self.max_cache_len = max_cache_len
        # Moved to the keys' device, and so replaced, when the keys are allocated.
        self.cumulative_length = torch.tensor(0, dtype=int)
        self.keys = self.values = None
        self.is_initialized = False

    def update(self, keys, values):
        if not self.is_initialized:
            shape = (*keys.shape[:2], self.max_cache_len, keys.shape[-1])
            self.keys, self.values = keys.new_zeros(shape), values.new_zeros(shape)
            self.cumulative_length = self.cumulative_length.clone()
            self.is_initialized = True
        place = torch.arange(keys.shape[-2]) + self.cumulative_length
        self.cumulative_length.add_(keys.shape[-2])
        self.keys.index_copy_(2, place, keys)
        self.values.index_copy_(2, place, values)
        return self.keys, self.values

    def reset(self):
        if self.is_initialized:
            self.keys.zero_()
            self.values.zero_()
        self.cumulative_length.zero_()


class StaticCache:
    is_compileable = True

    def __init__(self, config, max_cache_len, offloading=False, offload_only_non_sliding=True, **kwargs):
        self.layers = [StaticLayer(max_cache_len) for _ in range(config.num_hidden_layers)]

    def update(self, keys, values, layer_idx, *args, **kwargs):
        return self.layers[layer_idx].update(keys, values)

    def get_seq_length(self, layer_idx=0):
        layer = self.layers[layer_idx]
        return layer.cumulative_length if layer.is_initialized else 0

    def reset(self):
        for layer in self.layers:
            layer.reset()
