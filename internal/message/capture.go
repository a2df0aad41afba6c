package message

import "github.com/deepprof/deepprof/internal/fact"

// Advice, and parts of sentences, that several outcomes share.
const (
	freeSpace   = "free space, or choose another place with hydra.run.dir=DIR"
	setForks    = "set {setting}"
	fixAndRun   = "read the workload's output; fix the workload and run again for a whole capture"
	oomKiller   = "mistrust the end of the timeline; look at dmesg for the OOM killer"
	letRunOn    = "use capture_range_end=stop to let the workload run on"
	gateStrings = "[; strings that the program does not register need {register}][; children that are forked without exec need {fork}]"
)

// captureLabels name what a capture should have held and what went on when it ended.
var captureLabels = map[string]map[string]string{
	// Kinds of data that a report holds.
	"data": {"cuda-kernels": "CUDA kernels", "nvtx-ranges": "NVTX ranges"},
	// What was over when processes were still running.
	"ran":      {"profiler": "the profiler", "workload": "the workload"},
	"left-but": {"nothing-of-it": "which holds nothing of what was asked for"},
}

// captureWords are the words for what came of a capture: what happened, the evidence,
// causes that say more than the verdict, and doubts. internal/capture states them; the
// verdict itself is in verdictWords, and what a message of nsys or ncu means in
// profilerWords.
//
// tool is nsys or ncu, program what ran under it; exit, code, signal and name tell how one of
// them ended; left is what it left behind, but what is wrong with that; setting, option and
// key are what to write into a configuration; text_of_vendor is quoted, never read.
var captureWords = map[fact.Code]words{
	// What happened: how the profiler and the workload ended, and what was left.
	"tool-ended":           {Text: "{tool} ended with {exit}[ and left {left}][, {but}]"},
	"tool-stopped":         {Text: "{tool} was stopped ({stop}), ended with {exit} and left {left}[, {but}]"},
	"tool-not-started":     {Text: "{tool} was not started"},
	"left-no-report":       {Text: "no report"},
	"left-reports":         {Text: "{n:good report|good reports}"},
	"left-stream":          {Text: "only a .qdstrm"},
	"left-unreadable":      {Text: "a report that does not open"},
	"workload-not-started": {Text: "the workload was not started"},
	"workload-stalled":     {Text: "the workload showed no sign of life and was stopped"},
	"workload-too-long":    {Text: "the workload took too long and was stopped"},
	"workload-ended":       {Text: "the workload ended with exit code {code}"},
	"workload-ended-by":    {Text: "the workload was ended by signal {signal} ({name})"},
	"workload-ran":         {Text: "the workload ran to its end"},
	"stopped-by-signal":    {Text: "stopped by a signal"},
	"exit-code":            {Text: "exit code {code}"},
	"exit-signal":          {Text: "signal {signal} ({name})"},
	"exit-passed-signal":   {Text: "exit code {code} (signal {signal}, {name}, in the workload)"},

	// Evidence: what was seen, quoted or counted.
	"tool-printed":       {Text: "{text_of_vendor}"},
	"system-error":       {Text: "{error}"},
	"given":              {Text: "{text}"},
	"given-bytes":        {Text: "{n:byte|bytes}"},
	"found-file":         {Text: "{file}"},
	"found-only":         {Text: "only {file}"},
	"not-found":          {Text: "no {file}"},
	"file-error":         {Text: "{file}: {error}"},
	"not-in-path":        {Text: "{program}: not found in the PATH of the workload"},
	"not-a-program":      {Text: "{file}: {error}: neither a program nor a script with a #! line"},
	"interpreter-absent": {Text: "{file}: its interpreter is not there: {line}"},
	"nearly-full":        {Text: "{dir} was nearly full, {why}"},
	"space-short":        {Text: "{dir} has {free} free, {need} are needed"},
	"report-lacks":       {Text: "the report holds no {what}"},
	"not-announced":      {Text: "ncu did not say that the report is complete"},
	"gate-silent":        {Text: "nsys did not say that the capture range started"},
	"gate-shut":          {Text: "nsys began no capture"},
	"names-no-report":    {Text: "{tool} names no report"},
	"printed-nothing":    {Text: "nothing was printed"},
	"while-reading":      {Text: "while the report was read"},
	"while-waiting":      {Text: "while waiting to try again after: {kind}: {why}"},

	// Causes that say more than that of the verdict.
	"cause-cut-short":       {Text: "the workload did not run to its end under the profiler; what it would have done after is missing", Next: fixAndRun},
	"cause-profiler-killed": {Text: "somebody or the kernel ended the profiler", Next: oomKiller},
	"cause-ended-as-asked":  {Text: "the capture range or the duration ended and nsys was told to stop the workload then", Next: letRunOn},
	"cause-forks":           {Text: "the workload forked {n:child|children} (first {child}) without exec, and nsys was not told to trace those", Next: setForks},
	"cause-forks-possible": {Text: "the workload did nothing of the kind, or did it in children that it forked without exec, which nsys does not trace by itself",
		Next: "check that the program has any {what} at all; if those of forked children are missing, set {setting}"},
	"cause-gate": {Text: "the range that opens the gate was never entered in a process that nsys traces",
		Next: "check name, domain and case of the range in pipeline.nsys.nvtx_capture" + gateStrings},
	"cause-old-name":         {Text: "nsys before 2021.4 ends the names of its reports in .qdrep", Next: "the report is read where it lies; deepprof was tried with nsys 2022.4 and newer"},
	"cause-old-file":         {Text: "a file of an earlier run cannot be removed", Next: "remove it, or choose another output"},
	"cause-no-start":         {Text: "the profiler could not be started", Next: "check the path of {tool}"},
	"cause-not-a-profiler":   {Text: "only nsys and ncu make captures", Next: "set Capture.Tool"},
	"cause-long-name":        {Text: "the file name has more than 255 bytes", Next: "choose a shorter name"},
	"cause-percent":          {Text: "the profiler replaces % in output names", Next: "keep % out of the name"},
	"cause-dashes":           {Text: "nsys before 2025 does not understand --", Next: "leave it out"},
	"cause-commas":           {Text: "nsys splits the values of -e at commas and drops pieces", Next: "set the variables in the environment of nsys"},
	"cause-no-trigger":       {Text: "no range is named that opens the gate", Next: "name it with --nvtx-capture"},
	"cause-long-command":     {Text: "nsys cannot store a workload command line over 64 KiB; 2022.4 hangs on it", Next: "pass arguments by file"},
	"cause-nested":           {Text: "this process already runs under a profiler, and only the inner one would see anything", Next: "start deepprof outside of it, or unset {variable}"},
	"cause-is-profiler":      {Text: "the workload is itself a profiler", Next: "name the program to profile, without {tool}"},
	"cause-not-in-path":      {Text: "no such program in PATH", Next: "check the name, or give the path of the program"},
	"cause-not-in-path-here": {Text: "no such program in PATH", Next: "write ./{file}: a bare name is looked up in PATH alone"},
	"cause-no-file":          {Text: "no such file", Next: "check the path; a relative one begins in {dir}"},
	"cause-program-folder":   {Text: "this is a directory", Next: "name the program in it"},
	"cause-not-executable":   {Text: "the file is not executable", Next: "chmod +x, or put the interpreter before it"},
	"cause-no-shebang":       {Text: "a shell starts a script without a #! line; nsys and ncu cannot", Next: "put the interpreter before it, or a #! line into it"},
	"cause-interpreter":      {Text: "the interpreter of {file} does not exist", Next: "correct the #! line or put the interpreter before the script"},
	"cause-output-folder":    {Text: "a directory stands where the report is to be written", Next: "remove it or choose another output"},
	"cause-output-space":     {Text: "the file system of the output is full", Next: "free space, or set another output directory"},
	"cause-temp-space":       {Text: "nsys needs about 30 times the report's size in TMPDIR", Next: "set TMPDIR to a file system with more room"},
	"cause-full-log":         {Text: "the file system of {dir} is full: the output of the workload goes there", Next: freeSpace},
	"cause-full":             {Text: "a file system is full", Next: freeSpace},
	"cause-workload-start":   {Text: "the system refused to start it", Next: "check the command and its working directory"},
	"cause-stall":            {Text: "it printed nothing and used no CPU time for too long", Next: "raise pipeline.supervision.stall_s if it is only slow"},
	"cause-limit":            {Text: "the time limit was reached", Next: "raise {key}"},
	"cause-failed":           {Text: "the workload ended with an error of its own", Next: "read {log}"},
	"cause-silent":           {Text: "the workload ended with an error of its own", Next: "it printed nothing; run it by hand"},

	// Doubts about a capture that can be used.
	"diagnostic":         {Text: "{text_of_vendor}"},
	"diagnostics-unread": {Text: "the profiler's own messages could not be read: {error}"},
	"reader-remark":      {Text: "{text}"},
	"stale-file":         {Text: "{file} is from an earlier run", Next: "do not read it as the result of this one"},
	"low-space":          {Text: "{dir} was nearly full during the run: the end of the capture may be missing", Next: verdictWords["verdict-disk-full"].Next},
	"workload-exit":      {Text: "the workload ended with exit code {code}", Next: "the report is complete; look at the workload's output"},
	"workload-cut":       {Text: "the workload ended with {exit}", Next: fixAndRun},
	"profiler-killed":    {Text: "{tool} itself was ended by {exit}; the report was written by what was left of it", Next: oomKiller},
	"ended-as-asked":     {Text: "nsys ended the workload when the capture was over (exit code {code})", Next: letRunOn},
	"unannounced":        {Text: "ncu did not say that the report is complete", Next: "look at the number of results in it"},
	"gate-unseen":        {Text: "nsys did not say that the gate opened", Next: "check that the report covers the range"},
	"not-opened":         {Text: "the report was not opened: the user would not wait", Next: "resume the run, or give the report to deepprof, to read it"},
	"processes-left":     {Text: "still running after {after} and ended: {processes}", Next: "make the workload end its processes, or let it react to SIGTERM"},
	"trace-empty": {Text: "{what} was to be recorded, and the timeline holds none",
		Next: "check that the workload uses it in a process that nsys follows, or do not ask for it"},
	"fewer-reports":  {Text: "{n:report|reports} of {of:range|ranges} expected", Next: "the range was entered less often than the capture was to repeat"},
	"fewer-launches": {Text: "{n:result|results} of {of:launch|launches} expected", Next: "the workload launched fewer of them than the timeline showed"},
	"secrets-kept": {Text: "kept from the workload, since nsys would store it in its report: {names}",
		Next: "name what the workload needs in pipeline.workload.pass_env"},
	"sessions-freed":  {Text: "{file} was left locked by an nsys that was killed, and blocked every start; it was removed"},
	"sessions-stuck":  {Text: "{error}: left by an nsys that was killed, it may block this one", Next: "have its owner remove it"},
	"report-moved":    {Text: "the report was written to {file} and moved into place"},
	"not-moved":       {Text: "{error}", Next: "take the report from {file}"},
	"stream-imported": {Text: "nsys left a raw stream; it was imported in a second step: {why}"},
	"not-imported":    {Text: "{error}[ ({why})]", Next: "import it later: QdstrmImporter -i FILE.qdstrm -o FILE.nsys-rep, of the same version as nsys"},
	"forks-untried":   {Text: "forked children were not traced in a second try: {error}", Next: setForks},
	"forks-followed":  {Text: "forked children were traced in a second try ({setting}): {why}", Next: "set {setting} to spare the first one"},
	"forks-in-vain":   {Text: "forked children were traced in a second try ({setting}): {why}"},
	"forks-no-more":   {Text: "a second try with {option} brought nothing more: {kind}: {why}"},
	"trying-forks":    {Text: "trying once more with {option}: {why}"},
}

// Verdict is a verdict in one line: its kind, what happened and the evidence. What
// happened is all there is to say of one that was interrupted.
func Verdict(kind string, what, evidence fact.Fact) string {
	text := Text(what)
	if kind != "interrupted" || text == "" {
		text = kind + ": " + text
	}
	if shown := Text(evidence); shown != "" {
		text += " (" + shown + ")"
	}
	return text
}
