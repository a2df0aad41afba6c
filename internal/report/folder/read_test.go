package folder

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/runs"
)

// A result of another schema is refused, so that captures are analyzed again.
func TestReadSchema(t *testing.T) {
	path := filepath.Join(t.TempDir(), runs.ResultName)
	for text, ok := range map[string]bool{
		`{"schema":1,"warnings":[{"id":"x","text":"a sentence"}],"regions":[{"why":"a sentence"}]}`: false,
		fmt.Sprintf(`{"schema":%d}`, analysis.Schema):                                               true,
		fmt.Sprintf(`{"schema":%d}`, analysis.Schema+1):                                             false,
		`{}`: false,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(path); (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
	}
}
