package pipeline

import (
	"fmt"
	"time"
)

// live shows where the run stands: the place of the stage among those that run,
// what it is doing, and how long it will take where that can be told.
func (r *run) live(line string) {
	expected := ""
	if d := r.expected(); d > 0 {
		expected = fmt.Sprintf(", of about %s", d.Round(time.Second))
	}
	r.Progress(fmt.Sprintf("[%d/%d] %s%s", r.at.now, r.at.of, line, expected))
}

// A standing is the stage under way.
type standing struct {
	stage    string
	now, of  int
	foretold time.Duration // what the stage itself predicts
}

// start moves on to a stage.
func (s *standing) start(name string, list []stageOf) {
	*s = standing{stage: name}
	for _, other := range list {
		if !other.enable {
			continue
		}
		s.of++
		if other.name == name {
			s.now = s.of
		}
	}
}

// expected is how long the stage will take as far as the stages before it tell:
// a session costs about what the clean one did.
func (r *run) expected() time.Duration {
	switch r.at.stage {
	case "direct_inference", "torch_profiler", "torch_flops", "nsys":
		return r.cleanTime()
	}
	return r.at.foretold
}
