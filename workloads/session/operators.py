"""One representative pass under torch.profiler: operators.json and a Chrome trace."""

import gzip
import math
import os
import re
import shutil

from session import failure, modules, ranges
from session.facts import fact
from session.failure import SessionError, write_json

SCHEMA = 1

# Variables that Nsight's tools set for the programs they watch.
_WATCHED_BY = {
    "NSYS_PROFILING_SESSION_ID": "Nsight Systems",
    "NV_TPS_LAUNCH_TOKEN": "Nsight Compute",
    "NV_NSIGHT_INJECTION_TRANSPORT_TYPE": "Nsight Compute",
}

# Callers that a row keeps when stacks are asked for.
_STACK_DEPTH = 5

# Kernels that a row keeps, by time.
_KERNELS = 8

# Modules that a row keeps, by time.
_MODULES = 8

# Callers that are followed: more than any stack of operators has.
_DEEPEST = 1000

# Rows of what CUPTI calls overhead, and of calls that Kineto cannot name (INVALID): torch lists both among operators.
OVERHEAD = {
    "INVALID",
    "Activity Buffer Request",
    "Buffer Flush",
    "Command Buffer Full",
    "Driver Compiler",
    "Force Int",
    "Instrumentation",
    "Lazy Function Loading",
    "Resource",
    "Runtime Triggered Module Loading",
    "UVM Activity Init",
    "Unknown",
    "Unrecognized",
}

# Calls to the CUDA runtime and driver: cudaLaunchKernel, cuLaunchKernelEx; not cudnn_x nor cuda_x.
_RUNTIME = re.compile(r"cu(da)?[A-Z]")

_RANGES = {"prefill", "decode", "step", "stem", "residual", "head"}


def refuse_second_profiler(environment):
    """CUPTI serves one profiler a process: torch's would fail or, worse, silence the other."""
    for variable, tool in _WATCHED_BY.items():
        if variable in environment:
            raise SessionError(failure.EXCEPTION, fact("session-second-profiler", tool=("name", tool)))


def profile(context, session, inputs, backend):
    """Runs one pass and writes operators.json and, if asked for, trace.json.gz. Returns the record of the pass."""
    torch, options = context.torch, context.spec["torch_profiler"]
    activities = _activities(torch, options, context.device)
    recorded = ranges.Recorded(backend, torch.profiler.record_function)
    session.ranges.use(recorded)
    with torch.profiler.profile(
        activities=list(activities.values()),
        record_shapes=bool(options["record_shapes"]),
        profile_memory=bool(options["profile_memory"]),
        with_stack=bool(options["with_stack"]),
        **(_stacks(torch) if options["with_stack"] else {}),
    ) as profiler:
        with modules.labelled(torch, session.profiled_model(), context.spec["infer"]["compile"]):
            record, _ = session.measure(inputs, session.ranges, options["rep_max_new_tokens"])
            context.clock.synchronize()
    by_shape = bool(options["group_by_input_shape"])
    stack_depth = _STACK_DEPTH if options["with_stack"] else 0
    averages = profiler.key_averages(group_by_input_shape=by_shape, group_by_stack_n=stack_depth)
    labels = _RANGES | set(context.model["stage_hooks"] or {})
    links = Links(labels, by_shape, stack_depth)
    links.walk(profiler.events())
    rows = []
    for event in averages:
        if not is_shadow(event, labels) and not _is_module(event):
            rows.append(row_of(event, labels, options))
            links.attach(rows[-1], event)
    rows.sort(key=lambda row: (-row["device_self_us"], -row["cpu_self_us"], row["name"]))
    notes = []
    if "cuda" in activities and not any(row["device_self_us"] > 0 for row in rows):
        notes.append(fact("operators-no-device-time"))
    table = {
        "schema": SCHEMA,
        "activities": list(activities),
        "group_by_input_shape": by_shape,
        "new_tokens": record.get("new_tokens"),
        "prompt_tokens": record.get("prompt_tokens"),
        "notes": notes + links.notes + links.unattached(),
        "operators": rows,
    }
    unlaunched = links.unlaunched()
    if unlaunched:
        table["notes"].append(unlaunched["note"])
        table["unlaunched"] = unlaunched
    write_json(os.path.join(context.out, "operators.json"), table)
    if options["chrome_trace"]:
        _write_trace(profiler, context.out)
    return record


def _activities(torch, options, device):
    known = torch.profiler.ProfilerActivity
    wanted = {name: getattr(known, name.upper()) for name in options["activities"]}
    if not device.startswith("cuda"):
        wanted.pop("cuda", None)
    if not wanted:
        raise SessionError(
            failure.EXCEPTION,
            fact("session-nothing-recorded", device=("name", str(device)), names=("name", options["activities"])),
        )
    return wanted


def _stacks(torch):
    """What makes torch 2 hand out Python stacks: with_stack alone leaves those of events empty."""
    config = getattr(getattr(torch._C, "_profiler", None), "_ExperimentalConfig", None)
    try:
        return {"experimental_config": config(verbose=True)} if config else {}
    except TypeError:  # a release that takes no such word
        return {}


def is_shadow(event, labels):
    """The span on the device that torch draws below a label: it repeats the label's own row and is no work."""
    label = getattr(event, "is_user_annotation", False) or event.key in labels or _is_module(event)
    return _on_device(event) and label


def _is_module(event):
    return event.key.startswith(modules.PREFIX)


def _on_device(event):
    return str(getattr(event, "device_type", "")).endswith("CUDA")


def row_of(event, labels, options):
    """One row of the table; times in microseconds. Device time was called cuda time before torch 2.6."""

    def device(name):
        # The old names still exist beside the new ones for a while, and warn.
        newer = name.format("device")
        return float(getattr(event, newer if hasattr(event, newer) else name.format("cuda"), 0) or 0)

    calls = event.count
    cpu_total, device_total = float(event.cpu_time_total), device("{}_time_total")
    row = {
        "name": event.key,
        "kind": kind_of(event, labels),
        "calls": calls,
        "cpu_self_us": float(event.self_cpu_time_total),
        "cpu_total_us": cpu_total,
        "cpu_mean_us": cpu_total / calls if calls else None,
        "device_self_us": device("self_{}_time_total"),
        "device_total_us": device_total,
        "device_mean_us": device_total / calls if calls else None,
        "shapes": event.input_shapes if options["group_by_input_shape"] else None,
    }
    if options["profile_memory"]:
        row["cpu_memory_bytes"] = event.self_cpu_memory_usage
        row["device_memory_bytes"] = int(device("self_{}_memory_usage"))
    if options["with_stack"]:
        row["stack"] = list(event.stack or [])
    return row


def kind_of(event, labels):
    """range: a label of the session; kernel: work on the device; runtime: a CUDA call; operator: everything else."""
    if event.key in labels:
        return "range"
    if _on_device(event):
        return "kernel"
    if _RUNTIME.match(event.key):
        return "runtime"
    return "operator"


class Links:
    """Which kernels the operators of each row launched, themselves or through the operators that they call.

    Releases of torch differ in what an event has: what is missing gives no link and a note, never a failure.
    """

    def __init__(self, labels, by_shape, stack_depth):
        self.labels, self.by_shape, self.stack_depth = labels, by_shape, stack_depth
        self.notes = []
        self.known = False
        self._nested = False  # events tell which operator called them
        self._rows = {}  # by the group of a row: (kernel, own) -> [calls, us, {launching operator: us}]
        self._device = {}  # by kernel: [calls, us], all that ran
        self._linked = {}  # by kernel: [calls, us], what an operator launched
        self._modules = {}  # by the group of a row: place of a module -> [calls, us]
        self._graphs = 0

    def walk(self, events):
        """Goes through the events of a profile once."""
        try:
            events = list(events or [])
            self.known = any(hasattr(event, "kernels") for event in events)
            if events and not self.known:
                self.notes.append(fact("operators-no-launchers"))
                return
            if any(getattr(event, "is_legacy", False) for event in events):
                self.known = False
                self.notes.append(fact("operators-no-cupti"))
                return
            self._nested = any(hasattr(event, "cpu_parent") for event in events)
            if events and not self._nested:
                self.notes.append(fact("operators-no-callers"))
            for event in events:
                self._take(event)
        except (AttributeError, TypeError, ValueError) as error:
            self.known = False
            self.notes.append(fact("operators-other-events", error=("error", str(error))))

    def _take(self, event):
        if _on_device(event):
            if not is_shadow(event, self.labels):
                _add(self._device, event.key, _elapsed(event))
            return
        kind = kind_of(event, self.labels)
        if event.key.startswith(("cudaGraphLaunch", "cuGraphLaunch")):
            self._graphs += 1
        # torch hands the kernels of an operator to every event of the CPU that has its number and does not itself
        # belong to an operator. Calls to the runtime outside of operators, and CUPTI's overhead, have numbers of
        # CUPTI's own, which overlap with those of operators: what they get is an operator's already.
        if kind == "runtime" or event.key in OVERHEAD or _is_module(event):
            return
        module = self._module(event)
        if module and kind == "operator":
            self._in_module(self._group(event), module, 1, 0.0)
        launched = [(kernel.name, _duration(kernel)) for kernel in getattr(event, "kernels", None) or []]
        if not launched:
            return
        own = self._group(event)
        callers = self._callers(event) - {own}
        for name, us in launched:
            if kind == "operator":
                _add(self._linked, name, us)
            self._link(own, name, True, us, event.key)
            for group in callers:
                self._link(group, name, False, us, event.key)
            for group in callers | {own} if module else ():
                self._in_module(group, module, 0, us)

    def _module(self, event):
        """The place of the innermost module around an event; "" outside all, and where nobody can tell."""
        parent = getattr(event, "cpu_parent", None)
        for _ in range(_DEEPEST):
            if parent is None:
                break
            if _is_module(parent):
                return parent.key[len(modules.PREFIX) :]
            parent = getattr(parent, "cpu_parent", None)
        return ""

    def _in_module(self, group, module, calls, us):
        sums = self._modules.setdefault(group, {}).setdefault(module, [0, 0.0])
        sums[0] += calls
        sums[1] += us

    def _callers(self, event):
        """The groups around an event, each once: an operator that calls itself runs a kernel once."""
        groups, parent = set(), getattr(event, "cpu_parent", None)
        for _ in range(_DEEPEST):
            if parent is None:
                break
            if not _is_module(parent):
                groups.add(self._group(parent))
            parent = getattr(parent, "cpu_parent", None)
        return groups

    def _group(self, event):
        """What key_averages puts into one row. Overloads of an operator share one: they are not asked for."""
        shapes = str(getattr(event, "input_shapes", "")) if self.by_shape else ""
        stack = tuple((getattr(event, "stack", None) or [])[: self.stack_depth]) if self.stack_depth else ()
        parts = (getattr(event, name, None) for name in ("node_id", "device_type", "is_legacy", "is_user_annotation"))
        return event.key, *map(str, parts), shapes, stack

    def _link(self, group, name, own, us, launcher):
        sums = self._rows.setdefault(group, {}).setdefault((name, own), [0, 0.0, {}])
        sums[0] += 1
        sums[1] += us
        sums[2][launcher] = sums[2].get(launcher, 0.0) + us

    def attach(self, row, event):
        """Writes the kernels of a row of the table, those that take longest first, and their sum as device_total_us.

        torch's own total has kernels twice where an operator calls itself, and those that it handed to calls and to
        overhead inside of the operator.
        """
        sums = self._rows.pop(self._group(event), {})
        places = self._modules.get(self._group(event))
        if places and row["kind"] == "operator":
            order = sorted(places.items(), key=lambda item: (-item[1][1], -item[1][0], item[0]))
            row["modules"] = [{"name": name, "calls": calls, "us": us} for name, (calls, us) in order[:_MODULES]]
        if not self.known or row["kind"] not in ("operator", "range") or row["name"] in OVERHEAD:
            return
        if self._nested:
            total = sum((us for _, us, _ in sums.values()), 0.0)
            row["device_total_us"] = total
            row["device_mean_us"] = total / row["calls"] if row["calls"] else None
        order = sorted(sums.items(), key=lambda item: (-item[1][1], item[0]))
        row["kernels"] = []
        for (name, own), (calls, us, launchers) in order[:_KERNELS]:
            kernel = {"name": name, "calls": calls, "us": us, "own": own}
            if not own:
                kernel["by"] = max(sorted(launchers), key=launchers.get)
            row["kernels"].append(kernel)
        more = order[_KERNELS:]
        if more:
            row["kernels_more"] = {
                "kernels": len(more),
                "calls": sum(calls for _, (calls, _, _) in more),
                "us": sum(us for _, (_, us, _) in more),
                "own_us": sum((us for (_, own), (_, us, _) in more if own), 0.0),
            }

    def unattached(self):
        """A note where kernels are left after every row was attached: they belong to rows that do not exist."""
        if not self.known or not self._rows:
            return []
        names = sorted({group[0] for group in self._rows})
        return [fact("operators-unattached", n=("count", len(self._rows)), name=("name", names[0]))]

    def unlaunched(self):
        """The work on the device that no operator launched, None where there is none or nobody can tell."""
        if not self.known:
            return None
        calls, us = 0, 0.0
        for name, (ran, took) in self._device.items():
            linked = self._linked.get(name, (0, 0.0))
            if ran > linked[0]:
                calls += ran - linked[0]
                us += max(0.0, took - linked[1])
        if not calls:
            return None
        params = {"calls": ("count", calls), "time": ("ns", us * 1000)}
        if self._graphs:
            params["graphs"] = ("count", self._graphs)
        note = fact("operators-unlaunched", **params)
        return {"calls": calls, "us": us, "graph_launches": self._graphs, "note": note}


def _add(sums, name, us):
    entry = sums.setdefault(name, [0, 0.0])
    entry[0] += 1
    entry[1] += us


def _duration(kernel):
    return _positive(getattr(kernel, "duration", 0))


def _elapsed(event):
    span = getattr(event, "time_range", None)
    return _positive(span.end - span.start) if span is not None else 0.0


def _positive(us):
    us = float(us or 0)
    return us if math.isfinite(us) and us > 0 else 0.0


def _write_trace(profiler, out):
    plain = os.path.join(out, "trace.json")
    profiler.export_chrome_trace(plain)
    packed = plain + ".gz"
    with open(plain, "rb") as source, gzip.open(packed + ".part", "wb", compresslevel=6) as target:
        shutil.copyfileobj(source, target)
    os.replace(packed + ".part", packed)
    os.remove(plain)
