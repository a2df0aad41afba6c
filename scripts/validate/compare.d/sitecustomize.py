"""Slows one kernel of a Llama down: the weights of lm_head lie one element off their alignment, as in a view of a flat buffer.

Goes on PYTHONPATH of the slow side of scripts/validate/compare. Nothing else of the program changes.
"""

import torch

_eval = torch.nn.Module.eval


def _misalign(weight):
    flat = torch.empty(weight.numel() + 1, dtype=weight.dtype, device=weight.device)
    return torch.nn.Parameter(flat[1:].view_as(weight).copy_(weight.detach()), requires_grad=False)


def eval(self):
    head = getattr(self, "lm_head", None)
    if head is not None and not hasattr(head, "_misaligned"):
        head._misaligned = True
        head.weight = _misalign(head.weight)
    return _eval(self)


torch.nn.Module.eval = eval
