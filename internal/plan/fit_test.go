package plan

import "testing"

func TestFilterModeFitsTheInstalledNcu(t *testing.T) {
	shipped := mustDecode(t).Pipeline.Ncu
	if fitted, fell := shipped.Fit(true); fell || fitted.CLI.FilterMode != filterPerLaunchConfig || fitted.CLI.LaunchCount != 1 {
		t.Errorf("ncu with per-launch-config: %s, %d launches, fell back: %v", fitted.CLI.FilterMode, fitted.CLI.LaunchCount, fell)
	}
	if fitted, fell := shipped.Fit(false); !fell || fitted.CLI.FilterMode != filterGlobal || fitted.CLI.LaunchCount != shipped.Pick.TopN {
		t.Errorf("ncu without per-launch-config: %s, %d launches, fell back: %v", fitted.CLI.FilterMode, fitted.CLI.LaunchCount, fell)
	}
	asked := mustDecode(t, "pipeline.ncu.ncu_cli.filter_mode=per-launch-config").Pipeline.Ncu
	if fitted, fell := asked.Fit(false); fell || fitted.CLI.FilterMode != filterPerLaunchConfig {
		t.Errorf("what the user asked for became %s", fitted.CLI.FilterMode)
	}
	every := mustDecode(t, "pipeline.ncu.ncu_cli.launch_count=null").Pipeline.Ncu
	if fitted, _ := every.Fit(false); fitted.CLI.LaunchCount != 0 {
		t.Errorf("every launch became %d", fitted.CLI.LaunchCount)
	}
}
