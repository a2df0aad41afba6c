package metric

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// What ncu 2024.1 and 2025.3 print for columns of two values, observed with
// made-up reports.
func TestColumn(t *testing.T) {
	f := func(x ...float64) (v []Value) {
		for _, x := range x {
			v = append(v, Float64(x))
		}
		return v
	}
	u := func(x ...uint64) (v []Value) {
		for _, x := range x {
			v = append(v, Uint64(x))
		}
		return v
	}
	nan, inf := math.NaN(), math.Inf(1)
	for _, tt := range []struct {
		unit         string
		values       []Value
		r2024, r2025 []string // unit and values; nil r2025 is the same
	}{
		{"byte", f(1, 2e6), []string{"Mbyte", "0.000001", "2.000000"}, nil},
		{"byte", f(-5000, 2e6), []string{"Mbyte", "-0.005000", "2.000000"}, nil},
		{"byte", f(2e6, nan), []string{"Mbyte", "2.000000", "nan"}, nil},
		{"byte", f(inf, 2), []string{"Pbyte", "-nan", "-nan"}, nil},
		{"byte", f(3e15, 5e18), []string{"Pbyte", "3.000000", "5000.000000"}, nil},
		{"byte", f(999, 1000), []string{"Kbyte", "0.999000", "1.000000"}, nil},
		{"byte", f(0, 0), []string{"byte", "0.000000", "0.000000"}, []string{"byte", "0", "0"}},
		{"byte", f(-0.25, 0), []string{"byte", "0.000000", "0.000000"}, []string{"byte", "0", "0"}},
		{"byte", u(7, 8), []string{"byte", "7.000000", "8.000000"}, []string{"byte", "7", "8"}},
		{"byte", u(1500000, 3), []string{"Mbyte", "1.500000", "0.000003"}, nil},
		{"cycle", u(1<<63+1, 3), []string{"cycle", "9223372036854775808.000000", "3.000000"}, []string{"cycle", "9223372036854775809", "3"}},
		{"byte", []Value{{}, Float64(1)}, []string{"byte", "no data", "1.000000"}, nil},
		{"byte", []Value{String("abc"), Float64(2e6)}, []string{"Mbyte", "0.000000", "2.000000"}, nil},
		{"%/byte", f(24400, 1), []string{"%/Kbyte", "24.400000", "0.001000"}, nil},
		{"", f(1.005, 0.0049), []string{"", "1.00", "0.00"}, nil},
		{"", f(123456.785, 1e17), []string{"", "123456.79", "100000000000000000"}, nil},
		{"", f(0.125, 1e300), []string{"", "0.12", "0"}, nil},
		{"", f(-5.25, -5000), []string{"", "-5.25", "-5000"}, nil},
		{"", f(nan, inf), []string{"", "nan", "inf"}, nil},
		{"", []Value{String("abc"), {}}, []string{"", "abc", "no data"}, nil},
	} {
		for _, r := range []Release{R2024, R2025} {
			want := tt.r2024
			if r == R2025 && tt.r2025 != nil {
				want = tt.r2025
			}
			if got := render(tt.unit, Format{Release: r}, tt.values); !slices.Equal(got, want) {
				t.Errorf("%s %v in release %d: %q, want %q", tt.unit, tt.values, r, got, want)
			}
		}
	}
	for _, tt := range []struct {
		unit  string
		value float64
		want  string
	}{
		{"ns", 1000, "us"}, {"ns", 6e10, "s"}, {"hz", 5e12, "Ghz"}, {"sector/s", 1e6, "sector/us"}, {"byte/s", 5e9, "Gbyte/s"},
		{"byte/block", 1024, "Kbyte/block"}, {"1/s", 5e3, "1/ms"}, {"inst/cycle", 5e3, "inst/cycle"}, {"%", 5e3, "%"},
		{"cycle/second", 5e9, "cycle/nsecond"}, {"nsecond", 14496, "usecond"},
	} {
		if got := render(tt.unit, Format{Release: R2025}, f(tt.value)); got[0] != tt.want {
			t.Errorf("%v %s becomes %s, want %s", tt.value, tt.unit, got[0], tt.want)
		}
	}
}

func render(unit string, f Format, values []Value) []string {
	c := NewColumn(unit, f, slices.Values(values))
	out := []string{c.Unit}
	for _, v := range values {
		out = append(out, string(c.Append(nil, v)))
	}
	return out
}

func TestPlainFormats(t *testing.T) {
	v := []Value{Float64(2e6), Float64(-5000), Float64(123456.785), Uint64(999), Uint64(1 << 63)}
	for _, tt := range []struct {
		f    Format
		want []string
	}{
		{Format{Base: true}, []string{"byte", "2000000", "-5000", "123456.79", "999", "9223372036854775808"}},
		{Format{Base: true, Group: true}, []string{"byte", "2,000,000", "-5,000", "123,456.79", "999", "9,223,372,036,854,775,808"}},
	} {
		if got := render("byte", tt.f, v); !slices.Equal(got, tt.want) {
			t.Errorf("%+v: %q, want %q", tt.f, got, tt.want)
		}
	}
}

// The last digit depends on the order in which the vendor multiplies.
func TestScalingKeepsTheVendorsRounding(t *testing.T) {
	got := render("hz", Format{Release: R2025}, []Value{Float64(1960937500), Float64(1979999999)})
	if got[1] != "1.960938" {
		t.Errorf("got %s", got[1])
	}
}

func TestParseNumber(t *testing.T) {
	for _, tt := range []struct {
		cell   string
		locale Locale
		want   string // or the error
	}{
		{"1234", LocaleUnknown, "1234"},
		{"1,234", LocaleC, "1234"},
		{"1,234", LocaleComma, "1.234"},
		{"1,234", LocaleUnknown, ErrAmbiguous.Error()},
		{"1.234", LocaleUnknown, ErrAmbiguous.Error()},
		{"1.234", LocaleC, "1.234"},
		{"1.234", LocaleComma, "1234"},
		{"1,234,567.89", LocaleUnknown, "1234567.89"},
		{"1.234.567,89", LocaleUnknown, "1234567.89"},
		{"1.234.567,89", LocaleC, ErrAmbiguous.Error()},
		{"0.50", LocaleUnknown, "0.5"},
		{"0,50", LocaleUnknown, "0.5"},
		{"12,34,567", LocaleC, errNotNumber.Error()},
		{"-5,000", LocaleC, "-5000"},
		{"nan", LocaleUnknown, "NaN"},
		{"18446744073709551615", LocaleC, "18446744073709551615"},
		{"", LocaleC, errNotNumber.Error()},
		{"-", LocaleC, errNotNumber.Error()},
		{"CachePreferNone", LocaleC, errNotNumber.Error()},
		{"(1, 2, 3)", LocaleC, errNotNumber.Error()},
	} {
		v, err := ParseNumber(tt.cell, tt.locale)
		got := v.String()
		if err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%q: %s, want %s", tt.cell, got, tt.want)
		}
	}
}

func TestNormalize(t *testing.T) {
	for _, tt := range []struct {
		x    float64
		unit string
		want string
	}{
		{1.5, "us", "1500 ns"}, {1.5, "msecond", "1500000 ns"}, {2, "cycle/nsecond", "2000000000 hz"}, {2, "Ghz", "2000000000 hz"},
		{3, "Mbyte/second", "3000000 byte/s"}, {3, "Gbyte/s", "3000000000 byte/s"}, {5, "sector/ms", "5000 sector/s"},
		{24.4, "%/Kbyte", "24400 %/byte"}, {7, "/nsecond", "7000000000 1/s"}, {7, "inst", "7 inst"}, {7, "", "7 "}, {2, "second", "2000000000 ns"},
		{1, "register/thread", "1 register/thread"},
	} {
		x, unit := Normalize(tt.x, tt.unit)
		if got := fmt.Sprintf("%.10g %s", x, unit); got != tt.want {
			t.Errorf("%v %s: %s, want %s", tt.x, tt.unit, got, tt.want)
		}
	}
}

func TestUnscaled(t *testing.T) {
	for in, want := range map[string]string{
		"Mbyte/s": "byte/s", "us": "ns", "Ghz": "hz", "sector/nsecond": "sector/second", "%/Kbyte": "%/byte", "inst": "inst", "": "",
		"msecond": "nsecond", "sector/s": "sector/s",
	} {
		if got := Unscaled(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func TestValue(t *testing.T) {
	for _, tt := range []struct {
		v      Value
		text   string
		number bool
	}{
		{Value{}, "", false}, {String("x"), "x", false}, {Float32(0.1), "0.1", true}, {Float64(0.1), "0.1", true},
		{Uint32(7), "7", true}, {Uint64(math.MaxUint64), "18446744073709551615", true},
	} {
		if tt.v.String() != tt.text || tt.v.IsNumber() != tt.number {
			t.Errorf("%v: %q %v", tt.v.Kind(), tt.v.String(), tt.v.IsNumber())
		}
	}
}

func FuzzParseNumber(f *testing.F) {
	for _, s := range []string{"1,234.5", "1.234,5", "-0", "nan", "1,2,3"} {
		f.Add(s, uint8(1))
	}
	f.Fuzz(func(t *testing.T, s string, l uint8) {
		v, err := ParseNumber(s, Locale(l%4))
		if err == nil && !v.IsNumber() {
			t.Errorf("%q is neither a number nor an error", s)
		}
	})
}
