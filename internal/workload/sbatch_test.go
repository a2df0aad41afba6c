package workload

import (
	"os/exec"
	"strings"
	"testing"
)

func TestSbatch(t *testing.T) {
	argv := strings.Fields("deepprof run pipeline.ranks=one-per-node -- srun -N 2 -n16 --gres=gpu:8 -t 30 --label sh infer.sh")
	script, ok := Sbatch(argv, argv[4:])
	for _, want := range []string{"#SBATCH --nodes=2\n", "#SBATCH --ntasks=16\n", "#SBATCH --gres=gpu:8\n", "#SBATCH --time=30\n", "deepprof run pipeline.ranks=one-per-node -- srun -N 2"} {
		if !ok || !strings.Contains(script, want) {
			t.Errorf("no %q in\n%s", want, script)
		}
	}
	if strings.Contains(script, "#SBATCH --label") {
		t.Error("an option of the step is asked of the allocation")
	}
	check := exec.Command("sh", "-n")
	check.Stdin = strings.NewReader(script)
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("the script is none: %v: %s\n%s", err, out, script)
	}
	if _, ok := Sbatch(argv, []string{"mpirun", "-n", "2", "/bin/true"}); ok {
		t.Error("a batch script is made for another launcher")
	}
}

// TestNotice holds that a short job is not interrupted as soon as it starts.
func TestNotice(t *testing.T) {
	for limit, want := range map[string]int{"30": 120, "1": 15, "2:00": 30, "0:00:40": 10, "1-0": 120, "0-0:4": 60, "UNLIMITED": 120, "": 120} {
		if got := noticeOf([]string{"--nodes=2", "--time=" + limit}); got != want {
			t.Errorf("limit %q: %d s before it, want %d", limit, got, want)
		}
	}
	if got := noticeOf(nil); got != 120 {
		t.Errorf("without a limit: %d s", got)
	}
}
