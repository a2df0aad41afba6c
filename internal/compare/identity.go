package compare

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/fact"
)

// identity stands for the process that a run measured: two runs with the same one
// are the same process, whatever file, pack or baseline they were read from. "" is
// not known. Times in nanoseconds of two processes never all agree.
func (r *Run) identity() string {
	if r.Result == nil {
		return ""
	}
	type kernel struct {
		Name        string
		Grid, Block [3]int64
		Calls, NS   int64
	}
	type region struct {
		Path                string
		Instances, Wall, NS int64
	}
	measured := struct {
		Totals     analysis.Totals
		Stages     []analysis.Stage
		Serving    *analysis.Serving
		Unprofiled float64
		Kernels    []kernel
		Regions    []region
	}{Totals: r.Result.Totals, Stages: r.Result.Stages, Serving: r.Result.Serving, Unprofiled: r.Result.Method.UnprofiledS}
	for i := range r.Result.Kernels {
		k := &r.Result.Kernels[i]
		measured.Kernels = append(measured.Kernels, kernel{k.Name, k.Grid, k.Block, k.Calls, k.TotalNS})
	}
	for i := range r.Result.Regions {
		g := &r.Result.Regions[i]
		measured.Regions = append(measured.Regions, region{g.Path, g.Instances, g.WallNS, g.KernelNS})
	}
	text, err := json.Marshal(measured)
	if err != nil { // NaN, which sound refuses
		return ""
	}
	sum := sha256.Sum256(text)
	return string(sum[:])
}

// Distinct are the runs of a side, each process once; again are the names under
// which a process came once more.
func Distinct(side []Run) (once []Run, again []string) {
	seen := map[string]bool{}
	for i := range side {
		id := side[i].identity()
		if id != "" && seen[id] {
			again = append(again, side[i].Name)
			continue
		}
		seen[id] = true
		once = append(once, side[i])
	}
	return once, again
}

// Repeated says which runs count once though they were named several times.
func Repeated(again []string) fact.Fact {
	slices.Sort(again)
	return fact.New(givenAgain, fact.Names("runs", fact.KindName, slices.Compact(again)))
}

// sharedProcesses tells of processes that stand on both sides: they differ from
// themselves by nothing, which says nothing about noise.
func sharedProcesses(base, fresh []Run) Differ {
	of := map[string]bool{}
	for i := range base {
		of[base[i].identity()] = true
	}
	n := 0
	for i := range fresh {
		if id := fresh[i].identity(); id != "" && of[id] {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return Differ{{fact.New(sameProcess, fact.Count("n", n)), []Claim{claimTimes}}}
}

// distinctOnly refuses a side in which a process stands twice.
func distinctOnly(side []Run) error {
	if _, again := Distinct(side); len(again) > 0 {
		return fmt.Errorf("compare --self: %s was given before, maybe under another name: one process has no noise; name several runs of the same program", again[0])
	}
	return nil
}
