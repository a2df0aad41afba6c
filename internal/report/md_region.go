package report

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/message"
)

// RegionsSchema is the version of ncu/regions/report.json.
const RegionsSchema = 1

// A RegionIndex is ncu/regions/report.json, and that of a region's folder with
// the one region.
type RegionIndex struct {
	Schema   int             `json:"schema"`
	Recorded bool            `json:"recorded,omitempty"` // a recording, not this machine
	Ladder   []analysis.Note `json:"ladder,omitempty"`   // replay modes tried, with reasons
	Missing  []analysis.Note `json:"missing,omitempty"`
	Regions  []RegionEntry   `json:"regions"`
}

// A RegionEntry is a region with the folder that holds its own report. The
// folder's name is safe for every file system; path and name are as they were.
type RegionEntry struct {
	Folder string          `json:"folder"`
	Region analysis.Region `json:"region"`
}

// WriteRegionReports writes report.json and report.md into dir and a folder of
// the same for each region. It returns the paths of what was written.
func WriteRegionReports(dir string, r *analysis.Result) ([]string, error) {
	if err := readableSchema(r); err != nil {
		return nil, err
	}
	index := RegionIndex{Schema: RegionsSchema, Recorded: r.Source.Recorded, Ladder: r.Method.Ladder, Missing: r.Missing, Regions: []RegionEntry{}}
	taken, n := map[string]bool{}, newNames(r)
	for i := range r.Regions {
		index.Regions = append(index.Regions, RegionEntry{regionFolder(&r.Regions[i], taken), r.Regions[i]})
	}
	var paths []string
	var errs []error
	write := func(path string, fn func(io.Writer) error) {
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if err == nil {
			err = replaceFile(path, fn)
		}
		if err != nil {
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

func writeRegionIndex(w io.Writer, r *analysis.Result, index *RegionIndex) error {
	d := newDoc("Counters by region", r)
	if len(r.Regions) == 0 {
		d.noRegions(r)
		return d.writeTo(w, r)
	}
	if underNcuAlone(r) {
		d.ncuRegions(r)
		return d.writeTo(w, r)
	}
	d.line("Counters of single launches, joined to the timeline and extrapolated over every launch of a region. Coverage is the share of the region's kernel time whose kernels were counted; a region without counters says why, and nothing is filled in.")
	var ns []float64
	for i := range index.Regions {
		ns = append(ns, float64(index.Regions[i].Region.KernelNS), float64(index.Regions[i].Region.SelfNS))
	}
	unit, cells := times(ns)
	g := newGrid("Region", "Process", "Device", ">Calls", ">Kernel time ("+unit+")", ">Own ("+unit+")", ">Launches", "Measured by", ">Coverage", ">Own coverage", "Report")
	for i := range index.Regions {
		e := &index.Regions[i]
		x := &e.Region
		how, coverage, own := "", "", ""
		if x.Counters != nil {
			how, coverage = prose(replayLabel(x.Counters.Method)), percent(x.Counters.Coverage)
			own = ownCoverage(x)
		} else {
			how = d.notCounted(x)
		}
		g.add(code(x.Path), optional(x.Process), optional(x.Device), thousands(x.Instances), cells[2*i], cells[2*i+1], thousands(x.Kernels), how, coverage, own,
			fmt.Sprintf("[%s](%s/report.md)", prose(e.Folder), e.Folder))
	}
	for _, h := range []string{"Process", "Device", "Coverage", "Own coverage"} {
		g.drop(h)
	}
	d.table(g)
	if len(r.Method.Ladder) > 0 {
		d.line("## Replay modes tried")
		var items []string
		for _, n := range r.Method.Ladder {
			items = append(items, noteText(n))
		}
		d.numbered(items)
	}
	return d.writeTo(w, r)
}

// ownCoverage is empty where the coverage of all launches says it.
func ownCoverage(g *analysis.Region) string {
	if g.Counters.Exclusive == nil {
		return ""
	}
	return percent(g.Counters.Exclusive.Coverage)
}

func (d *doc) notCounted(g *analysis.Region) string {
	return "not measured" + d.note(prose(sentence(whyNotCounted(g))))
}

func whyNotCounted(g *analysis.Region) string {
	switch {
	case g.Why != nil:
		return message.Text(*g.Why)
	case g.Kernels == 0:
		return "it launched no kernel"
	}
	return "none of its launches was counted"
}

func writeRegion(w io.Writer, r *analysis.Result, n *names, index int) error {
	g := &r.Regions[index]
	d := newDoc("Region "+code(g.Path), r)
	if g.Split.WallNS > 0 && g.Split.LaunchBound {
		d.line("%s", launchBound(g.Name, &g.Split, gainOfRegion(r, g)))
	}
	if g.Times == "ncu" {
		d.ncuRegionFacts(r, g)
	} else {
		d.regionFacts(r, g)
	}
	if g.Split.WallNS > 0 {
		d.line("## Where the time goes")
		d.splitTable([]namedSplit{{code(shorten(oneLine(g.Name), 40)), &g.Split}})
	}
	d.line("## Counters")
	d.regionCounters(g)
	d.rangeRoofline(g)
	d.line("## Kernels")
	d.regionKernels(r, n, g)
	d.nested(r, index)
	return d.writeTo(w, r)
}

func (d *doc) regionFacts(r *analysis.Result, g *analysis.Region) {
	t := newGrid("What", ">Inclusive", ">Exclusive of nested regions")
	t.add("Kernel launches", thousands(g.Kernels), thousands(g.SelfKernels))
	t.add("Kernel time", elapsed(float64(g.KernelNS)), elapsed(float64(g.SelfNS)))
	t.add("First to last GPU work, added up", elapsed(float64(g.ProjectedNS)), "")
	t.add("Wall time", elapsed(float64(g.WallNS)), "")
	t.add("Calls", thousands(g.Instances), "")
	if g.Process != nil {
		t.add("Process", fmt.Sprint(*g.Process), "")
	}
	if g.Device != nil {
		t.add("Device", fmt.Sprint(*g.Device), "")
	}
	d.table(t)
	ns, whole, of := g.KernelNS, r.Totals.KernelNS, "all kernel time"
	if part, in := inScope(r, g); r.Scope != nil && in {
		ns, whole, of = part, r.Scope.KernelNS, "the kernel time of "+prose(message.Text(r.Scope.Name))
	}
	if r.HasTimeline() && whole > 0 {
		d.line("%s of %s. Limiter: %s.", percent(float64(ns)/float64(whole)), of, prose(regionLimiter(r, g)))
	}
}

func (d *doc) regionCounters(g *analysis.Region) {
	if g.Counters == nil {
		d.line("%s", d.notCounted(g))
		return
	}
	partial := ""
	if g.Counters.Coverage < 0.9995 {
		partial = " Sums are over the kernels that were counted; the others are not in them."
	}
	if len(g.Counters.Note) > 0 {
		partial += " " + prose(upperFirst(sentence(message.Join(g.Counters.Note))))
	} else {
		partial += " They hold for the work as ncu replays it, by default with flushed caches, so traffic to memory may be more than in the program."
	}
	if x := float64(g.Counters.ElsewhereNS) / max(1, g.Counters.Coverage*float64(g.KernelNS)); x >= 0.01 {
		partial += fmt.Sprintf(" For %s of what is counted stand launches of the same kernel, grid and block that were not counted in this region.", percent(min(1, x)))
	}
	own := ""
	if x := g.Counters.Exclusive; x != nil {
		own = fmt.Sprintf(", and %s of that outside nested regions", percent(x.Coverage))
	}
	if g.Times == "ncu" {
		d.line("Measured by %s; how much of the region that is, is not known without a timeline.%s", prose(replayLabel(g.Counters.Method)), partial)
	} else {
		d.line("Measured by %s; coverage %s of the region's kernel time%s.%s", prose(replayLabel(g.Counters.Method)), percent(g.Counters.Coverage), own, partial)
	}
	if len(g.Counters.Metrics) == 0 {
		d.line("The configuration shows no metric of regions.")
		return
	}
	d.metricTable(g.Counters)
}

// metricTable has a second column where launches in and outside nested regions
// are told apart.
func (d *doc) metricTable(c *analysis.RegionCounters) {
	if c.Exclusive == nil {
		t := newGrid("Metric", ">Value", "Over the region")
		for _, m := range c.Metrics {
			t.add(code(m.Name), measured(m.Value, m.Unit), prose(m.How))
		}
		d.table(t)
		return
	}
	own := map[string]string{}
	for _, m := range c.Exclusive.Metrics {
		own[m.Name] = measured(m.Value, m.Unit)
	}
	t := newGrid("Metric", ">Inclusive", ">Exclusive of nested regions", "Over the region")
	for _, m := range c.Metrics {
		cell, ok := own[m.Name]
		if !ok {
			cell = absent + d.note("No launch outside the nested regions has a counter for it.")
		}
		t.add(code(m.Name), measured(m.Value, m.Unit), cell, prose(m.How))
	}
	d.table(t)
}

// upperFirst lets a text stand as a sentence.
func upperFirst(s string) string {
	if s == "" || s[0] < 'a' || s[0] > 'z' {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// replayLabel says how the counters of a region came about.
func replayLabel(method string) string {
	switch method {
	case "kernel":
		return "single launches"
	case "range":
		return "range replay"
	case "app-range":
		return "application range replay"
	}
	return method
}

func (d *doc) regionKernels(r *analysis.Result, n *names, g *analysis.Region) {
	if len(g.Top) == 0 {
		if g.Counters != nil && g.Counters.Method != "kernel" && g.Times == "ncu" {
			d.line("Ranges were measured as a whole: the kernels in them are not known.")
		} else if g.Kernels == 0 {
			d.line("It launched no kernel.")
		} else {
			d.line("The result lists none of its %s launches.", thousands(g.Kernels))
		}
		return
	}
	var ns, mean []float64
	for _, k := range g.Top {
		ns, mean = append(ns, float64(k.NS)), append(mean, float64(k.NS)/float64(max(k.Calls, 1)))
	}
	unit, cells := times(ns)
	meanUnit, means := times(mean)
	t := newGrid("Kernel", "Grid", ">Calls", ">Total ("+unit+")", ">Mean ("+meanUnit+")", ">Share %", "Limiter")
	reasons := map[string]bool{}
	for i, k := range g.Top {
		if k.Kernel < 0 || k.Kernel >= len(r.Kernels) {
			continue
		}
		pct := absent
		if g.KernelNS > 0 {
			pct = percentage(float64(k.NS) / float64(g.KernelNS) * 100)
		}
		t.add(code(n.of(k.Kernel)), dims(r.Kernels[k.Kernel].Grid), thousands(k.Calls), cells[i], means[i], pct, d.limiterCell(&r.Kernels[k.Kernel], reasons)+d.otherBasis(&k))
	}
	d.table(t)
}

// otherBasis tells where a verdict is about launches unlike those of the region.
func (d *doc) otherBasis(k *analysis.RegionKernel) string {
	if k.BasisNS <= 0 {
		return ""
	}
	return d.note(fmt.Sprintf("The verdict is about launches of %s; those of the region last %s on average.", elapsed(k.BasisNS), elapsed(float64(k.NS)/float64(max(k.Calls, 1)))))
}

// nested gives each region inside this one a section.
func (d *doc) nested(r *analysis.Result, index int) {
	for i := index + 1; i < len(r.Regions); i++ {
		g := &r.Regions[i]
		if g.Parent != index || i == index {
			continue
		}
		d.line("## Nested: %s", code(g.Name))
		if g.Times == "ncu" {
			d.ncuRegionFacts(r, g)
			d.regionCounters(g)
			continue
		}
		launches := thousands(g.Kernels) + " launches"
		if g.Kernels == 1 {
			launches = "1 launch"
		}
		d.line("%s, %s of wall time, %s of kernel time in %s (%s outside its own nested regions).", many(g.Instances, "call"), elapsed(float64(g.WallNS)),
			elapsed(float64(g.KernelNS)), launches, elapsed(float64(g.SelfNS)))
		d.regionCounters(g)
	}
}
