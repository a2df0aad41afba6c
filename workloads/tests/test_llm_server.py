"""The LLM server on the CPU: its arithmetic, its steps, and the whole program over HTTP."""

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest

import torch

from llm_server import cache, names, shapes
from llm_server.engine import Engine, Profiler, batch_sizes
from llm_server.worker import Silent

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Log:
    """An NVTX that remembers."""

    def __init__(self):
        self.names = []

    def range_push(self, name):
        self.names.append(name)

    def range_pop(self):
        pass


def engine(nvtx=None, **changes):
    options = {
        "device": "cpu",
        "dtype": "fp32",
        "shape": shapes.load("tiny"),
        "seed": 1,
        "kv_cache": "static",
        "max_batch": 4,
        "max_len": 64,
        "max_step_tokens": 32,
        "context_bucket": 16,
        "cuda_graphs": False,
        "step_names": "vllm",
    }
    options.update(changes)
    return Engine(options, nvtx or Silent())


def run(one, requests):
    """The tokens of each request, all of them added at once."""
    for number, (prompt, limit) in enumerate(requests):
        one.add({"id": number, "prompt": prompt, "max_tokens": limit})
    out = {number: [] for number in range(len(requests))}
    while not one.idle():
        for number, token, _ in one.step():
            out[number].append(token)
    return out


REQUESTS = [([3, 1, 4, 1, 5], 6), ([9, 2], 9), (list(range(20)), 3), ([7], 12), ([2, 7, 1], 4), ([8, 2, 8], 5)]


class ArithmeticTest(unittest.TestCase):
    def alone(self, prompt, limit):
        """The greedy continuation by whole forward passes, without a cache that outlives one."""
        one = engine()
        ids = list(prompt)
        with torch.no_grad():
            for _ in range(limit):
                batch = cache.Prefill(one.cache, one.table, 0, len(ids))
                ids.append(int(one.model(torch.tensor(ids), batch).argmax()))
        return ids[len(prompt) :]

    def test_cached_and_batched_steps_give_the_tokens_of_whole_passes(self):
        expected = {n: self.alone(prompt, limit) for n, (prompt, limit) in enumerate(REQUESTS)}
        for changes in ({}, {"kv_cache": "paged"}, {"max_batch": 1}, {"context_bucket": 64}, {"step_names": "sglang"}):
            with self.subTest(changes):
                self.assertEqual(run(engine(**changes), REQUESTS), expected)

    def test_rows_and_blocks_are_given_back(self):
        one = engine(kv_cache="paged")
        free = len(one.cache.free)
        run(one, REQUESTS)
        self.assertEqual((one.running, len(one.cache.free)), ({}, free))
        one.add({"id": 1, "prompt": [1, 2], "max_tokens": 30})
        one.step()
        one.cancel(1)
        self.assertTrue(one.idle())
        self.assertEqual(len(one.cache.free), free)

    def test_batch_sizes(self):
        self.assertEqual(batch_sizes(6), [1, 2, 4, 6])
        self.assertEqual(batch_sizes(1), [1])


class StepTest(unittest.TestCase):
    def test_names_say_what_each_step_computes(self):
        wanted = {
            "vllm": ["execute_context_2(5)_generation_0(0)", "execute_context_0(0)_generation_2(2)"],
            "sglang": ["step[EXTEND bs=2 toks=5]", "step[DECODE bs=2]"],
            "trtllm": [
                "[Executor] _forward_step 0: 2 ctx reqs, 5 ctx tokens, 0 gen reqs",
                "[Executor] _forward_step 1: 0 ctx reqs, 0 ctx tokens, 2 gen reqs",
            ],
            "none": [],
        }
        for style, expected in wanted.items():
            with self.subTest(style):
                log = Log()
                run(engine(log, step_names=style), [([1, 2, 3], 2), ([4, 5], 2)])
                self.assertEqual(log.names, expected)

    def test_prompts_and_running_sequences_share_a_step_where_the_engine_mixes_them(self):
        for style, expected in (
            ("vllm", "execute_context_1(2)_generation_1(1)"),
            ("sglang", "step[EXTEND bs=1 toks=2]"),
        ):
            with self.subTest(style):
                log = Log()
                one = engine(log, step_names=style)
                one.add({"id": 1, "prompt": [1], "max_tokens": 5})
                one.step()
                one.add({"id": 2, "prompt": [1, 2], "max_tokens": 5})
                one.step()
                self.assertEqual(log.names[-1], expected)
        self.assertEqual(names.step_name("sglang", 0, 1, 7, 2), "step[MIXED bs=3 toks=9]")

    def test_a_step_admits_no_more_tokens_than_it_may(self):
        log = Log()
        run(engine(log, max_step_tokens=4), [([1, 2, 3], 1), ([1, 2], 1)])
        self.assertEqual(log.names, ["execute_context_1(3)_generation_0(0)", "execute_context_1(2)_generation_0(0)"])

    def test_profiler_covers_the_steps_asked_for(self):
        profiler = Profiler(cuda=False)
        profiler.start(5, start_step=7, num_steps=2)
        active = []
        for step in range(5, 11):
            profiler.before(step)
            active.append(profiler.active)
        self.assertEqual(active, [False, False, True, True, False, False])
        profiler.start(11)
        self.assertTrue(profiler.active)
        profiler.stop()
        self.assertFalse(profiler.active)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class ProgramTest(unittest.TestCase):
    """One server for all of its tests: its start imports torch twice."""

    @classmethod
    def setUpClass(cls):
        cls.port = free_port()
        cls.process = cls.start(cls.port)
        cls.wait(cls.port)

    @classmethod
    def start(cls, port, *more):
        command = [sys.executable, "-B", "-m", "llm_server", "--device", "cpu", "--dtype", "fp32", "--max-len", "128"]
        command += ["--port", str(port), *more]
        return subprocess.Popen(command, cwd=HERE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    @classmethod
    def wait(cls, port):
        for _ in range(600):
            with contextlib.suppress(OSError):
                if cls.get(port, "/health")[0] == 200:
                    return
            time.sleep(0.1)
        raise AssertionError("the server does not become ready")

    @staticmethod
    def get(port, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        try:
            connection.request("GET" if body is None else "POST", path, body if body is None else json.dumps(body))
            response = connection.getresponse()
            return response.status, response.read().decode()
        finally:
            connection.close()

    @classmethod
    def tearDownClass(cls):
        cls.process.send_signal(signal.SIGTERM)
        out, err = cls.process.communicate(timeout=60)
        assert cls.process.returncode == 0, (cls.process.returncode, err)
        assert "ended" in out, out

    def test_streamed_and_whole_answers_agree(self):
        ask = {"prompt": [1, 2, 3], "max_tokens": 6}
        status, text = self.get(self.port, "/v1/completions", ask)
        answer = json.loads(text)
        self.assertEqual((status, answer["usage"]["completion_tokens"]), (200, 6))
        ask.update(stream=True, stream_options={"include_usage": True})
        _, stream = self.get(self.port, "/v1/completions", ask)
        events = [line[6:] for line in stream.splitlines() if line]
        self.assertEqual(events[-1], "[DONE]")
        chunks = [json.loads(e) for e in events[:-1]]
        self.assertEqual("".join(c["choices"][0]["text"] for c in chunks[:-1]), answer["choices"][0]["text"])
        self.assertEqual(chunks[-1]["usage"], answer["usage"])

    def test_chat(self):
        status, text = self.get(
            self.port, "/v1/chat/completions", {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 2}
        )
        self.assertEqual(status, 200)
        self.assertEqual(len(json.loads(text)["choices"][0]["message"]["content"].split()), 2)

    def test_many_clients_at_once_get_what_one_gets(self):
        ask = {"prompt": [5, 6, 7, 8], "max_tokens": 20}
        alone = json.loads(self.get(self.port, "/v1/completions", ask)[1])["choices"]
        got = []
        threads = [
            threading.Thread(target=lambda: got.append(json.loads(self.get(self.port, "/v1/completions", ask)[1])))
            for _ in range(12)
        ]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual([g["choices"] for g in got], 12 * [alone])

    def test_bad_requests_are_refused(self):
        for body in ({"prompt": []}, {"prompt": [1], "max_tokens": 1000}, {"prompt": [-1]}, {"prompt": 7}, {}):
            with self.subTest(body):
                self.assertEqual(self.get(self.port, "/v1/completions", body)[0], 400)
        self.assertEqual(self.get(self.port, "/nosuch")[0], 404)
        self.assertEqual(self.get(self.port, "/start_profile", {"activities": ["GPU"]})[0], 400)

    def test_both_styles_of_profile_endpoints(self):
        state = json.loads(self.get(self.port, "/start_profile", {})[1])
        self.assertEqual(state["profiler_active"], 1)
        state = json.loads(self.get(self.port, "/stop_profile", {})[1])
        self.assertEqual(state["profiler_active"], 0)
        self.get(self.port, "/start_profile", {"activities": ["CUDA_PROFILER"], "num_steps": 2})
        self.get(self.port, "/v1/completions", {"prompt": [1], "max_tokens": 8})
        self.assertIn("llm_server_profiler_active 0", self.get(self.port, "/metrics")[1])

    def test_a_taken_port_is_said_at_once(self):
        other = self.start(self.port)
        _, err = other.communicate(timeout=60)
        self.assertEqual(other.returncode, 2)
        self.assertIn(f"127.0.0.1:{self.port}", err)

    def test_the_end_of_the_worker_ends_the_server(self):
        port = free_port()
        other = self.start(port)
        self.wait(port)
        children = subprocess.run(
            ["ps", "-o", "pid=,args=", "--ppid", str(other.pid)], capture_output=True, text=True, check=True
        ).stdout.splitlines()
        worker = [int(line.split()[0]) for line in children if "spawn_main" in line]
        self.assertEqual(len(worker), 1, children)
        os.kill(worker[0], signal.SIGKILL)
        _, err = other.communicate(timeout=60)
        self.assertEqual(other.returncode, 1)
        self.assertIn("worker has ended", err)
