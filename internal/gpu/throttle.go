package gpu

// throttleReasons are the bits of nvidia-smi's clocks_throttle_reasons.active that
// change results; idle (1), application clocks (2) and sync boost (16) do not.
var throttleReasons = []struct {
	bit  uint64
	name string
}{
	{0x04, "software power cap"}, {0x08, "hardware slowdown"}, {0x20, "software thermal slowdown"},
	{0x40, "hardware thermal slowdown"}, {0x80, "hardware power brake"}, {0x100, "display clocks"},
}

// Throttled names the reasons in a mask for which clocks are held down so that
// results change; none where there is no such reason.
func Throttled(mask uint64) []string {
	var names []string
	for _, r := range throttleReasons {
		if mask&r.bit != 0 {
			names = append(names, r.name)
		}
	}
	return names
}
