package redact

import "testing"

func TestRemoved(t *testing.T) {
	for name, want := range map[string]bool{
		"": false, "node7": false, "xavier": false, "box": false, "redactedbox1": false,
		"xxxx": true, fillWord(5): true, fillWord(10): true, fillWord(20): true, hostMark: true, userMark: true,
	} {
		if Removed(name) != want {
			t.Errorf("Removed(%q) is %v", name, !want)
		}
	}
}
