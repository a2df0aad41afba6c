"""Samples: files of a dataset, or generated inputs; and the order in which they are run."""

import glob
import os
import random

from session import failure
from session.facts import fact
from session.failure import SessionError

# Files that an error names; the rest are counted.
_NAMED = 20


class Sample:
    """One input. `path` is None for a generated one; `index` tells generated ones apart."""

    def __init__(self, name, path, index):
        self.name = name
        self.path = path
        self.index = index


def samples_of(dataset):
    """All samples of the `dataset` section, in the order of the file list or of the file names."""
    root = dataset.get("root")
    if root is None:
        count = dataset["synthetic"]["num_samples"]
        return [Sample(f"synthetic-{i}", None, i) for i in range(count)]
    if not os.path.isdir(root):
        code = "session-data-no-folder" if os.path.exists(root) else "session-data-absent"
        raise SessionError(failure.DATASET, fact(code, file=("file", root)))
    paths = _listed(dataset, root) if dataset.get("subset_filelist") else _matched(dataset, root)
    _refuse_unreadable(paths)
    return [Sample(_name(path, root), path, i) for i, path in enumerate(paths)]


def _name(path, root):
    inside = os.path.relpath(path, root)
    return path if inside.startswith("..") else inside


def _listed(dataset, root):
    listing = dataset["subset_filelist"]
    try:
        with open(listing, encoding="utf-8") as file:
            lines = [line.strip() for line in file]
    except (OSError, UnicodeDecodeError) as problem:
        raise SessionError(
            failure.DATASET,
            fact(
                "session-list-unread",
                file=("file", listing),
                error=("error", str(getattr(problem, "strerror", None) or problem)),
            ),
        ) from problem
    paths = [os.path.join(root, line) for line in lines if line and not line.startswith("#")]
    if not paths:
        raise SessionError(failure.DATASET, fact("session-list-empty", file=("file", listing)))
    return paths


def _matched(dataset, root):
    patterns = dataset.get("fallback_patterns") or []
    found = set()
    for pattern in patterns:
        found.update(glob.glob(os.path.join(glob.escape(root), pattern), recursive=True))
    paths = sorted(path for path in found if os.path.isfile(path))
    if not paths:
        raise SessionError(
            failure.DATASET, fact("session-data-empty", file=("file", root), patterns=("name", list(patterns)))
        )
    return paths


def _refuse_unreadable(paths):
    bad = []
    for path in paths:
        try:
            with open(path, "rb") as file:
                file.read(1)
        except OSError as problem:
            bad.append(f"{path} ({problem.strerror})")
    refuse(bad, len(paths), "session-files-unread")


def refuse(bad, total, code):
    """Raises one error that names the bad files of a dataset; nothing happens where there are none."""
    if not bad:
        return
    params = {"n": ("count", len(bad)), "of": ("count", total), "files": ("error", bad[:_NAMED])}
    if len(bad) > _NAMED:
        params["more"] = ("count", len(bad) - _NAMED)
    raise SessionError(failure.DATASET, fact(code, **params))


class Plan:
    """Which samples are run: `epochs` holds indices into them. `seed` is None where the order is that of files."""

    def __init__(self, epochs, seed):
        self.epochs = epochs
        self.seed = seed

    def used(self):
        """The indices that occur, each once, in the order of their first use."""
        return list(dict.fromkeys(index for epoch in self.epochs for index in epoch))


def plan_of(count, sampling):
    """The order in which `count` samples are run. Never more samples in an epoch than there are."""
    per_epoch = sampling.get("num_samples_per_epoch")
    per_epoch = count if per_epoch is None else min(per_epoch, count)
    if not sampling.get("randomize"):
        return Plan([list(range(per_epoch)) for _ in range(sampling["num_epochs"])], None)
    seed = sampling.get("seed")
    if seed is None:
        seed = random.SystemRandom().randrange(2**31)
    draw = random.Random(seed)
    return Plan([draw.sample(range(count), per_epoch) for _ in range(sampling["num_epochs"])], seed)


def read_text(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except UnicodeDecodeError as problem:
        raise SessionError(
            failure.DATASET, fact("session-not-text", file=("file", path), error=("error", str(problem)))
        ) from problem


def import_pil():
    try:
        import PIL.Image
    except ImportError as problem:
        raise failure.missing_package("PIL", problem, fact("session-needed-images")) from problem
    return PIL.Image


def check_images(samples):
    """Refuses image files that do not decode, all of them in one error, before anything slow starts."""
    files = [sample for sample in samples if sample.path is not None]
    if not files:
        return
    pil = import_pil()
    bad = []
    for sample in files:
        try:
            with pil.open(sample.path) as image:
                image.load()
        except Exception as problem:  # Pillow's plugins raise nearly anything on damaged files
            bad.append(f"{sample.path} ({failure.first_line(problem)})")
    refuse(bad, len(files), "session-images-unread")


def open_image(path):
    """The image as RGB."""
    try:
        with import_pil().open(path) as image:
            return image.convert("RGB")
    except OSError as problem:
        raise SessionError(
            failure.DATASET,
            fact("session-image-undecoded", file=("file", path), error=("error", failure.first_line(problem))),
        ) from problem


def pixels(torch, sample, size, batch, seed):
    """A batch of square images of `size` pixels as floats around zero: (batch, 3, size, size), on the host.

    A generated sample gives a different image in each row; a file is repeated.
    """
    if sample.path is None:
        draw = torch.Generator().manual_seed(seed + sample.index)
        return torch.rand(batch, 3, size, size, generator=draw) * 2 - 1
    image = open_image(sample.path).resize((size, size))
    flat = torch.frombuffer(bytearray(image.tobytes()), dtype=torch.uint8)
    channels = flat.view(size, size, 3).permute(2, 0, 1).float() / 127.5 - 1
    return channels.unsqueeze(0).repeat(batch, 1, 1, 1)


def random_tokens(torch, sample, length, batch, vocabulary, seed, avoid=()):
    """Token ids (batch, length) on the host, different in each row, without those in `avoid`."""
    draw = torch.Generator().manual_seed(seed + sample.index)
    ids = torch.randint(0, vocabulary, (batch, length), generator=draw)
    allowed = next(i for i in range(vocabulary) if i not in avoid)
    for token in avoid:
        ids[ids == token] = allowed
    return ids
