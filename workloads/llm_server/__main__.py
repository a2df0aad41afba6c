"""Serves a Llama with random weights.

    python -m llm_server --model tiny --device cpu --port 8000

GET /health answers 200 once requests are served, and 503 while the model loads. SIGTERM and SIGINT end the server; exit
codes: 0 ended by a signal; 1 the worker failed; 2 bad arguments or the port is taken.
"""

import argparse
import multiprocessing
import signal
import sys
import threading

from llm_server import names, shapes
from llm_server.server import Front, Handler, Server, announce
from llm_server.worker import main as worker


def parse(argv):
    p = argparse.ArgumentParser(prog="llm_server", description="A small LLM server with continuous batching.")
    p.add_argument("--model", default="tiny", help="tiny, llama_8b, or the path of a config.json of a Llama")
    p.add_argument("--model-name", help="the name that clients use; default: that of --model")
    p.add_argument("--host", default="127.0.0.1")
    p.add_argument("--port", type=int, default=8000)
    p.add_argument("--device", default="cuda")
    p.add_argument("--dtype", default="bf16", choices=["bf16", "fp16", "fp32"])
    p.add_argument("--max-batch", type=int, default=64, help="sequences in a step")
    p.add_argument("--max-len", type=int, default=2048, help="prompt and new tokens of a sequence")
    p.add_argument("--max-step-tokens", type=int, default=8192, help="prompt tokens that one step admits")
    p.add_argument("--kv-cache", default="static", choices=["static", "paged"])
    p.add_argument("--cuda-graphs", action="store_true", help="replay decode steps as CUDA graphs, one a batch size")
    p.add_argument("--context-bucket", type=int, default=256, help="decode reads the cache in multiples of it")
    p.add_argument("--step-names", default="vllm", choices=names.STYLES, help="the engine whose step names to use")
    p.add_argument("--seed", type=int, default=0)
    args = p.parse_args(argv)
    for name in ("max_batch", "max_len", "max_step_tokens", "context_bucket"):
        if getattr(args, name) < 1:
            p.error(f"--{name.replace('_', '-')}: want a positive integer")
    if args.cuda_graphs and not args.device.startswith("cuda"):
        p.error(f"--cuda-graphs needs a GPU, not --device {args.device}")
    try:
        shape = shapes.load(args.model)
    except (OSError, ValueError) as problem:
        p.error(f"--model: {problem}")
    options = vars(args)
    options["shape"] = shape
    options["model_name"] = args.model_name or args.model
    options["reply_timeout"] = 600
    return options


def main(argv):
    options = parse(argv)
    try:
        server = Server((options["host"], options["port"]), Handler)
    except OSError as problem:
        print(f"llm_server: listen on {options['host']}:{options['port']}: {problem.strerror}", file=sys.stderr)
        return 2
    spawn = multiprocessing.get_context("spawn")
    commands, events = spawn.Queue(), spawn.Queue()
    server.front = front = Front(options, commands, events)
    process = spawn.Process(target=worker, args=(options, commands, events), name="llm_server worker")
    process.start()
    stop = threading.Event()
    for sig in (signal.SIGTERM, signal.SIGINT):
        signal.signal(sig, lambda *_: stop.set())
    threading.Thread(target=front.listen, daemon=True).start()
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True).start()
    announce(server)
    code = watch(front, process, stop)
    server.shutdown()
    server.server_close()
    commands.put(("stop",))
    process.join(10)
    if process.is_alive():
        process.kill()
        process.join()
    print("llm_server: ended", flush=True)
    for channel in (commands, events):
        channel.close()
        channel.cancel_join_thread()  # nobody reads the rest
    return code


def watch(front, process, stop):
    """Waits for a signal, or for the end of the worker. The exit code."""
    said = False
    while not stop.wait(0.1):
        if front.ready.is_set() and not said:
            said = True
            print(f"llm_server: ready {front.facts}", flush=True)
        if front.failed is None and not process.is_alive():
            front.fail(f"exit code {process.exitcode}")
        if front.failed is not None:
            print(f"llm_server: the worker has ended: {front.failed}", file=sys.stderr, flush=True)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
