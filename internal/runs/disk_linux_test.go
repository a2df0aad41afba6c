//go:build linux

package runs

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/deepprof/deepprof/internal/fact"
)

// smallDisk mounts a tmpfs of the given size. Where that is not allowed, the
// test runs again in a namespace of its own, where it is; ok is then false and
// the test is over.
func smallDisk(t *testing.T, size string) (dir string, ok bool) {
	t.Helper()
	dir = t.TempDir()
	err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size)
	if err == nil {
		t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
		return dir, true
	}
	if os.Getenv("RUNS_TEST_NAMESPACE") != "" {
		t.Skipf("mounting a small tmpfs is not allowed: %v", err)
	}
	c := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	c.Env = append(os.Environ(), "RUNS_TEST_NAMESPACE=1")
	c.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	out, err := c.CombinedOutput()
	switch {
	case c.ProcessState == nil:
		t.Skipf("mounting a small tmpfs needs root or user namespaces: %v", err)
	case err != nil:
		t.Fatalf("in a namespace: %v\n%s", err, out)
	case bytes.Contains(out, []byte("--- SKIP")):
		t.Skipf("in a namespace: %s", out)
	}
	return "", false
}

func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	must(t, err)
	defer f.Close()
	for {
		if _, err := f.Write(bytes.Repeat([]byte("x"), 4096)); err != nil {
			if !IsDiskFull(err) {
				t.Fatal(err)
			}
			return
		}
	}
}

func TestFullDisk(t *testing.T) {
	root, ok := smallDisk(t, "1m")
	if !ok {
		return
	}
	r := mustCreate(t, root, CreateOptions{Steps: []Step{{Name: "nsys"}}})
	must(t, r.StartStep("nsys"))
	fill(t, filepath.Join(root, "filler"))

	// The reserve carries the outcome onto the full disk.
	must(t, r.EndStep("nsys", StateFailed, fact.FromText("disk full")))
	m, err := ReadManifest(r.Dir())
	if err != nil || m.Step("nsys").Reason.Text("text") != "disk full" {
		t.Fatalf("manifest on the full disk: %+v, %v", m, err)
	}

	// It is made again, so that the next change is carried as well.
	fill(t, filepath.Join(root, "filler1"))
	must(t, r.EndStep("nsys", StateFailed, fact.FromText(strings.Repeat("\x00\x1b[31mdisk full", 200000))))
	if m, err := ReadManifest(r.Dir()); err != nil || len(m.Step("nsys").Reason.Text("text")) > 4*maxText || strings.ContainsAny(m.Step("nsys").Reason.Text("text"), "\x00\x1b") {
		t.Fatalf("words of a program on the full disk: %.300q, %v", m.Step("nsys").Reason.Text("text"), err)
	}

	// Without it the manifest keeps its last good content and the error says why.
	must(t, os.Remove(r.Path(reserveName)))
	fill(t, filepath.Join(root, "filler2"))
	err = r.Warn(strings.Repeat("long ", 4000))
	if !IsDiskFull(err) || !strings.Contains(err.Error(), ManifestName) {
		t.Errorf("update on a full disk: %v", err)
	}
	if m, err := ReadManifest(r.Dir()); err != nil || len(m.Warnings) != 0 {
		t.Errorf("manifest after the failed update: %d warnings, %v", len(m.Warnings), err)
	}
	if _, err := Create(root, CreateOptions{}); !IsDiskFull(err) {
		t.Errorf("create on a full disk: %v", err)
	}
	list, warnings, err := List(root, Filter{})
	if err != nil || len(list) != 1 || len(warnings) != 0 {
		t.Errorf("list on a full disk: %d runs, %v, %v", len(list), warnings, err)
	}
	must(t, os.Remove(filepath.Join(root, "filler2")))
	must(t, r.Finish(StatusFailed, fact.FromText("disk full")))
	if m, err := ReadManifest(r.Dir()); err != nil || len(m.Warnings) != 1 {
		t.Errorf("the change kept in memory was not written: %+v, %v", m.Warnings, err)
	}
}

func TestPackOnFullDisk(t *testing.T) {
	disk, ok := smallDisk(t, "256k")
	if !ok {
		return
	}
	r := packable(t, t.TempDir())
	must(t, os.WriteFile(r.Path("nsys/noise.bin"), noise(1<<20), 0o644))
	out := filepath.Join(disk, "x"+PackExt)
	if _, err := Pack(ctx, r, out, PackOptions{}); !IsDiskFull(err) {
		t.Errorf("pack on a full disk: %v", err)
	}
	if left, _ := os.ReadDir(disk); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// readOnly makes dir unwritable: by a mount for root, whom modes do not stop.
func readOnly(t *testing.T, dir string) {
	t.Helper()
	if os.Getuid() != 0 {
		chmodAll(dir, 0o444)
		t.Cleanup(func() { chmodAll(dir, 0o644) })
		return
	}
	if err := syscall.Mount(dir, dir, "", syscall.MS_BIND, ""); err != nil {
		t.Skipf("making a folder read-only for root needs a mount: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	must(t, syscall.Mount("", dir, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
}

// chmodAll sets the mode of everything below dir; folders can be entered, too.
func chmodAll(dir string, mode os.FileMode) {
	os.Chmod(dir, mode|0o111)
	filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			os.Chmod(p, mode|0o111)
		} else if err == nil {
			os.Chmod(p, mode)
		}
		return nil
	})
}

func TestReadOnlyStore(t *testing.T) {
	root := t.TempDir()
	r := mustCreate(t, root, CreateOptions{Label: "kept"})
	must(t, r.Finish(StatusDone, fact.Fact{}))
	crashed := mustCreate(t, root, CreateOptions{Label: "crashed"})
	must(t, crashed.Update(func(m *Manifest) error { m.Owner.Start++; return nil }))
	must(t, crashed.Close())
	readOnly(t, root)

	_, err := Create(root, CreateOptions{})
	if err == nil || !strings.Contains(err.Error(), root) || !strings.Contains(err.Error(), "hydra.run.dir") {
		t.Errorf("create in a read-only store: %v", err)
	}
	list, warnings, err := List(root, Filter{})
	if err != nil || len(warnings) > 0 || len(list) != 2 {
		t.Fatalf("list: %v, %v, %v", list, warnings, err)
	}
	if list[0].Status != StatusInterrupted || list[1].Status != StatusDone {
		t.Errorf("statuses: %s, %s", list[0].Status, list[1].Status)
	}
	if _, err := Reopen(ctx, r.Dir()); err == nil || errors.Is(err, ErrRunning) {
		t.Errorf("resume in a read-only store: %v", err)
	}
	zero := 0
	rep, err := Clean(CleanPlan{Root: root, Keep: &zero}, false)
	if err != nil || len(rep.Failed) != 2 || len(rep.Removed) != 0 {
		t.Errorf("clean of a read-only store: %+v, %v", rep, err)
	}
}
