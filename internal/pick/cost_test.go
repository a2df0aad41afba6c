package pick

import (
	"math"
	"testing"
)

// The launches that one ncu process counted on an H200, by how many launches of
// the program's regions came before each; deepprof's default run of a small Llama.
var countedOnH200 = []int{
	0, 6, 16, 24, 32, 34, 38, 41, 51, 52, 53, 54, 55, 60, 63, 77, 102, 110, 127, 130,
	139, 141, 145, 146, 147, 148, 149, 153, 156, 169, 178, 333, 362, 363, 378, 418, 475, 476, 491, 492,
	503, 707, 708, 723, 724, 1386, 1392, 1745, 3176, 3182, 3535, 5349, 5399, 5716, 5795, 5889, 5956, 7334, 7429, 9309,
	9450, 9844, 9983, 10435, 10436, 10437, 10438, 10439, 10588, 10589, 10590, 10591, 10592, 10726, 10889, 11083, 11124, 11246,
}

// The same between gates.
var gatedOnH200 = []int{
	0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 16, 17, 18, 19, 21, 22,
	23, 25, 34, 35, 37, 38, 333, 334, 340, 341, 342, 343, 344, 345, 346, 347, 348, 349, 350, 351,
	353, 354, 355, 356, 357, 358, 359, 361, 362, 365, 366, 377, 378, 380, 381, 382, 686, 687,
}

// What a process costs is predicted within a quarter; 18 passes a launch, the program
// as long as under nsys.
func TestPredictsWithinAQuarter(t *testing.T) {
	const start, kernelNS = 23_000, 2_500
	m := costModel{passes: 18, first: start}
	for _, c := range []struct {
		counted       []int
		program, took float64
	}{{countedOnH200, 13.293, 84.2}, {gatedOnH200, 11.13, 54.3}} {
		m.program = c.program
		got := m.process()
		for _, after := range c.counted {
			got += m.launch(start+after, kernelNS)
		}
		if math.Abs(got-c.took) > c.took/4 {
			t.Errorf("predicted %.1f s, took %.1f s", got, c.took)
		}
	}
	if late, early := m.launch(start+11_000, 0), m.least(); late <= early {
		t.Errorf("a late launch costs %.2f s, the first one %.2f s", late, early)
	}
}
