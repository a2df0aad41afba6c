#!/usr/bin/env python3
"""Whether a launch is in a module of another thread: threads.py REPORT.sqlite, with DEEPPROF, the path of the binary.

What deepprof says of each launch (`show launches`) is held against the file itself: the push/pop ranges that were open on the thread that
launched it, when it did. Of the program "threads" of program.py the names of kernels tell besides which module computed them: that is checked
where the timeline has all four modules, since other programs use these functions elsewhere (the rotation of a Llama is a sine).
"""

import bisect
import json
import os
import re
import sqlite3
import subprocess
import sys

# function -> the modules of program.threads() that compute it; autograd's thread calls a Part again that is trained
PARTS = {"sin": {"Left"}, "floor": {"Right"}, "erf": {"middle"}, "tanh": {"trained", "Part"}}
BACK = "tanh_backward"  # launched by a thread of autograd, which calls no module
FUNCTION = re.compile(r"::(\w+?)_kernel_cuda\b")


def stacks(db):
    """For each thread the moments at which its stack of push/pop ranges changes, and the stack from then on. A range that was never closed
    stays open."""
    names = dict(db.execute("select id, value from StringIds"))
    events = {}
    for tid, start, end, text, number in db.execute("select globalTid, start, end, text, textId from NVTX_EVENTS where eventType = 59 and ifnull(domainId, 0) = 0"):
        end, text = end if end is not None else 1 << 62, text if text is not None else names[number]
        events.setdefault(tid, []).extend([(start, 1, -end, text), (end, 0, -start, text)])
    found = {}
    for tid, changes in events.items():
        stack, times, states = [], [], []
        for time, opens, _, text in sorted(changes):
            if opens:
                stack.append(text)
            else:
                stack.pop()
            times.append(time)
            states.append("/".join(stack))
        found[tid] = times, states
    return found


def check(path):
    db = sqlite3.connect(path)
    open_ranges = stacks(db)
    calls = {}  # (pid, correlation) -> (thread, time of the call)
    for tid, start, number in db.execute("select globalTid, start, correlationId from CUPTI_ACTIVITY_KIND_RUNTIME"):
        calls[tid >> 24 & 0xFFFFFF, number] = tid, start
    out = subprocess.run([os.environ["DEEPPROF"], "show", "launches", path, "--json", "--all"], capture_output=True, text=True, check=True)
    rows = json.loads(out.stdout)["rows"]
    told = {"launches": len(rows), "threads_that_launch": 0, "in_ranges": 0, "of_another_thread": 0, "wrong_module": 0, "known_by_function": 0}
    threads, parts = set(), set.union(*PARTS.values()) - {"Part"}
    by_function = parts <= {name for row in rows for name in row["nvtx"].split("/")}
    for row in rows:
        call = calls.get((row["process"], row["correlation"]))
        if call is None:
            continue
        tid, at = call
        threads.add(tid)
        times, states = open_ranges.get(tid, ([], []))
        i = bisect.bisect_right(times, at)
        here = states[i - 1] if i else ""
        told["in_ranges"] += bool(row["nvtx"])
        said = row["nvtx_all"][0] if here and row.get("nvtx_all") else row["nvtx"]
        # a thread without ranges of its own can be in a range of all threads only
        told["of_another_thread"] += said != here if here else said not in ("", "backward")
        function = FUNCTION.search(row["kernel"])
        function = function and by_function and function.group(1)
        if function in PARTS:
            told["known_by_function"] += 1
            told["wrong_module"] += PARTS[function].isdisjoint(said.split("/"))
        elif function == BACK:
            told["known_by_function"] += 1
            told["wrong_module"] += said not in ("", "backward")
    told["threads_that_launch"] = len(threads)
    return told


if __name__ == "__main__":
    print(json.dumps(check(sys.argv[1])))
