"""How a session ends badly: one error.json with the cause, the next step and the traceback's last lines."""

import json
import os
import sys
import traceback

SCHEMA = 1

MISSING_PACKAGE = "missing_package"
MISSING_WEIGHTS = "missing_weights"
UNTRUSTED_CODE = "untrusted_code"
BAD_PATH = "bad_path"
DATASET = "dataset"
GPU_INDEX = "gpu_index"
OUT_OF_MEMORY = "out_of_memory"
NO_LOGITS = "no_logits"
NO_TOKENS = "no_tokens"
EXCEPTION = "exception"

# Lines of the traceback that error.json keeps; stderr gets all of them.
KEPT_LINES = 30

_OUT_OF_MEMORY_NEXT = (
    "lower infer.batch_size, then infer.prompt_length and infer.max_new_tokens; a smaller model or fewer layers; "
    "see with nvidia-smi whether another process holds the memory"
)


class SessionError(Exception):
    """A failure with a known cause. `what` names the culprit, `next_step` what to do about it."""

    def __init__(self, kind, what, next_step):
        super().__init__(what)
        self.kind = kind
        self.what = what
        self.next_step = next_step


def missing_package(package, cause=None, needed_for=""):
    """The error for a package that the interpreter lacks or cannot load; names both."""
    purpose = f" ({needed_for})" if needed_for else ""
    if isinstance(cause, ModuleNotFoundError) and (cause.name or "").split(".")[0] == package:
        what = f"the interpreter {sys.executable} has no package {package}{purpose}"
    else:
        what = f"the interpreter {sys.executable} cannot import the package {package}{purpose}: {cause}"
    return SessionError(
        MISSING_PACKAGE,
        what,
        f"install {package} for that interpreter, or name another one with pipeline.workload.python=/path/to/python",
    )


def classify(error):
    """Turns any exception into a SessionError; one with a known cause is returned as it is."""
    if isinstance(error, SessionError):
        return error
    if is_out_of_memory(error):
        return SessionError(OUT_OF_MEMORY, f"out of memory: {first_line(error)}", _OUT_OF_MEMORY_NEXT)
    return SessionError(
        EXCEPTION,
        f"{type(error).__name__}: {first_line(error)}",
        "read the traceback's last lines; an error inside torch or transformers often names the config field at fault",
    )


def is_out_of_memory(error):
    """Recognises exhausted memory on the GPU and on the host, also where torch raises a plain RuntimeError."""
    if isinstance(error, MemoryError):
        return True
    if type(error).__name__ == "OutOfMemoryError":
        return True
    text = str(error)
    return isinstance(error, RuntimeError) and any(
        sign in text for sign in ("out of memory", "can't allocate memory", "not enough memory", "STATUS_ALLOC_FAILED")
    )


def first_line(error):
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def report(error, out, stderr):
    """Prints the traceback and writes out/error.json. Returns the exit code."""
    known = classify(error)
    lines = "".join(traceback.format_exception(type(error), error, error.__traceback__)).rstrip().splitlines()
    for line in lines:
        print(line, file=stderr)
    print(f"{known.kind}: {known.what}\nnext: {known.next_step}", file=stderr)
    record = {
        "schema": SCHEMA,
        "kind": known.kind,
        "what": known.what,
        "next": known.next_step,
        "traceback": lines[-KEPT_LINES:],
    }
    try:
        os.makedirs(out, exist_ok=True)
        write_json(os.path.join(out, "error.json"), record)
    except OSError as problem:
        print(f"write error.json: {problem}", file=stderr)
    return 1


def write_json(path, value):
    """Replaces path as a whole, so that a reader or a crash never meets half a file."""
    part = path + ".part"
    with open(part, "w", encoding="utf-8") as file:
        json.dump(value, file, indent=1, allow_nan=False)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, path)
