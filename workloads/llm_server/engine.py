"""The engine: it admits requests, runs one step after the other, and tells which tokens came of it."""

import collections

import torch

from llm_server import cache, model, names


class Sequence:
    """A request inside the engine."""

    __slots__ = ("id", "prompt", "limit", "temperature", "made", "last", "row")

    def __init__(self, request):
        self.id = request["id"]
        self.prompt = request["prompt"]
        self.limit = request["max_tokens"]
        self.temperature = request.get("temperature", 0.0)
        self.made = 0
        self.last = None
        self.row = None

    @property
    def position(self):
        """Where its next token goes."""
        return len(self.prompt) + self.made - 1


class Profiler:
    """cudaProfilerStart and cudaProfilerStop, at once (as in vLLM) or around a number of steps (as in SGLang).

    Where there is no CUDA the calls do nothing; what was asked for is still counted and timed, in steps.
    """

    def __init__(self, cuda):
        self._cuda = cuda
        self.active = False
        self.first = self.last = None

    def start(self, now, start_step=None, num_steps=None):
        self.first = now if start_step is None else max(now, start_step)
        self.last = None if num_steps is None else self.first + num_steps
        self.before(now)

    def stop(self):
        self.first = self.last = None
        self._switch(False)

    def before(self, number):
        """Called before step `number`."""
        if self.last is not None and number >= self.last:
            self.stop()
        elif self.first is not None and number >= self.first:
            self._switch(True)

    def _switch(self, on):
        if on == self.active:
            return
        self.active = on
        if self._cuda:
            torch.cuda.synchronize()
            runtime = torch.cuda.cudart()
            runtime.cudaProfilerStart() if on else runtime.cudaProfilerStop()


class Engine:
    """Continuous batching over one model. Not safe for threads: the worker's loop owns it."""

    def __init__(self, options, nvtx):
        self.options = options
        self.nvtx = nvtx
        self.device = torch.device(options["device"])
        self.cuda = self.device.type == "cuda"
        dtype = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}[options["dtype"]]
        shape = options["shape"]
        self.model = model.build(shape, dtype, self.device, options["seed"])
        self.cache = cache.CACHES[options["kv_cache"]](
            shape, options["max_batch"], options["max_len"], dtype, self.device
        )
        self.table = cache.Positions(shape, self.cache.length, dtype, self.device)
        self.waiting = collections.deque()
        self.running = {}  # by row
        self.number = 0
        self.read = 0  # places of the cache that the last decode read for each sequence
        self.profiler = Profiler(self.cuda)
        rows = options["max_batch"]
        self.ids = torch.zeros(rows, dtype=torch.long, device=self.device)
        self.positions = torch.zeros(rows, dtype=torch.long, device=self.device)
        self.host = torch.zeros((2, rows), dtype=torch.long)
        if self.cuda:
            self.host = self.host.pin_memory()
        self.graphs = {}
        self.sizes = batch_sizes(rows)
        with torch.no_grad():
            self._warm_up()
            if options["cuda_graphs"]:
                self._capture()

    def add(self, request):
        self.waiting.append(Sequence(request))

    def cancel(self, wanted):
        """Drops a request whose client has gone."""
        self.waiting = collections.deque(s for s in self.waiting if s.id != wanted)
        for row, sequence in list(self.running.items()):
            if sequence.id == wanted:
                self._leave(row)

    def idle(self):
        return not self.waiting and not self.running

    @torch.no_grad()
    def step(self):
        """Runs one step. Returns (id of the request, token, whether it was its last) for each token that it made."""
        admitted = self._admit()
        decoding = [s for s in self.running.values() if s.made]
        if admitted and not names.mixes(self.options["step_names"]):
            decoding = []
        self.profiler.before(self.number)
        name = names.step_name(
            self.options["step_names"], self.number, len(admitted), sum(len(s.prompt) for s in admitted), len(decoding)
        )
        if name:
            self.nvtx.range_push(name)
        try:
            made = self._forward(admitted, decoding)
        finally:
            if name:
                self.nvtx.range_pop()
        self.number += 1
        return self._account(made)

    def _admit(self):
        """Gives rows to waiting requests, up to the tokens of a step; the first always fits."""
        admitted, tokens = [], 0
        while self.waiting and len(self.running) < self.options["max_batch"]:
            need = len(self.waiting[0].prompt)
            if admitted and tokens + need > self.options["max_step_tokens"]:
                break
            sequence = self.waiting.popleft()
            sequence.row = next(row for row in range(self.options["max_batch"]) if row not in self.running)
            self.running[sequence.row] = sequence
            self.cache.take(sequence.row, need + sequence.limit)
            admitted.append(sequence)
            tokens += need
        return admitted

    def _forward(self, admitted, decoding):
        """The tokens of a step, with the device finished: (sequence, token)."""
        pending = []
        if decoding:
            pending.append((decoding, self._decode(decoding)))
        for sequence in admitted:
            ids = torch.tensor(sequence.prompt, dtype=torch.long).to(self.device)
            batch = cache.Prefill(self.cache, self.table, sequence.row, len(sequence.prompt))
            pending.append(([sequence], self._choose([sequence], self.model(ids, batch))))
        out = []
        for sequences, tokens in pending:
            out.extend(zip(sequences, tokens.tolist()))
        return out

    def _decode(self, decoding):
        rows = max(s.row for s in decoding) + 1
        longest = max(s.position for s in decoding) + 1
        size = next(n for n in self.sizes if n >= rows)
        context = self.read = self._context(longest)
        self.host.zero_()
        for s in decoding:
            self.host[0, s.row] = s.last
            self.host[1, s.row] = s.position
        self.ids.copy_(self.host[0], non_blocking=True)
        self.positions.copy_(self.host[1], non_blocking=True)
        graph = self.graphs.get((size, context))
        if graph is not None:
            graph[0].replay()
            logits = graph[1]
        else:
            logits = self._pass(size, context)
        return self._choose(decoding, logits, [s.row for s in decoding])

    def _pass(self, size, context):
        batch = cache.Decode(self.cache, self.table, self.positions[:size], context)
        return self.model(self.ids[:size], batch)

    def _context(self, longest):
        """The length of the cache that a step reads: in buckets, so that there are few graphs."""
        bucket = self.options["context_bucket"]
        return min(self.cache.length, -(-longest // bucket) * bucket)

    def _choose(self, sequences, logits, rows=None):
        if rows is not None and rows != list(range(logits.shape[0])):
            logits = logits[torch.tensor(rows, device=self.device)]
        if all(s.temperature == 0 for s in sequences):
            return logits.argmax(-1)
        warmth = torch.tensor([[max(s.temperature, 1e-4)] for s in sequences], device=self.device)
        return torch.multinomial((logits.float() / warmth).softmax(-1), 1)[:, 0]

    def _account(self, made):
        out = []
        for sequence, token in made:
            sequence.last = token
            sequence.made += 1
            done = sequence.made >= sequence.limit
            out.append((sequence.id, token, done))
            if done:
                self._leave(sequence.row)
        return out

    def _leave(self, row):
        del self.running[row]
        self.cache.release(row)

    def _warm_up(self):
        """Loads libraries and chooses kernels before the first request."""
        prompt = cache.Prefill(self.cache, self.table, 0, min(8, self.cache.length))
        self.cache.take(0, 8)
        self.model(self.table.all[: min(8, self.cache.length)] % 2, prompt)
        for size in self.sizes:
            self._pass(size, self._context(1))
        self.cache.release(0)
        if self.cuda:
            torch.cuda.synchronize()

    def _capture(self):
        """One CUDA graph for each batch size and length of context."""
        bucket = self.options["context_bucket"]
        contexts = sorted({self._context(n) for n in range(bucket, self.cache.length + bucket, bucket)}, reverse=True)
        pool = None
        for size in reversed(self.sizes):
            for context in contexts:
                side = torch.cuda.Stream()
                side.wait_stream(torch.cuda.current_stream())
                with torch.cuda.stream(side):
                    self._pass(size, context)
                torch.cuda.current_stream().wait_stream(side)
                graph = torch.cuda.CUDAGraph()
                self.nvtx.range_push(f"capture bs={size} context={context}")
                with torch.cuda.graph(graph, pool=pool):
                    logits = self._pass(size, context)
                self.nvtx.range_pop()
                pool = pool or graph.pool()
                self.graphs[(size, context)] = (graph, logits)
        torch.cuda.synchronize()

    def state(self):
        """Numbers of the engine, for /metrics."""
        used = sum(s.position + 1 for s in self.running.values())
        out = {
            "steps_total": self.number,
            "requests_running": len(self.running),
            "requests_waiting": len(self.waiting),
            "kv_cache_usage_ratio": used / (self.options["max_batch"] * self.cache.length),
            "kv_cache_read_tokens": self.read,
            "profiler_active": int(self.profiler.active),
            "cuda_graphs": len(self.graphs),
        }
        if self.cuda:
            out["gpu_memory_peak_bytes"] = torch.cuda.max_memory_reserved()
        return out


def batch_sizes(largest):
    """1, 2, 4, ... and the largest itself."""
    sizes, n = [], 1
    while n < largest:
        sizes.append(n)
        n *= 2
    return sizes + [largest]
