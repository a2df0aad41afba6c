"""Events as torch.profiler makes them of the records of Kineto, for tests without a GPU.

Written after pytorch/pytorch: torch/autograd/profiler_util.py at 006bb57b8daf (FunctionEvent, EventList,
FunctionEventAvg) and torch/autograd/profiler.py at fb0f68eeef2f (_parse_kineto_results): the names of attributes, which
event gets which kernels, who calls whom, and which events make one row. Times of records are in nanoseconds, as
Kineto's are; those of events in microseconds, as torch's are.
"""

import collections
import types

from torch.autograd import DeviceType

Kernel = collections.namedtuple("Kernel", ["name", "device", "duration"])

CPU, CUDA = DeviceType.CPU, DeviceType.CUDA


class Record:
    """What Kineto recorded. number: of torch for operators and labels, of CUPTI for all else. operator: the number of
    the operator in which a call was made, or whose call launched this work; 0 outside of operators."""

    def __init__(self, name, start, end, number=0, operator=0, device=CPU, **more):
        self.name, self.start, self.end, self.number, self.operator, self.device = (
            name,
            start,
            end,
            number,
            operator,
            device,
        )
        self.more = more


class FunctionEvent:
    def __init__(self, record):
        self.id = record.number
        self.node_id = -1
        self.name = record.name
        self.overload_name = ""
        self.trace_name = record.name
        self.time_range = types.SimpleNamespace(start=record.start / 1000, end=record.end / 1000)
        self.thread = 1
        self.fwd_thread = 0
        self.kernels = []
        self.count = 1
        self.cpu_children = []
        self.cpu_parent = None
        self.input_shapes = []
        self.concrete_inputs = []
        self.kwinputs = {}
        self.stack = []
        self.scope = 0
        self.use_device = "cuda"
        self.cpu_memory_usage = 0
        self.device_memory_usage = 0
        self.is_async = False
        self.is_remote = False
        self.sequence_nr = -1
        self.device_type = record.device
        self.device_index = 0
        self.device_resource_id = 1
        self.is_legacy = False
        self.flops = 0
        self.is_user_annotation = False
        self.metadata_json = None
        for name, value in record.more.items():
            if name not in vars(self):
                raise AttributeError(f"FunctionEvent of torch has no {name}")
            setattr(self, name, value)

    @property
    def key(self):
        return self.name

    @property
    def elapsed(self):
        return self.time_range.end - self.time_range.start

    @property
    def cpu_time_total(self):
        return self.elapsed if self.device_type == CPU else 0

    @property
    def self_cpu_time_total(self):
        if self.is_async or self.device_type != CPU:
            return 0
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    @property
    def device_time_total(self):
        if self.is_async or not self.use_device:
            return 0
        if self.device_type != CPU:
            return self.elapsed
        own = sum(kernel.duration for kernel in self.kernels)
        # The one kernel of a legacy event is made up, and has the time of the called operators in it.
        return own if self.is_legacy else own + sum(child.device_time_total for child in self.cpu_children)

    @property
    def self_device_time_total(self):
        if self.is_async or not self.use_device or self.device_type != CPU:
            return self.device_time_total
        return self.device_time_total - sum(child.device_time_total for child in self.cpu_children)

    self_cpu_memory_usage = self_device_memory_usage = 0


def events_of(records):
    """profiler.events(): kernels are events of the device, and copied to the events of the CPU that have the number."""
    events = [FunctionEvent(record) for record in records]
    within = collections.defaultdict(list)
    for event, record in zip(events, records):
        within[record.operator].append(event)
    for event, record in zip(events, records):
        if record.operator or event.device_type != CPU or event.is_async or not event.id:
            continue
        for other in within[event.id]:
            if other.device_type == CUDA:
                event.kernels.append(Kernel(other.name, other.device_index, other.elapsed))
    events.sort(key=lambda event: (event.time_range.start, -event.time_range.end))
    _nest(events)
    return _without_doubles(events)


def _nest(events):
    """Who lies within whom, on one thread."""
    around = []
    for event in events:
        if event.is_async or event.device_type != CPU:
            continue
        span = event.time_range
        while around and (span.start >= around[-1].time_range.end or span.end > around[-1].time_range.end):
            around.pop()
        if around:
            event.cpu_parent = around[-1]
            around[-1].cpu_children.append(event)
        around.append(event)


def _without_doubles(events):
    """An only child of its parent's name is taken out, and its kernels become the parent's."""
    while True:
        doubles = set()
        for event in events:
            parent = event.cpu_parent
            if parent is not None and parent.name == event.name and len(parent.cpu_children) == 1:
                parent.cpu_children, parent.kernels = event.cpu_children, event.kernels
                for child in event.cpu_children:
                    child.cpu_parent = parent
                doubles.add(id(event))
        if not doubles:
            return events
        events = [event for event in events if id(event) not in doubles]


_SUMS = (
    "count",
    "cpu_time_total",
    "self_cpu_time_total",
    "device_time_total",
    "self_device_time_total",
    "self_cpu_memory_usage",
    "self_device_memory_usage",
)


def key_averages(events, group_by_input_shape=False, group_by_stack_n=0):
    """profiler.key_averages(): FunctionEventAvg has what its first event has, and sums."""
    rows = {}
    for event in events:
        key = [event.key, event.node_id, event.device_type, event.is_legacy, event.is_user_annotation]
        if group_by_input_shape:
            key.append(event.input_shapes)
        if group_by_stack_n:
            key += event.stack[:group_by_stack_n]
        row = rows.get(str(key))
        if row is None:
            copied = ("key", "node_id", "is_async", "is_remote", "use_device", "device_type", "is_legacy", "scope")
            row = types.SimpleNamespace(**{name: getattr(event, name) for name in copied})
            row.is_user_annotation = event.is_user_annotation
            row.input_shapes = event.input_shapes if group_by_input_shape else ""
            row.stack = event.stack[:group_by_stack_n]
            row.overload_name = ""
            for name in _SUMS:
                setattr(row, name, 0)
            rows[str(key)] = row
        for name in _SUMS:
            setattr(row, name, getattr(row, name) + getattr(event, name))
    return list(rows.values())
