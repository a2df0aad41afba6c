package message

import "github.com/deepprof/deepprof/internal/fact"

// ofTimeline are the words for what a reader found wrong with a timeline, or had to assume.
// internal/nsys and internal/timeline state them as warnings of every view.
//
// table and column are names of the SQLite export; n counts rows or events, time is their GPU
// time and of_time that of all.
var ofTimeline = map[fact.Code]words{
	"timeline-file":                 {Text: "{text}"},
	"timeline-schema":               {Text: "the export has schema {schema} and this reader knows {known}.x: what it does not know is left out"},
	"timeline-table-damaged":        {Text: "table {table} is damaged: {why}"},
	"timeline-table-lost":           {Text: "table {table} cannot be read: {why}"},
	"timeline-column-missing":       {Text: "table {table} lacks the column {columns}: it is not read"},
	"timeline-columns-unknown":      {Text: "table {table} has {n:unknown column|unknown columns} that are not read: {columns}"},
	"timeline-rows-skipped":         {Text: "table {table}: {n:row has|rows have} no usable time or key and are skipped"},
	"timeline-gpu-impossible":       {Text: "table {table} gives GPU {gpu} an impossible {column} ({value}): it counts as unknown"},
	"timeline-names-missing":        {Text: "{n:name refers|names refer} to no entry of StringIds: numbers stand for them"},
	"timeline-ends-early":           {Text: "{n} {what} end before they start: they are kept as they are"},
	"timeline-endless":              {Text: "{n} {what} last longer than 64 bits can tell: they count as the longest time there is"},
	"python-without-frames":         {Text: "the timeline has {n:sample|samples} of Python without the code that ran", Next: "export the report again with nsys 2025.3 or later: nsys export --type=sqlite --include-json=true"},
	"timeline-unclosed":             {Text: "{n:NVTX range was|NVTX ranges were} never closed: their time is counted to the last NVTX event"},
	"timeline-no-kernels":           {Text: "no CUDA kernels were recorded (the file has no table {table})"},
	"timeline-no-calls":             {Text: "no CUDA calls were recorded: work cannot be joined to NVTX ranges (the file has no table {table})"},
	"timeline-no-ranges":            {Text: "no NVTX ranges were recorded (the file has no table {table})"},
	"timeline-graphs-whole":         {Text: "CUDA graphs were traced as a whole: the kernels in them are missing", Next: "capture with pipeline.nsys.cuda_graph_trace=node (--cuda-graph-trace=node)"},
	"profiler-says":                 {Text: "the profiler says: {text}"},
	"capture-graphs-whole":          {Text: "{n:launch|launches} of CUDA graphs were traced as a whole, without their kernels: their GPU time, {time}, has no layer", Next: "capture with pipeline.nsys.cuda_graph_trace=node"},
	"capture-no-graphs":             {Text: "no CUDA graph was replayed: the regions are those of the launches"},
	"capture-no-nodes":              {Text: "{n:piece|pieces} of work that CUDA graphs replayed ({of_time}) have no range of capture, because the file does not tell of their nodes", Next: "capture with pipeline.nsys.cuda_graph_trace=node and a recent nsys"},
	"capture-nodes-lost":            {Text: "{n} of {of} pieces of work that CUDA graphs replayed ({time} of {of_time}) have no range of capture: the rows of their nodes are missing", Next: "start nsys, or open a window, before the graphs are captured"},
	"capture-before-file":           {Text: "{n} of {of} pieces of work that CUDA graphs replayed ({time} of {of_time}) were captured before this file begins, so their ranges are not in it", Next: "open a window before the graphs are captured"},
	"time-in-layers":                {Text: "{share} of the GPU time is in a module: {time} of {of_time}"},
	"timeline-overflow":             {Text: "sums of times are larger than 64 bits hold: they stand at the largest number there is"},
	"timeline-no-launch":            {Text: "{n:piece|pieces} of GPU work have no launching call in the file: they count as outside every range"},
	"timeline-deep-ranges":          {Text: "{n:range is|ranges are} nested deeper than {most} levels: they count as one level called {name}"},
	"timeline-many-domains":         {Text: "{n:open range was|open ranges were} left out where more than {most} domains are open around one launch"},
	"timeline-many-open":            {Text: "{n:open start/end range was|open start/end ranges were} left out of launches that lie in too many of them"},
	"timeline-many-held":            {Text: "{n:start/end range was|start/end ranges were} given up because more than {most} of a process are open at a time"},
	"view-projected-without-graphs": {Text: "projected time leaves out CUDA graphs that were traced as a whole, as nsys does; GPU busy counts them"},
	"timeline-shared-calls":         {Text: "{n:CUDA call shares its|CUDA calls share their} correlation ID with an earlier call of the process: the earliest counts as the launch"},
}
