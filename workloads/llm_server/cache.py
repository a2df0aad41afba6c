"""The key-value cache, and what one forward pass knows about its sequences.

A sequence has a row of the cache from its first token to its last. A decode runs over rows 0 to n - 1; a row among them
that no sequence has computes a token that nobody reads.
"""

import math

import torch

PAGE = 16  # tokens in a block of the paged cache


class StaticCache:
    """One row of max_len tokens for each sequence; a decode reads it without a copy."""

    kind = "static"

    def __init__(self, shape, rows, length, dtype, device):
        size = (rows, shape["num_key_value_heads"], length, shape["head_dim"])
        self.layers = [
            tuple(torch.zeros(size, dtype=dtype, device=device) for _ in range(2))
            for _ in range(shape["num_hidden_layers"])
        ]
        self.length = length
        self.rows = rows

    def write(self, store, rows, positions, new):
        """Puts new [tokens, kv_heads, size] at rows and positions, both [tokens]."""
        store[rows, :, positions] = new

    def read(self, store, rows, context):
        """The first `context` tokens of rows 0 to `rows` - 1: [rows, kv_heads, context, size]."""
        return store[:rows, :, :context]

    def take(self, row, tokens):
        """Makes room for so many tokens of a sequence. A static row has it already."""

    def release(self, row):
        pass


class PagedCache:
    """Blocks of PAGE tokens that sequences take as they grow; a decode gathers them, which costs one copy."""

    kind = "paged"

    def __init__(self, shape, rows, length, dtype, device):
        self.length = -(-length // PAGE) * PAGE
        self.rows = rows
        blocks = rows * self.length // PAGE + 1  # block 0 is for rows that no sequence has
        size = (blocks, PAGE, shape["num_key_value_heads"], shape["head_dim"])
        self.layers = [
            tuple(torch.zeros(size, dtype=dtype, device=device) for _ in range(2))
            for _ in range(shape["num_hidden_layers"])
        ]
        self.table = torch.zeros((rows, self.length // PAGE), dtype=torch.long, device=device)
        self.free = list(range(1, blocks))
        self.taken = {}

    def write(self, store, rows, positions, new):
        store[self.table[rows, positions // PAGE], positions % PAGE] = new

    def read(self, store, rows, context):
        pages = store[self.table[:rows, : -(-context // PAGE)]]  # [rows, pages, PAGE, kv_heads, size]
        return pages.flatten(1, 2)[:, :context].transpose(1, 2)

    def take(self, row, tokens):
        blocks = self.taken.setdefault(row, [])
        while len(blocks) * PAGE < tokens:
            block = self.free.pop()
            self.table[row, len(blocks)] = block
            blocks.append(block)

    def release(self, row):
        self.free.extend(self.taken.pop(row, []))
        self.table[row] = 0


CACHES = {"static": StaticCache, "paged": PagedCache}


class Positions:
    """Rotary embeddings of every position, each [length, 1, head_dim / 2]."""

    def __init__(self, shape, length, dtype, device):
        half = torch.arange(0, shape["head_dim"], 2, dtype=torch.float32, device=device) / shape["head_dim"]
        angle = torch.outer(torch.arange(length, dtype=torch.float32, device=device), shape["rope_theta"] ** -half)
        self.cos, self.sin = angle.cos()[:, None].to(dtype), angle.sin()[:, None].to(dtype)
        self.all = torch.arange(length, device=device)


class Prefill:
    """One prompt of `tokens` tokens in one row; only the logits of its last token are wanted."""

    prefill = True

    def __init__(self, cache, table, row, tokens):
        self.cache = cache
        self.positions = table.all[:tokens]
        self.rows = torch.full_like(self.positions, row)
        self.cos, self.sin = table.cos[:tokens], table.sin[:tokens]
        self.wanted = slice(tokens - 1, tokens)

    def write(self, store, new):
        self.cache.write(store, self.rows, self.positions, new)


class Decode:
    """One token for each of rows 0 to n - 1, at `positions` [n], over a context of that many tokens."""

    prefill = False
    wanted = slice(None)

    def __init__(self, cache, table, positions, context):
        self.cache = cache
        self.context = context
        self.positions = positions
        self.rows = table.all[: positions.shape[0]]
        self.cos, self.sin = table.cos[positions], table.sin[positions]
        ahead = table.all[:context] > positions[:, None]
        self.mask = torch.zeros_like(ahead, dtype=table.cos.dtype).masked_fill(ahead, -math.inf)[:, None, None]

    def write(self, store, new):
        self.cache.write(store, self.rows, self.positions, new)

    def read(self, store):
        return self.cache.read(store, self.positions.shape[0], self.context)
