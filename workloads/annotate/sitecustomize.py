"""Python runs this file at start, because deepprof put its folder on PYTHONPATH.

It arranges for modules of PyTorch to be annotated once torch is imported, and then runs the sitecustomize that it
hides, if there is one. It must never make a program fail: what goes wrong here is written to the side file, and the
program goes on without annotation.
"""

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _annotate():
    try:
        import deepprof_annotate

        deepprof_annotate.arm()
    except Exception as error:  # the program must run whatever happens here
        out = os.environ.get("DEEPPROF_ANNOTATE_OUT")
        if out:
            try:
                with open(os.path.join(out, "%d.error" % os.getpid()), "w") as file:
                    file.write("%s: %s\n" % (type(error).__name__, error))
            except OSError:
                pass


def _chain():
    """Runs the sitecustomize that would have been found without this folder."""
    import importlib.machinery
    import importlib.util

    rest = [p for p in sys.path if os.path.abspath(p or os.curdir) != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", rest)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


_annotate()
_chain()
