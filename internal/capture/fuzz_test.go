package capture

import (
	"bytes"
	"testing"
)

// FuzzReadDiagnostics: whatever the text export of a report holds, its messages
// are found or skipped.
func FuzzReadDiagnostics(f *testing.F) {
	f.Add([]byte("DiagnosticEvent_ {\n  Source: Injection\n  Level: Warning\n  Text: \"a \\\"b\\\" \\n c\"\n}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if _, err := readDiagnostics(bytes.NewReader(text)); err != nil {
			t.Error(err)
		}
	})
}
