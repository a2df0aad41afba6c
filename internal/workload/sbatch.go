package workload

import (
	"fmt"
	"slices"
	"strconv"
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
// argv is the whole command line of deepprof, command what it profiles. The script ends with a
// line feed.
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
	notice := noticeOf(asked)
	lines = append(lines,
		"#SBATCH --signal=B:INT@"+strconv.Itoa(notice),
		fmt.Sprintf("# %d seconds before the time limit deepprof is asked to finish: it keeps what it has, and 'deepprof runs resume latest' goes on.", notice),
		"exec "+shellescape.QuoteCommand(argv), // takes the place of the shell, which gets the signal
	)
	return strings.Join(lines, "\n") + "\n", true
}

// noticeOf is how many seconds before the time limit deepprof is asked to finish:
// 120, and of a short job a quarter.
func noticeOf(directives []string) int {
	const most = 120
	for _, d := range directives {
		if limit, ok := strings.CutPrefix(d, "--time="); ok {
			if s := slurmSeconds(limit); s > 0 {
				return min(most, max(1, s/4))
			}
		}
	}
	return most
}

// slurmSeconds reads a time of Slurm: minutes, minutes:seconds,
// hours:minutes:seconds, and days-hours with or without the rest. 0 for anything
// else, such as UNLIMITED.
func slurmSeconds(text string) int {
	days, rest, long := strings.Cut(text, "-")
	units, total := []int{60, 1}, 0
	if long {
		d, err := strconv.Atoi(days)
		if err != nil {
			return 0
		}
		units, total = []int{3600, 60, 1}, d*86400
	} else {
		rest = text
	}
	parts := strings.Split(rest, ":")
	if len(parts) == 3 {
		units = []int{3600, 60, 1}
	}
	if len(parts) > len(units) {
		return 0
	}
	for i, part := range parts {
		n, err := strconv.Atoi(part)
		if err != nil {
			return 0
		}
		total += n * units[i]
	}
	return total
}

// directives are the options of srun that a batch script needs too, in their long
// form.
// They keep their order. Options that only srun knows are left out.
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
