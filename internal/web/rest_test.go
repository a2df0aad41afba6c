package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deepprof/deepprof/internal/runs"
)

func serve(t *testing.T, change func(*ServeOptions)) *httptest.Server {
	t.Helper()
	o := ServeOptions{Options: *options(t)}
	if change != nil {
		change(&o)
	}
	s := httptest.NewServer(Handler(o))
	t.Cleanup(s.Close)
	return s
}

// send asks and gives the status and the body.
func send(t *testing.T, method, url string, body io.Reader, header ...string) (int, string) {
	t.Helper()
	r, err := http.NewRequest(method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		if r.Header.Set(header[i], header[i+1]); header[i] == "Host" {
			r.Host = header[i+1]
		}
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	return resp.StatusCode, string(text)
}

// TestRefused: other sites, foreign names of the host, files outside the store
// and wrong parameters.
func TestRefused(t *testing.T) {
	s := serve(t, nil)
	list, run := s.URL+api+"/runs", s.URL+api+"/runs/"+recorded.run
	for _, c := range []struct {
		method, url string
		want        int
		header      []string
	}{
		{"GET", list, 200, nil},
		{"GET", list, 403, []string{"Origin", "https://evil.example"}},
		{"GET", list, 403, []string{"Origin", "null"}},
		{"GET", list, 403, []string{"Sec-Fetch-Site", "cross-site"}},
		{"GET", list, 403, []string{"Sec-Fetch-Site", "same-site"}},
		{"GET", list, 200, []string{"Sec-Fetch-Site", "same-origin", "Origin", s.URL}},
		{"GET", s.URL + "/", 200, []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}},
		{"DELETE", run, 403, []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}},
		{"GET", list, 421, []string{"Host", "evil.example"}},
		{"GET", s.URL + api + "/runs/nosuch/kernels", 404, nil},
		{"GET", s.URL + api + "/runs/..%2F..%2Fetc/kernels", 404, nil},
		{"GET", s.URL + api + "/runs/" + strings.ReplaceAll(recorded.timeline, "/", "%2F") + "/kernels", 404, nil},
		{"GET", s.URL + api + "/compare?base=" + recorded.timeline + "&new=" + recorded.run, 404, nil},
		{"GET", run + "/kernels?top=0", 400, nil},
		{"GET", run + "/kernels?nosuch=1", 400, nil},
		{"GET", run + "/kernels?kernel=(", 400, nil},
		{"GET", run + "/kernels?path=/etc/passwd", 400, nil},
		{"GET", run + "/timeline?width=100000", 400, nil},
		{"PUT", run + "/tags", 400, nil},
		{"POST", list, 400, nil},
	} {
		if got, text := send(t, c.method, c.url, nil, c.header...); got != c.want {
			t.Errorf("%s %s %v: %d, want %d: %.200s", c.method, c.url, c.header, got, c.want, text)
		}
	}
}

func TestToken(t *testing.T) {
	for address, fine := range map[string]bool{"127.0.0.1:0": true, "localhost:0": true, "0.0.0.0:0": false, ":0": false, "nonsense": false} {
		l, err := Listen(address, "")
		if (err == nil) != fine {
			t.Errorf("%s without a token: %v", address, err)
		}
		if err == nil {
			l.Close()
		}
	}
	s := serve(t, func(o *ServeOptions) { o.Token = "secret" })
	for header, want := range map[string]int{"": 401, "Bearer wrong": 401, "Bearer secret": 200} {
		if got, _ := send(t, "GET", s.URL+api+"/runs", nil, "Authorization", header); got != want {
			t.Errorf("%q: %d, want %d", header, got, want)
		}
	}
	resp, err := http.Post(s.URL+"/login", "application/json", strings.NewReader(`{"token": "secret"}`))
	if err != nil || resp.StatusCode != 204 || len(resp.Cookies()) != 1 {
		t.Fatalf("login: %v %v", resp, err)
	}
	c := resp.Cookies()[0]
	if got, _ := send(t, "GET", s.URL+api+"/runs", nil, "Cookie", c.Name+"="+c.Value); got != 200 || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || strings.Contains(c.Value, "secret") {
		t.Errorf("cookie %v: %d", c, got)
	}
	if got, _ := send(t, "POST", s.URL+"/login", strings.NewReader(`{"token": "guess"}`)); got != 401 {
		t.Errorf("a wrong token logs in: %d", got)
	}
}

// form is an upload.
func form(t *testing.T, files map[string]string) (io.Reader, string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	if err := w.WriteField("label", "<b>hostile</b>\x00"); err != nil {
		t.Fatal(err)
	}
	for name, path := range files {
		part, err := w.CreateFormFile("file", name)
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		part.Write(data)
	}
	w.Close()
	return &b, w.FormDataContentType()
}

// TestStoreChanges uploads, tags, filters and deletes.
func TestStoreChanges(t *testing.T) {
	store := filepath.Join(t.TempDir(), "runs") // not there yet
	s := serve(t, func(o *ServeOptions) { o.Store = store })
	list := s.URL + api + "/runs"
	post := func(files map[string]string) (int, string) {
		body, kind := form(t, files)
		return send(t, "POST", list, body, "Content-Type", kind)
	}
	if got, text := post(map[string]string{"../../x.deepprof.tar.zst": recorded.pack}); got != 201 {
		t.Fatalf("pack: %d %s", got, text)
	}
	if got, _ := post(map[string]string{"x.deepprof.tar.zst": recorded.pack}); got != 409 {
		t.Errorf("the same pack again: %d", got)
	}
	got, text := post(map[string]string{"a.sqlite": recorded.timeline, "b.ncu-rep": recorded.counts})
	var made struct{ ID string }
	if json.Unmarshal([]byte(text), &made); got != 201 || !runs.ValidID(made.ID) {
		t.Fatalf("files: %d %s", got, text)
	}
	if got, text := send(t, "GET", list+"/"+made.ID+"/kernels", nil); got != 200 || !strings.Contains(text, "nvjet") {
		t.Errorf("kernels: %d %.300s", got, text)
	}
	if got, _ := post(map[string]string{"a.sqlite": "rest_test.go"}); got != 422 {
		t.Errorf("a text was taken for a timeline: %d", got)
	}
	if got, text := send(t, "PUT", list+"/"+made.ID+"/tags", strings.NewReader(`{"tags": ["<script>"], "comment": "x"}`)); got != 200 {
		t.Errorf("tags: %d %s", got, text)
	}
	if got, _ := send(t, "PUT", list+"/"+made.ID+"/tags", strings.NewReader(`{"tags": ["a\nb"]}`)); got != 400 {
		t.Errorf("a tag of two lines: %d", got)
	}
	var tagged reply
	if _, text := send(t, "GET", list+"?tag=%3Cscript%3E", nil); json.Unmarshal([]byte(text), &tagged) != nil || len(tagged.Rows) != 1 || tagged.Rows[0]["id"] != made.ID {
		t.Errorf("by tag: %s", text)
	}
	if got, text := send(t, "DELETE", list+"/"+made.ID, nil); got != 204 {
		t.Errorf("delete: %d %s", got, text)
	}
	if entries, _ := os.ReadDir(store); len(entries) != 1 {
		t.Errorf("the store holds %v", entries)
	}
}

func TestUploadLimit(t *testing.T) {
	store := filepath.Join(t.TempDir(), "runs")
	s := serve(t, func(o *ServeOptions) { o.Store, o.MaxUpload = store, 1<<16 })
	body, kind := form(t, map[string]string{"x.sqlite": recorded.timeline})
	if got, text := send(t, "POST", s.URL+api+"/runs", body, "Content-Type", kind); got != 413 {
		t.Errorf("%d %s", got, text)
	}
	if entries, _ := os.ReadDir(store); len(entries) != 0 {
		t.Errorf("left over: %v", entries)
	}
}

// TestTiles: a tile has every event, one by one or summed up.
func TestTiles(t *testing.T) {
	s := serve(t, nil)
	get := func(query string) (out tile) {
		if got, text := send(t, "GET", s.URL+api+"/runs/"+recorded.run+"/timeline"+query, nil); got != 200 || json.Unmarshal([]byte(text), &out) != nil {
			t.Fatalf("%s: %d %.300s", query, got, text)
		}
		return out
	}
	whole := get("?width=100")
	kernels := 0
	for _, l := range whole.Lanes {
		n := 0
		for _, b := range l.Boxes {
			n += b.Events
		}
		if n != l.Events || len(l.Boxes) > 100 {
			t.Errorf("%s %s: %d events, %d in %d boxes", l.Kind, l.Label, l.Events, n, len(l.Boxes))
		}
		if l.Kind == "kernel" {
			kernels += n
		}
	}
	if kernels != 34485 { // as show info counts them
		t.Errorf("%d kernels", kernels)
	}
	part := get(fmt.Sprintf("?start_ns=%d&end_ns=%d&width=4000", whole.LengthNS/2, whole.LengthNS/2+1e6))
	for _, l := range part.Lanes {
		for _, b := range l.Boxes {
			if b.Start > part.EndNS || b.Start+b.Len < part.StartNS {
				t.Errorf("%+v lies outside", b)
			}
		}
	}
}

// TestOpenAPI: the description has every route, and no view lacks its rows.
func TestOpenAPI(t *testing.T) {
	s := serve(t, nil)
	var doc struct {
		OpenAPI string
		Paths   map[string]map[string]struct {
			OperationID string
			Parameters  []struct{ Name, In string }
			Responses   map[string]any
		}
	}
	if _, text := send(t, "GET", s.URL+api+"/openapi.json", nil); json.Unmarshal([]byte(text), &doc) != nil || !strings.HasPrefix(doc.OpenAPI, "3.") {
		t.Fatalf("%.300s", text)
	}
	ids := map[string]bool{}
	for _, r := range (&server{}).routes() {
		op, ok := doc.Paths[r.path][strings.ToLower(r.method)]
		if !ok || op.OperationID == "" || ids[op.OperationID] || op.Responses["2XX"] == nil {
			t.Errorf("%s %s: %+v", r.method, r.path, op)
		}
		ids[op.OperationID] = true
		if r.view != nil && len(op.Parameters) < len(params(r.view)) {
			t.Errorf("%s lacks parameters: %v", r.path, op.Parameters)
		}
	}
}

// TestReportShutOff: a report is drawn anew and has no origin; nothing is framed.
func TestReportShutOff(t *testing.T) {
	s := serve(t, nil)
	for path, want := range map[string]string{api + "/runs/" + recorded.run + "/report": "sandbox allow-scripts", "/": "script-src 'self'"} {
		resp, err := http.Get(s.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if p := resp.Header.Get("Content-Security-Policy"); resp.StatusCode != 200 || !strings.Contains(p, want) || !strings.Contains(p, "default-src 'none'") || strings.Contains(p, "allow-same-origin") {
			t.Errorf("%s: %d %s", path, resp.StatusCode, p)
		}
	}
}

// TestManyClients: 50 at once get the same answers.
func TestManyClients(t *testing.T) {
	s := serve(t, nil)
	urls := []string{"/runs", "/runs/" + recorded.run, "/runs/" + recorded.run + "/kernels?top=5", "/runs/" + recorded.run + "/findings", "/runs/" + recorded.run + "/timeline?width=50"}
	var want []string
	for _, u := range urls {
		_, text := send(t, "GET", s.URL+api+u, nil)
		want = append(want, text)
	}
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			for j := range 2 {
				k := (i + j) % len(urls)
				if got, text := send(t, "GET", s.URL+api+urls[k], nil); got != 200 || text != want[k] {
					t.Errorf("%s: %d, other than alone", urls[k], got)
				}
			}
		})
	}
	all.Wait()
}

// TestTenThousandRuns: a list of a large store comes out of the index. The runs
// are synthetic: manifests alone.
func TestTenThousandRuns(t *testing.T) {
	store := t.TempDir()
	const n = 10_000
	for i := range n {
		id := fmt.Sprintf("20260101T%02d%02d%02dZ-%d-%012x", i/3600, i/60%60, i%60, i+1, i)
		dir := filepath.Join(store, id)
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		m := fmt.Sprintf(`{"schema":2,"id":%q,"status":"done","created":"2026-01-01T00:00:00Z","updated":"2026-01-01T00:00:00Z","finished":"2026-01-01T00:00:01Z","owner":{},"steps":[]}`, id)
		if err := os.WriteFile(filepath.Join(dir, runs.ManifestName), []byte(m), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	s := serve(t, func(o *ServeOptions) { o.Store = store })
	for range 2 { // the second time from the index
		start := time.Now()
		got, text := send(t, "GET", s.URL+api+"/runs?top=100&sort=label", nil)
		var r reply
		if json.Unmarshal([]byte(text), &r); got != 200 || len(r.Rows)+r.LeftOut != n {
			t.Fatalf("%d: %d rows, %d left out: %.300s", got, len(r.Rows), r.LeftOut, text)
		}
		t.Logf("%d runs in %v", n, time.Since(start))
	}
}
