package redact

import "testing"

func TestRemoved(t *testing.T) {
	for name, want := range map[string]bool{
		"": false, "node7": false, "xavier": false, "box": false, "redactedbox1": false,
		"xxxx": true, fillWord(hostMark, 5): true, fillWord(hostMark, 13): true, fillWord(hostMark, 20): true, fillWord("redacted", 10): true, userMark: true,
	} {
		if Removed(name) != want {
			t.Errorf("Removed(%q) is %v", name, !want)
		}
	}
}
