package message

import "github.com/deepprof/deepprof/internal/fact"

// Advice that several checks share.
const (
	orPython      = "; or name another interpreter with pipeline.workload.python=PATH or DEEPPROF_PYTHON"
	openCounters  = "on the host, as root: echo 'options nvidia NVreg_RestrictProfilingToAdminUsers=0' > /etc/modprobe.d/nvidia-profiling.conf, then reboot"
	tryCounters   = "run ncu on a small program: it prints ERR_NVGPUCTRPERM if permission is missing"
	foundTool     = "{version} {path}[; also {also}]"
	seenDriver    = "driver {driver}[, CUDA up to {cuda}][, PyTorch built for CUDA {torch}]"
	deniedAsAdmin = "[{lost}: ]expect ERR_NVGPUCTRPERM: counters are restricted to administrators, and "
	writableHome  = "set HOME to a folder that can be written"
	moreRoom      = "free space[ ({clean})], or {other}"
	giveConfig    = "give the config.json of a Hugging Face model"
	noReport      = ": nsys would leave a .qdstrm and no report"
)

// doctorLabels name the checks and what they looked at.
var doctorLabels = map[string]map[string]string{
	// Names of the checks.
	"check": {
		"nsys": "Nsight Systems", "nsys-importer": "Nsight Systems report importer", "ncu": "Nsight Compute", "exchange": "tools read each other's files",
		"nvidia-smi": "nvidia-smi", "gpu": "GPU present", "driver": "driver, CUDA and tools match", "gpus": "number of GPUs", "mig": "MIG mode",
		"gpu-use": "GPU free for profiling", "clocks": "clocks and throttling", "container": "container", "counters": "permission to read GPU counters",
		"perf-events": "CPU sampling permission", "profilers": "other profilers and DCGM", "injection": "environment free of other injections",
		"ncu-lock": "ncu's lock file", "run-store": "run store writable, with room", "temp": "temporary folder writable, with room",
		"shm": "shared memory", "home": "home folder writable", "python": "Python", "torch": "PyTorch in the workload's Python",
		"packages": "other packages in the workload's Python", "nvtx": "NVTX in the workload's Python",
		"command": "program of the workload", "model": "files of the model", "dataset": "files of the dataset", "captures": "captures as they are configured",
	},
	// What a check is about, or what is missing.
	"check-of": {
		"gpu": "GPU", "driver": "driver", "nsys": "nsys", "ncu": "ncu", "tools": "tools", "python": "Python", "counters": "counters", "capture": "capture",
		"cpu-sampling": "CPU sampling", "torch": "PyTorch", "package": "other package", "python-workload": "Python workload",
		"samples": "counters will not be sampled", "unknown-package": "find it with apt-file or dnf provides",
	},
	// How to repair a tool that does not work.
	"repair": {
		"nsys":   "reinstall Nsight Systems, or name a working one in pipeline.nsys.path",
		"ncu":    "reinstall Nsight Compute, or name a working one in pipeline.ncu.path",
		"python": "name the interpreter of the workload in pipeline.workload.python, or set DEEPPROF_PYTHON",
	},
	// Folders that a run writes into, and how to choose another one.
	"folder": {"run-store": "the run store", "temp": "TMPDIR"},
	"folder-other": {
		"run-store": "choose a folder of yours on another disk with hydra.run.dir=DIR",
		"temp":      "set TMPDIR to a folder of yours on another disk: a program under nsys crashes when it fills",
	},
	// What to do about a profiler that runs.
	"profiler": {
		"nv-hostengine": "dcgmi profile --pause, and --resume afterwards", "dcgm-exporter": "stop it, or dcgmi profile --pause on the host",
		"dcgmproftester": "stop it", "nsys": "wait for it, or end it with nsys sessions list and nsys shutdown",
		"nsys-launcher": "wait for it, or end it with nsys shutdown", "ncu": "wait for it: runs of ncu on one GPU take turns",
		"nvprof": "wait for it", "cuda-gdb": "end the debugging session", "rocprof": "wait for it",
	},
	// What a key of the workload wants.
	"give": {"model.path": "give the folder that save_pretrained wrote", "dataset.root": "give a folder with dataset.root=/path"},
	// What a variable of the environment does to a capture.
	"injection": {
		"CUDA_INJECTION64_PATH":     "another tool is injected into CUDA programs: ncu refuses, nsys sees nothing",
		"NVTX_INJECTION64_PATH":     "another tool receives the NVTX ranges",
		"NSYS_PROFILING_SESSION_ID": "this shell runs under nsys: the inner capture takes the events of the outer",
		"LD_PRELOAD":                "this shell runs under a profiler",
	},
}

// doctorWords are what the checks before a run saw; Next is the fix. internal/doctor states
// them, one code for each state of a check, so that docs/doctor.md can list them.
//
// what, kind, name and names are what was looked for; path, file, dir and folder where;
// version, older and newer are of tools, drivers or packages; seen and level what the system
// answered; free and need are bytes; give, hint and advice are commands to copy.
var doctorWords = map[fact.Code]words{
	// Any check: it was not asked for, or its tool is not there.
	"check-not-wanted": {Text: "no {what} wanted"},
	"check-not-there":  {Text: "no {what}"},
	"tool-unneeded":    {Text: "not found, and not wanted"},
	"tool-not-found":   {Text: "not found in {places}[ and {more:more place|more places}]", Next: "{hint}"},
	"tool-fails":       {Text: "{error}", Next: "{repair}"},
	"tool-found":       {Text: foundTool},
	"tool-also":        {Text: "{version} {path}"},
	"tool-broken":      {Text: "{path} (broken)"},

	// Versions of nsys and ncu.
	"nsys-bundled":     {Text: foundTool + " lies inside Nsight Compute", Next: "install Nsight Systems itself; this copy serves Nsight Compute and its importer often lacks libraries"},
	"nsys-old":         {Text: foundTool + " is older than any that was tried", Next: "install Nsight Systems 2022.4 or later"},
	"nsys-disorder":    {Text: foundTool + "; its importer loses reports of some programs with several streams or threads", Next: `install Nsight Systems 2024.2 or later if reports fail with "Wrong event order"`},
	"ncu-old":          {Text: foundTool + " is older than any that was tried", Next: "install Nsight Compute 2022.3 or later"},
	"ncu-blanks":       {Text: foundTool + ": ncu refuses to run from a path with blanks", Next: "move the installation to a folder without blanks"},
	"importer-absent":  {Text: "no QdstrmImporter beside {path}" + noReport, Next: "install the host part of Nsight Systems (package nsight-systems, not only its target), or link host-linux-x64 beside target-linux-x64"},
	"importer-library": {Text: "{path} cannot load {library}" + noReport, Next: "install the package that holds {library} ({package}), or use another Nsight Systems"},
	"importer-fails":   {Text: "{error}", Next: "run it by hand to see what is wrong: {path} --version"},
	"importer-other":   {Text: `{path} is "{version}", nsys is {nsys}`, Next: "install nsys and its importer from one package: their versions must match exactly"},
	"importer-starts":  {Text: "{path} starts"},
	"older-tools":      {Text: "{what}", Next: "exchange the SQLite export, which every version reads, or open reports with the newest tool"},
	"older-nsys":       {Text: "nsys {older} cannot open reports of {newer}"},
	"older-ncu":        {Text: "ncu {older} cannot open reports of {newer} that hold rules"},
	"no-older-tools":   {Text: "one version of each tool, or the newest is used"},

	// The GPU, by nvidia-smi.
	"smi-absent":          {Text: "not found: GPU, driver and clocks cannot be described", Next: "{hint}"},
	"smi-fails":           {Text: "{error}", Next: "see the check of the GPU"},
	"smi-silent":          {Text: "nvidia-smi does not describe the GPU", Next: "make nvidia-smi work"},
	"gpu-found":           {Text: "{n}: {names}"},
	"gpu-driver-mismatch": {Text: "{error}", Next: "reboot, or reload the NVIDIA kernel modules: the driver was updated while the old one was loaded"},
	"gpu-gone":            {Text: "{error}", Next: "look into dmesg for NVRM and Xid lines; a GPU that fell off the bus needs a reset or a reboot"},
	"gpu-not-passed":      {Text: "no driver and no /dev/nvidia* in this {kind} container", Next: "start the container with --gpus all (or --runtime=nvidia)"},
	"gpu-wsl":             {Text: "WSL without an NVIDIA driver", Next: "install the NVIDIA driver for WSL on Windows"},
	"gpu-none":            {Text: "no NVIDIA driver loaded (/proc/driver/nvidia), no /dev/nvidia*", Next: "run on a machine with an NVIDIA GPU and its driver; analysis of existing reports works here"},
	"gpu-no-nodes":        {Text: "driver loaded, but no /dev/nvidia*", Next: "pass the devices into the container (--gpus all), or create them with nvidia-modprobe"},
	"gpu-unasked":         {Text: "{error}", Next: "run nvidia-smi by hand and fix what it reports"},
	"gpu-unsure":          {Text: "the driver and {n:device file|device files} are there, nvidia-smi is not", Next: "install nvidia-smi to be sure"},

	// The driver against what the tools and CUDA need.
	"driver-unread":      {Text: "the driver's version could not be read", Next: "run nvidia-smi by hand"},
	"driver-fits":        {Text: seenDriver},
	"driver-old":         {Text: seenDriver, Next: "update the driver to {need} or later, or install a PyTorch built for CUDA {most}"},
	"driver-minor":       {Text: seenDriver + ": works by minor-version compatibility", Next: "update the driver if kernels that need compilation fail"},
	"driver-old-for-ncu": {Text: seenDriver + "; ncu {ncu} does not work with drivers up to 570", Next: "update the driver, or use an older Nsight Compute"},
	"device-absent":      {Text: "device={device}, and the last one is {last}", Next: "choose another with device=cuda:N; nvidia-smi -L lists them"},
	"gpus-one":           {Text: "one"},
	"gpus-chosen":        {Text: "{n}, CUDA_VISIBLE_DEVICES={visible}"},
	"gpus-mixed":         {Text: "{n} of different kinds: {names}", Next: "choose with CUDA_VISIBLE_DEVICES so that every run uses the same kind"},
	"gpus-several":       {Text: "{n} x {name}, CUDA_VISIBLE_DEVICES is not set", Next: "set CUDA_VISIBLE_DEVICES if the workload needs one: ncu serializes runs on all of them"},
	"mig-on": {Text: "on for GPU {gpus}: clocks cannot be locked and counters of shared units are unavailable",
		Next: "set clock_control: none, profile one instance chosen by CUDA_VISIBLE_DEVICES=MIG-..., and compare only within it; or switch MIG off (nvidia-smi -mig 0)"},
	"mig-off":              {Text: "off or not supported"},
	"gpu-prohibited":       {Text: "GPU {gpu} is in compute mode Prohibited", Next: "nvidia-smi -c DEFAULT"},
	"gpu-use-unknown":      {Text: "{error}", Next: "run nvidia-smi by hand"},
	"gpu-shared":           {Text: "{n:other process uses|other processes use} the GPU, first {first}", Next: "stop them, or wait: times and counters are shared with them"},
	"gpu-free":             {Text: "no other process uses it"},
	"clocks-throttled":     {Text: "{why} ({seen})", Next: "let the GPU cool, check power supply and fans, then measure again"},
	"clocks-throttled-gpu": {Text: "GPU {gpu}: {why}"},
	"clocks-untold":        {Text: "nvidia-smi does not tell why clocks are reduced ({seen})"},
	"clocks-are":           {Text: "{seen}"},
	"clocks-of-gpu":        {Text: "GPU {gpu} {clock} of {most}, {temperature} C"},

	// Sandboxes, containers, and who may read counters.
	"gvisor-sandbox":         {Text: "gVisor sandbox: ncu cannot read hardware counters there", Next: "run outside gVisor for counters; a timeline works"},
	"container-none":         {Text: "none"},
	"container-is":           {Text: "{kind}"},
	"driver-params-unread":   {Text: "/proc/driver/nvidia/params cannot be read: {error}", Next: tryCounters},
	"driver-params-silent":   {Text: "/proc/driver/nvidia/params has no RmProfilingAdminOnly", Next: tryCounters},
	"counters-open":          {Text: "open to all users (RmProfilingAdminOnly 0)"},
	"counters-as-admin":      {Text: "restricted to administrators, and this process has CAP_SYS_ADMIN"},
	"counters-as-perfmon":    {Text: "restricted, and this process has CAP_PERFMON, which driver {driver} accepts"},
	"counters-root-unsure":   {Text: "restricted to administrators; root, but capabilities could not be read", Next: "run ncu on a small program"},
	"counters-denied-inside": {Text: deniedAsAdmin + "this {kind} container lacks the capability", Next: "start the container with {grant}; or " + openCounters},
	"counters-denied-user":   {Text: deniedAsAdmin + "user {user} has neither CAP_SYS_ADMIN nor CAP_PERFMON", Next: "run as root (sudo --preserve-env); or " + openCounters},
	"perf-unread":            {Text: "/proc/sys/kernel/perf_event_paranoid cannot be read: {error}"},
	"perf-odd":               {Text: `perf_event_paranoid is "{value}"`},
	"perf-refused":           {Text: "perf_event_open is refused (nsys status -e): there would be no samples, and nothing would say so", Next: "start the container with --security-opt seccomp=unconfined or --cap-add=SYS_ADMIN, or set sample: none"},
	"perf-strict":            {Text: "perf_event_paranoid is {level}, {scope} sampling needs {most} or less", Next: "sudo sysctl kernel.perf_event_paranoid={most}, or set sample: none"},
	"perf-allowed":           {Text: "perf_event_paranoid is {level}"},
	"injected":               {Text: "{name}={value}: {effect}", Next: "unset {name}"},
	"injected-nothing":       {Text: "none set"},

	// Folders, room on disks and limits of the system.
	"folder-denied":      {Text: "{folder} {dir} cannot be written: {error}", Next: "{other}"},
	"folder-room-unread": {Text: "{folder} {dir} is writable; its free space could not be read: {error}"},
	"folder-full":        {Text: "{folder} {dir} has {free} free, less than {least}", Next: moreRoom},
	"folder-tight":       {Text: "{folder} {dir} has {free} free; a large timeline may need more", Next: moreRoom},
	"folder-fine":        {Text: "{dir}, {free} free"},
	"temp-absent":        {Text: "TMPDIR {dir}: {error}", Next: "create it, or set TMPDIR to a folder that exists"},
	"shm-unused":         {Text: "this nsys does not use it"},
	"shm-unread":         {Text: "free space of /dev/shm could not be read: {error}"},
	"shm-full":           {Text: "/dev/shm has {free} free; nsys {nsys} fails to start its agent", Next: "start the container with --shm-size=1g, or empty /dev/shm"},
	"shm-locked":         {Text: "{files} was left locked by an nsys that was killed; every start of nsys {nsys} fails until it is gone", Next: "none is needed: a run removes it"},
	"shm-fine":           {Text: "/dev/shm has {free} free"},
	"home-unset":         {Text: "HOME is not set: ncu uses its stock sections", Next: writableHome},
	"home-denied":        {Text: "{dir}: {error}: ncu uses its stock sections", Next: writableHome},
	"home-fine":          {Text: "{dir}"},
	"ncu-lock-free":      {Text: "{file} is free"},
	"ncu-lock-unread":    {Text: "{file}: {error}", Next: "ls -l {file}"},
	"ncu-lock-own":       {Text: "{file} belongs to this user"},
	"ncu-lock-open":      {Text: "{file} belongs to user {user} and can be opened"},
	"ncu-lock-foreign":   {Text: "{file} belongs to user {user}: ncu fails with InterprocessLockFailed", Next: "have its owner remove it (rm {file}), or, if nobody else profiles on this GPU, set TMPDIR to a folder of your own"},
	"proc-unread":        {Text: "/proc cannot be read: {error}"},
	"profilers-run":      {Text: "running: {what}; they may hold the counters", Next: "{what!}"},
	"profiler-runs":      {Text: "{name} ({pid})", Next: "{advice}"},
	"nsys-agents-run":    {Text: "nsys agent ({pids})", Next: "kill {arguments} if no capture runs: a stuck agent blocks later ones"},
	"profilers-none":     {Text: "none running"},

	// Python and PyTorch, for the shipped workloads.
	"python-old":         {Text: "{version} {path}", Next: "use Python 3.9 or later"},
	"torch-unknown":      {Text: "{error}", Next: "run it by hand: {python} -c 'import torch'"},
	"torch-absent":       {Text: "{python} has no torch", Next: "{python} -m pip install torch" + orPython},
	"torch-without-cuda": {Text: "torch {version} is built without CUDA", Next: "install a PyTorch built for CUDA"},
	"torch-found":        {Text: "torch {version}[, CUDA {cuda}]"},
	"packages-unknown":   {Text: "{error}", Next: "run it by hand: {python} -c 'import {name}'"},
	"packages-absent":    {Text: "{python} has no {names}", Next: "{python} -m pip install {arguments}" + orPython},
	"packages-found":     {Text: "{names}"},
	"nvtx-unknown":       {Text: "{error}"},
	"nvtx-found":         {Text: "torch.cuda.nvtx"},
	"nvtx-absent":        {Text: "[the package nvtx {version} is there, but ]no torch.cuda.nvtx, which the sessions use and which needs a PyTorch with CUDA: no stages in the timeline", Next: "{python} -m pip install torch" + orPython},

	// The workload of the plan.
	"captures-fine":    {Text: "the tools accept their settings"},
	"captures-refused": {Text: "{error}", Next: "change the setting that it names"},
	"cwd-unusable":     {Text: "pipeline.workload.cwd: {error}", Next: "name a folder that exists"},
	"program-shipped":  {Text: "it ships with deepprof"},
	"program-found":    {Text: "{file}"},
	"program-missing":  {Text: "{what}", Next: "{why!}"},
	"weights-random":   {Text: "random weights"},
	"inputs-generated": {Text: "inputs are generated"},
	"inputs-found":     {Text: "found: {file}"},

	"folder-absent":       {Text: "{key}: {dir} does not exist", Next: "{give}"},
	"folder-unreadable":   {Text: "{key}: {dir} cannot be read: {error}", Next: "{give}"},
	"folder-is-file":      {Text: "{key}: {dir} is not a folder", Next: "{give}"},
	"model-no-config":     {Text: "model.path: {dir} has no config.json", Next: "give the folder that holds config.json and the *.safetensors files themselves, not one above it"},
	"model-no-weights":    {Text: "model.path: {dir} has a config.json and no *.safetensors", Next: "download the weights, convert other formats with save_pretrained, or profile the shape alone with random weights: model.path=null model.config={config}"},
	"model-index-damaged": {Text: "model.path: read {file}: {error}", Next: "download the file again: it is damaged"},
	"model-shards-absent": {Text: "model.path: {dir} lacks {n} of {all} weight files: {names}[ and {more} more]", Next: "download them again; an interrupted download leaves such a folder"},
	"config-unread":       {Text: "model.config: {error}", Next: "give the path of a config.json, or the fields themselves"},
	"config-no-object":    {Text: "model.config: {file} is not a JSON object: {error}", Next: giveConfig},
	"config-no-type":      {Text: "model.config: {file} has no model_type", Next: giveConfig},
	"dataset-no-match":    {Text: "dataset.root: nothing in {dir} matches {patterns}", Next: "check dataset.root and dataset.fallback_patterns (** crosses folders), or give dataset.subset_filelist"},
	"list-unread":         {Text: "dataset.subset_filelist: {error}", Next: "give a text file with one path a line"},
	"list-empty":          {Text: "dataset.subset_filelist: {file} names no file", Next: "put one path on each line"},
	"list-files-absent":   {Text: "dataset.subset_filelist: {n} of the {all} files in {file} are not there: {names}[ and {more} more]", Next: "correct the list, or restore the files"},
}
