package report

import "testing"

// TestAppendCell: a spreadsheet runs no name of a kernel, and numbers stay numbers.
func TestAppendCell(t *testing.T) {
	for in, want := range map[string]string{
		"=HYPERLINK(1)": "'=HYPERLINK(1)", "@SUM": "'@SUM", "+cmd": "'+cmd", "-x": "'-x", "=1,2": `"'=1,2"`,
		"-1.5": "-1.5", "+3": "+3", "-1e9": "-1e9", "plain": "plain", "": "",
	} {
		if got := string(appendCell(nil, in)); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}
