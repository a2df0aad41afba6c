"""FLOPs of each stage as torch counts them over the real modules: flops.json."""

import os

from session import failure
from session.facts import fact
from session.failure import SessionError, write_json
from session.generation import exact_attention, logits_of

SCHEMA = 1


def _counter_class(torch):
    try:
        from torch.utils.flop_counter import FlopCounterMode
    except ImportError as problem:
        raise SessionError(
            failure.MISSING_PACKAGE, fact("session-no-flop-counter", version=("name", torch.__version__))
        ) from problem
    return FlopCounterMode


class StageCounter:
    """Counts the FLOPs of one stage and of each module in it."""

    def __init__(self, mode):
        self._mode = mode
        self.flops = 0
        self.by_module = {}

    def count(self, work):
        """Runs work() and adds what it did."""
        counter = self._mode(display=False)
        with counter:
            result = work()
        self.flops += counter.get_total_flops()
        for module, operators in counter.get_flop_counts().items():
            if module == "Global":
                continue
            self.by_module[module] = self.by_module.get(module, 0) + sum(operators.values())
        return result

    def as_dict(self):
        return {"flops": self.flops, "by_module": self.by_module}


def count_generation(context, session, inputs, mode):
    """Prefill and every decode step of one pass, eagerly: graphs and compiled code hide their operators."""
    generation = session.generation
    model, torch = session.loaded.model, context.torch
    # Grouped kernels of experts have no formula in FlopCounterMode; the plain loop over experts is counted exactly.
    choose_experts = getattr(model, "set_experts_implementation", None)
    experts = "default"
    if choose_experts is not None:
        choose_experts("eager")
        experts = "eager"
    prefill, decode, steps = StageCounter(mode), StageCounter(mode), []
    with torch.no_grad(), exact_attention(torch):
        logits, cache = prefill.count(lambda: generation.prefill(inputs, generation.cache.fresh()))
        length = inputs["input_ids"].shape[1]
        for index in range(generation.limit - 1):
            token = generation.choose(logits)
            position = torch.tensor([length + index], device=token.device)
            arguments = generation.step_arguments(token, cache, position if generation.cache.kind == "static" else None)
            before = decode.flops
            output = decode.count(lambda: generation.forward(**arguments))
            logits, cache = logits_of(output, model), getattr(output, "past_key_values", cache)
            steps.append(decode.flops - before)
    stages = {"prefill": prefill.as_dict(), "decode": decode.as_dict()}
    stages["prefill"]["logits_positions"] = 1 if generation._keep_last else length
    stages["decode"].update(steps=len(steps), flops_per_step=steps)
    return stages, {"prompt_tokens": length, "new_tokens": generation.limit, "experts": experts, "attention": "math"}


def count_resnet(context, session, inputs, mode):
    stages, value = {}, inputs
    with context.torch.no_grad():
        for name in session.stages:
            counter = StageCounter(mode)
            given = value
            value = counter.count(lambda: session.stages[name](given))
            stages[name] = counter.as_dict()
    return stages, {}


def count(context, session, inputs):
    """Writes flops.json. A multiply and an add are two FLOPs, as torch counts."""
    mode = _counter_class(context.torch)
    counted = count_resnet if context.spec["kind"] == "resnet" else count_generation
    stages, facts = counted(context, session, inputs, mode)
    value = {"schema": SCHEMA, "batch_size": context.infer["batch_size"], **facts, "stages": stages}
    write_json(os.path.join(context.out, "flops.json"), value)
