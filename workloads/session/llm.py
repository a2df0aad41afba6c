"""A causal language model that continues random tokens or the prompts of a dataset."""

from session import data, failure, models
from session.facts import fact
from session.failure import SessionError
from session.generation import Generation, disable_tracing, record_of


class TextSession:
    """What a session of any generating model does; llm and vlm differ in their inputs alone."""

    kind = models.CAUSAL_LM

    def __init__(self, context):
        self.context = context
        self.torch = context.torch
        self.infer = context.infer
        self.samples = []
        self.plan = None
        self.loaded = None
        self.generation = None

    def check(self):
        """Everything that can be refused before the model is loaded."""
        self.samples = data.samples_of(self.context.dataset)
        self.plan = data.plan_of(len(self.samples), self.context.dataset["sampling"])
        path = self.context.model.get("path")
        if path:
            models.check_folder(path)

    def load(self, ranges):
        context = self.context
        self.loaded = models.load(self.torch, context.model, self.kind, context.device, self.infer["seed"])
        if self.loaded.missing:
            names = ", ".join(self.loaded.missing[:5])
            context.note(fact("session-random-weights", n=("count", len(self.loaded.missing)), names=("name", names)))
        compiled = self.infer["compile"]
        ranges.attach(self.loaded.model, context.model["stage_hooks"] or {}, disable_tracing(self.torch, compiled))
        self.prepare()
        self.generation = Generation(self.torch, context.clock, self.loaded, self.infer, self._capacity())

    def prepare(self):
        """What the inputs of a family need once the model is there."""

    def _capacity(self):
        if self.infer["kv_cache"] != "static":
            return None
        longest = max(self.host_inputs(self.samples[i])["input_ids"].shape[1] for i in self.plan.used())
        return longest + self.infer["max_new_tokens"]

    def warm_up(self, quiet):
        first, *others = [self.samples[i] for i in self.plan.used()]
        inputs = self.device_inputs(first)
        self.generation.warm_up(inputs, [lambda s=sample: self.device_inputs(s) for sample in others], quiet)

    def device_inputs(self, sample):
        dtype = models.dtype_of(self.torch, self.context.model["dtype"])
        moved = {}
        for name, value in self.host_inputs(sample).items():
            if self.torch.is_tensor(value):
                value = value.to(self.context.device)
                value = value.to(dtype) if value.is_floating_point() else value
            moved[name] = value
        return moved

    def profiled_model(self):
        """The model whose modules operators are linked to."""
        return self.loaded.model

    def measure(self, inputs, ranges, limit=None):
        """One pass: its record, and the pass itself."""
        result = self.generation.run(inputs, ranges, limit)
        prompt_tokens = inputs["input_ids"].shape[1]
        return record_of(result, self.context.clock, self.infer["batch_size"], prompt_tokens), result

    def prediction(self, result):
        """What the pass answered: token ids of each row, and the text where there is a tokenizer."""
        rows = result.tokens
        tokenizer = self.loaded.tokenizer
        text = [tokenizer.decode(row, skip_special_tokens=True) for row in rows] if tokenizer is not None else None
        return {"tokens": rows, "text": text}

    def identity(self):
        identity = self.loaded.identity()
        identity.update(
            kv_cache=self.infer["kv_cache"], compile=self.infer["compile"], cuda_graphs=self.infer["cuda_graphs"]
        )
        return identity

    def refuse_nothing(self, records):
        """Every text ended with its first token: nothing was decoded, and a profile of it would be empty."""
        if records and all(record["tokens_out"] == 0 for record in records):
            raise SessionError(failure.NO_TOKENS, fact("session-no-tokens"))

    def repeated(self, ids):
        """One row of token ids as a batch: (batch, length)."""
        row = self.torch.as_tensor(ids, dtype=self.torch.long).reshape(1, -1)
        return row.repeat(self.infer["batch_size"], 1)


class LlmSession(TextSession):
    """Inputs are token ids alone."""

    def host_inputs(self, sample):
        prompt = self.infer.get("prompt")
        if sample.path is None and not prompt:
            return {"input_ids": self._random(sample)}
        if self.loaded.tokenizer is None:
            code = "session-no-tokenizer-random" if self.loaded.random_weights else "session-no-tokenizer"
            raise SessionError(failure.DATASET, fact(code))
        text = data.read_text(sample.path) if sample.path is not None else ""
        text = "\n".join(part for part in (prompt, text) if part)
        ids = self.loaded.tokenizer(text)["input_ids"]
        if len(ids) == 0:
            raise SessionError(failure.DATASET, fact("session-empty-prompt", name=("name", sample.name)))
        return {"input_ids": self.repeated(ids)}

    def _random(self, sample):
        return data.random_tokens(
            self.torch,
            sample,
            self.infer["prompt_length"],
            self.infer["batch_size"],
            self.loaded.text_config().vocab_size,
            self.infer["seed"],
        )
