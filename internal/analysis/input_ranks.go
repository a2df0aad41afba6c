package analysis

import (
	"encoding/json"

	"github.com/deepprof/deepprof/internal/runs"
)

// findRanks reads which ranks of the job began, and were not chosen to be
// captured: nobody misses their timelines.
func (in *Input) findRanks() {
	in.left = map[int]bool{}
	for _, path := range runs.Files(in.Run, runs.RankFile) {
		var r struct {
			Rank   int
			Chosen string
		}
		if data, err := readFile(path); err == nil && json.Unmarshal(data, &r) == nil && r.Chosen == "no" {
			in.left[r.Rank] = true
		}
	}
}
