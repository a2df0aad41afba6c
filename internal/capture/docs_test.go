package capture

import (
	"os"
	"strings"
	"testing"
)

// TestDocs: docs/outcomes.md names every outcome and every message.
func TestDocs(t *testing.T) {
	data, err := os.ReadFile("../../docs/outcomes.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := string(data)
	for kind, a := range advice {
		if !strings.Contains(doc, "| "+string(kind)+" | "+a.cause+" | ") {
			t.Errorf("docs/outcomes.md does not list %q as it is", kind)
		}
	}
	for _, p := range Patterns() {
		if !strings.Contains(doc, "| "+p.ID+" | ") {
			t.Errorf("docs/outcomes.md does not list the message %s", p.ID)
		}
	}
}
