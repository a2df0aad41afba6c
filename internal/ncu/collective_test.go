package ncu

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/deepprof/deepprof/internal/tool"
)

func TestIsCollective(t *testing.T) {
	for name, want := range map[string]bool{
		"ncclKernel_AllReduce_RING_LL_Sum_float": true, "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)": true, "nvshmemi_transfer": true,
		"two_shot_all_reduce_kernel": true, "void vllm::cross_device_reduce_1stage<float, 2>": true, "void deep_ep::intranode::dispatch<4, 768>": true,
		"multimem_one_shot_reduce": true, "lamport_style_kernel": true, "ncclSymDevKernel_AllGather_LL": true,
		"elementwise_kernel": false, "reduce_kernel": false, "splitKreduce_kernel": false, "gather_kernel": false, "nvjet_sm90_tst": false, "syncclear": false,
	} {
		if IsCollective(name) != want {
			t.Errorf("IsCollective(%q) = %v", name, !want)
		}
	}
}

func TestPeersOption(t *testing.T) {
	known := []string{"--communicator", "--lockstep-kernel-launch"}
	for want, options := range map[string][]string{
		"":                             known,
		"--communicator-num-peers":     append(slices.Clone(known), "--communicator-num-peers"),
		"--communicator-tcp-num-peers": append(slices.Clone(known), "--communicator-tcp-num-peers"),
	} {
		if got := PeersOption(&tool.Capabilities{Options: options}); got != want {
			t.Errorf("%v: %q, want %q", options, got, want)
		}
	}
	if PeersOption(nil) != "" || PeersOption(&tool.Capabilities{Options: []string{"--communicator-num-peers"}}) != "" {
		t.Error("options of an ncu that has no lockstep")
	}
}

// TestWithoutAgainstRealNcu holds that ncu understands the filter: without gemm
// and saxpy one kernel of the report is left, without collectives all are.
func TestWithoutAgainstRealNcu(t *testing.T) {
	folder := os.Getenv("DEEPPROF_NSIGHT")
	if folder == "" {
		t.Skip("DEEPPROF_NSIGHT is not set: needs the real ncu")
	}
	packed, err := os.ReadFile("../ncurep/testdata/toy_full.ncu-rep.zst")
	if err != nil {
		t.Fatal(err)
	}
	unpack, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	data, err := unpack.DecodeAll(packed, nil)
	report := filepath.Join(t.TempDir(), "toy_full.ncu-rep")
	if err == nil {
		err = os.WriteFile(report, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	for filter, want := range map[string][3]bool{
		NoCollectives: {true, true, true},
		without([]string{"gemm"}, []string{"saxpy"}):     {false, false, true},
		without([]string{"e?m?_tile"}, []string{"axpy"}): {true, false, true},
	} {
		out, errs, _, err := tool.Output(t.Context(), tool.Command{Path: filepath.Join(folder, "trixie", "ncu"), Args: []string{
			"--import", report, "--page", "raw", "--csv", "--kernel-name-base", "demangled", "--kernel-name", filter,
		}})
		if err != nil {
			t.Fatal(err)
		}
		text := string(out) + string(errs)
		if got := [3]bool{strings.Contains(text, "saxpy("), strings.Contains(text, "gemm_tile<"), strings.Contains(text, "reduce_sum(")}; got != want {
			t.Errorf("%s selects saxpy, gemm_tile, reduce_sum: %v, want %v\n%s", filter, got, want, text)
		}
	}
}
