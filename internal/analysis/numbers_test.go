package analysis

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/fixture"
	"github.com/deepprof/deepprof/internal/runs"
)

// TestNumbers holds every number of the result of each case against those of
// the version before results became data. Numbers that an issue changes on
// purpose stand in numbers_changed.tsv; scripts/validate/numbers makes the list.
// The same results must hold no words of deepprof.
func TestNumbers(t *testing.T) {
	want := storedNumbers(t)
	changed := tableOf(t, "numbers_changed.tsv")
	for _, c := range tableOf(t, "numbers_cases.tsv") {
		t.Run(c[0], func(t *testing.T) {
			r := caseResult(t, strings.Fields(c[1]), strings.Fields(c[2]))
			var input []byte
			for _, file := range strings.Fields(c[2]) {
				input = append(input, fixture.Read(t, filepath.Join("..", "..", filepath.FromSlash(file)))...)
			}
			checkNoEnglish(t, r, input)
			got := numbersOf(t, r)
			if len(want[c[0]]) == 0 {
				t.Fatal("numbers.tsv.gz has none of this case")
			}
			for place, value := range want[c[0]] {
				if got[place] != value && !isChanged(changed, c[0], place) {
					t.Errorf("%s is %v, was %v", place, got[place], value)
				}
			}
		})
	}
}

func isChanged(rows [][]string, name, place string) bool {
	full := func(pattern, s string) bool { return regexp.MustCompile("^(?:" + pattern + ")$").MatchString(s) }
	return slices.ContainsFunc(rows, func(r []string) bool { return full(r[1], name) && full(r[2], place) })
}

// tableOf reads a table of testdata: fields between tabs, # begins a comment.
func tableOf(t testing.TB, name string) (rows [][]string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimRight(line, "\n"); line != "" && !strings.HasPrefix(line, "#") {
			rows = append(rows, strings.Split(line, "\t"))
		}
	}
	return rows
}

func storedNumbers(t testing.TB) map[string]map[string]float64 {
	t.Helper()
	data, err := os.ReadFile("testdata/numbers.tsv.gz")
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]map[string]float64{}
	for lines := bufio.NewScanner(z); lines.Scan(); {
		f := strings.Split(lines.Text(), "\t")
		x, err := strconv.ParseFloat(f[2], 64)
		if err != nil {
			t.Fatal(err)
		}
		if out[f[0]] == nil {
			out[f[0]] = map[string]float64{}
		}
		out[f[0]][f[1]] = x
	}
	return out
}

// caseResult analyzes the files of a case, or its packed run.
func caseResult(t *testing.T, regions, files []string) *Result {
	t.Helper()
	for i := range files {
		files[i] = filepath.Join("..", "..", filepath.FromSlash(files[i]))
	}
	if !strings.HasSuffix(files[0], ".tar.zst") {
		return scopedTo(t, regions, nil, files...)
	}
	run, err := runs.OpenWith(context.Background(), files[0], runs.UnpackOptions{CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	in, err := FromRun(run.Dir())
	if err != nil {
		t.Fatal(err)
	}
	return analyzed(t, in)
}

// numbersOf lists the numbers of a result by their place. Of the boxes of a lane
// it has the CRC-32.
func numbersOf(t testing.TB, r *Result) map[string]float64 {
	t.Helper()
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var tree any
	if err := d.Decode(&tree); err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	collectNumbers(tree, "", out)
	return out
}

func collectNumbers(v any, place string, into map[string]float64) {
	switch x := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(x)) {
			collectNumbers(x[key], place+"/"+key, into)
		}
	case []any:
		for i := range x {
			collectNumbers(x[i], place+"/"+strconv.Itoa(i), into)
		}
	case json.Number:
		if lane, box, ok := strings.Cut(place, "/boxes/"); ok {
			lane += "/boxes"
			into[lane] = float64(crc32.Update(uint32(into[lane]), crc32.IEEETable, fmt.Appendf(nil, "/boxes/%s=%s\n", box, x)))
			return
		}
		into[place], _ = x.Float64()
	}
}
