package serving

import (
	"context"
	"net"
	"net/url"
	"strconv"
	"time"

	"github.com/deepprof/deepprof/internal/tool"
)

// Address is host and port of a URL.
// It is "" for a text that is no URL; a missing port is that of the scheme.
func Address(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// Taken tells that somebody answers at the address of a URL before the server is
// started, and who: "" where that cannot be told.
// It only looks: the port may be taken a moment later.
func Taken(ctx context.Context, text string) (holder string, taken bool) {
	if dial(ctx, Address(text)) != nil {
		return "", false
	}
	if p, ok := portHolderOf(text); ok {
		return p.String(), true
	}
	return "", true
}

// portOf is the port of a URL; 0 where it names none.
func portOf(url string) int {
	_, port, _ := net.SplitHostPort(Address(url))
	n, _ := strconv.Atoi(port)
	return n
}

// portHolderOf is the process that listens on the port of a URL; false where none does,
// or that cannot be told.
func portHolderOf(url string) (tool.Process, bool) {
	if n := portOf(url); n > 0 {
		return tool.PortHolder(n)
	}
	return tool.Process{}, false
}

// dial waits a second at most.
func dial(ctx context.Context, address string) error {
	d := net.Dialer{Timeout: time.Second}
	c, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return c.Close()
}
