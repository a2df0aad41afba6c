package runs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/redact"
	"github.com/deepprof/deepprof/internal/redact/planted"
)

// TestPlantedSecrets: 60 kinds of secrets in the environment, the arguments, the
// configuration and the inputs are in no byte of the run or its packs, in any
// encoding, but for the file of the owner.
func TestPlantedSecrets(t *testing.T) {
	env, inputs := planted.Environment(), []string(nil)
	var environ []string
	for _, p := range env {
		environ = append(environ, p.Text)
	}
	args, inArgs := planted.Arguments()
	config, inConf := planted.Config()
	inputs, inIn := planted.Inputs()
	all := append(append(append(env, inArgs...), inConf...), inIn...)
	if len(all) < 60 {
		t.Fatalf("%d kinds, want 60", len(all))
	}
	v := redact.NewValues(environ)
	v.LearnArgs(args)
	v.LearnConfig([]byte(config))
	v.LearnArgs(inputs)
	exact, err := json.Marshal(map[string]any{"command": args, "config": config})
	must(t, err)
	r := mustCreate(t, t.TempDir(), CreateOptions{Command: args, Label: "planted", Steps: []Step{{Name: "nsys"}}, Secrets: v, Files: map[string][]byte{PlanName: exact}})
	must(t, r.WriteConfig([]byte(config)))
	must(t, r.WriteInputs(Inputs{Workload: WorkloadInput{Command: args}, Model: &ModelInput{Name: inputs[0]}, Datasets: []InputFile{{Path: inputs[1]}, {Path: inputs[2]}, {Path: inputs[3]}, {Path: inputs[4]}, {Path: inputs[5]}}}))
	must(t, r.WriteJSON(EnvName, Collector{Environ: func() []string { return environ }}.Collect(ctx)))
	must(t, r.StartStep("nsys"))
	must(t, r.StartAttempt("nsys", "", append([]string{"nsys"}, args...)...))
	writePlanted(t, r, all)
	files, err := r.HashFiles(ctx, "nsys", "ncu", "report.html", "result.json", "kernels.md")
	must(t, err)
	must(t, r.EndAttempt("nsys", Result{Files: files, Outcome: Outcome{Kind: "failed", Text: fact.FromText("died with " + all[0].Secret)}}))
	must(t, r.Finish(StatusFailed, fact.FromText("the workload said "+strings.Join(args, " "))))
	must(t, r.Close())

	if st, err := os.Stat(r.Path(PrivateName)); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%s: %v, %v", PrivateName, st.Mode(), err)
	}
	if p, err := os.ReadFile(r.Path(PrivateName)); err != nil || !bytes.Equal(p, exact) {
		t.Errorf("the exact command is lost: %v", err)
	}
	whole := map[string][]byte{}
	must(t, filepath.WalkDir(r.Dir(), func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && d.Name() != PrivateName {
			whole[path], err = os.ReadFile(path)
		}
		return err
	}))
	opened, err := openDir(r.Dir())
	must(t, err)
	for name, o := range map[string]PackOptions{"pack": {}, "redacted pack": {Redact: true}} {
		out := filepath.Join(t.TempDir(), "run"+PackExt)
		_, err := Pack(ctx, opened, out, o)
		must(t, err)
		whole[name] = unzstd(t, out)
	}
	for where, data := range whole {
		for _, p := range all {
			for i, form := range planted.Encoded(p.Secret) {
				if at := bytes.Index(data, form); at >= 0 {
					t.Errorf("%s: %q (encoding %d) is left at %d: %.80q", where, p.Text, i, at, data[max(0, at-20):])
				}
			}
		}
	}
}

// writePlanted writes files of every format of a run that hold the secrets.
func writePlanted(t *testing.T, r *Run, all []planted.Plant) {
	t.Helper()
	var log, html bytes.Buffer
	var list []string
	for _, p := range all {
		for _, form := range planted.Encoded(p.Secret) {
			log.Write(append(form, '\n'))
		}
		list = append(list, p.Text)
		fmt.Fprintf(&html, "<td>%s</td>", p.Text)
	}
	js, err := json.Marshal(map[string]any{"lines": list, "n": 1.5})
	must(t, err)
	must(t, os.MkdirAll(r.Path("nsys"), 0o755))
	must(t, os.MkdirAll(r.Path("ncu"), 0o755))
	for name, data := range map[string][]byte{
		"nsys/stdout.log": log.Bytes(), "nsys/cmd.txt": []byte(strings.Join(list, " ") + "\n"), "ncu/run.ncu-rep": []byte(report(list...)),
		"report.html": html.Bytes(), "result.json": js, "kernels.md": log.Bytes(),
	} {
		must(t, os.WriteFile(r.Path(name), data, 0o644))
	}
	db, err := sqlite3.Open(r.Path("nsys/run.sqlite"))
	must(t, err)
	must(t, db.Exec("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT); CREATE TABLE T (a INTEGER)"))
	for i, p := range all {
		// On both sides of the end of a page, too.
		for pad := range 3 {
			must(t, db.Exec(fmt.Sprintf("INSERT INTO StringIds VALUES (%d, '%s')", 10*i+pad, strings.Repeat("x", pad*4080)+strings.ReplaceAll(p.Text, "'", "''"))))
		}
	}
	must(t, db.Close())
}
