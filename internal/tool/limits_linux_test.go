package tool

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestLimitsOfContext: a helper that hangs is ended by the limits of its
// context, whichever it breaks; one that works is not.
func TestLimitsOfContext(t *testing.T) {
	sleeps := Command{Path: "/bin/sh", Args: []string{"-c", "sleep 600"}}
	for name, c := range map[string]struct {
		limits  Limits
		command Command
		want    error
	}{
		"time":  {Limits{Timeout: 200 * time.Millisecond}, sleeps, ErrTimedOut},
		"stall": {Limits{Stall: 300 * time.Millisecond}, sleeps, errStalled},
		"none":  {Limits{Timeout: time.Minute, Stall: time.Minute}, Command{Path: "/bin/true"}, nil},
	} {
		_, _, _, err := Output(WithLimits(context.Background(), c.limits), c.command)
		if !errors.Is(err, c.want) || c.want == nil && err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
