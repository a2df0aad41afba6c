package html

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/conf"
	"github.com/deepprof/deepprof/internal/analysis"
)

// apart is how far two colors are at least from each other, by CIEDE2000, where about
// 1 is just seen of two that touch.
const apart = 10

// visions are what readers see of linear sRGB: all of it, or less red, green or blue
// (Machado, Oliveira and Fernandes 2009, severity 1).
var visions = map[string][3][3]float64{
	"normal": {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
	"protan": {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
	"deutan": {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
	"tritan": {{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}},
}

func times(m [3][3]float64, c [3]float64) (out [3]float64) {
	for i, row := range m {
		out[i] = row[0]*c[0] + row[1]*c[1] + row[2]*c[2]
	}
	return out
}

// seen is a color, "rgb(1, 2, 3)", in CIELAB as a vision has it.
func seen(t *testing.T, color string, vision [3][3]float64) [3]float64 {
	t.Helper()
	var c [3]float64
	if n, err := fmt.Sscanf(color, "rgb(%g, %g, %g)", &c[0], &c[1], &c[2]); n != 3 {
		t.Fatalf("color %q: %v", color, err)
	}
	for i, v := range c {
		if c[i] = v / 255 / 12.92; v/255 > 0.04045 {
			c[i] = math.Pow((v/255+0.055)/1.055, 2.4)
		}
	}
	c = times(vision, c)
	for i := range c {
		c[i] = min(1, max(0, c[i]))
	}
	c = times([3][3]float64{{0.4124564, 0.3575761, 0.1804375}, {0.2126729, 0.7151522, 0.0721750}, {0.0193339, 0.1191920, 0.9503041}}, c)
	for i, white := range []float64{0.95047, 1, 1.08883} {
		if x := c[i] / white; x > 0.008856 {
			c[i] = math.Cbrt(x)
		} else {
			c[i] = 7.787*x + 16.0/116
		}
	}
	return [3]float64{116*c[1] - 16, 500 * (c[0] - c[1]), 200 * (c[1] - c[2])}
}

// ciede2000 is the difference of two colors in CIELAB (Sharma, Wu and Dalal 2005).
func ciede2000(x, y [3]float64) float64 {
	const rad = math.Pi / 180
	pow7 := func(c float64) float64 { return math.Sqrt(math.Pow(c, 7) / (math.Pow(c, 7) + math.Pow(25, 7))) }
	g := 1.5 - 0.5*pow7((math.Hypot(x[1], x[2])+math.Hypot(y[1], y[2]))/2)
	a1, a2 := x[1]*g, y[1]*g
	c1, c2 := math.Hypot(a1, x[2]), math.Hypot(a2, y[2])
	hue := func(b, a float64) float64 { return math.Mod(math.Atan2(b, a)/rad+360, 360) }
	h1, h2 := hue(x[2], a1), hue(y[2], a2)
	dh, h := h2-h1, (h1+h2)/2
	switch {
	case c1*c2 == 0:
		dh, h = 0, h1+h2
	case dh > 180:
		dh, h = dh-360, math.Mod(h+180, 360)
	case dh < -180:
		dh, h = dh+360, math.Mod(h+180, 360)
	}
	l, c := (x[0]+y[0])/2, (c1+c2)/2
	t := 1 - 0.17*math.Cos((h-30)*rad) + 0.24*math.Cos(2*h*rad) + 0.32*math.Cos((3*h+6)*rad) - 0.2*math.Cos((4*h-63)*rad)
	dl := (y[0] - x[0]) / (1 + 0.015*(l-50)*(l-50)/math.Sqrt(20+(l-50)*(l-50)))
	dc := (c2 - c1) / (1 + 0.045*c)
	dH := 2 * math.Sqrt(c1*c2) * math.Sin(dh/2*rad) / (1 + 0.015*c*t)
	turn := -2 * pow7(c) * math.Sin(60*rad*math.Exp(-(h-275)*(h-275)/625))
	return math.Sqrt(dl*dl + dc*dc + dH*dH + turn*dc*dH)
}

// Values of the paper's table.
func TestCIEDE2000(t *testing.T) {
	for _, test := range []struct {
		x, y [3]float64
		want float64
	}{
		{[3]float64{50, 2.6772, -79.7751}, [3]float64{50, 0, -82.7485}, 2.0425},
		{[3]float64{50, 2.49, -0.001}, [3]float64{50, -2.49, 0.0011}, 7.2195},
		{[3]float64{22.7233, 20.0904, -46.694}, [3]float64{23.0331, 14.973, -42.5619}, 2.0373},
		{[3]float64{50, 2.5, 0}, [3]float64{73, 25, -18}, 27.1492},
	} {
		if got := ciede2000(test.x, test.y); math.Abs(got-test.want) > 1e-4 {
			t.Errorf("%v and %v: %.4f, want %.4f", test.x, test.y, got, test.want)
		}
	}
}

// Every shipped category and every cause of gaps has a color that color-blind readers
// tell from the others, in both themes; causes also differ in their hatching. The legend names each part that a bar draws.
func TestColorsAreToldApart(t *testing.T) {
	r := sample()
	rules, err := conf.FS.ReadFile(analysis.CategoriesFile)
	if err != nil {
		t.Fatal(err)
	}
	split := &r.Stages[0].Split
	split.Busy, split.Idle = nil, nil
	for _, m := range append(regexp.MustCompile(`(?m)^  - \{id: (\w+)\}`).FindAllStringSubmatch(string(rules), -1), []string{"", "other"}) {
		split.Busy = append(split.Busy, analysis.TimePart{ID: m[1], Label: "kind " + m[1], NS: 10_000})
	}
	for _, id := range []string{"none", "python", "host", "launch", "graph", "call", "sync", "copy", "alloc", "others"} {
		split.Idle = append(split.Idle, analysis.TimePart{ID: id, NS: 10_000})
	}
	r.Stages = r.Stages[:1]
	kinds, causes := len(split.Busy), len(split.Idle)
	if kinds < 20 {
		t.Fatalf("%d categories", kinds)
	}
	p := open(t, r)
	for _, theme := range []string{"light", "dark"} {
		p.media("", theme)
		p.wait(fmt.Sprintf(`document.documentElement.dataset.theme === %q`, theme))
		// color, class and name of each part of the first bar, and of its legend
		parts := eval[[][]string](p, `[...document.querySelectorAll("#stage-bars .part")].map((e) => [getComputedStyle(e).backgroundColor, e.className, e.title])`)
		legend := eval[[][]string](p, `[...document.querySelectorAll("#stage-bars .legend li")].map((e) => [getComputedStyle(e.firstElementChild).backgroundColor, e.firstElementChild.className])`)
		if len(parts) != kinds+causes || len(legend) != len(parts) {
			t.Fatalf("%s: %d parts and %d names in the legend, want %d", theme, len(parts), len(legend), kinds+causes)
		}
		for i, part := range parts {
			if !slices.ContainsFunc(legend, func(l []string) bool { return l[0] == part[0] && strings.HasPrefix(l[1], "swatch") }) {
				t.Errorf("%s: no name for the color of %s", theme, part[2])
			}
			for at, other := range parts[:i] {
				for vision, m := range visions {
					if at < kinds && i >= kinds && vision != "normal" {
						continue // a kind and a cause, which also differ in their hatching
					}
					if d := ciede2000(seen(t, part[0], m), seen(t, other[0], m)); d < apart {
						t.Errorf("%s, %s: %s and %s are %.1f apart", theme, vision, part[2], other[2], d)
					}
				}
			}
			if i > kinds && slices.ContainsFunc(parts[kinds:i], func(other []string) bool { return other[1] == part[1] }) {
				t.Errorf("%s is hatched as another cause", part[2])
			}
		}
	}
}
