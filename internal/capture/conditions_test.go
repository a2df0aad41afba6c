package capture

import "testing"

// FuzzParseCondition: whatever line nvidia-smi prints, it is a sample of a GPU or none.
func FuzzParseCondition(f *testing.F) {
	f.Add("0, 1980, 3201, 700.1, 55, 100, 0x0000000000000004, 81920")
	f.Add("[N/A], [N/A]")
	f.Fuzz(func(t *testing.T, line string) {
		c, ok := parseCondition(line)
		if !ok && c.Throttled != "" {
			t.Errorf("%q: %+v", line, c)
		}
	})
}
