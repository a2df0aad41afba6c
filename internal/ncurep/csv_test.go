package ncurep

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/metric"
)

// A raw page read back gives the launches and values of the report itself, as
// far as the digits of the page go.
func TestReadRawCSV(t *testing.T) {
	for page, report := range map[string]string{
		"toy_nest.2024.1.raw.csv":   "toy_nest",
		"toy_nest.2024.1.base.csv":  "toy_nest",
		"toy_full.2025.3.raw.csv":   "toy_full", // with thousands separators
		"toy_dom.2024.1.raw.csv":    "toy_dom",
		"toy_range.2022.3.raw.csv":  "toy_range",
		"llm_basic.2025.3.base.csv": "llm_basic",
	} {
		t.Run(page, func(t *testing.T) {
			want := readBytes(t, fixture(t, report+".ncu-rep"), Options{})
			got, err := ReadCSV(bytes.NewReader(fixture(t, page)))
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Results) != len(want.Results) || len(got.Warnings) != 0 {
				t.Fatalf("%d results, want %d; warnings %v", len(got.Results), len(want.Results), got.Warnings)
			}
			base := strings.Contains(page, "base")
			for i, r := range got.Results {
				compareResults(t, r, want.Results[i], base, strings.Contains(page, "2025"))
			}
		})
	}
}

func compareResults(t *testing.T, got, want *Result, base, shortened bool) {
	t.Helper()
	if got.ID != want.ID || got.Process.ID != want.Process.ID || got.ContextID != want.ContextID || got.StreamID != want.StreamID ||
		got.Kind != want.Kind || !shortened && got.Name() != want.Name() {
		t.Errorf("result %d: %d %v %q", want.ID, got.ID, got.Process, got.Name())
	}
	if want.Kind == Kernel && !got.Grid.IsZero() && (got.Grid != want.Grid || got.Block != want.Block) {
		t.Errorf("result %d: grid %v block %v", want.ID, got.Grid, got.Block)
	}
	if pushPopCell(got) != pushPopCell(want) || startEndCell(got) != startEndCell(want) {
		t.Errorf("result %d: nvtx %+v, want %+v", want.ID, got.NVTX, want.NVTX)
	}
	compared := 0
	for i := range got.Metrics {
		m := &got.Metrics[i]
		x, ok := m.Value.Float64()
		y, wantOK := want.Value(m.Name)
		if !ok || !wantOK || math.IsNaN(x) && math.IsNaN(y) {
			continue
		}
		compared++
		// Two decimals of a base unit, or six of the magnitude of the column:
		// up to Tbyte, second, Ghz.
		tolerance := 0.00501
		if unit := m.Unit(); !base && strings.HasPrefix(unit, "byte") {
			tolerance = 0.501e6
		} else if !base && (unit == "ns" || strings.HasSuffix(unit, "/s") || unit == "hz") {
			tolerance = 0.501e3
		}
		if math.Abs(x-y) > tolerance+math.Abs(y)*1e-15 {
			t.Errorf("result %d %s: %v, report %v", want.ID, m.Name, x, y)
		}
	}
	if compared < 300 {
		t.Errorf("result %d: only %d numbers compared", want.ID, compared)
	}
}

func TestReadDetailsCSV(t *testing.T) {
	for file, want := range map[string]struct {
		results int
		label   string
		value   float64
		unit    string
	}{
		"details.2024.1.csv": {1, "DRAM Frequency", 3.20e9, "hz"},
		"details.2025.3.csv": {2, "DRAM Frequency", 3.20e9, "hz"},
	} {
		rep, err := ReadCSVFile("testdata/" + file)
		if err != nil {
			t.Fatal(err)
		}
		if len(rep.Results) != want.results || len(rep.Warnings) != 0 {
			t.Fatalf("%s: %d results, warnings %v", file, len(rep.Results), rep.Warnings)
		}
		m, ok := rep.Results[0].metric(want.label)
		if !ok {
			t.Fatalf("%s: no %s", file, want.label)
		}
		if x, _ := m.Value.Float64(); math.Abs(x-want.value) > 1 || m.Unit() != want.unit || m.Section != "GPU Speed Of Light Throughput" {
			t.Errorf("%s: %v %s in %q", file, x, m.Unit(), m.Section)
		}
		if len(rep.Results[0].Rules) == 0 || rep.Results[0].Rules[0].Messages[0].Text == "" {
			t.Errorf("%s: no rules", file)
		}
	}
}

func TestReadCSVAmongLogLines(t *testing.T) {
	page := fixture(t, "toy_nest.2024.1.raw.csv")
	first := bytes.IndexByte(page, '\n') + 1
	log := "==PROF== Connected to process 1 (/tmp/toy)\nhello from the program, with a comma\n==PROF== Profiling \"k\" - 0: 0%....100% - 9 passes\n" +
		string(page[:first]) + "==WARNING== something\n" + string(page[first:]) + "==PROF== Disconnected\n"
	rep, err := ReadCSV(strings.NewReader(log))
	if err != nil || len(rep.Results) != 6 || len(rep.Warnings) != 0 {
		t.Fatalf("%v, %d results, warnings %v", err, len(rep.Results), rep.Warnings)
	}
}

func TestReadCSVBadInput(t *testing.T) {
	const head = `"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","a","b"` + "\n" + `"","","","","","","","byte","us"` + "\n"
	for _, tt := range []struct {
		name, rows string
		results    int
		warning    fact.Code
		has        string // error of the warning
	}{
		{"good", `"0","1","p","h","k<a, b>(int, int)","1","7","1,024","2.50"`, 1, "", ""},
		{"no id", `"x","1","p","h","k","1","7","1","2"`, 0, rowLeftOut, `"x" is no result number`},
		{"too many cells", `"0","1","p","h","k","1","7","1","2","3","4"`, 0, rowLeftOut, "11 cells under 9 columns"},
		{"too few cells", `"0","1","p","h","k","1","7"`, 1, rowShort, ""},
		{"broken quotes", `"0","1","p","h","k"x","1","7","1","2"`, 0, rowLeftOut, ""},
		{"ambiguous", `"0","1","p","h","k","1","7","1.024","1"`, 1, cellLeftOut, "ambiguous"},
		{"two locales", `"0","1","p","h","k","1","7","1.024.000","1,024.5"`, 1, twoLocales, ""},
		{"decimal comma", `"0","1","p","h","k","1","7","1.024.000","2,50"`, 1, "", ""},
		{"no data", `"0","1","p","h","k","1","7","no data",""`, 1, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rep, err := ReadCSV(strings.NewReader(head + tt.rows + "\n"))
			if err != nil {
				t.Fatal(err)
			}
			if len(rep.Results) != tt.results {
				t.Errorf("%d results", len(rep.Results))
			}
			if tt.warning == "" && len(rep.Warnings) > 0 || tt.warning != "" && (len(rep.Warnings) == 0 || !rep.Warnings[0].What.Is(tt.warning) || !strings.Contains(rep.Warnings[0].What.Text("error"), tt.has) || tt.warning != twoLocales && rep.Warnings[0].What.Number("line") != 3) {
				t.Errorf("warnings %v, want %q", rep.Warnings, tt.warning)
			}
			if tt.name == "good" || tt.name == "decimal comma" {
				if x, _ := rep.Results[0].Value("b"); x != 2500 {
					t.Errorf("b is %v ns", x)
				}
			}
		})
	}
	for _, text := range []string{"", "nothing here\n", "a,b\n1,2\n"} {
		if _, err := ReadCSV(strings.NewReader(text)); !errors.Is(err, ErrNoTable) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzReadCSV(f *testing.F) {
	for _, name := range []string{"details.2024.1.csv", "details.2025.3.csv"} {
		b, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b[:min(len(b), 1500)])
	}
	f.Add([]byte("\"ID\",\"a\",\"b\"\n\"\",\"byte\",\"us\"\n\"0\",\"1,024\",\"2.5\"\n"))
	f.Add([]byte("\"ID\",\"" + pushPopColumn + "\",\"b\"\n\"0\",\"77  \"\"d:r:none:none:none:none:none:none\"\" \",\"2.5\"\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		rep, err := ReadCSV(bytes.NewReader(b))
		if err != nil {
			return
		}
		for _, r := range rep.Results {
			for i := range r.Metrics {
				if r.Metrics[i].Value.Kind() > metric.KindUint64 {
					t.Fatal("impossible kind")
				}
			}
		}
	})
}

func FuzzRead(f *testing.F) {
	b := fixture(f, "toy_range.ncu-rep")
	f.Add(b[:9000])
	f.Add(smallReport())
	f.Add([]byte("NVR\x00\x02\x00\x00\x00\x08\x07"))
	f.Add([]byte("NVR\x00\x02\x00\x00\x00\x08\x07\x08\x00\x00\x00\x10\xff\xff\xff\xff\x0f\x28\x04\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		rep, err := Read(bytes.NewReader(b), int64(len(b)), Options{Instances: true, Rules: true, Sections: true, Sources: true})
		if err != nil {
			return
		}
		var out bytes.Buffer
		if err := formatRawCSV(&out, rep, metric.Format{Release: metric.Latest}); err != nil {
			t.Fatal(err)
		}
		if err := Strip(bytes.NewReader(b), int64(len(b)), &out); err != nil && !errors.Is(err, errFormat) && !errors.Is(err, errShort) {
			t.Fatal(err)
		}
	})
}

// smallReport is a report of two kernels, small enough to be mutated well.
func smallReport() []byte {
	bytesField := func(b []byte, num protowire.Number, data ...[]byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(b, num, protowire.BytesType), bytes.Join(data, nil))
	}
	number := func(b []byte, num protowire.Number, v uint64) []byte {
		return protowire.AppendVarint(protowire.AppendTag(b, num, protowire.VarintType), v)
	}
	frame := func(b []byte) []byte { return append(binary.LittleEndian.AppendUint32(nil, uint32(len(b))), b...) }
	value := bytesField(nil, 2, protowire.AppendFixed64(protowire.AppendTag(nil, 3, protowire.Fixed64Type), 0x4093480000000000))
	instance := bytesField(nil, 3, bytesField(nil, 1, number(nil, 5, 16)), bytesField(nil, 2, number(nil, 5, 3)))
	rng := bytesField(nil, 3, bytesField(nil, 1, []byte("step")))
	nvtx := bytesField(bytesField(nil, 1, number(nil, 1, 0), bytesField(nil, 2, []byte("<default domain>"))), 2, number(nil, 1, 7), bytesField(nil, 2, number(nil, 1, 0), rng))
	rule := bytesField(bytesField(nil, 1, []byte("R")), 3, bytesField(nil, 1, bytesField(nil, 1, bytesField(nil, 1, []byte("text")), number(nil, 2, 4))))
	section := bytesField(bytesField(nil, 1, []byte("S")), 4, bytesField(nil, 2, bytesField(nil, 1, []byte("dram__bytes.sum"))))
	kernel := number(nil, 1, 7)
	kernel = bytesField(kernel, 5, []byte("_Z1kv"))
	kernel = bytesField(kernel, 7, []byte("k()"))
	kernel = bytesField(kernel, 10, number(nil, 1, 2))
	kernel = bytesField(kernel, 13, number(nil, 1, 0), value, instance)
	kernel = bytesField(kernel, 17, section)
	kernel = bytesField(kernel, 19, rule)
	kernel = bytesField(kernel, 21, nvtx)
	out := append([]byte(magic), frame(number(nil, 1, 7))...)
	source := frame(bytesField(number(nil, 1, 1), 4, []byte("cubin")))
	header := bytesField(number(number(nil, 1, 1), 2, 2), 4, bytesField(nil, 1, []byte("dram__bytes.sum")))
	payload := bytes.Join([][]byte{source, frame(kernel), frame(kernel)}, nil)
	header = bytesField(number(header, 5, uint64(len(payload))), 6, number(nil, 1, 9), bytesField(nil, 3, []byte("/bin/k")))
	return append(append(out, frame(header)...), payload...)
}

func TestSmallReport(t *testing.T) {
	rep := readBytes(t, smallReport(), Options{Instances: true, Rules: true, Sections: true, Sources: true})
	if len(rep.Results) != 2 || len(rep.Warnings) != 0 || rep.Info.NumSource != 1 {
		t.Fatalf("%d results, %d sources, warnings %v", len(rep.Results), rep.Info.NumSource, rep.Warnings)
	}
	r := rep.Results[1]
	if x, _ := r.Value("dram__bytes.sum"); x != 1234 || len(r.Rules) != 1 || len(r.Sections) != 1 || len(r.NVTX.Stacks) != 1 {
		t.Errorf("%v %+v", x, r)
	}
}
