package ncu

import (
	"regexp"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/tool"
)

// waiting are the names of kernels that wait for a peer, as parts of regular
// expressions in lower case: the libraries NCCL and NVSHMEM, and the kernels that
// inference engines bring along (vLLM, TensorRT-LLM, FlashInfer, PyTorch's
// symmetric memory, Transformer Engine's userbuffers, DeepEP).
var waiting = []string{
	"nvshmem", "cross_device_reduce", "all_?reduce", "all_?gather", "reduce_?scatter", "all_?to_?all", "userbuffers", "multimem_", "symm_mem",
	"(one|two)_?shot_", "lamport", "barrier_(all|peers|ranks)", "deep_?ep", "internode", "intranode",
}

// atWord are those that count only where no letter is before them.
var atWord = []string{"nccl", "rccl"}

var collective = regexp.MustCompile(`(?i)(^|[^a-z])(` + strings.Join(atWord, "|") + `)|` + strings.Join(waiting, "|"))

// IsCollective tells by its name whether a kernel waits for a peer. Replayed in
// one rank alone, it hangs.
// It takes mangled and demangled names. NoCollectives goes by the same words.
func IsCollective(name string) bool { return collective.MatchString(name) }

// NoCollectives is a filter of kernels by their demangled names which selects
// those that wait for nobody. ncu takes the grammar of ECMAScript, which has no
// flag for letters of both cases.
var NoCollectives = without(waiting, atWord)

// without is a filter of kernels that have none of these parts in their names.
func without(parts, atWord []string) string {
	return "regex:^(?!.*(" + bothCases(strings.Join(parts, "|")) + "))(?!(.*[^a-zA-Z])?(" + bothCases(strings.Join(atWord, "|")) + "))"
}

// bothCases writes each letter of an expression as a class of both cases.
func bothCases(expr string) string {
	var b strings.Builder
	for _, r := range expr {
		if r >= 'a' && r <= 'z' {
			b.WriteString("[" + string(r) + string(r-'a'+'A') + "]")
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// PeersOption is the option of an ncu that can launch kernels of several
// processes in step, by which it is told how many there are; "" where it cannot.
// Versions spell it differently.
func PeersOption(c *tool.Capabilities) string {
	if c == nil || !slices.Contains(c.Options, "--communicator") || !slices.Contains(c.Options, "--lockstep-kernel-launch") {
		return ""
	}
	for _, name := range []string{"--communicator-tcp-num-peers", "--communicator-num-peers"} {
		if slices.Contains(c.Options, name) {
			return name
		}
	}
	return ""
}
