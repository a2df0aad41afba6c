package web

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/deepprof/deepprof/internal/runs"
)

// ServeOptions are what a server needs.
type ServeOptions struct {
	Options
	// Token is what a client has to show; "" lets everybody in, which is for a
	// loopback address alone.
	Token string
	// Hosts are the names under which the server may be asked for, beside those of
	// this machine's loopback address: that of a reverse proxy, say.
	Hosts []string
	// MaxUpload bounds an upload, and what a pack unpacks to tenfold, in bytes. 0 is
	// defaultUpload.
	MaxUpload int64
}

// defaultUpload is 2 GiB: more than packs of long runs have.
const defaultUpload = 2 << 30

// Listen opens the address. One that is not of the loopback needs a token, because everybody
// who reaches it can read, upload and delete runs.
func Listen(address, token string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("listen on %q: %w; write it like 127.0.0.1:7070", address, err)
	}
	if ip := net.ParseIP(host); token == "" && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("listen on %s: other machines reach this address; give a token in the variable %s", address, TokenVariable)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%w; name another address with --listen: port 0 takes a free one", err)
	}
	return l, nil
}

// TokenVariable is the variable of the environment that holds the token. A flag
// would show it to every user of the machine.
const TokenVariable = "DEEPPROF_TOKEN"

// Serve answers browsers and scripts until ctx ends.
// It closes l. Requests under way have five seconds to end.
func Serve(ctx context.Context, l net.Listener, o ServeOptions) error {
	s := &http.Server{Handler: Handler(o), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 1 << 16}
	stopped := context.AfterFunc(ctx, func() {
		grace, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if s.Shutdown(grace) != nil {
			s.Close()
		}
	})
	defer stopped()
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// A server answers requests. It is not changed after Handler made it, but for the cache.
type server struct {
	ServeOptions
	slots chan struct{} // answers that are made at once
	// tiles holds the timelines that were drawn last.
	tiles *tileCache
}

// Handler answers everything.
// It is safe for concurrent use, and answers a bounded number of requests at once; the
// others wait.
func Handler(o ServeOptions) http.Handler {
	if o.MaxUpload <= 0 {
		o.MaxUpload = defaultUpload
	}
	s := &server{ServeOptions: o, slots: make(chan struct{}, 2*runtime.GOMAXPROCS(0)), tiles: &tileCache{}}
	mux := http.NewServeMux()
	for _, r := range s.routes() {
		mux.HandleFunc(r.method+" "+r.path, func(w http.ResponseWriter, req *http.Request) {
			if err := r.answer(w, req); err != nil {
				writeError(w, s.withinStore(err))
			}
		})
	}
	mux.Handle("GET /", pages())
	mux.HandleFunc("GET /words.js", pageWords)
	mux.HandleFunc("POST /login", s.login)
	return s.guard(mux)
}

// withinStore words a refusal with paths that begin in the store: where it lies is
// nobody's business.
func (s *server) withinStore(err error) error {
	p := *statusOf(err)
	store := cmp.Or(s.Store, runs.DefaultRoot)
	if whole, err := filepath.Abs(store); err == nil {
		p.Detail = strings.ReplaceAll(p.Detail, whole+"/", "")
	}
	p.Detail = strings.ReplaceAll(p.Detail, filepath.Clean(store)+"/", "")
	return &p
}

// policy lets the page load its own files and nothing else, and nobody frame it.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// guard refuses what comes from other sites and who has no token, before anything else sees
// the request. Every answer forbids to be framed, sniffed or kept.
func (s *server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		switch {
		case !s.knowsHost(r.Host):
			writeError(w, refused(http.StatusMisdirectedRequest, "host-unknown", "the server is not called %q; start it with --host NAME", r.Host))
		case crossSite(r):
			writeError(w, refused(http.StatusForbidden, "cross-site", "requests from other sites are refused"))
		case !s.allowed(r):
			h.Set("WWW-Authenticate", "Bearer")
			writeError(w, refused(http.StatusUnauthorized, "token", "give the token of the server: Authorization: Bearer TOKEN"))
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// knowsHost holds the name against those of the server: a name of somebody else's
// that leads to this address does not open it (DNS rebinding).
func (s *server) knowsHost(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.Trim(name, "[]")
	if ip := net.ParseIP(name); ip != nil && (ip.IsLoopback() || s.Token != "") {
		return true
	}
	return name == "localhost" || slices.Contains(s.Hosts, name)
}

// crossSite tells a request that a page of another site caused. To follow a link
// to a page is allowed: what it answers stays unreadable for the other site.
func crossSite(r *http.Request) bool {
	if origin := r.Header.Get("Origin"); origin != "" {
		u, err := url.Parse(origin)
		if err != nil || u.Host != r.Host {
			return true
		}
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return false
	}
	return !(r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document")
}

// cookieName is that of the cookie that a browser gets for the token.
const cookieName = "deepprof"

// allowed checks the token, or the cookie that login gave. The page itself is for
// everybody: it holds no data.
func (s *server) allowed(r *http.Request) bool {
	if s.Token == "" || !strings.HasPrefix(r.URL.Path, "/api/") {
		return true
	}
	if given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return same(given, s.Token)
	}
	c, err := r.Cookie(cookieName)
	return err == nil && same(c.Value, s.cookie())
}

// same compares without telling by its time where they differ; digests hide the length too.
func same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// cookie stands for the token without holding it.
func (s *server) cookie() string {
	sum := sha256.Sum256([]byte("deepprof cookie\x00" + s.Token))
	return hex.EncodeToString(sum[:])
}

// login gives a browser the cookie for a token. A server without a token accepts any.
func (s *server) login(w http.ResponseWriter, r *http.Request) {
	var body struct{ Token string }
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<12)).Decode(&body); err != nil || s.Token != "" && !same(body.Token, s.Token) {
		writeError(w, refused(http.StatusUnauthorized, "token", "that is not the token of the server"))
		return
	}
	http.SetCookie(w, &http.Cookie{Name: cookieName, Value: s.cookie(), Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https"})
	w.WriteHeader(http.StatusNoContent)
}

// take waits for one of the slots; the work of many clients at once would take
// the memory of the machine.
// The caller calls give once. It is not for cheap answers.
func (s *server) take(ctx context.Context) (give func(), err error) {
	select {
	case s.slots <- struct{}{}:
		return func() { <-s.slots }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
