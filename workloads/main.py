"""Runs one session of a model as a spec file describes it.

    python main.py --spec RUN/workload/STAGE/spec.json

Exit codes: 0 done; 1 the session failed, and error.json beside the spec's other
outputs says why; 2 the spec itself cannot be used; 130 interrupted.
"""

import os
import sys

# The program lies in a run's folder, which records what was captured, not what Python compiled.
sys.dont_write_bytecode = True
# Models come from local folders or from configs. Nothing may be fetched behind the user's back.
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

from session import compiled  # noqa: E402  (the environment above must be set before anything is imported)
from session.run import main  # noqa: E402

if __name__ == "__main__":
    compiled.keep()  # all modules of the program are imported by now, torch is not
    sys.exit(main(sys.argv[1:]))
