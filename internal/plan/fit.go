package plan

// The values of filter_mode. Auto stands for per-launch-config where ncu has
// it, from 2022.4 on, and for global where not.
const (
	filterAuto            = "auto"
	filterGlobal          = "global"
	filterPerLaunchConfig = "per-launch-config"
)

// Fit settles what filter_mode auto means for the ncu that is installed. Without
// per-launch-config, launch_count would hold for all kernels together, so that
// the first launches are counted instead, as many as pick.top_n; fellBack then
// tells the caller to say so. Other values of filter_mode stay as they are.
func (n Ncu) Fit(perLaunchConfig bool) (fitted Ncu, fellBack bool) {
	if n.CLI.FilterMode != filterAuto {
		return n, false
	}
	n.CLI.FilterMode = filterPerLaunchConfig
	if perLaunchConfig {
		return n, false
	}
	n.CLI.FilterMode = filterGlobal
	if n.CLI.LaunchCount > 0 {
		n.CLI.LaunchCount = max(n.CLI.LaunchCount, n.Pick.TopN)
	}
	return n, true
}
