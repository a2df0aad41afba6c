package workload

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/runs"
)

func TestFindLaunch(t *testing.T) {
	bin := t.TempDir() // a torchrun that says which Python runs it
	if err := os.WriteFile(filepath.Join(bin, "torchrun"), []byte("#!/usr/bin/python3.11\nimport torch\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	for command, want := range map[string]string{
		"torchrun --nproc-per-node 8 train.py --lr 1":                                   "torchrun --nproc-per-node 8 --no_python | /usr/bin/python3.11 -u train.py --lr 1",
		"torchrun --standalone --nproc_per_node=2 -m pkg.train":                         "torchrun --standalone --nproc_per_node=2 --no_python | /usr/bin/python3.11 -m pkg.train",
		"/opt/bin/torchrun --nnodes 2 --no-python sh -c true":                           "/opt/bin/torchrun --nnodes 2 --no_python | sh -c true",
		"mpirun -n 4 ./app x":                                                           "mpirun -n 4 | ./app x",
		"mpirun --allow-run-as-root --oversubscribe -np 4 --mca btl self,tcp sh app.sh": "mpirun --allow-run-as-root --oversubscribe -np 4 --mca btl self,tcp | sh app.sh",
		"mpiexec -x A=1 -genv B 2 /bin/true":                                            "mpiexec -x A=1 -genv B 2 | /bin/true",
		"mpirun -n 1 ./a : -n 3 ./b":                                                    "",
		"mpirun --no-such-option value ./app":                                           "", // what it takes is not known
		"srun -N 2 -n 16 --mpi=pmix ./infer":                                            "srun -N 2 -n 16 --mpi=pmix | ./infer",
		"srun -n16 -l -- sh infer.sh":                                                   "srun -n16 -l | sh infer.sh",
		"srun --multi-prog programs.conf":                                               "",
		"srun -n 4":                                                                     "",
		"python3 train.py":                                                              "",
		"":                                                                              "",
	} {
		got := ""
		if l, ok := FindLaunch(strings.Fields(command)); ok {
			got = strings.Join(l.Head, " ") + " | " + strings.Join(l.Program, " ")
		}
		if got != want {
			t.Errorf("%q is %q, want %q", command, got, want)
		}
	}
}

// TestShim runs the script with a profiler that prints what it was given.
func TestShim(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		ranks, env, want string
	}{
		{"all", "RANK=3 LOCAL_RANK=1 WORLD_SIZE=8 SLURMD_NODENAME=n1.cluster", "profile --output=/x y/run.3.n1 a b c"},
		{"0,7", "OMPI_COMM_WORLD_RANK=7 SLURM_PROCID=0 SLURMD_NODENAME=n1", "profile --output=/x y/run.7.n1 a b c"},
		{"0,7", "OMPI_COMM_WORLD_RANK=17 SLURMD_NODENAME=n1", "a b c"},
		{"one-per-node", "SLURM_PROCID=4 SLURM_LOCALID=0 SLURMD_NODENAME=n2", "profile --output=/x y/run.4.n2 a b c"},
		{"one-per-node", "SLURM_PROCID=5 SLURM_LOCALID=1 SLURMD_NODENAME=n2", "a b c"},
		{"all", "", "a b c"},
	} {
		s := Shim{Ranks: c.ranks, Folder: dir, Profiler: []string{"echo", "profile"}, Output: "--output='/x y/run'", Env: []string{"LC_ALL=C"}}
		script := filepath.Join(dir, runs.ShimName)
		if err := os.WriteFile(script, []byte(s.Script()), 0o755); err != nil {
			t.Fatal(err)
		}
		run := exec.Command(script, "echo", "a", "b", "c")
		run.Env = append([]string{"PATH=" + os.Getenv("PATH")}, strings.Fields(c.env)...)
		out, err := run.Output()
		if got := strings.TrimSpace(strings.Replace(string(out), " echo a", " a", 1)); err != nil || got != c.want {
			t.Errorf("%s with %s: %q, %v; want %q", c.ranks, c.env, got, err, c.want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, runs.RanksFolder, "17.json")); err != nil {
		t.Errorf("a rank that is not chosen leaves no word: %v", err)
	}
}

// TestShimInStep runs the script of two ranks whose kernels ncu launches in step:
// both get the profiler, and one leaves a report in the run.
func TestShimInStep(t *testing.T) {
	dir := t.TempDir()
	s := Shim{Ranks: "0", Folder: dir, Profiler: []string{"echo", "count"}, Output: "--export=/x/run", Single: true, Peers: "--communicator-num-peers"}
	script := filepath.Join(dir, runs.ShimName)
	if err := os.WriteFile(script, []byte(s.Script()), 0o755); err != nil {
		t.Fatal(err)
	}
	for rank, want := range []string{"--export=/x/run app", "/peer app"} {
		run := exec.Command(script, "app")
		run.Env = []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + dir, fmt.Sprintf("OMPI_COMM_WORLD_RANK=%d", rank), "OMPI_COMM_WORLD_SIZE=2", "SLURMD_NODENAME=n" + strconv.Itoa(rank+1)}
		out, err := run.Output()
		got := strings.TrimSpace(string(out))
		if err != nil || !strings.HasPrefix(got, "count --communicator=tcp --lockstep-kernel-launch --communicator-num-peers=2 --communicator-tcp-hostname=n1 ") || !strings.HasSuffix(got, want) {
			t.Errorf("rank %d runs %q, %v", rank, got, err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "tmp.*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestPatient(t *testing.T) {
	mpi := Launch{Launcher: "mpirun"}
	if got := mpi.Patient([]string{"A=1"}); len(got) != 3 || !slices.Contains(got, "OMPI_MCA_odls_base_sigkill_timeout=5") {
		t.Errorf("Open MPI gives its ranks a second: %q", got)
	}
	if got := mpi.Patient([]string{"OMPI_MCA_odls_base_sigkill_timeout=9"}); slices.Contains(got, "OMPI_MCA_odls_base_sigkill_timeout=5") {
		t.Errorf("what the user set is gone: %q", got)
	}
	if got := (Launch{Launcher: "srun"}).Patient([]string{"A=1"}); len(got) != 1 {
		t.Errorf("srun waits by itself: %q", got)
	}
}
