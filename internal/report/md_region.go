package report

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/message"
)

// regionsSchema is the version of ncu/regions/report.json.
const regionsSchema = 1

// A regionIndex is ncu/regions/report.json, and that of a region's folder with
// the one region.
type regionIndex struct {
	Schema   int             `json:"schema"`
	Recorded bool            `json:"recorded,omitempty"` // a recording, not this machine
	Ladder   []analysis.Note `json:"ladder,omitempty"`   // replay modes tried, with reasons
	// Missing is that of the whole result, which is why a region may lack counters.
	Missing []analysis.Note `json:"missing,omitempty"`
	Regions []RegionEntry   `json:"regions"`
}

// A RegionEntry is a region with the folder that holds its own report. The
// folder's name is safe for every file system; path and name are as they were.
type RegionEntry struct {
	// Folder is one name without a separator, unique also where case does not count.
	Folder string          `json:"folder"`
	Region analysis.Region `json:"region"`
}

// WriteRegionReports writes report.json and report.md into dir and a folder of
// the same for each region. It returns the paths of what was written.
// A file that cannot be written does not keep the others from being so; the error joins all.
func WriteRegionReports(dir string, r *analysis.Result) ([]string, error) {
	if err := readableSchema(r); err != nil {
		return nil, err
	}
	index := regionIndex{Schema: regionsSchema, Recorded: r.Source.Recorded, Ladder: r.Method.Ladder, Missing: r.Missing, Regions: []RegionEntry{}}
	taken, n := map[string]bool{}, newNames(r)
	for i := range r.Regions {
		index.Regions = append(index.Regions, RegionEntry{regionFolder(&r.Regions[i], taken), labeled(r, r.Regions[i])})
	}
	var paths []string
	var errs []error
	write := func(path string, fn func(io.Writer) error) {
		if err := cmp.Or(os.MkdirAll(filepath.Dir(path), 0o755), replaceFile(path, fn)); err != nil {
			errs = append(errs, fmt.Errorf("write %s: %w", path, err))
			return
		}
		paths = append(paths, path)
	}
	write(filepath.Join(dir, "report.json"), jsonWriter(index))
	write(filepath.Join(dir, "report.md"), func(w io.Writer) error { return writeRegionIndex(w, r, &index) })
	for i := range index.Regions {
		e := &index.Regions[i]
		one := index
		one.Regions = index.Regions[i : i+1]
		write(filepath.Join(dir, e.Folder, "report.json"), jsonWriter(one))
		write(filepath.Join(dir, e.Folder, "report.md"), func(w io.Writer) error { return writeRegion(w, r, n, i) })
	}
	return paths, errors.Join(errs...)
}

// labeled is a region whose parts of time have labels in words: result.json has
// codes, and readers of ncu/regions/report.json know the words.
func labeled(r *analysis.Result, g analysis.Region) analysis.Region {
	g.Split.Busy, g.Split.Idle = slices.Clone(g.Split.Busy), slices.Clone(g.Split.Idle)
	for _, p := range pointers(g.Split.Busy) {
		p.Label = message.Part(p.ID, p.Label)
	}
	for _, p := range pointers(g.Split.Idle) {
		p.Label = upperFirst(message.Idle(p.ID, r.Python()))
	}
	if l := g.Split.Limiter; l != nil && l.Label != "" {
		named := *l
		named.Label = message.Part(l.Part, l.Label)
		g.Split.Limiter = &named
	}
	return g
}

// jsonWriter indents: people read these files too.
func jsonWriter(v any) func(io.Writer) error {
	return func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(v)
	}
}

// longestFolder leaves room for what is added to a name.
const longestFolder = 80

// regionFolder makes a name that is safe on every file system and differs from
// those taken, also where case does not count. A name that had to be changed
// carries a digest of the path.
// taken holds names in lower case and gets the new one.
func regionFolder(g *analysis.Region, taken map[string]bool) string {
	whole := g.Path
	if g.Process != nil {
		whole += fmt.Sprintf("-process%d", *g.Process)
	}
	if g.Device != nil {
		whole += fmt.Sprintf("-device%d", *g.Device)
	}
	safe := strings.Map(func(c rune) rune {
		if c < 0x80 && (wordByte(byte(c)) || strings.ContainsRune("._-", c)) {
			return c
		}
		return '_'
	}, whole)
	if len(safe) > longestFolder {
		safe = safe[:longestFolder]
	}
	safe = strings.Trim(safe, ".")
	sum := sha256.Sum256([]byte(whole))
	if safe != whole || safe == "" || reservedName(safe) || taken[strings.ToLower(safe)] {
		safe = strings.TrimLeft(safe+"-"+hex.EncodeToString(sum[:4]), "-")
	}
	for n, base := 2, safe; taken[strings.ToLower(safe)]; n++ {
		safe = fmt.Sprintf("%s-%d", base, n)
	}
	taken[strings.ToLower(safe)] = true
	return safe
}

// reservedName reports names that Windows gives to devices, and those of the
// files beside the folders.
func reservedName(s string) bool {
	base, _, _ := strings.Cut(strings.ToLower(s), ".")
	switch base {
	case "con", "prn", "aux", "nul", "report":
		return true
	}
	return len(base) == 4 && (strings.HasPrefix(base, "com") || strings.HasPrefix(base, "lpt")) && base[3] >= '0' && base[3] <= '9'
}

// writeRegionIndex writes ncu/regions/report.md: the regions with links to their folders.
// index has one entry a region of r, in the same order.
func writeRegionIndex(w io.Writer, r *analysis.Result, index *regionIndex) error {
	d := newDoc(message.Phrase("counters-by-region"), r)
	if len(r.Regions) == 0 {
		d.noRegions(r)
		return d.writeTo(w, r)
	}
	if underNcuAlone(r) {
		d.ncuRegions(r)
		return d.writeTo(w, r)
	}
	d.say("region-counters-lead")
	rows := each(index.Regions, func(e *RegionEntry) *regionLine { return &regionLine{Region: e.Region, folder: e.Folder} })
	writeView(d, shownAll(resultRegionView.only("path", "process", "device", "instances", "kernel_ns", "self_kernel_ns", "kernels", "measured", "coverage", "own_coverage", "report")), rows)
	if len(r.Method.Ladder) > 0 {
		d.heading(2, "replay-modes")
		d.numbered(textsOfNotes(r.Method.Ladder))
	}
	return d.writeTo(w, r)
}

// whyNotCounted is why a region has no counters; it is asked only of one without.
func whyNotCounted(g *analysis.Region) string {
	switch {
	case g.Why != nil:
		return message.Text(*g.Why)
	case g.Kernels == 0:
		return message.Phrase("region-launched-nothing")
	}
	return message.Phrase("region-launches-not-counted")
}

// writeRegion writes report.md of one region: its times, counters and kernels, and a section
// for each region that is nested right inside it.
func writeRegion(w io.Writer, r *analysis.Result, n *names, index int) error {
	g := &r.Regions[index]
	d := newDoc(message.Phrase("region-chosen", code(g.Path)), r)
	if g.Split.WallNS > 0 && g.Split.LaunchBound {
		d.line("%s", launchBound(g.Name, &g.Split, gainOfRegion(r, g)))
	}
	if g.Times == "ncu" {
		d.ncuRegionFacts(g)
	} else {
		d.regionFacts(r, g)
	}
	if g.Split.WallNS > 0 {
		d.heading(2, "time")
		d.splitTable([]namedSplit{{code(shorten(oneLine(g.Name), 40)), &g.Split}}, r.Python())
	}
	d.heading(2, "counters")
	d.regionCounters(g)
	d.rangeRoofline(g)
	d.heading(2, "kernels")
	d.regionKernels(r, n, g)
	d.nested(r, index)
	return d.writeTo(w, r)
}

// regionFacts writes times and counts of a region with its nested regions, and without.
func (d *doc) regionFacts(r *analysis.Result, g *analysis.Region) {
	t := newGrid("row-what", ">inclusive", ">region-exclusive")
	t.add(message.Phrase("kernel-launches"), thousands(g.Kernels), thousands(g.SelfKernels))
	t.add(message.Phrase("gpu-time"), elapsed(float64(g.KernelNS)), elapsed(float64(g.SelfNS)))
	t.add(message.Phrase("region-gpu-span"), elapsed(float64(g.ProjectedNS)), "")
	t.add(message.Phrase("wall-time-all-instances"), elapsed(float64(g.WallNS)), "")
	t.add(message.Phrase("instances"), thousands(g.Instances), "")
	if g.Process != nil {
		t.add(message.Phrase("process-title"), fmt.Sprint(*g.Process), "")
	}
	if g.Device != nil {
		t.add(message.Phrase("device-title"), fmt.Sprint(*g.Device), "")
	}
	d.table(t)
	of := message.Phrase("all-gpu-time")
	if r.Scope != nil {
		of = message.Phrase("gpu-time-of", prose(message.Text(r.Scope.Name)))
	}
	if r.HasTimeline() && g.Share != nil {
		d.say("region-times-limiter", percent(*g.Share), of, prose(cmp.Or(regionLimiter(g), absent)))
	}
}

// regionCounters writes the counters of a region with how they were taken: by counting
// single launches, whose coverage of the GPU time it tells, or by replaying the range.
func (d *doc) regionCounters(g *analysis.Region) {
	if g.Counters == nil {
		d.line("%s%s", message.Phrase("not-measured"), d.note(prose(sentence(whyNotCounted(g)))))
		return
	}
	own, sums, others := "", "", ""
	if x := g.Counters.Exclusive; x != nil {
		own = percent(x.Coverage)
	}
	if g.Counters.Partial {
		sums = message.Phrase("region-sums-note")
	}
	if x := g.Counters.Elsewhere; x != nil {
		others = message.Phrase("region-stand-ins", percent(*x))
	}
	method := prose(replayLabel(g.Counters.Method))
	how := message.Phrase("region-coverage", method, percent(g.Counters.Coverage), own)
	if g.Times == "ncu" {
		how = message.Phrase("region-measured-by", method)
	}
	note := prose(upperFirst(sentence(message.Join(g.Counters.Note))))
	d.line("%s", paragraph(how, sums, cmp.Or(note, message.Phrase("region-replay-note")), others))
	if len(g.Counters.Metrics) == 0 {
		d.say("region-metrics-off")
		return
	}
	writeView(d, regionCounterView, regionCounters(g.Counters))
}

// upperFirst lets a text stand as a sentence.
func upperFirst(s string) string {
	if s == "" || s[0] < 'a' || s[0] > 'z' {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// replayLabel says how the counters of a region came about.
func replayLabel(method string) string { return message.Label("replay", method) }

// regionKernels writes the kernels with most time in a region. Of a range that was replayed
// as a whole nothing tells them.
func (d *doc) regionKernels(r *analysis.Result, n *names, g *analysis.Region) {
	if len(g.Top) == 0 {
		if g.Counters != nil && g.Counters.Method != "kernel" && g.Times == "ncu" {
			d.say("region-kernels-unknown")
		} else if g.Kernels == 0 {
			d.line("%s.", upperFirst(message.Phrase("region-launched-nothing")))
		} else {
			d.say("region-kernels-not-listed", g.Kernels)
		}
		return
	}
	writeView(d, regionKernelView, regionKernels(r, n, g))
}

// nested gives each region inside this one a section.
func (d *doc) nested(r *analysis.Result, index int) {
	for _, g := range pointers(r.Regions[index+1:]) {
		if g.Parent != index {
			continue
		}
		d.say("heading-nested", code(g.Name))
		if g.Times == "ncu" {
			d.ncuRegionFacts(g)
		} else {
			d.say("region-summary", g.Instances, elapsed(float64(g.WallNS)), elapsed(float64(g.KernelNS)), g.Kernels, elapsed(float64(g.SelfNS)))
		}
		d.regionCounters(g)
	}
}
