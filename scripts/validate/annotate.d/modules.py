"""Models of torch's own layers for program.py, on any torch and without transformers."""

import threading

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


def unet(channels, time):
    """A denoiser as diffusion pipelines have it: residual blocks with a timestep, attention, down and up."""

    class Residual(nn.Module):
        def __init__(self, channels, time):
            super().__init__()
            self.norm1, self.conv1 = nn.GroupNorm(32, channels), nn.Conv2d(channels, channels, 3, padding=1)
            self.norm2, self.conv2 = nn.GroupNorm(32, channels), nn.Conv2d(channels, channels, 3, padding=1)
            self.time = nn.Linear(time, channels)
            self.act = nn.SiLU()

        def forward(self, x, t):
            y = self.conv1(self.act(self.norm1(x))) + self.time(self.act(t))[:, :, None, None]
            return x + self.conv2(self.act(self.norm2(y)))

    class Attention(nn.Module):
        def __init__(self, channels):
            super().__init__()
            self.norm, self.attn = nn.GroupNorm(32, channels), nn.MultiheadAttention(channels, 8, batch_first=True)

        def forward(self, x):
            flat = self.norm(x).flatten(2).transpose(1, 2)
            return x + self.attn(flat, flat, flat, need_weights=False)[0].transpose(1, 2).reshape(x.shape)

    class UNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv_in, self.conv_out = nn.Conv2d(4, channels, 3, padding=1), nn.Conv2d(channels, 4, 3, padding=1)
            self.time_embedding = nn.Sequential(nn.Linear(channels, time), nn.SiLU(), nn.Linear(time, time))
            self.down_blocks = nn.ModuleList([Residual(channels, time), Residual(channels, time)])
            self.downsample, self.upsample = nn.Conv2d(channels, channels, 3, 2, 1), nn.ConvTranspose2d(channels, channels, 2, 2)
            self.mid_block = nn.ModuleList([Attention(channels), Residual(channels, time)])
            self.up_blocks = nn.ModuleList([Residual(channels, time), Residual(channels, time)])

        def forward(self, sample, timestep):
            angles = timestep[:, None].float() * torch.exp(-torch.arange(channels // 2, device=sample.device) / 24)[None]
            t = self.time_embedding(torch.cat([angles.sin(), angles.cos()], -1).to(sample.dtype))
            x = kept = self.down_blocks[1](self.down_blocks[0](self.conv_in(sample), t), t)
            x = self.mid_block[1](self.mid_block[0](self.downsample(x)), t)
            x = self.up_blocks[1](self.up_blocks[0](self.upsample(x) + kept, t), t)
            return self.conv_out(x)

    return UNet()


def decoder(width, heads, layers, vocabulary):
    """The modules of a Llama."""

    class Norm(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(width))

        def forward(self, x):
            return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.q_proj, self.k_proj, self.v_proj, self.o_proj = (nn.Linear(width, width, bias=False) for _ in range(4))

        def forward(self, x, cache=None, mask=None):
            batch, tokens, _ = x.shape
            q, k, v = (p(x).view(batch, tokens, heads, -1).transpose(1, 2) for p in (self.q_proj, self.k_proj, self.v_proj))
            if cache:
                k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
            cache[:] = [k, v]
            attend = getattr(nn.functional, "scaled_dot_product_attention", None)
            if attend is None:  # torch 1
                out = torch.softmax(q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, -1) @ v
            else:
                out = attend(q, k, v, attn_mask=mask, dropout_p=0.0, is_causal=tokens > 1)
            return self.o_proj(out.transpose(1, 2).reshape(batch, tokens, width))

    class MLP(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate_proj, self.up_proj = nn.Linear(width, 2 * width, bias=False), nn.Linear(width, 2 * width, bias=False)
            self.down_proj, self.act_fn = nn.Linear(2 * width, width, bias=False), nn.SiLU()

        def forward(self, x):
            return self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.input_layernorm, self.self_attn, self.post_attention_layernorm, self.mlp = Norm(), Attention(), Norm(), MLP()

        def forward(self, x, cache=None, mask=None):
            x = x + self.self_attn(self.input_layernorm(x), cache=cache, mask=mask)
            return x + self.mlp(self.post_attention_layernorm(x))

    class Decoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed_tokens, self.layers = nn.Embedding(vocabulary, width), nn.ModuleList(Layer() for _ in range(layers))
            self.norm, self.lm_head = Norm(), nn.Linear(width, vocabulary, bias=False)

        def forward(self, ids, caches=()):
            x = self.embed_tokens(ids)
            for layer, cache in zip(self.layers, caches):
                x = layer(x, cache=cache)
            return self.lm_head(self.norm(x))

    return Decoder()


def outer(width):
    """A module that starts threads which call parts of it. Each part computes a function of its own."""

    class Part(nn.Module):
        def __init__(self, function):
            super().__init__()
            self.product, self.function = nn.Linear(width, width), function

        def forward(self, x):
            for _ in range(20):
                x = self.function(self.product(x))
            return x

    class Left(Part):
        pass

    class Right(Part):
        pass

    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.left, self.right, self.middle, self.trained = Left(torch.sin), Right(torch.floor), Part(torch.erf), Part(torch.tanh)

        def forward(self, x):
            found = {}

            def work(name):
                with torch.no_grad():
                    found[name] = getattr(self, name)(x)

            started = [threading.Thread(target=work, args=(name,)) for name in ("left", "right")]
            for thread in started:
                thread.start()
            y = self.middle(x) + checkpoint(self.trained, x, use_reentrant=False)  # computed again in autograd's thread
            for thread in started:
                thread.join()
            return y + self.trained(x) + found["left"] + found["right"]

    return Outer()


def breaks(width):
    """(a module, one that prints in the middle): what dynamo meets on its way, with a class that calls super().__call__ as transformers has."""

    class Checkpointed(nn.Module):
        def __call__(self, *args, **kwargs):
            return super().__call__(*args, **kwargs)

    class Block(Checkpointed):
        def __init__(self):
            super().__init__()
            self.first, self.second, self.act = nn.Linear(width, width), nn.Linear(width, width), nn.SiLU()

        def forward(self, x, mask=None):
            q = self.first(x)[None]
            return self.act(self.second(nn.functional.scaled_dot_product_attention(q, q, q)[0]))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers, self.last = nn.ModuleList(Block() for _ in range(3)), nn.Sequential(nn.Linear(width, width), nn.ReLU())

        def forward(self, x):
            for layer in self.layers:
                x = layer(x, mask=None)
            return self.last(x)

    class Talks(nn.Module):
        def __init__(self):
            super().__init__()
            self.model = Model()

        def forward(self, x):
            x = self.model(x)
            print("a graph break")
            return self.model.layers[0](x)

    return Model(), Talks()
