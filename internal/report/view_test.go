package report

import (
	"bytes"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/flops"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/timeline"
)

// TestKeysStay compares every view with the keys that it was published with.
// Programs read them: a column may be added, and none may go or change its name.
func TestKeysStay(t *testing.T) {
	views := map[string]struct {
		view Declared
		row  reflect.Type
	}{
		"kernels": {KernelView, reflect.TypeFor[KernelRow]()}, "kernels timeline": {KernelView.without("limiter"), reflect.TypeFor[KernelRow]()},
		"regions": {RegionView, reflect.TypeFor[timeline.RegionRow]()}, "ranges": {RangeView, reflect.TypeFor[timeline.RangeRow]()},
		"launches timeline": {LaunchView, reflect.TypeFor[timeline.LaunchRow]()}, "launches counters": {CountedLaunchView, reflect.TypeFor[CountedLaunchRow]()},
		"gaps": {GapView, reflect.TypeFor[timeline.GapRow]()}, "gap_groups": {GapGroupView, reflect.TypeFor[timeline.GapGroupRow]()}, "metrics": {MetricView.without("report"), nil},
		"stages": {StageView, reflect.TypeFor[StageRow]()}, "operators": {OperatorView, reflect.TypeFor[operatorRow]()}, "roofline": {RooflineView, reflect.TypeFor[rooflineRow]()},
		"flops": {FLOPsView, reflect.TypeFor[flops.Row]()}, "info": {FactView, reflect.TypeFor[Fact]()}, "runs": {RunView, reflect.TypeFor[runs.Summary]()},
		"config_values": {ValueView, reflect.TypeFor[Value]()}, "config_options": {OptionView, reflect.TypeFor[Option]()},
	}
	text, err := os.ReadFile("testdata/keys.txt")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		name, format, keys := strings.Join(fields[:len(fields)-2], " "), fields[len(fields)-2], strings.Split(fields[len(fields)-1], ",")
		v, ok := views[name]
		if !ok {
			t.Errorf("there is no view %s", name)
			continue
		}
		seen[name] = true
		var got []string
		switch {
		case format == "csv":
			for _, c := range v.view.Info().Columns {
				got = append(got, c.Key)
			}
		case v.row == nil:
			got = []string{"launch", "kernel", "name", "value", "unit", "instances"} // metricSchema pins those
		default:
			got = tags(v.row)
		}
		for _, key := range keys {
			if !slices.Contains(got, key) {
				t.Errorf("%s of %s has lost %s", format, name, key)
			}
		}
		if format == "csv" && !slices.Equal(got[:min(len(keys), len(got))], keys) && len(got) == len(keys) {
			t.Errorf("CSV of %s has changed its order:\n%v\n%v", name, got, keys)
		}
	}
	for name := range views {
		if !seen[name] {
			t.Errorf("%s has no published keys", name)
		}
	}
}

// tags are the keys of a row in JSON.
func tags(row reflect.Type) []string {
	var keys []string
	for i := range row.NumField() {
		f := row.Field(i)
		if f.Anonymous {
			keys = append(keys, tags(f.Type)...)
			continue
		}
		if key, _, _ := strings.Cut(f.Tag.Get("json"), ","); key != "" && key != "-" {
			keys = append(keys, key)
		}
	}
	return keys
}

// TestDeclarations checks what a declaration cannot say wrong: each column has a
// key of its own, and what a view refers to is there.
func TestDeclarations(t *testing.T) {
	for _, v := range views() {
		info := v.Info()
		keys := map[string]bool{}
		essential := 0
		for _, c := range info.Columns {
			if c.Key == "" || c.Title == "" || keys[c.Key] {
				t.Errorf("%s: column %q is named twice or not at all", info.Name, c.Key)
			}
			keys[c.Key] = true
			if !c.Detail && c.Priority == 0 {
				essential++
			}
		}
		if info.SortedBy != "" && !keys[info.SortedBy] {
			t.Errorf("%s is sorted by %s, which is no column", info.Name, info.SortedBy)
		}
		if essential == 0 {
			t.Errorf("%s: every column gives way", info.Name)
		}
	}
	for _, g := range []struct {
		groups Groups
		info   ViewInfo
	}{{RangeView.Groups, RangeView.Info()}, {LaunchView.Groups, LaunchView.Info()}, {GapView.Groups, GapView.Info()}, {MetricView.Groups, MetricView.Info()}, {CountedLaunchView.Groups, CountedLaunchView.Info()}} {
		for _, key := range append(g.groups.By, g.groups.Of) {
			if !slices.ContainsFunc(g.info.Columns, func(c ColumnInfo) bool { return c.Key == key }) {
				t.Errorf("%s is summed up by %s, which is no column", g.info.Name, key)
			}
		}
	}
}

// TestManyRowsAreSummedUp has more launches than a person reads.
func TestManyRowsAreSummedUp(t *testing.T) {
	const launches, kernels = 5000, 3
	stream := func() timeline.Stream[timeline.LaunchRow] {
		return timeline.Stream[timeline.LaunchRow]{Rows: func(yield func(*timeline.LaunchRow) bool) {
			for i := range launches {
				if !yield(&timeline.LaunchRow{ID: i, Short: fmt.Sprintf("kernel%d", i%kernels), DurationNS: int64(1000 * (1 + i%kernels))}) {
					return
				}
			}
		}}
	}
	lines := func(most int) (int, Printable) {
		table := Launches(stream())
		table.SumUp(most)
		var b bytes.Buffer
		if err := table.WriteText(&b, 100); err != nil {
			t.Fatal(err)
		}
		if table.Written() != launches {
			t.Errorf("%d of %d launches were counted", table.Written(), launches)
		}
		if most > 0 && most < launches {
			for i, want := range []string{"1666 4.998", "1667 3.334", "1667 1.667"} {
				if line := strings.Split(b.String(), "\n")[1+i]; !strings.Contains(strings.Join(strings.Fields(line), " "), strings.Join(strings.Fields(want), " ")) {
					t.Errorf("line %d is %q, want %s", i, line, want)
				}
			}
		}
		return strings.Count(b.String(), "\n"), table
	}
	if n, table := lines(1000); n != 1+kernels || !strings.Contains(strings.Join(table.Footnotes(), "\n"), "--all") {
		t.Errorf("%d lines, notes %q", n, table.Footnotes())
	}
	fine := Launches(timeline.Stream[timeline.LaunchRow]{Rows: func(yield func(*timeline.LaunchRow) bool) {
		for r := range stream().Rows {
			r.NVTX = fmt.Sprintf("step/%d", r.ID/2)
			if !yield(r) {
				return
			}
		}
	}})
	fine.SumUp(1000)
	var b bytes.Buffer
	if err := fine.WriteText(&b, 100); err != nil || strings.Count(b.String(), "\n") != 1+kernels || strings.Contains(b.String(), "step/") {
		t.Errorf("%d lines where each region has a few launches: %v", strings.Count(b.String(), "\n"), err)
	}
	if n, _ := lines(0); n != 1+launches {
		t.Errorf("%d lines without a limit", n)
	}
	if n, _ := lines(launches); n != 1+launches {
		t.Errorf("%d lines at the limit", n)
	}
}

// views are all declarations, by name. Launches of a timeline and of counters
// have different rows.
func views() []Declared {
	return []Declared{
		KernelView, RegionView, RangeView, LaunchView, CountedLaunchView, GapGroupView, GapView, MetricView, StageView, OperatorView, RooflineView,
		FLOPsView, FactView, resultKernelView, categoryView, regionKernelView, resultRegionView, NcuRegionView, regionCounterView, useView, roofView, aggregateView,
		opportunityView, laneView, deviationView, fileView, LayerView, ModelStepView, StepGroupView, outlierView, RunView, StepStatsView, ValueView, OptionView, checkView,
	}
}
