"""How engines name the NVTX range around one step, by what the step computes."""

STYLES = ("vllm", "sglang", "trtllm", "none")


def step_name(style, number, context, context_tokens, generation):
    """The name of a step with `context` prompts of `context_tokens` tokens in all, and `generation` decoded tokens;
    None where steps have no range."""
    if style == "none":
        return None
    if style == "vllm":
        return f"execute_context_{context}({context_tokens})_generation_{generation}({generation})"
    if style == "trtllm":
        return (
            f"[Executor] _forward_step {number}: {context} ctx reqs, {context_tokens} ctx tokens, {generation} gen reqs"
        )
    if style == "sglang":
        if context and generation:
            return f"step[MIXED bs={context + generation} toks={context_tokens + generation}]"
        if context:
            return f"step[EXTEND bs={context} toks={context_tokens}]"
        return f"step[DECODE bs={generation}]"
    raise ValueError(f"no style {style}: want one of {', '.join(STYLES)}")


def mixes(style):
    """Whether engines of that style put prompts and running sequences into one step."""
    return style != "sglang"
