"""A shallow ResNet with the ranges stem, residual and head: the smallest end-to-end check. Needs torch alone."""

from session import data, failure, models
from session.facts import fact
from session.failure import SessionError
from session.generation import disable_tracing, hooked_times

STAGES = ("stem", "residual", "head")


def build(torch, config):
    """The three stages as modules, from channels, blocks and classes."""
    nn = torch.nn
    channels, blocks, classes = (config[key] for key in ("channels", "blocks", "classes"))

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
            self.norm1 = nn.BatchNorm2d(channels)
            self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
            self.norm2 = nn.BatchNorm2d(channels)

        def forward(self, x):
            y = torch.relu(self.norm1(self.conv1(x)))
            return torch.relu(x + self.norm2(self.conv2(y)))

    stem = nn.Sequential(
        nn.Conv2d(3, channels, 7, stride=2, padding=3, bias=False),
        nn.BatchNorm2d(channels),
        nn.ReLU(),
        nn.MaxPool2d(3, stride=2, padding=1),
    )
    residual = nn.Sequential(*[Block() for _ in range(blocks)])
    head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes))
    model = nn.Module()
    for name, stage in zip(STAGES, (stem, residual, head)):
        model.add_module(name, stage)
    return model


class ResnetPass:
    """The spans of the three stages and the output of the last."""

    def __init__(self):
        self.stages = {}
        self.hooked = []
        self.logits = None
        self.tokens = None


class ResnetSession:
    def __init__(self, context):
        self.context = context
        self.torch = context.torch
        self.infer = context.infer
        self.samples = []
        self.plan = None
        self.model = None
        self.stages = {}
        self.graphs = {}

    def check(self):
        config = self.context.model.get("config")
        config = models.read_config(config) if config else {}
        absent = [key for key in ("channels", "blocks", "classes") if not isinstance(config.get(key), int)]
        if absent:
            raise SessionError(failure.BAD_PATH, fact("session-resnet-fields", names=("name", absent)))
        self.config = config
        self.samples = data.samples_of(self.context.dataset)
        self.plan = data.plan_of(len(self.samples), self.context.dataset["sampling"])
        data.check_images([self.samples[i] for i in self.plan.used()])

    def load(self, ranges):
        torch, context = self.torch, self.context
        torch.manual_seed(self.infer["seed"])
        self.model = build(torch, self.config)
        self.model = self.model.to(context.device).to(models.dtype_of(torch, context.model["dtype"])).eval()
        hooks = context.model["stage_hooks"] or {}
        ranges.attach(self.model, hooks, disable_tracing(torch, self.infer["compile"]))
        self.stages = {name: getattr(self.model, name) for name in STAGES}
        if self.infer["compile"]:
            if not hasattr(torch, "compile"):
                raise SessionError(
                    failure.MISSING_PACKAGE, fact("session-no-compile", version=("name", torch.__version__))
                )
            self.stages = {name: torch.compile(stage) for name, stage in self.stages.items()}

    def device_inputs(self, sample):
        size = self.context.model.get("image_size") or 224
        images = data.pixels(self.torch, sample, size, self.infer["batch_size"], self.infer["seed"])
        dtype = models.dtype_of(self.torch, self.context.model["dtype"])
        return images.to(self.context.device).to(dtype)

    def warm_up(self, quiet):
        images = self.device_inputs(self.samples[self.plan.used()[0]])
        for _ in range(self.infer["warmup"]):
            self._run(images, quiet)
        if self.infer["cuda_graphs"]:
            self._capture(images)
            self._run(images, quiet)
        self.context.clock.synchronize()

    def _capture(self, images):
        """One graph a stage; each writes where the next one reads."""
        torch = self.torch
        if not self.context.clock.cuda:
            raise SessionError(failure.EXCEPTION, fact("session-graphs-no-gpu"))
        self.buffer = images.clone()
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        # Libraries choose algorithms and keep workspaces for each stream; a capture may not wait for that.
        with torch.no_grad(), torch.cuda.stream(side):
            given = self.buffer
            for name in STAGES:
                given = self.stages[name](given)
        torch.cuda.current_stream().wait_stream(side)
        given = self.buffer
        for name in STAGES:
            graph = torch.cuda.CUDAGraph()
            with torch.no_grad(), torch.cuda.graph(graph):
                given = self.stages[name](given)
            self.graphs[name] = (graph, given)

    def _run(self, images, ranges):
        result = ResnetPass()
        value = images
        with self.torch.no_grad():
            if self.graphs:
                self.buffer.copy_(images)
            self.context.clock.synchronize()
            for name in STAGES:
                with ranges.open(name) as span:
                    if self.graphs:
                        graph, value = self.graphs[name]
                        graph.replay()
                    else:
                        value = self.stages[name](value)
                result.stages[name] = span
            self.context.clock.synchronize()
        result.logits = value
        result.hooked = ranges.take_hooked()
        return result

    def profiled_model(self):
        """The model whose modules operators are linked to."""
        return self.model

    def measure(self, inputs, ranges, limit=None):
        result = self._run(inputs, ranges)
        clock = self.context.clock
        forward_ms = clock.ms(result.stages["stem"].start, result.stages["head"].end)
        record = {
            "tokens_in": None,
            "tokens_out": None,
            "prefill_ms": None,
            "decode_ms": None,
            "ttft_ms": None,
            "token_ms": [],
            "tokens_per_s": None,
            "forward_ms": forward_ms,
            "images_per_s": self.infer["batch_size"] / (forward_ms / 1e3),
            "stages_ms": {name: span.ms() for name, span in result.stages.items()},
            "host_ms": {name: span.host_ms() for name, span in result.stages.items()},
        }
        record.update(hooked_times(result.hooked))
        return record, result

    def prediction(self, result):
        return {"classes": result.logits.float().argmax(dim=-1).cpu().tolist()}

    def identity(self):
        parameters = list(self.model.parameters())
        return {
            "name": self.context.model["name"],
            "family": self.config.get("model_type", "shallow_resnet"),
            "class": "shallow_resnet",
            "weights": "random",
            "parameters": sum(p.numel() for p in parameters),
            "weights_bytes": sum(p.numel() * p.element_size() for p in parameters),
            "layers": self.config["blocks"],
            "dtype": str(parameters[0].dtype).replace("torch.", ""),
            "attention": None,
            "kv_cache": None,
            "compile": self.infer["compile"],
            "cuda_graphs": self.infer["cuda_graphs"],
            "config": self.config,
        }

    def refuse_nothing(self, records):
        """A ResNet has no tokens to miss."""
