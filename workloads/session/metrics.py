"""metrics.json: one record a measured pass and a summary, rewritten after each, so that a crash keeps the rest."""

import os
import platform
import sys

from session.failure import write_json

SCHEMA = 1

# Keys of a record that hold one number, and those that hold a number for each label.
_SINGLE = ["prefill_ms", "decode_ms", "ttft_ms", "tokens_per_s", "forward_ms", "images_per_s", "peak_memory_bytes"]
_LABELLED = ["substages_ms", "stages_ms"]


class Metrics:
    """The file while a session runs. `header` is everything that does not depend on the passes."""

    def __init__(self, out, header):
        self._path = os.path.join(out, "metrics.json")
        self._header = header
        self.samples = []

    def add(self, record):
        self.samples.append(record)
        self.write(complete=False)

    def write(self, complete):
        value = {"schema": SCHEMA, "complete": complete}
        value.update(self._header)
        value["samples"] = self.samples
        value["summary"] = summary(self.samples)
        write_json(self._path, value)


def summary(samples):
    """Statistics over all passes; a value that no pass has is absent."""
    result = {}
    for key in _SINGLE:
        _put(result, key, [sample.get(key) for sample in samples])
    _put(result, "token_ms", [ms for sample in samples for ms in sample.get("token_ms") or []])
    for key in _LABELLED:
        labels = dict.fromkeys(label for sample in samples for label in sample.get(key) or {})
        grouped = {}
        for label in labels:
            _put(grouped, label, [(sample.get(key) or {}).get(label) for sample in samples])
        if grouped:
            result[key] = grouped
    return result


def _put(result, key, values):
    values = [value for value in values if value is not None]
    if values:
        result[key] = statistics(values)


def statistics(values):
    """n, mean, sample standard deviation (None for one value), extremes and percentiles by linear interpolation."""
    ordered = sorted(values)
    n = len(ordered)
    mean = sum(ordered) / n
    std = (sum((value - mean) ** 2 for value in ordered) / (n - 1)) ** 0.5 if n > 1 else None
    return {
        "n": n,
        "mean": mean,
        "std": std,
        "min": ordered[0],
        "p50": percentile(ordered, 50),
        "p90": percentile(ordered, 90),
        "p99": percentile(ordered, 99),
        "max": ordered[-1],
    }


def percentile(ordered, percent):
    place = (len(ordered) - 1) * percent / 100
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def software(torch, device):
    """Versions of everything that a time may depend on; None where a part is absent."""
    transformers = sys.modules.get("transformers")
    on_gpu = device.startswith("cuda")
    cudnn = torch.backends.cudnn.version() if on_gpu and torch.backends.cudnn.is_available() else None
    return {
        "python": platform.python_version(),
        "interpreter": sys.executable,
        "torch": torch.__version__,
        "cuda": getattr(torch.version, "cuda", None),
        "cudnn": str(cudnn) if cudnn is not None else None,
        "transformers": getattr(transformers, "__version__", None),
        "gpu": torch.cuda.get_device_name(0) if on_gpu else None,
    }
