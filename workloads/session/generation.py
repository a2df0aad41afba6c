"""Prefill and decode in a loop of our own, so that each range holds exactly its stage.

A pass is: inputs on the device, `prefill` up to the first logits, the choice of the first token (outside every range),
then `decode` with one `step` a further token. A step is a forward pass and the choice of its token.
"""

import contextlib

from session import failure, models
from session.cache import DynamicPolicy, StaticPolicy
from session.choose import Chooser
from session.facts import fact
from session.failure import SessionError


class Pass:
    """What one pass measured. Times may be read once the device has finished.

    first_token is a mark behind the choice of the first token; first_token_known the moment at which the host had
    waited for it, None where it did not wait.
    """

    def __init__(self):
        self.prefill = None
        self.decode = None
        self.steps = []
        self.hooked = []
        self.first_token = None
        self.first_token_known = None
        self.tokens = None
        self.no_decode = None
        self.ended_at_once = False


class Generation:
    """A model that continues tokens.

    `inputs` of every method are the keyword arguments of the first forward pass, on the device. `capacity` is the
    longest prompt plus all new tokens: what a static cache must hold.
    """

    def __init__(self, torch, clock, loaded, infer, capacity):
        self.torch = torch
        self.clock = clock
        self.loaded = loaded
        self.infer = infer
        self.batch = infer["batch_size"]
        self.limit = infer["max_new_tokens"]
        self.choose = Chooser(torch, infer)
        self.eos = [] if infer["ignore_eos"] else loaded.eos_tokens()
        self.forward = loaded.model
        self.cache = self._cache_policy(capacity)
        self.graph = None
        # The names differ between releases and families: what a model does not know is not passed.
        self._keep_last = models.accepts(loaded.model.forward, "logits_to_keep")
        self._wants_position = models.accepts(loaded.model.forward, "cache_position")
        if infer["compile"]:
            self.forward = self._compiled()

    def _cache_policy(self, capacity):
        if self.infer["kv_cache"] != "static":
            return DynamicPolicy()
        transformers = models.import_transformers()
        return StaticPolicy(self.torch, transformers, self.loaded, self.batch, capacity)

    def _compiled(self):
        compiler = getattr(self.torch, "compile", None)
        if compiler is None:
            raise SessionError(
                failure.MISSING_PACKAGE, fact("session-no-compile", version=("name", self.torch.__version__))
            )
        return compiler(self.loaded.model)

    def no_gradients(self):
        """As generate() of transformers runs. Not inference mode: what is made in it may never be written to outside,
        and a cache outlives the block that filled it."""
        return self.torch.no_grad()

    def warm_up(self, inputs, others, quiet):
        """Everything that happens once: libraries, kernels, compilation, graphs. `quiet` are ranges without NVTX.

        `others` are inputs of further shapes, for which a compiler may have to work again. Passes are as long as those
        that are measured, unless the spec bounds their tokens.
        """
        tokens = self.infer.get("warm_tokens")
        if self.infer["compile"] and self.cache.kind == "static":
            # A cache that is allocated inside compiled code has no fixed address.
            with self.no_gradients():
                self.prefill(inputs, self.cache.fresh(), self.loaded.model)
        for _ in range(self.infer["warmup"]):
            self.run(inputs, quiet, tokens)
        if self.infer["compile"]:
            for other in others:
                self.run(other(), quiet)
        if self.infer["cuda_graphs"] and self.limit > 1:
            self.capture(inputs)
            self.run(inputs, quiet, tokens)
        quiet.take_hooked()
        self.clock.synchronize()

    def run(self, inputs, ranges, limit=None):
        """One pass of at most `limit` new tokens."""
        limit = self.limit if limit is None else min(limit, self.limit)
        result = Pass()
        with self.no_gradients():
            cache = self.cache.fresh()
            self.clock.synchronize()
            with ranges.open("prefill") as result.prefill:
                logits, cache = self.prefill(inputs, cache)
            token = self.choose(logits)
            del logits
            result.first_token = self.clock.mark()
            result.first_token_known = ranges.settle()
            finished = self._finished(token, None)
            result.ended_at_once = finished is not None and bool(finished.all())
            result.no_decode = self._why_no_decode(limit, result.ended_at_once)
            chosen = [token]
            if result.no_decode is None:
                length = inputs["input_ids"].shape[1]
                self._decode(result, ranges, token, cache, length, limit, chosen, finished)
            self.clock.synchronize()
            result.tokens = self.torch.cat(chosen, dim=1).cpu().tolist()
        result.hooked = ranges.take_hooked()
        return result

    def prefill(self, inputs, cache, forward=None):
        """The first forward pass: the logits of the last position, and the cache."""
        arguments = dict(inputs, use_cache=True)
        if cache is not None:
            arguments["past_key_values"] = cache
            if self._wants_position:
                length = inputs["input_ids"].shape[1]
                arguments["cache_position"] = self.torch.arange(length, device=inputs["input_ids"].device)
        if self._keep_last:
            arguments["logits_to_keep"] = 1
        output = (forward or self.forward)(**arguments)
        return logits_of(output, self.loaded.model), getattr(output, "past_key_values", None)

    def _finished(self, token, before):
        """Which rows have met an end token; None where ends are ignored."""
        if not self.eos:
            return None
        now = token == self.eos[0]
        for other in self.eos[1:]:
            now = now | (token == other)
        return now if before is None else before | now

    def _why_no_decode(self, limit, ended):
        if ended:
            return fact("session-end-token")
        if limit <= 1:
            return fact("session-one-token")
        return None

    def _decode(self, result, ranges, token, cache, length, limit, chosen, finished):
        stepper = self.graph if self.graph is not None else _EagerStep(self, cache)
        with models.decoding(self.loaded.model):
            # The first token and its position are in the graph's buffers before the range opens.
            stepper.begin(token, length)
            ranges.settle()
            with ranges.open("decode") as result.decode:
                for _ in range(limit - 1):
                    with ranges.open("step") as step:
                        token = stepper.step()
                        finished = self._finished(token, finished)
                        done = finished is not None and bool(finished.all())
                    result.steps.append(step)
                    chosen.append(token)
                    if done:
                        break

    def step_arguments(self, token, cache, position):
        arguments = {"input_ids": token, "past_key_values": cache, "use_cache": True}
        if self._wants_position and position is not None:
            arguments["cache_position"] = position
        if self._keep_last:
            arguments["logits_to_keep"] = 1
        return arguments

    def capture(self, inputs):
        """Records one decode step as a CUDA graph over the static cache."""
        obstacle = self.cache.obstacle_to_replay()
        if obstacle is not None:
            raise SessionError(failure.EXCEPTION, obstacle)
        with self.no_gradients():
            logits, cache = self.prefill(inputs, self.cache.fresh())
            first = self.choose(logits)
            with models.decoding(self.loaded.model):
                self.graph = _GraphStep(self, cache, first, inputs["input_ids"].shape[1])


class _EagerStep:
    """A decode step as separate launches."""

    def __init__(self, generation, cache):
        self.generation = generation
        self.cache = cache
        self.token = None
        self.position = None

    def begin(self, token, length):
        self.token = token
        static = self.generation.cache.kind == "static"
        if static and self.generation._wants_position:
            self.position = self.generation.torch.tensor([length], device=token.device)

    def step(self):
        generation = self.generation
        output = generation.forward(**generation.step_arguments(self.token, self.cache, self.position))
        self.cache = getattr(output, "past_key_values", self.cache)
        self.token = generation.choose(logits_of(output, generation.loaded.model))
        if self.position is not None:
            self.position = self.position + 1
        return self.token


class _GraphStep:
    """A decode step as one CUDA graph: it reads its token from a buffer and writes the next one there."""

    # Steps before the capture, on its stream: libraries keep workspaces for each stream.
    WARM_STEPS = 2

    def __init__(self, generation, cache, token, length):
        torch = generation.torch
        self.generation = generation
        self.cache = cache
        self.token = token.clone()
        self.position = torch.tensor([length], device=token.device)
        if not generation.clock.cuda:
            raise SessionError(failure.EXCEPTION, fact("session-graphs-no-gpu"))
        self._warm(torch)
        self.recorded = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(self.recorded):
                self._one()
        except SessionError:
            raise
        except Exception as problem:
            if failure.is_out_of_memory(problem):
                raise
            raise SessionError(
                failure.EXCEPTION, fact("session-graph-capture", error=("error", failure.first_line(problem)))
            ) from problem

    def _warm(self, torch):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(min(self.WARM_STEPS, self.generation.limit - 1)):
                self._one()
        torch.cuda.current_stream().wait_stream(side)

    def _one(self):
        generation = self.generation
        output = generation.forward(**generation.step_arguments(self.token, self.cache, self.position))
        self.token.copy_(generation.choose(logits_of(output, generation.loaded.model)))
        self.position.add_(1)

    def begin(self, token, length):
        self.token.copy_(token)
        self.position.fill_(length)

    def step(self):
        self.recorded.replay()
        return self.token.clone()


def record_of(result, clock, batch, prompt_tokens):
    """A pass as metrics.json holds it. Tokens are counted over the whole batch."""
    new_tokens = 0 if result.ended_at_once else len(result.tokens[0])
    ttft_ms = clock.ms(result.prefill.start, result.first_token)
    record = {
        "tokens_in": batch * prompt_tokens,
        "tokens_out": batch * new_tokens,
        "prompt_tokens": prompt_tokens,
        "new_tokens": new_tokens,
        "prefill_ms": result.prefill.ms(),
        "decode_ms": None,
        "ttft_ms": ttft_ms,
        "token_ms": token_times(result, clock),
        "tokens_per_s": None,
        "host_ms": {"prefill": result.prefill.host_ms(), "ttft": None, "decode": None},
    }
    if result.first_token_known is not None:
        record["host_ms"]["ttft"] = clock.host_ms(result.prefill.start, result.first_token_known)
    if result.decode is None:
        record["no_decode"] = result.no_decode
    else:
        record["decode_ms"] = result.decode.ms()
        record["host_ms"]["decode"] = result.decode.host_ms()
        record["tokens_per_s"] = batch * len(result.steps) / (record["decode_ms"] / 1e3)
    record.update(hooked_times(result.hooked))
    return record


def token_times(result, clock):
    """Milliseconds from one token to the next, with what the host does between two steps."""
    if result.decode is None:
        return []
    moments = [result.decode.start] + [step.end for step in result.steps]
    return [clock.ms(before, after) for before, after in zip(moments, moments[1:])]


def hooked_times(spans):
    """Milliseconds of each hook label: in all, and by the stage that it ran in."""
    total, calls, stages = {}, {}, {}
    for span in spans:
        spent = span.ms()
        total[span.name] = total.get(span.name, 0.0) + spent
        calls[span.name] = calls.get(span.name, 0) + 1
        inside = stages.setdefault(span.parent, {})
        inside[span.name] = inside.get(span.name, 0.0) + spent
    return {"substages_ms": total, "substage_calls": calls, "substages_by_stage_ms": stages}


def logits_of(output, model):
    """The logits of a forward pass; an error where the model gives none."""
    logits = getattr(output, "logits", None)
    if logits is None:
        raise SessionError(failure.NO_LOGITS, fact("session-no-logits", name=("name", type(model).__name__)))
    return logits


def disable_tracing(torch, compiled):
    """A decorator that keeps hooks out of a compiled graph; it leaves functions alone where nothing is compiled."""
    compiler = getattr(torch, "compiler", None)
    disable = getattr(compiler, "disable", None)
    if not compiled or disable is None:
        return lambda function: function
    return disable


def exact_attention(torch):
    """Attention as plain matrix products, which FlopCounterMode counts for every shape."""
    attention = getattr(torch.nn, "attention", None)
    if attention is None or not hasattr(attention, "sdpa_kernel"):
        return contextlib.nullcontext()
    return attention.sdpa_kernel(attention.SDPBackend.MATH)
