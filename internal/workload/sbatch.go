package workload

import (
	"slices"
	"strings"

	"al.essio.dev/pkg/shellescape"
)

// allocation are the options of srun that ask for nodes, time and the like: a
// batch script asks for the same before it starts anything. Short names stand for
// the long ones beside them.
var allocation = map[string]string{
	"-N": "--nodes", "-n": "--ntasks", "-p": "--partition", "-t": "--time", "-A": "--account", "-q": "--qos", "-c": "--cpus-per-task", "-G": "--gpus",
	"-C": "--constraint", "-w": "--nodelist", "-x": "--exclude", "-J": "--job-name", "-d": "--dependency", "-L": "--licenses",
	"--ntasks-per-node": "", "--gpus-per-node": "", "--gpus-per-task": "", "--cpus-per-gpu": "", "--gres": "", "--mem": "", "--mem-per-cpu": "", "--mem-per-gpu": "",
	"--reservation": "", "--exclusive": "", "--nodes": "", "--ntasks": "", "--partition": "", "--time": "", "--account": "", "--qos": "", "--cpus-per-task": "",
	"--gpus": "", "--constraint": "", "--nodelist": "", "--exclude": "", "--job-name": "", "--dependency": "", "--licenses": "",
}

// Sbatch is a batch script of Slurm that runs the same command line of deepprof
// in an allocation of its own. It asks for what the srun in it asks for. False
// where the command is no srun.
func Sbatch(argv, command []string) (string, bool) {
	l, ok := FindLaunch(command)
	if !ok || l.Launcher != "srun" {
		return "", false
	}
	lines := []string{"#!/bin/sh"}
	asked := directives(l.Head[1:])
	if !slices.ContainsFunc(asked, func(d string) bool { return strings.HasPrefix(d, "--job-name") }) {
		asked = append(asked, "--job-name=deepprof")
	}
	for _, d := range asked {
		lines = append(lines, "#SBATCH "+d)
	}
	lines = append(lines,
		"#SBATCH --signal=B:INT@120",
		"# Two minutes before the time limit deepprof is asked to finish: it keeps what it has, and 'deepprof runs resume latest' goes on.",
		"exec "+shellescape.QuoteCommand(argv), // takes the place of the shell, which gets the signal
	)
	return strings.Join(lines, "\n") + "\n", true
}

// directives are the options of srun that a batch script needs too, in their long
// form.
func directives(options []string) []string {
	takes := launchers[slices.IndexFunc(launchers, func(l launcher) bool { return l.name == "srun" })].values
	var out []string
	for i := 0; i < len(options); i++ {
		name, value, joined := strings.Cut(options[i], "=")
		if !joined && len(name) > 2 && !strings.HasPrefix(name, "--") { // -n16
			name, value, joined = name[:2], name[2:], true
		}
		if !joined && takes[name] > 0 && i+1 < len(options) {
			i++
			value, joined = options[i], true
		}
		long, wanted := allocation[name]
		if !wanted {
			continue
		}
		if long == "" {
			long = name
		}
		if joined {
			long += "=" + value
		}
		out = append(out, long)
	}
	return out
}
