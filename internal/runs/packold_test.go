package runs

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestPackOldRemovesVerifiedRuns(t *testing.T) {
	root := t.TempDir()
	r := packable(t, root)
	o := PackOptions{NsysReports: true}
	young, err := PackOld(ctx, CleanPlan{Root: root, OlderThan: 7 * 24 * time.Hour}, root, true, o)
	must(t, err)
	if len(young.Packs) != 0 || young.Others != 1 {
		t.Fatalf("a young run was packed: %+v", young)
	}
	plan := CleanPlan{Root: root, OlderThan: 7 * 24 * time.Hour, Now: time.Now().Add(8 * 24 * time.Hour)}
	got, err := PackOld(ctx, plan, root, true, o)
	must(t, err)
	if len(got.Packs) != 1 || len(got.Removed) != 1 || len(got.Kept) != 0 {
		t.Fatalf("report %+v", got)
	}
	if _, err := os.Stat(r.Dir()); !os.IsNotExist(err) {
		t.Errorf("the folder is still there: %v", err)
	}
	p := openPack(t, filepath.Join(root, r.ID()+PackExt))
	if bad, err := Verify(ctx, p); err != nil || len(bad) > 0 {
		t.Errorf("verify %v %v", bad, err)
	}
	if left, _ := filepath.Glob(filepath.Join(root, tempPrefix+"*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// What a pack lacks must not be deleted.
func TestPackOldKeepsWhatAPackLacks(t *testing.T) {
	root := t.TempDir()
	r := packable(t, root)
	must(t, os.Symlink("/etc/passwd", r.Path("ncu/link")))
	got, err := PackOld(ctx, CleanPlan{Root: root, OlderThan: time.Hour, Now: time.Now().Add(2 * time.Hour)}, root, true, PackOptions{NsysReports: true})
	must(t, err)
	if len(got.Packs) != 1 || len(got.Removed) != 0 || len(got.Kept) != 1 {
		t.Errorf("report %+v", got)
	}
	if _, err := os.Stat(r.Dir()); err != nil {
		t.Error(err)
	}
}
