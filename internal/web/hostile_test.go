package web

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/deepprof/deepprof/internal/runs"
)

// A member is a file of a forged pack.
type member struct {
	name string
	data []byte
	link string // makes it a symbolic link
}

func sum(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

// manifest is that of a run that ended, with any id.
func manifest(id string) member {
	return member{name: runs.ManifestName, data: fmt.Appendf(nil, `{"schema":2,"id":%q,"status":"done","created":"2026-01-01T00:00:00Z","updated":"2026-01-01T00:00:00Z","finished":"2026-01-01T00:00:01Z","owner":{},"steps":[]}`, id)}
}

// forge makes a pack whose index fits its members, whatever those are.
func forge(t *testing.T, id string, members ...member) []byte {
	t.Helper()
	index := runs.PackIndex{Schema: runs.PackSchemaVersion, ID: id}
	for _, m := range members {
		index.Files = append(index.Files, runs.File{Path: m.name, Size: int64(len(m.data)), SHA256: sum(m.data)})
	}
	head, err := json.Marshal(index)
	must(t, err)
	var out bytes.Buffer
	z, err := zstd.NewWriter(&out)
	must(t, err)
	w := tar.NewWriter(z)
	for _, m := range append([]member{{name: "pack.json", data: head}}, members...) {
		h := &tar.Header{Name: m.name, Size: int64(len(m.data)), Mode: 0o644, Typeflag: tar.TypeReg}
		if m.name != "pack.json" {
			h.Name = "run/" + m.name
		}
		if m.link != "" {
			h.Typeflag, h.Linkname, h.Size = tar.TypeSymlink, m.link, 0
		}
		must(t, w.WriteHeader(h))
		if m.link == "" {
			_, err := w.Write(m.data)
			must(t, err)
		}
	}
	must(t, w.Close())
	must(t, z.Close())
	return out.Bytes()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// postPack uploads a pack.
func postPack(t *testing.T, url string, pack []byte) (int, string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	part, err := w.CreateFormFile("file", "x"+runs.PackExt)
	must(t, err)
	_, err = part.Write(pack)
	must(t, err)
	must(t, w.Close())
	return send(t, "POST", url+api+"/runs", &b, "Content-Type", w.FormDataContentType())
}

const forgedID = "20260101T000000Z-1-0123456789ab"

// TestHostilePacks: a pack that climbs out, links out, unpacks to far more than it
// has, holds too many files or takes a name of the store's own is refused, and
// nothing of it is left.
func TestHostilePacks(t *testing.T) {
	outside := t.TempDir()
	store := filepath.Join(outside, "runs")
	s := serve(t, func(o *ServeOptions) { o.Store, o.MaxUpload = store, 1<<20 })
	many := []member{manifest(forgedID)}
	for i := range maxPackFiles + 1 {
		many = append(many, member{name: fmt.Sprintf("nsys/%d", i)})
	}
	for name, pack := range map[string][]byte{
		"climbs":          forge(t, forgedID, manifest(forgedID), member{name: "../evil", data: []byte("x")}),
		"absolute":        forge(t, forgedID, manifest(forgedID), member{name: filepath.Join(outside, "evil"), data: []byte("x")}),
		"windows":         forge(t, forgedID, manifest(forgedID), member{name: `..\evil`, data: []byte("x")}),
		"link":            forge(t, forgedID, manifest(forgedID), member{name: "result.json", link: "/etc/passwd"}),
		"linked folder":   forge(t, forgedID, manifest(forgedID), member{name: "nsys", link: outside}, member{name: "nsys/evil", data: []byte("x")}),
		"bomb":            forge(t, forgedID, manifest(forgedID), member{name: "nsys/zeros", data: make([]byte, unpackedTimes<<20)}),
		"too many":        forge(t, forgedID, many...),
		"id climbs":       forge(t, "../evil", manifest("../evil")),
		"id of the store": forge(t, ".baselines", manifest(".baselines")),
		"id latest":       forge(t, "latest", manifest("latest")),
		"id of HTML":      forge(t, "<script>", manifest("<script>")),
		"no manifest":     forge(t, forgedID, member{name: "nsys/a", data: []byte("x")}),
		"deep manifest":   forge(t, forgedID, member{name: runs.ManifestName, data: bytes.Repeat([]byte("["), 1<<16)}),
		"no archive":      append([]byte{0x28, 0xb5, 0x2f, 0xfd}, make([]byte, 100)...),
	} {
		if got, text := postPack(t, s.URL, pack); got != 422 || strings.Contains(text, store) {
			t.Errorf("%s: %d %s", name, got, text)
		}
		for _, dir := range []string{outside, store} {
			entries, _ := os.ReadDir(dir)
			for _, e := range entries {
				if e.Name() != "runs" {
					t.Errorf("%s: left %s in %s", name, e.Name(), dir)
				}
			}
		}
	}
}

// TestPlantedFiles: files that a pack brings under names of reports, tags and
// results are data: none is served as a page, and none stops the list.
func TestPlantedFiles(t *testing.T) {
	store := filepath.Join(t.TempDir(), "runs")
	s := serve(t, func(o *ServeOptions) { o.Store = store })
	pack := forge(t, forgedID, manifest(forgedID), member{name: "report.html", data: []byte("<script>alert(1)</script>")}, member{name: "result.json", data: []byte(`{"schema":1e99}`)},
		member{name: "tags.json", data: []byte(`{"tags":["\u202eevil","a\nb"],"comment":"` + strings.Repeat("x", 1<<20) + `"}`)})
	if got, text := postPack(t, s.URL, pack); got != 201 {
		t.Fatalf("%d %s", got, text)
	}
	run := s.URL + api + "/runs/" + forgedID
	var list reply
	if got, text := send(t, "GET", s.URL+api+"/runs", nil); got != 200 || json.Unmarshal([]byte(text), &list) != nil || len(list.Rows) != 1 || list.Rows[0]["tags"] != nil {
		t.Errorf("list: %d %.300s", got, text)
	}
	for _, view := range []string{"report", "kernels", "findings", "timeline", "next"} {
		if got, text := send(t, "GET", run+"/"+view, nil); got == 200 && strings.Contains(text, "alert") || got >= 500 {
			t.Errorf("%s: %d %.300s", view, got, text)
		}
	}
	if got, text := send(t, "DELETE", run, nil); got != 204 {
		t.Errorf("delete: %d %s", got, text)
	}
}

// TestUploadForm: the form itself has limits.
func TestUploadForm(t *testing.T) {
	store := filepath.Join(t.TempDir(), "runs")
	s := serve(t, func(o *ServeOptions) { o.Store = store })
	post := func(fill func(*multipart.Writer) error) int {
		var b bytes.Buffer
		w := multipart.NewWriter(&b)
		must(t, fill(w))
		must(t, w.Close())
		got, _ := send(t, "POST", s.URL+api+"/runs", &b, "Content-Type", w.FormDataContentType())
		return got
	}
	files := func(n int) func(*multipart.Writer) error {
		return func(w *multipart.Writer) error {
			for range n {
				if _, err := w.CreateFormFile("file", "a.sqlite"); err != nil {
					return err
				}
			}
			return nil
		}
	}
	for name, c := range map[string]struct {
		fill func(*multipart.Writer) error
		want int
	}{
		"too many files": {files(maxUploadFiles + 1), 400},
		"empty files":    {files(2), 422},
		"no file":        {func(w *multipart.Writer) error { return w.WriteField("label", "x") }, 400},
		"other field":    {func(w *multipart.Writer) error { return w.WriteField("path", "/etc/passwd") }, 400},
	} {
		if got := post(c.fill); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	if entries, _ := os.ReadDir(store); len(entries) != 0 {
		t.Errorf("left over: %v", entries)
	}
}
