package load

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestRequestsWhileSent asks for the requests while they end, for the race detector;
// all of them are refused.
func TestRequestsWhileSent(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	l := Start(t.Context(), Options{URL: server.URL, Concurrency: 4})
	var ended int
	for ended < 20 {
		ended = 0
		for _, r := range l.Requests() {
			if r.Error != "" {
				ended++
			}
		}
	}
	l.Stop()
	for _, r := range l.Requests() {
		if r.Error != "http-404" || r.End < r.Sent {
			t.Errorf("%+v", r)
		}
	}
}
