package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestRankFaults breaks jobs under a real Slurm: minutes, and so with TORTURE
// only.
func TestRankFaults(t *testing.T) {
	if os.Getenv("TORTURE") == "" {
		t.Skip("TORTURE is not set: scripts/torture runs it")
	}
	testscript.Run(t, scripts(t, "testdata/torture"))
}

// hasSlurm tells whether slurm can start one: its daemons need root.
func hasSlurm() bool {
	for _, name := range []string{"slurmctld", "slurmd", "munged"} {
		if _, err := os.Stat(filepath.Join("/usr/sbin", name)); err != nil {
			return false
		}
	}
	_, err := exec.LookPath("srun")
	return err == nil && os.Getuid() == 0
}

// slurm DIR [NODES] starts a Slurm that ends with the script.
func slurm(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 1 {
		ts.Fatalf("usage: slurm DIR [NODES]")
	}
	dir := ts.MkAbs(args[0])
	script, err := filepath.Abs("../../scripts/slurm")
	ts.Check(err)
	ts.Check(os.MkdirAll(dir, 0o755))
	log, err := os.Create(filepath.Join(dir, "start.log"))
	ts.Check(err)
	defer log.Close()
	port, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	first := port.Addr().(*net.TCPAddr).Port
	ts.Check(port.Close())
	start := exec.Command(script, append([]string{dir}, args[1:]...)...)
	start.Env = append(os.Environ(), fmt.Sprintf("SLURM_TEST_PORT=%d", first))
	start.Stdout, start.Stderr = log, log // daemons keep what they inherit
	ts.Defer(func() { _ = exec.Command(script, "--stop", dir).Run() })
	if err := start.Run(); err != nil {
		text, _ := os.ReadFile(log.Name())
		ts.Fatalf("start Slurm: %v\n%s", err, text)
	}
	ts.Setenv("SLURM_CONF", filepath.Join(dir, "slurm.conf"))
}
