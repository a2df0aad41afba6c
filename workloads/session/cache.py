"""Key-value caches: one that grows, and one that stays in place as CUDA graphs need it."""

import inspect

from session import failure
from session.facts import fact
from session.failure import SessionError


class DynamicPolicy:
    """The model makes its own cache in each prefill, as most programs let it."""

    kind = "dynamic"

    def fresh(self):
        return None


class StaticPolicy:
    """One cache for all passes, allocated once and emptied before each."""

    kind = "static"

    def __init__(self, torch, transformers, loaded, batch, length):
        self.torch = torch
        self.length = length
        self._cache = self._build(transformers, loaded, batch, length)

    def _build(self, transformers, loaded, batch, length):
        static = getattr(transformers, "StaticCache", None)
        if static is None:
            raise SessionError(
                failure.MISSING_PACKAGE, fact("session-no-static-cache", version=("name", transformers.__version__))
            )
        known = inspect.signature(static.__init__).parameters
        first = next(loaded.model.parameters())
        arguments = {"config": loaded.text_config(), "max_cache_len": length}
        # Releases before 4.56 allocate at once and must be told the shape.
        for name in ("max_batch_size", "batch_size"):
            if name in known:
                arguments[name] = batch
                break
        if "device" in known:
            arguments["device"] = first.device
        if "dtype" in known:
            arguments["dtype"] = first.dtype
        return static(**arguments)

    def fresh(self):
        """The cache, empty, every tensor where it was."""
        layers = getattr(self._cache, "layers", [])
        lengths = [(layer, layer.cumulative_length) for layer in layers if self._counts_on_device(layer)]
        addresses = self._addresses()
        self._cache.reset()
        for layer, length in lengths:
            length.zero_()
            layer.cumulative_length = length
        if addresses and addresses != self._addresses():
            raise RuntimeError("StaticCache.reset moved the cache: a captured graph would write to freed memory")
        return self._cache

    def _counts_on_device(self, layer):
        return self.torch.is_tensor(getattr(layer, "cumulative_length", None))

    def _addresses(self):
        keys = [getattr(layer, "keys", None) for layer in getattr(self._cache, "layers", [])]
        return [key.data_ptr() for key in keys if self.torch.is_tensor(key)]

    def obstacle_to_replay(self):
        """A fact: why a recorded step would repeat one position for ever; None where nothing does.

        Layers with a sliding window count their tokens on the host, which a replay does not reach. That harms where the
        window fills up, and where the first layer has one: positions and mask are taken from its count.
        """
        layers = getattr(self._cache, "layers", [])
        sliding = [layer for layer in layers if getattr(layer, "is_sliding", False)]
        if not sliding:
            return None
        window = min(layer.max_cache_len for layer in sliding)
        if window < self.length:
            return fact("session-graph-window", tokens=("count", window))
        if sliding[0] is layers[0]:
            return fact("session-graph-first-window")
        return None
