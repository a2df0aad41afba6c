package workload

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"al.essio.dev/pkg/shellescape"

	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/tool"
)

// A Launch is a command that starts the ranks of a job: a launcher with its
// options, and the program that it starts.
type Launch struct {
	Launcher string   // torchrun, mpirun, srun: the row of the table
	Head     []string // the launcher and its options, as they must stand before a program
	Program  []string // what each rank runs
}

// Patient adds to the environment of a launcher that a rank has five seconds to
// end when another has failed. Open MPI kills it after one, before a profiler has
// written its report. What the user set stays.
func (l Launch) Patient(env []string) []string {
	i := slices.IndexFunc(launchers, func(row launcher) bool { return row.name == l.Launcher })
	if i < 0 {
		return env
	}
	for _, name := range launchers[i].grace {
		if !slices.ContainsFunc(env, func(kv string) bool { return strings.HasPrefix(kv, name+"=") }) {
			env = append(slices.Clip(env), name+"=5")
		}
	}
	return env
}

// A launcher is what is known of the command line of a launcher. Options that are
// not listed take no value, unless they hold one after "=".
type launcher struct {
	name   string
	names  *regexp.Regexp // of its program
	values map[string]int // how many further words an option takes
	// wraps turns the words behind the options into head and program; nil where
	// these are the program.
	wraps func(head, rest []string) ([]string, []string)
	// grace names the environment variables that set how many seconds the other
	// ranks get to end once one has failed.
	grace []string
}

// options makes a table of options that each take one word, or two.
func options(one, two string) map[string]int {
	out := map[string]int{}
	for n, names := range []string{one, two} {
		for name := range strings.FieldsSeq(names) {
			out[name] = n + 1
		}
	}
	return out
}

var launchers = []launcher{
	{
		name: "torchrun", names: regexp.MustCompile(`^torchrun$`), wraps: wrapTorchrun,
		values: options("--nnodes --nproc-per-node --nproc_per_node --rdzv-backend --rdzv_backend --rdzv-endpoint --rdzv_endpoint --rdzv-id --rdzv_id --rdzv-conf --rdzv_conf "+
			"--max-restarts --max_restarts --monitor-interval --monitor_interval --start-method --start_method --role --log-dir --log_dir -r --redirects -t --tee "+
			"--local-ranks-filter --local_ranks_filter --node-rank --node_rank --master-addr --master_addr --master-port --master_port --local-addr --local_addr --logs-specs --logs_specs", ""),
	},
	{
		name: "mpirun", names: regexp.MustCompile(`^(mpirun|mpiexec|orterun|prterun|mpiexec\.hydra|mpirun\.(openmpi|mpich)|mpiexec\.(openmpi|mpich))$`),
		values: options("-n -np --n --np -c -N --npernode -npernode --npersocket --host -host -H -hosts --hostfile -hostfile --machinefile -machinefile -f -x --bind-to -bind-to --map-by -map-by "+
			"--rank-by --wdir -wdir -d --path -path --prefix --timeout --tag-output-file --output-filename --rankfile -rf --cpu-set --am --tune --personality -ppn -genvlist -envlist -iface -launcher -rmk -bootstrap --stdin -stdin",
			"--mca -mca --gmca -gmca --prtemca --pmixmca -env -genv"),
		grace: []string{"OMPI_MCA_odls_base_sigkill_timeout", "PRTE_MCA_odls_base_sigkill_timeout"}, // Open MPI 4 and 5
	},
	{
		name: "srun", names: regexp.MustCompile(`^srun$`),
		values: options("-A -B -c -C -d -D -e -G -i -J -L -m -M -n -N -o -p -q -r -S -t -T -w -W -x --account --bcast --begin --chdir --cluster-constraint --clusters --comment --constraint --container "+
			"--core-spec --cores-per-socket --cpu-bind --cpu-freq --cpus-per-gpu --cpus-per-task --deadline --dependency --distribution --error --exclude --export --extra-node-info --gid --gpu-bind --gpu-freq "+
			"--gpus --gpus-per-node --gpus-per-socket --gpus-per-task --gres --gres-flags --het-group --hint --immediate --input --jobid --job-name --kill-on-bad-exit --licenses --mail-type --mail-user --mem "+
			"--mem-bind --mem-per-cpu --mem-per-gpu --mincpus --mpi --msg-timeout --multi-prog --network --nodefile --nodelist --nodes --ntasks --ntasks-per-core --ntasks-per-gpu --ntasks-per-node "+
			"--ntasks-per-socket --open-mode --output --partition --power --prefer --priority --profile --prolog --epilog --qos --relative --reservation --signal --slurmd-debug --sockets-per-node "+
			"--switches --task-epilog --task-prolog --threads --threads-per-core --time --time-min --tmp --uid --wait --wckey", ""),
	},
}

// wrapTorchrun makes torchrun start programs of any kind: it would run a script
// with its own Python.
func wrapTorchrun(head, rest []string) ([]string, []string) {
	isFlag := func(names ...string) bool {
		found := false
		head = slices.DeleteFunc(slices.Clone(head), func(word string) bool {
			is := slices.Contains(names, word)
			found = found || is
			return is
		})
		return found
	}
	module, direct := isFlag("-m", "--module"), isFlag("--no-python", "--no_python")
	head = append(head, "--no_python") // the spelling that every version knows
	switch {
	case direct:
		return head, rest
	case module:
		return head, append([]string{interpreter(head[0]), "-m"}, rest...)
	}
	return head, append([]string{interpreter(head[0]), "-u"}, rest...)
}

// interpreter is the Python that a script such as torchrun is run by, which it
// also runs programs with: that of its first line, else python3.
func interpreter(script string) string {
	path, err := exec.LookPath(script)
	if err != nil {
		return "python3"
	}
	f, err := os.Open(path)
	if err != nil {
		return "python3"
	}
	defer f.Close()
	head := make([]byte, 256)
	n, _ := io.ReadFull(f, head)
	line, _, _ := strings.Cut(string(head[:n]), "\n")
	words := strings.Fields(strings.TrimPrefix(line, "#!"))
	if len(words) == 0 || !strings.HasPrefix(line, "#!") || !strings.Contains(words[len(words)-1], "python") {
		return "python3"
	}
	return words[len(words)-1]
}

// FindLaunch splits a command that begins with a launcher. It is false for other
// commands, and where the program cannot be told: several programs in one job, or
// none.
func FindLaunch(command []string) (Launch, bool) {
	at := launcherOf(command)
	if at < 0 || slices.Contains(command, ":") { // several programs
		return Launch{}, false
	}
	l := &launchers[at]
	i := 1
	for i < len(command) && strings.HasPrefix(command[i], "-") && len(command[i]) > 1 {
		word := command[i]
		i++
		if word == "--" {
			break
		}
		if !strings.Contains(word, "=") {
			i += l.values[word]
		}
	}
	if i >= len(command) || l.name == "srun" && slices.Contains(command[:i], "--multi-prog") {
		return Launch{}, false
	}
	head, program := command[:i:i], command[i:]
	if head[len(head)-1] == "--" {
		head = head[:len(head)-1]
	}
	if l.wraps != nil {
		head, program = l.wraps(head, program)
	} else if !startable(program[0]) {
		return Launch{}, false // the value of an option that is not known
	}
	return Launch{Launcher: l.name, Head: head, Program: program}, true
}

// launcherOf is the row of the launcher that a command begins with, or -1.
func launcherOf(command []string) int {
	if len(command) == 0 {
		return -1
	}
	base := filepath.Base(command[0])
	return slices.IndexFunc(launchers, func(l launcher) bool { return l.names.MatchString(base) })
}

// HasRanks tells that a command begins with a launcher, so that its processes may
// wait for each other, also where its program cannot be told.
func HasRanks(command []string) bool { return launcherOf(command) >= 0 }

// startable tells whether a word may name a program: a path, or one in PATH.
func startable(word string) bool {
	if strings.Contains(word, "/") {
		return true
	}
	_, err := exec.LookPath(word)
	return err == nil
}

// All and OnePerNode choose ranks; the alternative is numbers with commas.
const (
	ranksAll        = "all"
	ranksOnePerNode = "one-per-node"
)

// A Shim is a script that stands between a launcher and the program of each rank.
type Shim struct {
	Ranks    string   // which of them the profiler is put in front of
	Folder   string   // where runs.RanksFolder is made; all nodes must see it
	Profiler []string // with its options, without the output
	Output   string   // option that names the report, the path without rank and host
	Env      []string // variables of the profiler, NAME=value
	Single   bool     // one rank is profiled: the report has the name of the output
	// Peers is the option of ncu that says how many ranks launch their kernels in
	// step; "" where the profiled ranks need no others. With it the profiler is put
	// in front of all ranks, and the reports of those that are not chosen are thrown
	// away.
	Peers string
}

// Script is the text of the shim. The report of rank 3 on node1 gets the name of
// the output with ".3.node1". A process that the launcher gave no rank runs
// without a profiler, and says so. A file of each rank says that it began, and
// where: a rank that dies leaves no report.
func (s *Shim) Script() string {
	q := shellescape.Quote
	var b strings.Builder
	line := func(parts ...string) { b.WriteString(strings.Join(parts, "") + "\n") }
	line("#!/bin/sh")
	line("# Written by deepprof: puts the profiler behind the launcher, one report for each rank.")
	line(`rank=${RANK:-${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-${SLURM_PROCID:-}}}}`)
	line(`local=${LOCAL_RANK:-${OMPI_COMM_WORLD_LOCAL_RANK:-${MPI_LOCALRANKID:-${SLURM_LOCALID:-}}}}`)
	line(`world=${WORLD_SIZE:-${OMPI_COMM_WORLD_SIZE:-${PMI_SIZE:-${SLURM_NTASKS:-}}}}`)
	line(`host=${SLURMD_NODENAME:-$(hostname)}; host=${host%%.*}`)
	line(`[ -n "$rank" ] || { echo "deepprof: the launcher tells no rank: this process is not profiled" >&2; exec "$@"; }`)
	line("chosen=no")
	switch s.Ranks {
	case ranksAll, "":
		line("chosen=yes")
	case ranksOnePerNode:
		line(`[ "${local:-$rank}" = 0 ] && chosen=yes`)
	default:
		line("case ,", s.Ranks, `, in *",$rank,"*) chosen=yes;; esac`)
	}
	line("mkdir -p ", q(filepath.Join(s.Folder, runs.RanksFolder)))
	line(`printf '{"rank": %d, "local": %d, "world": %d, "host": "%s", "process": %d, "chosen": "%s"}\n' "$rank" "${local:-0}" "${world:-0}" "$host" "$$" "$chosen" > `,
		q(filepath.Join(s.Folder, runs.RanksFolder)), `/"$rank".json`)
	if s.Peers == "" {
		line(`[ "$chosen" = yes ] || exec "$@"`)
	}
	for _, kv := range s.Env {
		name, value, _ := strings.Cut(kv, "=")
		line("export ", name, "=", q(value))
	}
	line(`[ -d "${TMPDIR:-/}" ] || unset TMPDIR`)
	// The profiler keeps the process id of this script. It must get one signal, and
	// none while it writes a report.
	line(`( while kill -0 $$ 2>/dev/null; do`)
	line(`  if [ -e `, q(filepath.Join(s.Folder, runs.RanksFolder, runs.StopName)), ` ]; then`)
	line(`    pgrep -P $$ QdstrmImporter >/dev/null || kill -INT $$ `, s.children(), `2>/dev/null`)
	line(`    exit`)
	line(`  fi`)
	line(`  sleep 0.5`)
	line(`done & ) </dev/null >/dev/null 2>&1`)
	name := `."$rank"."$host"`
	if s.Single {
		name = ""
	}
	profiler := shellescape.QuoteCommand(s.Profiler)
	if s.Peers != "" {
		s.writePeers(line, profiler)
	}
	line("exec ", profiler, s.inStep(), " ", s.Output, name, ` "$@"`)
	return b.String()
}

// path is where the script lies.
func (s *Shim) path() string { return filepath.Join(s.Folder, runs.ShimName) }

// StopFile asks the ranks of a folder to finish by being there.
func StopFile(folder string) string { return filepath.Join(folder, runs.RanksFolder, runs.StopName) }

// Install writes the script, and takes back what an earlier job was asked.
func (s *Shim) Install() error {
	err := os.RemoveAll(StopFile(s.Folder))
	if err == nil {
		err = os.MkdirAll(s.Folder, 0o777)
	}
	if err == nil {
		err = os.WriteFile(s.path(), []byte(s.Script()), 0o755)
	}
	if err != nil {
		return fmt.Errorf("make the script of ranks: %w", err)
	}
	return nil
}

// Behind puts a profiler behind the launcher: the launcher starts the script in each
// rank, and that the profiler, whose command has the program at its end. The shim gets
// the command; env is what ranks have of the launcher. All of them write their own
// report, unless there is one rank only.
// The arguments of profiler must end with l.Program. s is changed and must be installed after
// that.
func (l *Launch) Behind(s *Shim, profiler tool.Command, outputOption string, env []string) tool.Command {
	s.Profiler = []string{profiler.Path}
	for _, arg := range profiler.Args[:len(profiler.Args)-len(l.Program)] {
		if path, ok := strings.CutPrefix(arg, outputOption+"="); ok {
			s.Output = outputOption + "=" + shellescape.Quote(path)
			continue
		}
		s.Profiler = append(s.Profiler, arg)
	}
	for _, kv := range profiler.Env { // launchers do not always hand the environment on
		if !slices.Contains(env, kv) {
			s.Env = append(s.Env, kv)
		}
	}
	words := slices.Concat(l.Head, []string{s.path()}, l.Program)
	return tool.Command{Path: words[0], Args: words[1:], Dir: profiler.Dir, Env: l.Patient(profiler.Env)}
}

// children are the processes that must get the signal to finish as well: ncu is
// started by a script that hands no signals on.
func (s *Shim) children() string {
	if s.Single {
		return `$(pgrep -P $$) `
	}
	return ""
}

// inStep are the options by which ncu launches the kernels of all ranks together.
func (s *Shim) inStep() string {
	if s.Peers == "" {
		return ""
	}
	return ` --communicator=tcp --lockstep-kernel-launch ` + s.Peers + `="$world" --communicator-tcp-hostname="$first"`
}

// writePeers finds the host of rank 0, where the ranks meet, and starts the
// profiler in ranks that only take part.
func (s *Shim) writePeers(line func(...string), profiler string) {
	zero := shellescape.Quote(filepath.Join(s.Folder, runs.RanksFolder, "0.json"))
	line(`[ -n "$world" ] || { echo "deepprof: the launcher tells no number of ranks: collectives cannot be counted" >&2; exit 1; }`)
	line(`first=; tries=0`)
	line(`while [ -z "$first" ] && [ $tries -lt 60 ]; do first=$(sed -n 's/.*"host": "\([^"]*\)".*/\1/p' `, zero, ` 2>/dev/null); tries=$((tries + 1)); [ -n "$first" ] || sleep 0.5; done`)
	line(`[ -n "$first" ] || { echo "deepprof: rank 0 did not begin within 30 s" >&2; exit 1; }`)
	line(`if [ "$chosen" != yes ]; then`)
	line(`  spare=$(mktemp -d)`)
	line(`  `, profiler, s.inStep(), ` --export="$spare/peer" "$@"; code=$?`)
	line(`  rm -rf "$spare"; exit $code`)
	line(`fi`)
}
