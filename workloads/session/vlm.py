"""An image-to-text model: vision encoders, projector and language model, measured like llm.

A folder with a processor prepares images and text as its authors meant. Without one (random weights) the image goes in
as pixel_values and the prompt is random tokens behind the image's placeholders; how many the model needs is found by
running its vision part once, so no family is known by name.
"""

from session import data, failure, models
from session.facts import fact
from session.failure import SessionError
from session.llm import TextSession


class VlmSession(TextSession):
    kind = models.IMAGE_TEXT

    def __init__(self, context):
        super().__init__(context)
        self.image_tokens = None
        self.image_token_id = None
        self.image_size = None

    def check(self):
        super().check()
        data.check_images([self.samples[i] for i in self.plan.used()])

    def prepare(self):
        self.image_size = self.context.model.get("image_size") or self._configured_size()
        if self.loaded.processor is not None:
            return
        if self.infer.get("prompt"):
            code = "session-prompt-random" if self.loaded.random_weights else "session-prompt-no-processor"
            raise SessionError(failure.DATASET, fact(code))
        if self.image_size is None:
            raise SessionError(failure.DATASET, fact("session-image-size-unknown"))
        self.image_token_id = self._placeholder()
        self.image_tokens = self._count_image_tokens()

    def identity(self):
        identity = super().identity()
        identity.update(image_size=self.image_size, image_tokens=self.image_tokens)
        return identity

    def host_inputs(self, sample):
        if self.loaded.processor is not None:
            return self._processed(sample)
        batch, seed = self.infer["batch_size"], self.infer["seed"]
        vocabulary = self.loaded.text_config().vocab_size
        length = self.infer["prompt_length"]
        text = data.random_tokens(self.torch, sample, length, batch, vocabulary, seed, avoid=(self.image_token_id,))
        image = self.torch.full((batch, self.image_tokens), self.image_token_id, dtype=self.torch.long)
        return {
            "input_ids": self.torch.cat([image, text], dim=1),
            "pixel_values": data.pixels(self.torch, sample, self.image_size, batch, seed),
        }

    def _processed(self, sample):
        processor, batch = self.loaded.processor, self.infer["batch_size"]
        image = self._image(sample)
        encoded = processor(images=[image] * batch, text=[self._prompt()] * batch, return_tensors="pt")
        inputs = dict(encoded)
        # Every row is the same prompt, so nothing is padded, and a mask of ones would only change the attention kernel.
        mask = inputs.pop("attention_mask", None)
        if mask is not None and not bool(mask.all()):
            inputs["attention_mask"] = mask
        return inputs

    def _image(self, sample):
        if sample.path is not None:
            return data.open_image(sample.path)
        size = self.image_size or 1024
        image = data.pixels(self.torch, sample, size, 1, self.infer["seed"])[0]
        return ((image + 1) * 127.5).to(self.torch.uint8)

    def _prompt(self):
        """The instruction with one image, through the model's chat template where it has one."""
        processor = self.loaded.processor
        instruction = self.infer.get("prompt") or "Describe the image."
        if getattr(processor, "chat_template", None):
            content = [{"type": "image"}, {"type": "text", "text": instruction}]
            return processor.apply_chat_template([{"role": "user", "content": content}], add_generation_prompt=True)
        return f"{getattr(processor, 'image_token', '<image>')}\n{instruction}"

    def _configured_size(self):
        vision = getattr(self.loaded.config, "vision_config", None)
        for part in (vision, getattr(vision, "sam_config", None)):
            size = getattr(part, "image_size", None)
            if isinstance(size, (list, tuple)):
                size = size[0]
            if isinstance(size, int):
                return size
        return None

    def _placeholder(self):
        config = self.loaded.config
        for name in ("image_token_id", "image_token_index"):
            value = getattr(config, name, None)
            if value is not None:
                break
        else:
            raise SessionError(failure.DATASET, fact("session-no-image-token", name=("name", config.model_type)))
        vocabulary = self.loaded.text_config().vocab_size
        if value >= vocabulary:
            raise SessionError(
                failure.EXCEPTION,
                fact(
                    "session-image-token-range",
                    token=("count", value),
                    size=("count", vocabulary),
                    key=("key", f"model.config.{name}"),
                ),
            )
        return value

    def _count_image_tokens(self):
        model, torch = self.loaded.model, self.torch
        features = getattr(model, "get_image_features", None)
        if features is None:
            raise SessionError(failure.DATASET, fact("session-no-image-features", name=("name", type(model).__name__)))
        dtype = models.dtype_of(torch, self.context.model["dtype"])
        image = data.pixels(torch, self.samples[0], self.image_size, 1, 0).to(self.context.device).to(dtype)
        try:
            with torch.no_grad():
                found = features(pixel_values=image)
        except TypeError as problem:
            raise SessionError(
                failure.DATASET,
                fact(
                    "session-more-than-pixels",
                    name=("name", type(model).__name__),
                    error=("error", failure.first_line(problem)),
                ),
            ) from problem
        return count_tokens(torch, found, self.loaded.text_config().hidden_size)


def count_tokens(torch, found, hidden):
    """Rows of width `hidden` in what get_image_features returned: a tensor, several, or an output that holds them.

    Newer releases of transformers return an output whose pooler_output holds the projected features.
    """
    pooled = getattr(found, "pooler_output", None)
    if pooled is not None:
        found = pooled
    tensors = list(found) if isinstance(found, (list, tuple)) else [found]
    return sum(tensor.numel() // hidden for tensor in tensors if torch.is_tensor(tensor))
