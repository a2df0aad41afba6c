"""Choosing the next token from logits, in kernels that a CUDA graph can hold."""


class Chooser:
    """Greedy, or sampling with temperature, top-k and top-p, from torch's default generator."""

    def __init__(self, torch, infer):
        self.torch = torch
        self.sample = bool(infer["do_sample"])
        self.temperature = float(infer["temperature"])
        self.top_k = int(infer["top_k"])
        self.top_p = float(infer["top_p"])

    def __call__(self, logits):
        """Token ids (batch, 1) for logits (batch, positions, vocabulary): the last position decides."""
        last = logits[:, -1, :]
        if not self.sample:
            return last.argmax(dim=-1, keepdim=True)
        scores = last.float() / self.temperature
        if self.top_k > 0:
            scores = self._keep_top_k(scores)
        if self.top_p < 1.0:
            scores = self._keep_top_p(scores)
        return self._draw(scores.softmax(dim=-1))

    def _keep_top_k(self, scores):
        count = min(self.top_k, scores.shape[-1])
        lowest = scores.topk(count, dim=-1).values[:, -1:]
        return scores.masked_fill(scores < lowest, float("-inf"))

    def _keep_top_p(self, scores):
        ordered, order = scores.sort(dim=-1, descending=True)
        shares = ordered.softmax(dim=-1)
        # A token stays while those before it hold less than top_p, so the likeliest one always stays.
        ordered = ordered.masked_fill(shares.cumsum(dim=-1) - shares >= self.top_p, float("-inf"))
        return scores.new_empty(scores.shape).scatter_(-1, order, ordered)

    def _draw(self, shares):
        """One draw a row. Dividing by exponential noise and taking the largest is an exact draw without waiting for the
        device, which torch.multinomial's checks would do."""
        noise = self.torch.empty_like(shares).exponential_().clamp_min_(1e-20)
        return shares.div(noise).argmax(dim=-1, keepdim=True)
