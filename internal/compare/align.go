package compare

import (
	"slices"

	"github.com/deepprof/deepprof/internal/analysis"
)

// A Panel is one region of both timelines, each from the beginning of its first
// instance, so that they can be drawn below each other on one scale.
type Panel struct {
	Region        string
	BaseNS, NewNS int64 // length of that instance
	Base, New     []PanelLane
}

// A PanelLane is a row of a timeline within the region.
type PanelLane struct {
	Kind  string // nvtx or kernel
	Boxes []PanelBox
}

// A PanelBox is an event, or several, from the beginning of the region.
// Start, Len and Busy are ns; boxes of a lane are in order of start.
type PanelBox struct {
	Start, Len int64
	Busy       int64  // part of Len in which one of them ran
	Name       string // as in analysis.Overview.Names
}

// Bounds on what is drawn.
const (
	mostPanels = 4
	mostLanes  = 8
	widthParts = 1500 // of a region: gaps of kernels below one of them are not seen
)

// Align cuts the regions that both timelines have out of them, the longest first. At most
// mostPanels come back; results without an overview have none. Only the first instance of a
// region is drawn: it stands for the others.
func Align(base, fresh *analysis.Result) []Panel {
	if base == nil || fresh == nil {
		return nil
	}
	a, b := firstInstances(&base.Overview), firstInstances(&fresh.Overview)
	var panels []Panel
	for name, x := range a {
		if y, ok := b[name]; ok {
			panels = append(panels, Panel{Region: name, BaseNS: x.Len, NewNS: y.Len, Base: within(&base.Overview, x), New: within(&fresh.Overview, y)})
		}
	}
	slices.SortFunc(panels, func(x, y Panel) int {
		if d := max(y.BaseNS, y.NewNS) - max(x.BaseNS, x.NewNS); d != 0 {
			return int(min(max(d, -1), 1))
		}
		return slices.Compare([]byte(x.Region), []byte(y.Region))
	})
	return panels[:min(len(panels), mostPanels)]
}

// firstInstances are the outermost ranges by name, each the first that is drawn as
// itself.
func firstInstances(o *analysis.Overview) map[string]analysis.Box {
	out := map[string]analysis.Box{}
	for i := range o.Lanes {
		lane := &o.Lanes[i]
		if lane.Kind != "nvtx" || lane.Depth > 0 {
			continue
		}
		for _, box := range lane.Boxes {
			if box.Count > 1 || box.Name < 0 || box.Name >= len(o.Names) {
				continue
			}
			if first, ok := out[o.Names[box.Name]]; !ok || box.Start < first.Start {
				out[o.Names[box.Name]] = box
			}
		}
	}
	return out
}

// within are the lanes of a timeline in the time of a box.
func within(o *analysis.Overview, span analysis.Box) []PanelLane {
	var lanes []PanelLane
	for i := range o.Lanes {
		lane := &o.Lanes[i]
		if lane.Kind != "nvtx" && lane.Kind != "kernel" {
			continue
		}
		made := PanelLane{Kind: lane.Kind}
		var gap int64
		if lane.Kind == "kernel" {
			gap = span.Len / widthParts
		}
		for _, box := range lane.Boxes {
			start, end := max(box.Start, span.Start), min(box.Start+box.Len, span.Start+span.Len)
			if end > start {
				made.add(PanelBox{start - span.Start, end - start, busyOf(&box, end-start), nameOf(o, box.Name)}, gap)
			}
		}
		if len(made.Boxes) > 0 && len(lanes) < mostLanes {
			lanes = append(lanes, made)
		}
	}
	return lanes
}

// busyOf is the busy part of what is seen of a box.
func busyOf(b *analysis.Box, seen int64) int64 {
	if b.Count <= 1 || b.Len == 0 {
		return seen
	}
	return int64(float64(b.Busy) * float64(seen) / float64(b.Len))
}

// nameOf is "" for an index that leads nowhere.
func nameOf(o *analysis.Overview, i int) string {
	if i < 0 || i >= len(o.Names) {
		return ""
	}
	return o.Names[i]
}

// add appends a box, or widens the last one where the gap between them is too small
// to be seen.
func (l *PanelLane) add(b PanelBox, gap int64) {
	if n := len(l.Boxes); n > 0 && gap > 0 {
		if last := &l.Boxes[n-1]; b.Start-last.Start-last.Len < gap {
			last.Len, last.Busy = max(last.Len, b.Start+b.Len-last.Start), last.Busy+b.Busy
			return
		}
	}
	l.Boxes = append(l.Boxes, b)
}
