"""Compiled files (.pyc) of torch and transformers, kept where an installation has none.

Images are often built without them, and Python then compiles thousands of modules at every start.
"""

import importlib.util
import os
import sys

_PACKAGES = ("torch", "transformers")


def keep():
    """From now on, Python compiles each module once, into a folder of deepprof's own or the one that the user set."""
    if sys.pycache_prefix is None:
        if all(map(_compiled, _PACKAGES)):
            return  # Python reads no others where a folder is set
        sys.pycache_prefix = _folder()
    sys.dont_write_bytecode = False


def _folder():
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(cache, "deepprof", "python")


def _compiled(package):
    """Whether nothing of the package has to be compiled; true for one that is not there."""
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        return True
    source = spec and spec.origin
    if not source or not source.endswith(".py"):
        return True
    return os.path.exists(importlib.util.cache_from_source(source))
