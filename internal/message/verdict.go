package message

import "github.com/deepprof/deepprof/internal/fact"

// printed are words for what a profiler's message or a verdict means. The line
// that the profiler printed follows where the fact has it.
func printed(cause, next string) words {
	return words{Text: cause + "[ ({text_of_vendor})]", Next: next}
}

// verdictWords are the likely cause of each verdict of internal/capture and what to do, where
// nothing better is known. They take no parameters: evidence stands beside them.
// docs/outcomes.md lists them.
var verdictWords = map[fact.Code]words{
	"verdict-captured-with-warnings":       printed("the run worked; what the profiler or the workload complained about is listed", "read the warnings"),
	"verdict-captured-in-part":             printed("the workload did not run to its end under the profiler; its last events are lost", "mistrust the end of the timeline; fix the workload and run again for a whole one"),
	"verdict-asked-for-data-missing":       printed("the workload did not do what was to be measured, or the profiler could not see it", "check that the workload uses the GPU and NVTX in a process that the profiler follows"),
	"verdict-output-elsewhere":             printed("the profiler could not write where it was told to and wrote under TMPDIR", "take the report from the path named"),
	"verdict-nothing-matched":              printed("no launch passed the filters", "compare the filter with the kernels and ranges of the timeline"),
	"verdict-gate-never-opened":            printed("the range that opens the gate was never entered in a process that nsys traces", "check name, domain and case of the range; unregistered strings need NSYS_NVTX_PROFILER_REGISTER_ONLY=0; forked children need --trace-fork-before-exec=true"),
	"verdict-nothing-collected":            printed("collection never began", "compare the delay with the run time of the workload; look at the workload's own output"),
	"verdict-unsupported-api-in-range":     printed("the range contains a CUDA call that ncu cannot record", "use replay mode app-range or kernel"),
	"verdict-tool-usage-error":             printed("the tool does not understand an option of the command line", "compare with --help of this version; check the extra arguments of the configuration"),
	"verdict-output-exists":                printed("a file of an earlier run is in the way", "remove it or choose another output"),
	"verdict-output-not-writable":          printed("the output directory is missing or not writable", "create it, or choose another output"),
	"verdict-stale-output":                 printed("a file of an earlier run was used or kept", "remove the old file and run again"),
	"verdict-input-damaged":                printed("the input is damaged, truncated or of another kind", "capture again"),
	"verdict-input-from-a-newer-version":   printed("the report was written by a newer version than the one that reads it", "read it with the version that wrote it or a newer one"),
	"verdict-no-rows-of-this-kind":         printed("the report holds no data of this kind", "nothing, unless the data was expected"),
	"verdict-workload-not-deterministic":   printed("the passes of the workload launched different kernels", "fix seeds and shapes, or use kernel replay"),
	"verdict-another-profiler-in-the-way":  printed("only one profiler can attach to CUDA at a time", "switch the other profiler off"),
	"verdict-profiling-session-conflict":   printed("another nsys session is in the way", "end it with nsys shutdown, or run again with a private TMPDIR"),
	"verdict-launches-ignored":             printed("ncu cannot profile these launches in this mode", "profile after the CUDA graph is captured, or use --graph-profiling graph"),
	"verdict-workload-failed":              printed("the workload ended with an error of its own", "run it alone and read its output"),
	"verdict-workload-crashed":             printed("a signal ended the workload", "run it alone; if it only crashes under the profiler, check the free space of TMPDIR and the profiler's version"),
	"verdict-workload-missing":             printed("the program to profile does not exist or cannot be executed", "check path, permissions and the interpreter in its first line"),
	"verdict-server-not-ready":             printed("the server runs and does not serve requests yet, or the check asks the wrong place", "read its log; raise pipeline.server.ready_timeout_s, or name another check with pipeline.server.ready"),
	"verdict-port-taken":                   printed("another process listens on the port of the server, possibly one of an earlier run", "end that process, or choose another port"),
	"verdict-load-failed":                  printed("the requests failed, or the load command ended before the last window", "read the evidence; try one request by hand; see pipeline.server.load"),
	"verdict-session-lost":                 printed("the background process of nsys is gone: it was killed, or another nsys ended its session", "run again; end no nsys process while windows are taken"),
	"verdict-permission":                   printed("the user may not read GPU performance counters", "run as root or with CAP_SYS_ADMIN, or load the driver with NVreg_RestrictProfilingToAdminUsers=0"),
	"verdict-counters-held":                printed("DCGM or another profiler holds the counters", "dcgmi profile --pause, or end the other profiler"),
	"verdict-profiler-lock-held":           printed("the lock file belongs to another user or process", "wait for the other run, or use a private TMPDIR if alone on the GPU"),
	"verdict-no-driver":                    printed("there is no usable NVIDIA driver here", "run where nvidia-smi works; check the container's GPU flags"),
	"verdict-driver-does-not-match":        printed("driver and profiler do not fit together", "use a profiler release that supports this driver"),
	"verdict-driver-error":                 printed("the driver reported an error", "try again; if it stays, match the versions of driver and profiler"),
	"verdict-device-not-supported":         printed("this GPU or its mode cannot be profiled", "ncu --list-chips shows what this version supports"),
	"verdict-device-memory-exhausted":      printed("no memory is left on the GPU for saving and restoring state", "use application or app-range replay, fewer metrics, --cache-control none"),
	"verdict-disk-full":                    printed("a file system filled up during the run", "free space; nsys needs about 30 times the report's size in TMPDIR"),
	"verdict-temporary-directory-unusable": printed("the temporary directory is missing, full, or belongs to somebody else", "set TMPDIR to a private directory with room"),
	"verdict-tool-installation-broken":     printed("the installation of the tool is incomplete", "repair or reinstall it"),
	"verdict-importer-broken":              printed("the importer of nsys is missing or lacks a library; the data is safe in the .qdstrm", "repair the installation, then import the .qdstrm with QdstrmImporter of the same version"),
	"verdict-import-failed":                printed("the importer could not process what was collected", "try QdstrmImporter by hand; otherwise another nsys version or fewer streams"),
	"verdict-report-lost":                  printed("the collection was cut before it was complete; the .qdstrm cannot be imported", "run again and let the profiler finish"),
	"verdict-report-does-not-open":         printed("the report was written and cannot be read here: it is cut, or the tool that reads it fails", "read the evidence line; the report is kept and can be analyzed once the reason is gone"),
	"verdict-tool-crashed":                 printed("the profiler itself failed", "try again; if it stays, another version of the tool"),
	"verdict-agent-lost":                   printed("the background collector of nsys died, often killed for lack of memory", "look at dmesg for the OOM killer; collect less"),
	"verdict-tool-did-not-start":           printed("the profiler failed before the workload was started", "run again"),
	"verdict-timed-out":                    printed("the time limit was reached", "raise the limit or shorten the workload"),
	"verdict-stalled":                      printed("nothing was printed and no CPU time was used for too long", "run the workload alone; it may wait for input, a lock or another process"),
	"verdict-hung-collective":              printed("a collective waits for ranks that ncu holds back", "exclude nccl kernels, use app-range replay, or profile one rank alone"),
	"verdict-interrupted":                  printed("the run was stopped by a signal", "run again for a whole capture"),
	"verdict-run-removed":                  printed("somebody removed the folder of the run, or put another in its place, while the run went on", "run again; keep the workload and scripts that clean up out of the run store"),
	"verdict-unknown-failure":              printed("the output matches nothing known", "read the logs"),
}
