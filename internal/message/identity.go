package message

import (
	"fmt"
	"strings"

	"github.com/deepprof/deepprof/internal/timeline"
)

// Identity is what tells a timeline from the others: "rank 3 on node1, window 2";
// "" where nothing is known.
func Identity(id timeline.Identity) string {
	var parts []string
	switch {
	case id.Rank != nil:
		parts = append(parts, fmt.Sprintf("rank %d", *id.Rank))
	case id.Window == 0 && id.Repeat == 0 && id.Process != 0:
		parts = append(parts, fmt.Sprintf("process %d", id.Process))
	}
	if id.Host != "" && len(parts) > 0 {
		parts[0] += " on " + id.Host
	}
	if id.Window > 0 {
		parts = append(parts, fmt.Sprintf("window %d", id.Window))
	}
	if id.Repeat > 0 {
		parts = append(parts, fmt.Sprintf("repeat %d", id.Repeat))
	}
	return strings.Join(parts, ", ")
}
