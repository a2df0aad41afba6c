package html

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"compress/gzip"

	"github.com/deepprof/deepprof/internal/analysis"
)

func write(t *testing.T, r *analysis.Result) string {
	t.Helper()
	r.Derive() // tests change results
	var b bytes.Buffer
	if err := Write(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// data returns the result that a page carries, as JSON with the words of its
// facts.
func data(t *testing.T, page string) (encoding string, text []byte) {
	t.Helper()
	m := regexp.MustCompile(`(?s)<script type="application/json" id="data" data-encoding="([^"]*)">(.*?)</script>`).FindStringSubmatch(page)
	if m == nil {
		t.Fatal("the page carries no result")
	}
	text = []byte(m[2])
	if encoding = strings.ReplaceAll(m[1], "&#43;", "+"); encoding != "json" {
		packed, err := base64.StdEncoding.DecodeString(m[2])
		if err != nil {
			t.Fatal(err)
		}
		z, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if _, err := b.ReadFrom(z); err != nil {
			t.Fatal(err)
		}
		text = b.Bytes()
	}
	return encoding, text
}

func TestWriteCarriesTheResult(t *testing.T) {
	for _, test := range []struct {
		name, encoding string
		result         *analysis.Result
	}{
		{"small", "json", sample()},
		{"large", "gzip+base64", large()},
	} {
		t.Run(test.name, func(t *testing.T) {
			page := write(t, test.result)
			if len(page) > maxBytes {
				t.Errorf("%d bytes", len(page))
			}
			encoding, got := data(t, page)
			if encoding != test.encoding {
				t.Errorf("encoded as %s, want %s", encoding, test.encoding)
			}
			want, err := json.Marshal(carry(test.result))
			if err != nil {
				t.Fatal(err)
			}
			tree, err := withWords(want, test.result.Python())
			if err != nil {
				t.Fatal(err)
			}
			if want, err = json.Marshal(tree); err != nil || !bytes.Equal(got, want) {
				t.Errorf("the result changed on its way into the page (%v)", err)
			}
			if again := write(t, test.result); again != page {
				t.Error("two reports of the same result differ")
			}
		})
	}
}

// TestWriteKeepsNamesInside checks that no name can end the element that holds
// it: the page has its own two scripts and no other markup out of the result.
func TestWriteKeepsNamesInside(t *testing.T) {
	r := sample()
	r.Source.Run = hostile
	page := write(t, r)
	for tag, want := range map[string]int{"<script": 2, "</script": 2, "<img": 0, "<!--": 0, "<title>": 1} {
		if got := strings.Count(strings.ToLower(page), tag); got != want {
			t.Errorf("%d times %s, want %d", got, tag, want)
		}
	}
	if strings.Contains(page, "\u2028") && strings.Contains(strings.Split(page, `id="data"`)[1], "\u2028") {
		t.Error("a line separator is raw inside the data")
	}
}

func TestWriteIsSelfContained(t *testing.T) {
	page := write(t, sample())
	if m := regexp.MustCompile(`(?i)<[a-z]+[^>]*\s(?:src|href|action|srcset)\s*=\s*["']?(?:https?:)?//`).FindString(page); m != "" {
		t.Errorf("refers to the network: %s", m)
	}
	if m := regexp.MustCompile(`(?i)url\(\s*["']?(?:https?:)?//|@import`).FindString(page); m != "" {
		t.Errorf("the style refers to the network: %s", m)
	}
	for _, part := range []string{"default-src 'none'", "form-action 'none'", "base-uri 'none'"} {
		if !strings.Contains(strings.ReplaceAll(page, "&#39;", "'"), part) {
			t.Errorf("the policy lacks %s", part)
		}
	}
}

// TestWriteStaysSmall gives it more than fits, of the kind that hardly
// compresses.
func TestWriteStaysSmall(t *testing.T) {
	r := large()
	random := rand.New(rand.NewPCG(1, 2))
	for len(r.Kernels) < 12_000 {
		k := r.Kernels[len(r.Kernels)%6000]
		k.ID = fmt.Sprintf("more%d", len(r.Kernels))
		k.Name = fmt.Sprintf("%x%x%x%x", random.Uint64(), random.Uint64(), random.Uint64(), random.Uint64())
		c := *k.Counted
		c.Metrics = append([]analysis.Metric(nil), c.Metrics...)
		for i := range c.Metrics {
			c.Metrics[i].Value = random.Float64()
		}
		k.Counted = &c
		r.Kernels = append(r.Kernels, k)
	}
	before := len(r.Warnings)
	page := write(t, r)
	if len(page) > maxBytes {
		t.Errorf("%d bytes", len(page))
	}
	_, text := data(t, page)
	var got struct {
		Warnings []analysis.Note
		Kernels  []struct{ Counted *struct{ Metrics []any } }
		Regions  []struct{ Top []analysis.RegionKernel }
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Warnings) != before+1 || got.Warnings[before].Code != pageReduced {
		t.Errorf("no word about what is left out: %v", got.Warnings)
	}
	if got.Kernels[0].Counted.Metrics == nil {
		t.Error("the kernel that takes the most time lost its counters")
	}
	if len(r.Warnings) != before || len(r.Kernels) != 12_000 || r.Kernels[11_999].Counted.Metrics == nil {
		t.Error("the result itself was changed")
	}
	for i, region := range got.Regions {
		for _, k := range region.Top {
			if k.Kernel >= len(got.Kernels) {
				t.Fatalf("region %d refers to kernel %d of %d", i, k.Kernel, len(got.Kernels))
			}
		}
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("disk is full") }

func TestWriteErrors(t *testing.T) {
	if err := Write(broken{}, sample()); err == nil || !strings.Contains(err.Error(), "write HTML report: disk is full") {
		t.Errorf("got %v", err)
	}
	r := sample()
	r.Kernels[0].MeanNS = math.NaN()
	if err := Write(&bytes.Buffer{}, r); err == nil || !strings.Contains(err.Error(), "encode result") {
		t.Errorf("got %v", err)
	}
}
