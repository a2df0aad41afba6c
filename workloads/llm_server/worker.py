"""The process that owns the GPU: it is spawned by the server and speaks with it over two queues.

Commands are tuples, the first element of which is the verb:
    ("request", {...}), ("cancel", id), ("profile", kwargs or None), ("state", id), ("stop",)
Events are tuples too:
    ("ready", facts), ("failed", text), ("tokens", [(id, token, last)]), ("reply", id, value)
"""

import queue
import signal
import sys
import traceback

from session import compiled


def main(options, commands, events):
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server decides; a terminal's Ctrl-C reaches every process
    try:
        compiled.keep()
        import torch

        sys.dont_write_bytecode = True  # the modules of this program lie in the folder of a run

        from llm_server.engine import Engine

        engine = Engine(options, nvtx_of(torch))
    except BaseException:
        events.put(("failed", traceback.format_exc()))
        return
    events.put(("ready", {"torch": torch.__version__, "graphs": len(engine.graphs)}))
    try:
        while serve(engine, commands, events):
            pass
    except BaseException:
        events.put(("failed", traceback.format_exc()))
        raise


def serve(engine, commands, events):
    """Takes what was asked for, then runs one step. False once it is to stop."""
    while True:
        try:
            command = commands.get(block=engine.idle())
        except queue.Empty:
            break
        verb = command[0]
        if verb == "stop":
            engine.profiler.stop()
            return False
        if verb == "request":
            engine.add(command[1])
        elif verb == "cancel":
            engine.cancel(command[1])
        elif verb == "profile":
            _, ask, wanted = command
            engine.profiler.stop() if wanted is None else engine.profiler.start(engine.number, **wanted)
            events.put(("reply", ask, engine.state()))
        elif verb == "state":
            events.put(("reply", command[1], engine.state()))
    made = engine.step()
    if made:
        events.put(("tokens", made))
    return True


class Silent:
    """NVTX of a torch that is built without it."""

    def range_push(self, name):
        pass

    def range_pop(self):
        pass


def nvtx_of(torch):
    nvtx = torch.cuda.nvtx
    return Silent() if type(getattr(nvtx, "_nvtx", None)).__name__ == "_NVTXStub" else nvtx
