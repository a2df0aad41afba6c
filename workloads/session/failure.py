"""How a session ends badly: one error.json with the cause as a fact and the traceback's last lines."""

import json
import os
import sys
import traceback

from session.facts import fact, line

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


class SessionError(Exception):
    """A failure with a known cause: a fact, whose words and next step internal/message of deepprof has."""

    def __init__(self, kind, cause):
        super().__init__(line(cause))
        self.kind = kind
        self.fact = cause


def missing_package(package, cause=None, needed_for=None):
    """The error for a package that the interpreter lacks or cannot load; names both. `needed_for` is a fact."""
    params = {"python": ("file", sys.executable), "package": ("name", package)}
    if needed_for:
        params["why"] = ("facts", [needed_for])
    if isinstance(cause, ModuleNotFoundError) and (cause.name or "").split(".")[0] == package:
        return SessionError(MISSING_PACKAGE, fact("session-package-missing", **params))
    return SessionError(MISSING_PACKAGE, fact("session-package-broken", error=("error", str(cause)), **params))


def classify(error):
    """Turns any exception into a SessionError; one with a known cause is returned as it is."""
    if isinstance(error, SessionError):
        return error
    if is_out_of_memory(error):
        return SessionError(OUT_OF_MEMORY, fact("session-out-of-memory", error=("error", first_line(error))))
    return SessionError(
        EXCEPTION,
        fact("session-exception", name=("name", type(error).__name__), error=("error", first_line(error))),
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
    for text in lines:
        print(text, file=stderr)
    print(f"{known.kind}: {line(known.fact)}", file=stderr)
    record = {
        "schema": SCHEMA,
        "kind": known.kind,
        "fact": known.fact,
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
