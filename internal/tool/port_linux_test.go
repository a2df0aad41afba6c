package tool

import (
	"net"
	"os"
	"testing"
)

func TestPortHolder(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	if p, ok := PortHolder(port); !ok || p.PID != os.Getpid() {
		t.Errorf("got %v, %v; want pid %d", p, ok, os.Getpid())
	}
	l.Close()
	if p, ok := PortHolder(port); ok {
		t.Errorf("%v holds a port that is closed", p)
	}
}
