package timeline

import (
	"encoding/csv"
	"os"
	"strconv"
	"testing"
)

// TestRoundExactAsPrinted compares with the means that nsys stats 2025.3.1 printed of
// made-up durations, many of which end just beside a half.
func TestRoundExactAsPrinted(t *testing.T) {
	f, err := os.Open("testdata/rounding-2025.3.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	otherRule := 0
	for _, row := range rows[1:] {
		var x [3]float64
		for i, text := range row {
			if x[i], err = strconv.ParseFloat(text, 64); err != nil {
				t.Fatal(err)
			}
		}
		mean := x[0] / x[1]
		if got := RoundExact(mean); got != x[2] {
			t.Errorf("RoundExact(%v) = %v, nsys prints %v", mean, got, x[2])
		}
		if Round1(mean) != x[2] {
			otherRule++
		}
	}
	if otherRule == 0 {
		t.Error("the rows do not tell the two rules apart")
	}
}
