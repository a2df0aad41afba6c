package tool

// A place says where one tool is usually installed.
type place struct {
	env      []string // variables that name the program itself
	envDirs  []string // variables that name a folder it lies in
	commands []string // names in PATH
	inside   []string // globs relative to a configured folder or one of envDirs
	install  []string // globs below the root, newest installers first
	hint     string
}

var places = map[string]place{
	Nsys: {
		env:      []string{"DEEPPROF_NSYS"},
		envDirs:  []string{"CUDA_HOME", "CUDA_PATH", "CUDA_ROOT", "NVHPC_ROOT", "CONDA_PREFIX"},
		commands: []string{"nsys"},
		inside: []string{
			"nsys", "bin/nsys", "target-linux-*/nsys",
			"nsight-systems*/bin/nsys", "nsight-systems*/target-linux-*/nsys",
			"profilers/Nsight_Systems/bin/nsys", "profilers/Nsight_Systems/target-linux-*/nsys",
		},
		install: []string{
			"opt/nvidia/nsight-systems/*/bin/nsys",
			"opt/nvidia/nsight-systems/*/target-linux-*/nsys",
			"opt/nvidia/nsight-systems-cli/*/bin/nsys",
			"opt/nvidia/nsight-systems-cli/*/target-linux-*/nsys",
			"opt/nvidia/nsight-systems*/bin/nsys",
			"usr/local/cuda*/bin/nsys",
			"usr/local/cuda*/nsight-systems*/bin/nsys",
			"usr/local/cuda*/nsight-systems*/target-linux-*/nsys",
			"opt/nvidia/hpc_sdk/Linux_*/*/profilers/Nsight_Systems/bin/nsys",
			"opt/nvidia/hpc_sdk/Linux_*/*/profilers/Nsight_Systems/target-linux-*/nsys",
			"usr/lib/nsight-systems/bin/nsys",
			"usr/lib/*/nsight-systems/target-linux-*/nsys",
			"opt/nvidia/nsight-compute/*/host/target-linux-*/nsys",
			"usr/local/cuda*/nsight-compute*/host/target-linux-*/nsys",
			"opt/nvidia/hpc_sdk/Linux_*/*/profilers/Nsight_Compute/host/target-linux-*/nsys",
			"usr/lib/nsight-compute/host/target-linux-*/nsys",
		},
		hint: "install Nsight Systems (it comes with the CUDA toolkit), or set DEEPPROF_NSYS to the program",
	},
	Ncu: {
		env:      []string{"DEEPPROF_NCU"},
		envDirs:  []string{"CUDA_HOME", "CUDA_PATH", "CUDA_ROOT", "NVHPC_ROOT", "CONDA_PREFIX"},
		commands: []string{"ncu", "nv-nsight-cu-cli"},
		inside:   []string{"ncu", "bin/ncu", "nsight-compute*/ncu", "profilers/Nsight_Compute/ncu"},
		install: []string{
			"opt/nvidia/nsight-compute/*/ncu",
			"usr/local/cuda*/bin/ncu",
			"usr/local/cuda*/nsight-compute*/ncu",
			"opt/nvidia/hpc_sdk/Linux_*/*/profilers/Nsight_Compute/ncu",
			"usr/local/NVIDIA-Nsight-Compute*/ncu",
			"usr/lib/nsight-compute/ncu",
		},
		hint: "install Nsight Compute (it comes with the CUDA toolkit), or set DEEPPROF_NCU to the program",
	},
	NvidiaSMI: {
		env:      []string{"DEEPPROF_NVIDIA_SMI"},
		commands: []string{"nvidia-smi"},
		inside:   []string{"nvidia-smi", "bin/nvidia-smi"},
		install:  []string{"usr/bin/nvidia-smi", "usr/local/nvidia/bin/nvidia-smi", "usr/lib/wsl/lib/nvidia-smi", "opt/bin/nvidia-smi"},
		hint:     "it comes with the NVIDIA driver; in a container start it with --gpus all",
	},
	Python: {
		env:      []string{"DEEPPROF_PYTHON"},
		envDirs:  []string{"VIRTUAL_ENV", "CONDA_PREFIX"},
		commands: []string{"python3", "python"},
		inside:   []string{"python", "bin/python", "bin/python3", "python3"},
		install:  []string{"usr/bin/python3", "usr/local/bin/python3"},
		hint:     "install Python 3, or set DEEPPROF_PYTHON to the interpreter of the workload",
	},
}
