package timeline

import "testing"

// TestTileCountsOverlapOnce: kernels of a CUDA graph run at the same time on one stream; the
// busy time of a box is their union.
func TestTileCountsOverlapOnce(t *testing.T) {
	of := &Timeline{
		Names: []string{"a", "b"}, Functions: []Function{{Short: 0}, {Short: 1}}, Processes: []Process{{PID: 7}}, Queues: []Queue{{Device: 1, Stream: 3}},
		Kernels: []Kernel{
			{Start: 1000, End: 1100}, {Start: 1040, End: 1080, Function: 1}, {Start: 1090, End: 1150, Function: 1}, {Start: 1170, End: 1180},
		},
	}
	tile := of.Draw().Cut(0, 180, 1)
	if len(tile.Lanes) != 1 || len(tile.Lanes[0].Boxes) != 1 || tile.LengthNS != 180 || tile.Events["kernel"] != 4 || tile.Lanes[0].Of != [3]int{7, 1, 3} {
		t.Fatalf("got %+v", tile)
	}
	if b := tile.Lanes[0].Boxes[0]; b.Start != 0 || b.Len != 180 || b.Events != 4 || b.BusyNS != 160 || tile.Names[b.Name] != "a" {
		t.Errorf("got %+v of %q", b, tile.Names)
	}
}
