package html

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/cxx"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/report"
)

// countersLeftOut tells that the page lacks the counters of a kernel.
const countersLeftOut fact.Code = "page-counters-left-out"

// pageReduced is the warning that the page has less detail than the result. most,
// kept, of, dropped
const pageReduced fact.Code = "page-reduced"

const (
	// plainLimit is the size up to which the Result stays readable JSON in the
	// page. Beyond it the page needs a browser that can decompress (any since
	// 2023).
	plainLimit = 256 << 10
	// pageRoom is kept for the markup of the page and its static part.
	pageRoom = 256 << 10
)

// packed is a Result as the page holds it.
type packed struct {
	encoding string // json, or gzip+base64
	text     string // safe inside a script element
}

// carried is what the page holds: the Result, in which regions that repeat each
// other are one, its verdict and tiles, its tables with their cells, and for each kernel whose short name
// another shares, that name with the words in which they differ.
type carried struct {
	*analysis.Result
	Verdict string                      `json:"verdict"`
	Words   map[string]string           `json:"words"` // of the page itself, see message.PageTexts
	Tiles   []report.Tile               `json:"tiles"`
	Tables  map[string]report.PageTable `json:"tables"`
	// Views are the columns of tables whose rows are in the result.
	Views map[string][]report.ColumnInfo `json:"views"`
	// Labels are by the place of a kernel; "" where the short name is enough.
	Labels []string `json:"kernel_labels,omitempty"`
	// Changes are what the baseline tells of kernels, by ID.
	Changes map[string]string `json:"kernel_changes,omitempty"`
	Flame   analysis.Flame    `json:"flame"`
	// Where is what shows the evidence of findings, by ID.
	Where map[string]analysis.Where `json:"where"`
	// Subject is what ran, Command how; "" where that is not known.
	Subject string `json:"subject"`
	Command string `json:"command"`
	// Timed: times, calls and launches mean something. Untold is the code of the note that
	// says why they do not; "" where none does.
	Timed  bool      `json:"timed"`
	Untold fact.Code `json:"untold,omitempty"`
	// Unfinished says that the run holds less than it was to capture; "" where it does not.
	Unfinished string `json:"unfinished,omitempty"`
	NoFindings string `json:"no_findings"` // what stands in the place of findings
	// CountedKernels have counters; CountedOthers were counted along with those that were chosen.
	CountedKernels int `json:"counted_kernels"`
	CountedOthers  int `json:"counted_others"`
	// FirstStages are the places of the stages that the first screen shows.
	FirstStages  []int    `json:"first_stages"`
	StageRegions []string `json:"stage_regions"` // by what each stage is measured; "" where its name tells
	// StageSpots are places of the timeline to go to.
	StageSpots []analysis.StageSpot `json:"stage_spots"`
	// Density is how busy the GPU is over the timeline, in equal parts.
	Density    []float64             `json:"density"`
	RankLabels []string              `json:"rank_labels"`      // of Overview.Ranks
	TokenParts []analysis.TokenPart  `json:"next_token_parts"` // that the time of the next token goes to
	StepTokens []analysis.StepTokens `json:"step_tokens"`      // of Serving.OverTime
}

// What the page shows of a result at once.
const (
	firstStages  = 4
	densityParts = 240
)

// carry is a result as a page holds it.
func carry(r *analysis.Result) carried {
	lines := *r
	lines.Regions, lines.RegionGroups = r.RegionLines(), nil
	lines.Kernels = slices.Clone(r.Kernels)
	for i := range lines.Kernels { // the page asks for this alone
		lines.Kernels[i].Untimed = r.Kernels[i].NoLaunch()
	}
	untold, _ := r.Why(analysis.NoTimeline, analysis.TimelineUnreadable, analysis.TimelineLost, analysis.NoKernels)
	c := carried{
		Result: &lines, Verdict: message.Headline(r.Verdict()), Words: message.PageTexts(), Tiles: report.PageTiles(r), Tables: report.PageTables(r), Views: report.PageViews(), Labels: labels(r.Kernels),
		Changes: kernelChanges(r), Flame: analysis.FlameOf(lines.Regions), Where: evidence(r),
		Subject: subject(r), Command: report.Command(r), Timed: r.HasTimeline(), Untold: untold.Code,
		Unfinished: report.Unfinished(r), NoFindings: message.Phrase("findings-untold"), CountedKernels: r.CountedKernels(),
		FirstStages: r.LongestStages(firstStages), StageRegions: report.StageRegions(r), StageSpots: r.StageSpots(), Density: r.Overview.Density(densityParts),
		RankLabels: report.RankLabels(r), TokenParts: report.NextTokenParts(r),
	}
	if r.NothingStandsOut() {
		c.NoFindings = message.Phrase("findings-none")
	}
	if r.Method.Picked != nil {
		c.CountedOthers = r.Method.Picked.Others()
	}
	if r.Serving != nil {
		for i := range r.Serving.OverTime {
			c.StepTokens = append(c.StepTokens, r.Serving.OverTime[i].Tokens())
		}
	}
	return c
}

// evidence tells of findings what on the page shows them; one that nothing shows is absent.
func evidence(r *analysis.Result) map[string]analysis.Where {
	out := map[string]analysis.Where{}
	for i := range r.Findings {
		if w := r.Where(&r.Findings[i]); w != (analysis.Where{}) {
			out[r.Findings[i].ID] = w
		}
	}
	return out
}

// kernelChanges are in words; nil without a baseline, and absent for a kernel that the
// baseline does not have.
func kernelChanges(r *analysis.Result) map[string]string {
	if r.Baseline == nil {
		return nil
	}
	out := map[string]string{}
	for i := range r.Baseline.Kernels {
		b := &r.Baseline.Kernels[i]
		out[b.Kernel] = report.KernelChange(r, b)
	}
	return out
}

// labels gives the names that tell kernels apart, as in the Markdown reports, or
// nil where the short names do. A kernel whose short name does so has "".
func labels(kernels []analysis.Kernel) []string {
	names := make([]string, len(kernels))
	for i := range kernels {
		names[i] = kernels[i].Name
	}
	out, any := cxx.Distinguish(names), false
	for i, name := range out {
		words, found := strings.CutPrefix(name, cxx.Short(names[i]))
		if out[i] = ""; found && words != "" {
			out[i], any = cmp.Or(kernels[i].Short, names[i])+words, true
		}
	}
	if !any {
		return nil
	}
	return out
}

// pack encodes r in at most room bytes, with less detail where it must. Each try keeps at most
// two thirds of the kernels of the one before, so that it ends.
func pack(r *analysis.Result, room int) (packed, error) {
	data, err := json.Marshal(carry(r))
	if err != nil {
		return packed{}, fmt.Errorf("write HTML report: encode result: %w", err)
	}
	tree, err := withWords(data, r.Python())
	if err != nil {
		return packed{}, fmt.Errorf("write HTML report: %w", err)
	}
	p, err := encode(tree)
	for keep := len(r.Kernels); err == nil && len(p.text) > room && keep > 0; {
		keep = min(keep*2/3, int(int64(keep)*int64(room)/int64(len(p.text))))
		p, err = encode(reduce(tree, r, keep))
	}
	if err == nil && len(p.text) > room {
		err = fmt.Errorf("write HTML report: the result needs %d bytes and only %d are left for it; open result.json instead", len(p.text), room)
	}
	return p, err
}

// encode writes a tree so that it can stand in a script element: readable as long as it is
// small, else compressed.
func encode(tree map[string]any) (packed, error) {
	// Marshal writes <, >, &, U+2028 and U+2029 as escapes, so that no string
	// can end the script element that holds it.
	plain, err := json.Marshal(tree)
	if err != nil {
		return packed{}, fmt.Errorf("write HTML report: encode result: %w", err)
	}
	if len(plain) <= plainLimit {
		return packed{encoding: "json", text: string(plain)}, nil
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err = z.Write(plain)
	if err = cmp.Or(err, z.Close()); err != nil {
		return packed{}, fmt.Errorf("write HTML report: compress result: %w", err)
	}
	return packed{encoding: "gzip+base64", text: base64.StdEncoding.EncodeToString(b.Bytes())}, nil
}

// reduce returns the tree of r with counters, rules and histograms for the first
// keep kernels only, a table of at most four times as many kernels, and as many
// boxes in each lane of the timeline. tree stays as it is.
func reduce(tree map[string]any, r *analysis.Result, keep int) map[string]any {
	rows := max(4*keep, 1000)
	dropped := max(len(r.Kernels)-rows, 0)
	out := maps.Clone(tree)
	kernels := slices.Clone(first(tree["kernels"], rows))
	for i := keep; i < len(kernels); i++ {
		kernels[i] = withoutCounters(kernels[i].(map[string]any))
	}
	out["kernels"] = kernels
	out["regions"] = shorterRegions(first(tree["regions"], rows), len(kernels))
	out["operators"] = first(tree["operators"], rows)
	roofline := maps.Clone(tree["roofline"].(map[string]any))
	roofline["points"] = first(roofline["points"], rows)
	out["roofline"] = roofline
	tables := maps.Clone(tree["tables"].(map[string]any))
	for name, t := range tables {
		t := maps.Clone(t.(map[string]any))
		t["rows"] = first(t["rows"], rows)
		tables[name] = t
	}
	out["tables"] = tables
	out["overview"] = r.Overview.Coarser(max(4*keep, 250))
	note := fact.New(pageReduced, fact.Bytes("most", maxBytes), fact.Count("kept", keep), fact.Count("of", len(r.Kernels)), fact.Count("dropped", dropped))
	warnings, _ := tree["warnings"].([]any)
	out["warnings"] = append(slices.Clone(warnings), map[string]any{"code": note.Code, "text": message.Text(note), "plain": message.Plain(note)})
	return out
}

// first is the beginning of a list.
func first(list any, rows int) []any {
	all, _ := list.([]any)
	return all[:min(len(all), rows)]
}

// withoutCounters is a kernel without the parts that take most room.
func withoutCounters(k map[string]any) map[string]any {
	k = maps.Clone(k)
	delete(k, "histogram")
	if c, ok := k["counted"].(map[string]any); ok {
		c = maps.Clone(c)
		c["metrics"], c["note"] = []any{}, message.Text(fact.New(countersLeftOut))
		delete(c, "rules")
		k["counted"] = c
	}
	return k
}

// shorterRegions drops references to kernels that are no longer there.
func shorterRegions(regions []any, kernels int) []any {
	out := slices.Clone(regions)
	for i := range out {
		g := maps.Clone(out[i].(map[string]any))
		top, _ := g["top"].([]any)
		g["top"] = slices.DeleteFunc(slices.Clone(top), func(k any) bool {
			n, err := k.(map[string]any)["kernel"].(json.Number).Int64()
			return err != nil || int(n) >= kernels
		})
		out[i] = g
	}
	return out
}
