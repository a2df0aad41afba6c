package runs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestMemoryInUse reads a file that an older version began and this one went on with,
// and whose last line was cut: the most of one GPU counts, from the moment on.
func TestMemoryInUse(t *testing.T) {
	dir := t.TempDir()
	rows := []string{
		strings.Join(ConditionColumns[:conditionColumnsBefore], ","),
		"2026-01-01T00:00:00Z,nsys,0,1980,2619,650,60,99,0x0,",
		"2026-01-01T00:00:01Z,nsys,0,1980,2619,650,60,99,0x0,,9000",
		"2026-01-01T00:00:02Z,nsys,0,1980,2619,650,60,99,0x0,,4000",
		"2026-01-01T00:00:02Z,nsys,1,1980,2619,650,60,99,0x0,,5000",
		"2026-01-01T00:00:03Z,nsys,0,1980,2619,650,60,99,0x0,,NaN",
		"2026-01-01T00:00:03Z,nsys,1,19",
	}
	if err := os.WriteFile(filepath.Join(dir, ConditionsName), []byte(strings.Join(rows, "\n")), 0o666); err != nil {
		t.Fatal(err)
	}
	if list, err := ReadConditions(dir); err != nil || len(list) != 5 {
		t.Fatalf("%d samples, %v; want 5", len(list), err)
	}
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for seconds, want := range map[int]float64{0: 9000, 2: 5000, 3: -1, 9: -1} {
		got := MemoryInUse(dir, from.Add(time.Duration(seconds)*time.Second))
		if want < 0 && got != nil || want >= 0 && (got == nil || *got != want*(1<<20)) {
			t.Errorf("from second %d: %v, want %v MiB", seconds, got, want)
		}
	}
	if got := MemoryInUse(t.TempDir(), from); got != nil {
		t.Errorf("without samples: %v", *got)
	}
}
