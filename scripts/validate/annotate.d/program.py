"""Plain PyTorch programs without any NVTX range, as users write them: program.py NAME [--passes N] [--exact].

--exact asks torch for algorithms that give the same bits in every process, so that outputs can be held against each other.

DEVICE=cpu runs decoder, diffusion, dynamo, trainplain and threads, in a small size, on a torch without a GPU or transformers.

Prints one line of JSON: a hash of what it computed and the milliseconds of each pass. Models have random weights from a fixed seed.
"""

import argparse
import contextlib
import hashlib
import json
import os
import threading
import time

import modules
import torch

DEVICE = os.environ.get("DEVICE", "cuda")
SMALL = DEVICE == "cpu"
DTYPE = torch.float32 if SMALL else torch.bfloat16
TEXT = {"vocab_size": 32000, "hidden_size": 2048, "intermediate_size": 5504, "num_hidden_layers": 8, "num_attention_heads": 16, "num_key_value_heads": 8}
MOE = dict(TEXT, num_local_experts=8, num_experts_per_tok=2, num_hidden_layers=4, intermediate_size=3584)
OCR = {
    "vision_config": {
        "sam_config": {"hidden_size": 768, "num_hidden_layers": 4, "num_attention_heads": 12, "image_size": 1024, "patch_size": 16, "global_attn_indexes": [3]},
        "encoder_config": {"hidden_size": 896, "intermediate_size": 4864, "num_hidden_layers": 4, "num_attention_heads": 14, "num_key_value_heads": 2},
    },
    "text_config": {
        "vocab_size": 129280, "hidden_size": 1280, "intermediate_size": 6848, "num_hidden_layers": 4, "num_attention_heads": 10, "num_key_value_heads": 10,
        "max_position_embeddings": 8192, "n_routed_experts": 64, "n_shared_experts": 2, "num_experts_per_tok": 6, "moe_intermediate_size": 896,
        "mlp_layer_types": ["dense", "sparse", "sparse", "sparse"],
    },
}
LLAVA = {
    "image_token_index": 31999,
    "vision_config": {"model_type": "clip_vision_model", "hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 8, "num_attention_heads": 16, "image_size": 336, "patch_size": 14},
    "text_config": dict(TEXT, model_type="llama", max_position_embeddings=4096),
}
NEW = 32


def placed():
    """What is made inside is made on the device."""
    return contextlib.nullcontext() if SMALL else torch.device(DEVICE)  # torch 1 has no such context


def synchronize():
    if not SMALL:
        torch.cuda.synchronize()


def build(kind, config, auto="AutoModelForCausalLM"):
    import transformers

    transformers.logging.set_verbosity_error()
    torch.manual_seed(0)
    made = transformers.AutoConfig.for_model(kind, **config)
    with torch.device("cuda"):
        model = getattr(transformers, auto).from_config(made, dtype=torch.bfloat16)
    model.generation_config.eos_token_id = None
    model.generation_config.pad_token_id = 0
    return model.eval()


def prompt(length=512, batch=1, vocabulary=31000):
    torch.manual_seed(1)
    return torch.randint(5, vocabulary, (batch, length), device="cuda")


def timed(passes, run):
    """Runs and times whole passes; the first is a warm-up and not listed."""
    out, times = None, []
    for _ in range(passes + 1):
        synchronize()
        start = time.perf_counter()
        out = run()
        synchronize()
        times.append(1000 * (time.perf_counter() - start))
    return out, times[1:]


def generates(kind, config, **more):
    def program(passes):
        model, ids = build(kind, config), prompt()
        with torch.no_grad():
            return timed(passes, lambda: model.generate(ids, max_new_tokens=NEW, do_sample=False, **more))

    return program


def sees(kind, config, size, image_id):
    def program(passes):
        model = build(kind, config, "AutoModelForImageTextToText")
        torch.manual_seed(2)
        pixels = torch.rand(1, 3, size, size, device="cuda", dtype=torch.bfloat16)
        with torch.no_grad():
            found = model.get_image_features(pixel_values=pixels)
            found = getattr(found, "pooler_output", None) if getattr(found, "pooler_output", None) is not None else found
            hidden = model.config.get_text_config().hidden_size
            count = sum(t.numel() // hidden for t in (found if isinstance(found, (list, tuple)) else [found]))
            token = getattr(model.config, image_id)
            ids = torch.cat([torch.full((1, count), token, device="cuda"), prompt(32)], 1)
            return timed(passes, lambda: model.generate(ids, pixel_values=pixels, max_new_tokens=NEW, do_sample=False))

    return program


def loop(passes):
    """A decode loop by hand."""
    model, ids = build("llama", TEXT), prompt()

    def run():
        out = model(ids, use_cache=True)
        cache, token, made = out.past_key_values, out.logits[:, -1:].argmax(-1), []
        for _ in range(NEW - 1):
            out = model(token, past_key_values=cache, use_cache=True)
            token = out.logits[:, -1:].argmax(-1)
            made.append(token)
        return torch.cat(made, 1)

    with torch.no_grad():
        return timed(passes, run)


def decoder(passes):
    """The modules of a Llama without transformers, and a loop by hand: on a CPU almost all of a pass is the host's."""
    layers = 8
    torch.manual_seed(0)
    with placed():
        model, ids = modules.decoder(*((64, 4, layers, 100) if SMALL else (2048, 16, layers, 32000))).to(DTYPE).eval(), torch.arange(32)[None]

    def run():
        caches, token, made = [[] for _ in range(layers)], ids, []
        for _ in range(NEW):
            token = model(token, caches=caches)[:, -1:].argmax(-1)
            made.append(token)
        return torch.cat(made, 1)

    with torch.no_grad():
        return timed(passes, run)


def graph(passes, layers=8):
    """Decode from one CUDA graph with a static cache."""
    from transformers import StaticCache

    model, ids = build("llama", dict(TEXT, num_hidden_layers=layers)), prompt(128)
    cache = StaticCache(config=model.config, max_cache_len=256)
    token = torch.zeros((1, 1), dtype=torch.long, device="cuda")
    position = torch.zeros(1, dtype=torch.long, device="cuda")

    def step():
        return model(token, past_key_values=cache, cache_position=position, position_ids=position[None], use_cache=True).logits[:, -1:].argmax(-1)

    with torch.no_grad():
        first = model(ids, past_key_values=cache, cache_position=torch.arange(ids.shape[1], device="cuda"), use_cache=True).logits[:, -1:].argmax(-1)
        token.copy_(first)
        position.fill_(ids.shape[1])
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(2):
                step()
        torch.cuda.current_stream().wait_stream(side)
        captured = torch.cuda.CUDAGraph()
        with torch.cuda.graph(captured):
            result = step()

        def run():
            token.copy_(first)
            position.fill_(ids.shape[1])
            made = []
            for _ in range(NEW):
                captured.replay()
                made.append(result.clone())
                token.copy_(result)
                position.add_(1)
            return torch.cat(made, 1)

        return timed(passes, run)


def compiled(mode):
    def program(passes):
        import torch._dynamo.utils as utils

        model, ids = build("llama", dict(TEXT, num_hidden_layers=2)), prompt(64)
        fast = torch.compile(model, mode=mode)
        with torch.no_grad():
            out, times = timed(passes, lambda: fast(ids, use_cache=False).logits.argmax(-1))
        counts = {k: dict(v) for k, v in utils.counters.items() if k in ("graph_break", "stats")}
        print(json.dumps({"dynamo": counts}))
        return out, times

    return program


def dynamo(passes):
    """Every way into dynamo, by a compiler that runs what it is given: modules compiled from outside and in place, a function, a graph break."""
    import torch._dynamo.utils as utils

    torch.manual_seed(0)
    with placed():
        (model, talks), (own, _), x = modules.breaks(64), modules.breaks(64), torch.rand(4, 64)
    sizes = []

    def compiler(graph, inputs):
        sizes.append(len(graph.graph.nodes))
        return graph.forward

    own.eval().compile(backend=compiler)
    ways = [torch.compile(model.eval(), backend=compiler), own, torch.compile(lambda x: model(x) + 1, backend=compiler), torch.compile(talks.eval(), backend=compiler)]
    with torch.no_grad():
        model(x)  # known to annotation before it is compiled
        out, times = timed(passes, lambda: sum(way(x) for way in ways))
    counts = {k: dict(v) for k, v in utils.counters.items() if k in ("graph_break", "stats")}
    print(json.dumps({"dynamo": dict(counts, stats=dict(counts["stats"], sizes=sizes))}))
    return out, times


def resnet(passes):
    import transformers

    torch.manual_seed(0)
    with torch.device("cuda"):
        model = transformers.ResNetForImageClassification(transformers.ResNetConfig()).eval().to(torch.bfloat16)
        image = torch.rand(8, 3, 224, 224, device="cuda", dtype=torch.bfloat16)
    with torch.no_grad():
        return timed(passes, lambda: model(image).logits.argmax(-1))


def diffusion(passes):
    """A denoising loop by hand, as a pipeline runs it: 20 steps of DDIM with guidance."""
    steps, size = 20, 16 if SMALL else 64
    torch.manual_seed(0)
    with placed():
        model = modules.unet(*((64, 128) if SMALL else (320, 1280))).eval().to(DTYPE)
    scale = torch.linspace(0.05, 0.999, steps, device=DEVICE, dtype=torch.float32)

    def run():
        torch.manual_seed(1)
        latents = torch.randn(1, 4, size, size, device=DEVICE, dtype=DTYPE)
        for i in range(steps):
            at = torch.full((2,), 999 - 50 * i, device=DEVICE)
            without, noise = model(torch.cat([latents, latents]), at).chunk(2)
            noise = without + 7.5 * (noise - without)
            a, b = scale[i].to(latents.dtype), scale[min(i + 1, steps - 1)].to(latents.dtype)
            clean = (latents - (1 - a).sqrt() * noise) / a.sqrt()
            latents = b.sqrt() * clean + (1 - b).sqrt() * noise
        return latents.float()

    with torch.no_grad():
        return timed(passes, run)


def train(passes):
    """A training loop: forward, backward, optimizer."""
    model, ids = build("llama", dict(TEXT, num_hidden_layers=4)).train(), prompt(512, 4)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

    def run():
        for _ in range(4):
            loss = model(ids, labels=ids).loss
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        return loss.detach()

    return timed(passes, run)


def trainplain(passes):
    """A training loop over torch's own layers: forward, backward, optimizer."""
    from torch import nn

    torch.manual_seed(0)
    width, layers = (64, 2) if SMALL else (1024, 6)
    with placed():
        block = nn.TransformerEncoderLayer(width, 8, 4 * width, dropout=0.0, batch_first=True)
        model = nn.Sequential(nn.TransformerEncoder(block, layers), nn.Linear(width, width)).to(DTYPE).train()
        tokens = torch.rand(4, 64 if SMALL else 512, width, dtype=DTYPE)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

    def run():
        for _ in range(4):
            loss = (model(tokens) - tokens).pow(2).mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        return loss.detach()

    return timed(passes, run)


def threads(passes):
    """Modules in threads that a module starts, as DataParallel does, while that one goes on; and training, whose backward autograd launches from
    threads of its own. Each module computes a function of its own, so that names of kernels tell what was computed where."""
    width = 64 if SMALL else 1024
    torch.manual_seed(0)
    with placed():
        model, x = modules.outer(width).train(), torch.rand(64, width, requires_grad=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)

    def run():
        for _ in range(4):
            other = threading.Thread(target=lambda: model.right(x.detach()))
            loss = model(x).mean()
            other.start()  # a module of one thread while another one computes gradients
            loss.backward()
            other.join()
            optimizer.step()
            optimizer.zero_grad()
        return loss.detach()

    return timed(passes, run)


def scripted(passes):
    """A function that torch.jit compiles, with attention in it."""
    import torch.nn.functional as F

    def attend(q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    torch.manual_seed(0)
    fast, q = torch.jit.script(attend), torch.rand(1, 2, 16, 32, device=DEVICE)
    return timed(passes, lambda: fast(q, q, q).sum())


def work(passes, queue):
    out, times = generates("llama", dict(TEXT, num_hidden_layers=2))(passes)
    queue.put((out.cpu().tolist(), times))


def spawn(passes):
    import multiprocessing

    context = multiprocessing.get_context("spawn")
    queue = context.SimpleQueue()
    worker = context.Process(target=work, args=(passes, queue))
    worker.start()
    out, times = queue.get()
    worker.join()
    return torch.tensor(out), times


PROGRAMS = {
    "llama": generates("llama", TEXT),
    "qwen2": generates("qwen2", TEXT),
    "mixtral": generates("mixtral", MOE),
    "static": generates("llama", dict(TEXT, num_hidden_layers=2), cache_implementation="static"),
    "ocr2": sees("deepseek_ocr2", OCR, 1024, "image_token_id"),
    "llava": sees("llava", LLAVA, 336, "image_token_index"),
    "loop": loop,
    "decoder": decoder,
    "graph": graph,
    "compile": compiled("default"),
    "reduce": compiled("reduce-overhead"),
    "dynamo": dynamo,
    "resnet": resnet,
    "diffusion": diffusion,
    "train": train,
    "trainplain": trainplain,
    "frames": generates("llama", dict(TEXT, num_hidden_layers=1)),  # short, for captures with frames of Python
    "small": generates("llama", dict(TEXT, num_hidden_layers=2)),  # short, for counters
    "smallgraph": lambda passes: graph(passes, 2),
    "threads": threads,
    "jit": scripted,
    "spawn": spawn,
    "rank": generates("llama", dict(TEXT, num_hidden_layers=2)),  # started by torchrun
}


def exact():
    os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"  # before the first product
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.backends.cudnn.benchmark = False
    for kind in ("flash", "mem_efficient", "cudnn"):  # attention by matrix products alone
        getattr(torch.backends.cuda, "enable_%s_sdp" % kind, lambda on: None)(False)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("name", choices=PROGRAMS)
    parser.add_argument("--passes", type=int, default=5)
    parser.add_argument("--exact", action="store_true")
    args = parser.parse_args()
    if args.exact:
        exact()
    out, times = PROGRAMS[args.name](args.passes)
    values = out.cpu().tolist()
    digest = hashlib.sha256(json.dumps(values).encode()).hexdigest()[:16]
    few = {"values": values} if out.numel() <= 64 else {}
    print(json.dumps({"program": args.name, "outputs": digest, "passes_ms": [round(t, 3) for t in times], **few}), flush=True)


if __name__ == "__main__":
    main()
