package runs

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/ncruces/go-sqlite3"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/redact"
)

// made makes up n characters, different for each seed. No secret here is real.
func made(seed, n int) string {
	const set = "Qz7Rm2Kx9LwTb4VhJc6NpYs3DfGd8XkZ5aBeCgHiMnOqUrWt1EjFlPvSuIyAo0"
	var b strings.Builder
	x := uint32(seed)*2654435761 + 12345
	for range n {
		x = x*1664525 + 1013904223
		b.WriteByte(set[(x>>8)%uint32(len(set))])
	}
	return b.String()
}

func hexes(seed, n int) string {
	return strings.Map(func(c rune) rune { return rune("0123456789abcdef"[c%16]) }, made(seed, n))
}

// A plant is a place where a secret stands, and the part that nobody may find.
type plant struct{ text, secret string }

// inEnvironment are assignments.
func inEnvironment() []plant {
	var out []plant
	add := func(name, value, secret string) { out = append(out, plant{name + "=" + value, secret}) }
	whole := func(name, value string) { add(name, value, value) }
	whole("HF_TOKEN", "hf_"+made(1, 30))
	whole("ANY1", "ghp_"+made(2, 36))
	whole("ANY2", "github_pat_"+made(3, 40))
	whole("ANY3", "glpat-"+made(4, 20))
	whole("ANY4", "sk-proj-"+made(5, 30))
	whole("ANY5", "sk_live_"+made(6, 24))
	whole("ANY6", "nvapi-"+made(7, 40))
	whole("ANY7", "xoxb-"+made(8, 24))
	whole("ANY8", "AKIA"+strings.ToUpper(hexes(9, 16)))
	whole("ANY9", "AIza"+made(10, 35))
	whole("ANY10", "ya29."+made(11, 40))
	whole("ANY11", "eyJ"+made(12, 20)+"."+made(13, 30)+"."+made(14, 30))
	whole("ANY12", "-----BEGIN RSA PRIVATE KEY-----\n"+made(15, 60)+"\n"+made(16, 60)+"\n-----END RSA PRIVATE KEY-----")
	whole("ANY13", "SG."+made(17, 22)+"."+made(18, 43))
	whole("ANY14", "123456789:"+made(19, 35))
	whole("ANY15", "M"+made(20, 23)+"."+made(21, 6)+"."+made(22, 27))
	whole("ANY16", "hvs."+made(23, 24))
	whole("ANY17", "AGE-SECRET-KEY-1"+strings.ToUpper(made(24, 58)))
	whole("ANY18", hexes(25, 40))
	whole("ANY19", made(26, 40))
	whole("DB_PASSWORD", "correct horse \"battery\" & <staple>")
	whole("PGPASSWORD", "pg-sesame-"+made(27, 4))
	whole("AWS_SECRET_ACCESS_KEY", made(28, 40))
	add("DATABASE_URL", "postgres://ann:dbpw-"+made(29, 6)+"@db/x", "dbpw-"+made(29, 6))
	add("HTTPS_PROXY", "http://u:px-"+made(30, 6)+"@proxy:3128", "px-"+made(30, 6))
	add("DOWNLOAD", "https://h/f?sig="+made(31, 12), made(31, 12))
	whole("REGISTRY_AUTH_B64", base64.StdEncoding.EncodeToString([]byte("ann:rg-"+made(32, 8))))
	whole("NPM", "npm_"+made(33, 36))
	return out
}

// inArguments are command lines.
func inArguments() ([]string, []plant) {
	var args []string
	var out []plant
	add := func(secret string, words ...string) {
		args = append(args, words...)
		out = append(out, plant{strings.Join(words, " "), secret})
	}
	env, eq, sep, short, login := "ev-"+made(40, 9), "eq-"+made(41, 9), "sp-"+made(42, 9), "pp-"+made(43, 9), "lg-"+made(44, 9)
	add(env, "env", "SERVICE_TOKEN="+env)
	add(eq, "--token="+eq)
	add(sep, "--password", sep)
	add(short, "-p", short)
	add(login, "-u", "ann:"+login)
	bearer, api, query := "b3"+made(45, 4), "ap-"+made(46, 12), made(47, 10)
	add(bearer, "-H", "Authorization: Bearer "+bearer)
	add(api, "--api-key", api)
	add(query, "https://h/x?access_token="+query)
	pw, odbc, js := "ul-"+made(48, 8), "od-"+made(49, 8), "js-"+made(50, 8)
	add(pw, "https://bob:"+pw+"@host/x")
	add(odbc, "Driver=pg;Uid=ann;Pwd="+odbc+";")
	add(js, `{"user": "ann", "password": "`+js+`"}`)
	inner, netrc, secret := "in-"+made(51, 8), "nr-"+made(52, 8), "cs-"+made(53, 10)
	add(inner, "sh", "-c", "curl -u ann:"+inner+" https://h")
	add(netrc, "machine h login ann password "+netrc)
	add(secret, "--client-secret="+secret)
	hook, pypi := made(54, 24), "pypi-"+made(55, 40)
	add(hook, "https://discord.com/api/webhooks/123456/"+hook)
	add(pypi, pypi)
	return args, out
}

// inConfig is a configuration with secrets below names of many kinds.
func inConfig() (string, []plant) {
	var out []plant
	var b strings.Builder
	for i, key := range []string{"password", "api_key", "auth_token", "client_secret", "access_token", "passphrase", "private_key", "db_passwd"} {
		value := "cf-" + made(60+i, 10)
		fmt.Fprintf(&b, "%s: %s\n", key, value)
		out = append(out, plant{key, value})
	}
	kube, url := made(70, 40), "cu-"+made(71, 8)
	fmt.Fprintf(&b, "users:\n  - user:\n      token: %s\nstore: https://ann:%s@h/x\n", kube, url)
	return b.String(), append(out, plant{"token", kube}, plant{"store", url})
}

// inInputs are what the workload reads: names of models and data sets.
func inInputs() ([]string, []plant) {
	a, b, c, d, e, f := "im-"+made(80, 8), made(81, 20), "hf_"+made(82, 30), "ds-"+made(83, 8), made(84, 16), "az-"+made(85, 20)
	names := []string{"https://ann:" + a + "@hub/model", "s3://bucket/data?X-Amz-Signature=" + b, "https://hub/m?token=" + c, "ftp://u:" + d + "@h/d", "https://h/d?sig=" + e, "DefaultEndpointsProtocol=https;AccountKey=" + f + ";"}
	return names, []plant{{names[0], a}, {names[1], b}, {names[2], c}, {names[3], d}, {names[4], e}, {names[5], f}}
}

// encoded are the ways in which files write a text.
func encoded(s string) [][]byte {
	js, _ := json.Marshal(s)
	out := [][]byte{[]byte(s), js[1 : len(js)-1], []byte(url.QueryEscape(s)), []byte(url.PathEscape(s)), []byte(base64.StdEncoding.EncodeToString([]byte(s)))}
	var le, be []byte
	for _, u := range utf16.Encode([]rune(s)) {
		le, be = append(le, byte(u), byte(u>>8)), append(be, byte(u>>8), byte(u))
	}
	return append(out, le, be)
}

// TestPlantedSecrets: 60 kinds of secrets in the environment, the arguments, the
// configuration and the inputs are in no byte of the run or its packs, in any
// encoding, but for the file of the owner.
func TestPlantedSecrets(t *testing.T) {
	env, inputs := inEnvironment(), []string(nil)
	var environ []string
	for _, p := range env {
		environ = append(environ, p.text)
	}
	args, inArgs := inArguments()
	config, inConf := inConfig()
	inputs, inIn := inInputs()
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
	must(t, r.WriteEnv(Collector{Environ: func() []string { return environ }}.Collect(ctx)))
	must(t, r.StartStep("nsys"))
	must(t, r.StartAttempt("nsys", "", append([]string{"nsys"}, args...)...))
	writePlanted(t, r, all)
	files, err := r.HashFiles(ctx, "nsys", "ncu", "report.html", "result.json", "kernels.md")
	must(t, err)
	must(t, r.EndAttempt("nsys", Result{Files: files, Outcome: Outcome{Kind: "failed", Text: fact.Said("died with " + all[0].secret)}}))
	must(t, r.Finish(StatusFailed, fact.Said("the workload said "+strings.Join(args, " "))))
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
			for i, form := range encoded(p.secret) {
				if at := bytes.Index(data, form); at >= 0 {
					t.Errorf("%s: %q (encoding %d) is left at %d: %.80q", where, p.text, i, at, data[max(0, at-20):])
				}
			}
		}
	}
}

// writePlanted writes files of every format of a run that hold the secrets.
func writePlanted(t *testing.T, r *Run, all []plant) {
	t.Helper()
	var log, html bytes.Buffer
	var list []string
	for _, p := range all {
		for _, form := range encoded(p.secret) {
			log.Write(append(form, '\n'))
		}
		list = append(list, p.text)
		fmt.Fprintf(&html, "<td>%s</td>", p.text)
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
			must(t, db.Exec(fmt.Sprintf("INSERT INTO StringIds VALUES (%d, '%s')", 10*i+pad, strings.Repeat("x", pad*4080)+strings.ReplaceAll(p.text, "'", "''"))))
		}
	}
	must(t, db.Close())
}
