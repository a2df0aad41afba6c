"""The HTTP side: OpenAI-compatible completions and chat, health, metrics and the profile endpoints of two engines."""

import http.server
import itertools
import json
import os
import queue
import socketserver
import threading
import time


class Refused(Exception):
    """A request that cannot be served; `status` is its HTTP status."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


class Front:
    """What the threads of HTTP share: the way to the worker and back."""

    def __init__(self, options, commands, events):
        self.options = options
        self.commands = commands
        self.events = events
        self.ready = threading.Event()
        self.failed = None
        self.facts = {}
        self._numbers = itertools.count(1)
        self._waiting = {}
        self._lock = threading.Lock()

    def listen(self):
        """Hands out what the worker says, until it says nothing more."""
        while True:
            event = self.events.get()
            if event is None:
                return
            if event[0] == "ready":
                self.facts = event[1]
                self.ready.set()
            elif event[0] == "failed":
                self.fail(event[1])
                return
            elif event[0] == "tokens":
                for number, token, last in event[1]:
                    self._hand(number, (token, last))
            elif event[0] == "reply":
                self._hand(event[1], event[2])

    def fail(self, text):
        self.failed = text
        with self._lock:
            for waiting in self._waiting.values():
                waiting.put(None)

    def _hand(self, number, value):
        with self._lock:
            waiting = self._waiting.get(number)
        if waiting is not None:
            waiting.put(value)

    def open(self):
        """A number for a request and the queue of its answers; None in it says that the worker is gone."""
        number, answers = next(self._numbers), queue.SimpleQueue()
        with self._lock:
            self._waiting[number] = answers
        return number, answers

    def close(self, number):
        with self._lock:
            self._waiting.pop(number, None)

    def ask(self, verb, *rest):
        """Asks the worker and waits for its reply."""
        number, answers = self.open()
        try:
            self.commands.put((verb, number) + rest)
            reply = answers.get(timeout=self.options["reply_timeout"])
        except queue.Empty:
            raise Refused(504, "the worker does not answer")
        finally:
            self.close(number)
        if reply is None:
            raise Refused(503, "the worker has ended")
        return reply


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 1024
    allow_reuse_address = True
    front = None


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, format, *args):
        pass

    def do_GET(self):
        self._answer({"/health": self._health, "/v1/models": self._models, "/metrics": self._metrics})

    def do_POST(self):
        self._answer(
            {
                "/v1/completions": lambda: self._complete(chat=False),
                "/v1/chat/completions": lambda: self._complete(chat=True),
                "/start_profile": self._start_profile,
                "/stop_profile": self._stop_profile,
            }
        )

    def _answer(self, routes):
        route = routes.get(self.path.split("?", 1)[0])
        try:
            if route is None:
                raise Refused(404, f"no {self.path}")
            route()
        except Refused as refused:
            self._send(refused.status, {"error": {"message": str(refused), "type": "invalid_request_error"}})
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def _send(self, status, value, kind="application/json"):
        body = value.encode() if isinstance(value, str) else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _front(self):
        front = self.server.front
        if front.failed is not None:
            raise Refused(503, "the worker has ended: " + front.failed.strip().splitlines()[-1])
        if not front.ready.is_set():
            raise Refused(503, "the model is loading")
        return front

    def _health(self):
        self._front()
        self._send(200, "", "text/plain")

    def _models(self):
        name = self.server.front.options["model_name"]
        self._send(200, {"object": "list", "data": [{"id": name, "object": "model", "owned_by": "deepprof"}]})

    def _metrics(self):
        state = self._front().ask("state")
        self._send(200, "".join(f"llm_server_{name} {value}\n" for name, value in state.items()), "text/plain")

    def _body(self):
        length = int(self.headers.get("Content-Length") or 0)
        text = self.rfile.read(length)
        try:
            value = json.loads(text) if text.strip() else {}
        except ValueError as problem:
            raise Refused(400, f"the body is no JSON: {problem}")
        if not isinstance(value, dict):
            raise Refused(400, "the body is no JSON object")
        return value

    def _start_profile(self):
        body = self._body()
        activities = body.get("activities")
        if activities is not None and "CUDA_PROFILER" not in activities:
            raise Refused(400, f"activities {activities}: this server has CUDA_PROFILER only")
        wanted = {key: body[key] for key in ("start_step", "num_steps") if body.get(key) is not None}
        self._send(200, self._front().ask("profile", wanted))

    def _stop_profile(self):
        self._body()
        self._send(200, self._front().ask("profile", None))

    def _complete(self, chat):
        front, body = self._front(), self._body()
        request = parse(body, chat, front.options)
        number, answers = front.open()
        request["id"] = number
        front.commands.put(("request", request))
        finished = False
        try:
            if body.get("stream"):
                self._stream(number, request, body, chat, answers)
            else:
                tokens = list(tokens_of(answers))
                self._send(200, whole(number, request, chat, tokens, front.options["model_name"]))
            finished = True
        finally:
            front.close(number)
            if not finished:
                front.commands.put(("cancel", number))

    def _stream(self, number, request, body, chat, answers):
        name = self.server.front.options["model_name"]
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        made = 0
        for token in tokens_of(answers):
            made += 1
            last = made == request["max_tokens"]
            self._event(chunk(number, chat, text_of(token), "length" if last else None, name))
        if (body.get("stream_options") or {}).get("include_usage"):
            final = chunk(number, chat, "", None, name)
            final["choices"], final["usage"] = [], usage(request, made)
            self._event(final)
        self._event("[DONE]")
        self.wfile.write(b"0\r\n\r\n")

    def _event(self, value):
        text = value if isinstance(value, str) else json.dumps(value)
        data = f"data: {text}\n\n".encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))


def tokens_of(answers):
    while True:
        answer = answers.get()
        if answer is None:
            raise Refused(503, "the worker has ended")
        yield answer[0]
        if answer[1]:
            return


def parse(body, chat, options):
    """The request as the engine takes it. There is no tokenizer: a byte of text is a token."""
    vocabulary = options["shape"]["vocab_size"]
    if chat:
        messages = body.get("messages")
        if not isinstance(messages, list) or not messages:
            raise Refused(400, "messages: want a list that is not empty")
        prompt = "\n".join(str(m.get("content", "")) if isinstance(m, dict) else str(m) for m in messages)
    else:
        prompt = body.get("prompt")
    if isinstance(prompt, str):
        prompt = [byte % vocabulary for byte in prompt.encode()]
    if not isinstance(prompt, list) or not all(isinstance(t, int) and not isinstance(t, bool) for t in prompt):
        raise Refused(400, "prompt: want a string or a list of token ids")
    limit = body.get("max_completion_tokens") or body.get("max_tokens") or 16
    if not isinstance(limit, int) or limit < 1:
        raise Refused(400, f"max_tokens: want a positive integer, got {limit!r}")
    if any(t < 0 or t >= vocabulary for t in prompt):
        raise Refused(400, f"prompt: want ids of at least 0 and below {vocabulary}")
    if not prompt or len(prompt) + limit > options["max_len"]:
        raise Refused(400, f"prompt of {len(prompt)} and {limit} new tokens: want 1 to {options['max_len']} together")
    return {"prompt": prompt, "max_tokens": limit, "temperature": float(body.get("temperature") or 0.0)}


def text_of(token):
    return f" {token}"


def usage(request, made):
    prompt = len(request["prompt"])
    return {"prompt_tokens": prompt, "completion_tokens": made, "total_tokens": prompt + made}


def chunk(number, chat, text, finish, name):
    choice = {"index": 0, "finish_reason": finish}
    choice.update({"delta": {"content": text}} if chat else {"text": text})
    kind = "chat.completion.chunk" if chat else "text_completion"
    return {"id": f"cmpl-{number}", "object": kind, "created": int(time.time()), "model": name, "choices": [choice]}


def whole(number, request, chat, tokens, name):
    text = "".join(map(text_of, tokens))
    out = chunk(number, chat, text, "length", name)
    if chat:
        out["object"] = "chat.completion"
        out["choices"][0]["message"] = {"role": "assistant", "content": out["choices"][0].pop("delta")["content"]}
    out["usage"] = usage(request, len(tokens))
    return out


def announce(server):
    host, port = server.server_address[:2]
    print(f"llm_server: listening on http://{host}:{port} (pid {os.getpid()})", flush=True)
