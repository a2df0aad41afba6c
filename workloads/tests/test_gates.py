"""The gates between which Nsight Compute counts, without CUDA: what opens and closes them, and when."""

import json
import os
import sys
import tempfile
import types
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "annotate"))

import deepprof_annotate_gates as gates_of  # noqa: E402


def fake_torch(log, runtime):
    nvtx = types.SimpleNamespace(range_push=lambda msg: log.append("+" + msg), range_pop=lambda: log.append("-"))
    profiler = types.SimpleNamespace(start=lambda: log.append("start"), stop=lambda: log.append("stop"))
    graph = type("CUDAGraph", (), {"replay": lambda self: log.append("replay")})
    cuda = types.SimpleNamespace(nvtx=nvtx, profiler=profiler, CUDAGraph=graph)
    if runtime:
        cuda._cudart = types.SimpleNamespace(
            cudaProfilerStart=lambda: log.append("start"), cudaProfilerStop=lambda: log.append("stop")
        )
    return types.SimpleNamespace(cuda=cuda)


class GatesTest(unittest.TestCase):
    def install(self, switches, runtime=True):
        log = []
        torch = fake_torch(log, runtime)
        annotator = types.SimpleNamespace(range_push=lambda n: log.append("+" + n), range_pop=lambda: log.append("-"))
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(switches, file)
            file.flush()
            gates_of.install(torch, annotator, file.name)
        return log, torch, annotator

    def test_opens_and_closes_at_the_instance_that_is_named(self):
        for runtime in (True, False):
            switches = [
                {"path": ["step", "mlp"], "n": 2, "open": True},
                {"path": ["step", "mlp"], "n": 2, "exit": True},
            ]
            log, torch, annotator = self.install(switches, runtime)
            for _ in range(3):
                torch.cuda.nvtx.range_push("step")  # the program's own range
                annotator.range_push("mlp")  # ours
                log.append("launch")
                annotator.range_pop()
                torch.cuda.nvtx.range_pop()
            once = ["+step", "+mlp", "launch", "-", "-"]
            self.assertEqual(log, once + ["+step", "+mlp", "start", "launch", "-", "stop", "-"] + once)

    def test_a_path_is_more_than_its_last_name(self):
        log, _, annotator = self.install([{"path": ["prefill", "mlp"], "n": 1, "open": True}])
        for outer in ("warm", "prefill"):
            annotator.range_push(outer)
            annotator.range_push("mlp")
            annotator.range_pop()
            annotator.range_pop()
        self.assertEqual(log, ["+warm", "+mlp", "-", "-", "+prefill", "+mlp", "start", "-", "-"])

    def test_the_program_cannot_open_the_gate(self):
        log, torch, annotator = self.install([{"path": ["a"], "n": 1, "open": True}])
        torch.cuda.profiler.start()
        torch.cuda._cudart.cudaProfilerStart()
        torch.cuda.profiler.stop()
        self.assertEqual(log, [])
        annotator.range_push("a")
        self.assertEqual(log, ["+a", "start"])

    def test_a_gate_that_does_not_open_harms_nobody(self):
        said = []

        def broken():
            raise RuntimeError("no device")

        gates = gates_of.Gates([{"path": ["a"], "n": n, "open": True} for n in (1, 2)], broken, broken, said.append)
        for _ in range(2):
            gates.enter("a")
            gates.leave()
        self.assertEqual(said, ["RuntimeError: no device"])

    def test_a_server_counts_while_a_file_is_there(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "open")
            log, torch, annotator = self.install({"while": file})

            def step(inside=lambda: None):
                annotator.range_push("Llama")
                inside()
                annotator.range_push("mlp")
                annotator.range_pop()
                annotator.range_pop()
                torch.cuda.CUDAGraph().replay()

            def arm():
                with open(file, "w"):
                    pass

            once = ["+Llama", "+mlp", "-", "-", "replay"]
            step()
            step(arm)  # inside a pass: the next work that no range is around opens the gate
            self.assertEqual(log, once + ["+Llama", "+mlp", "-", "-", "start", "replay"])
            log.clear()
            step()
            self.assertEqual(log, once)
            log.clear()
            os.remove(file)
            step()
            step()
            self.assertEqual(log, ["+Llama", "stop"] + once[1:] + once)
            torch.cuda._cudart.cudaProfilerStart()  # the program's own calls do nothing
            self.assertEqual(log[-1], "replay")

    def test_a_server_whose_gate_does_not_open_goes_on(self):
        said = []

        def broken():
            raise RuntimeError("no device")

        gates = gates_of.Armed(os.devnull, broken, broken, said.append)
        for _ in range(3):
            gates.enter("a")
            gates.leave()
        self.assertEqual(said, ["RuntimeError: no device"])

    def test_a_pop_too_many_is_no_error(self):
        log, _, annotator = self.install([])
        annotator.range_pop()
        annotator.range_push("a")
        self.assertEqual(log, ["-", "+a"])


if __name__ == "__main__":
    unittest.main()
