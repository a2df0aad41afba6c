"""One representative pass under torch.profiler: operators.json and a Chrome trace."""

import gzip
import os
import shutil

from session import failure, ranges
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

_RANGES = {"prefill", "decode", "step", "stem", "residual", "head"}


def refuse_second_profiler(environment):
    """CUPTI serves one profiler a process: torch's would fail or, worse, silence the other."""
    for variable, tool in _WATCHED_BY.items():
        if variable in environment:
            raise SessionError(
                failure.EXCEPTION,
                f"torch.profiler cannot run under {tool}: CUPTI serves one profiler in a process",
                "run the stages separately, as `deepprof run` does",
            )


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
    ) as profiler:
        record, _ = session.measure(inputs, session.ranges, options["rep_max_new_tokens"])
        context.clock.synchronize()
    by_shape = bool(options["group_by_input_shape"])
    averages = profiler.key_averages(
        group_by_input_shape=by_shape, group_by_stack_n=_STACK_DEPTH if options["with_stack"] else 0
    )
    labels = _RANGES | set(context.model["stage_hooks"] or {})
    rows = [row_of(event, labels, options) for event in averages if not is_shadow(event, labels)]
    rows.sort(key=lambda row: (-row["device_self_us"], -row["cpu_self_us"], row["name"]))
    notes = []
    if "cuda" in activities and not any(row["device_self_us"] > 0 for row in rows):
        notes.append("no device time was recorded: CUPTI may be in use by another profiler or not permitted")
    write_json(
        os.path.join(context.out, "operators.json"),
        {
            "schema": SCHEMA,
            "activities": list(activities),
            "group_by_input_shape": by_shape,
            "new_tokens": record.get("new_tokens"),
            "prompt_tokens": record.get("prompt_tokens"),
            "notes": notes,
            "operators": rows,
        },
    )
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
            f"torch.profiler has nothing to record on {device} with activities {options['activities']}",
            "add cpu to pipeline.torch_profiler.activities",
        )
    return wanted


def is_shadow(event, labels):
    """The span on the device that torch draws below a label: it repeats the label's own row and is no work."""
    return _on_device(event) and (getattr(event, "is_user_annotation", False) or event.key in labels)


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
    if event.key.startswith(("cuda", "cuLaunch", "cuMem", "cuStream", "cuKernel", "cuGraph")):
        return "runtime"
    return "operator"


def _write_trace(profiler, out):
    plain = os.path.join(out, "trace.json")
    profiler.export_chrome_trace(plain)
    packed = plain + ".gz"
    with open(plain, "rb") as source, gzip.open(packed + ".part", "wb", compresslevel=6) as target:
        shutil.copyfileobj(source, target)
    os.replace(packed + ".part", packed)
    os.remove(plain)
