package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// draining is a transport over which every call is answered that came before the
// end of the input. The SDK hangs up at that end, and drops the answers that are
// still being made.
type draining struct{ mcp.Transport }

// Connect implements mcp.Transport.
func (t draining) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &drainedConn{Connection: c, closed: make(chan struct{}), pending: map[jsonrpc.ID]bool{}}, nil
}

// A drainedConn answers the calls that it has read before it ends.
type drainedConn struct {
	mcp.Connection
	// once lets Close be called several times; closed ends the wait of Read.
	once   sync.Once
	closed chan struct{}

	// mu guards what is counted below.
	mu      sync.Mutex
	pending map[jsonrpc.ID]bool // calls without an answer
	drained chan struct{}       // closed with the last answer; nil before the end of the input
}

// Read implements mcp.Connection; at the end of the input it waits until all calls were answered.
func (c *drainedConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if r, ok := m.(*jsonrpc.Request); ok && r.IsCall() {
		c.mu.Lock()
		c.pending[r.ID] = true
		c.mu.Unlock()
	}
	switch {
	case errors.Is(err, io.EOF):
		select {
		case <-c.ended():
		case <-c.closed:
		case <-ctx.Done():
		}
	case err != nil && ctx.Err() == nil:
		err = fmt.Errorf("read a message of the agent: %w; each is one line of JSON-RPC", err)
	}
	return m, err
}

// ended is closed once all calls have been answered.
func (c *drainedConn) ended() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drained = make(chan struct{})
	if len(c.pending) == 0 {
		close(c.drained)
	}
	return c.drained
}

// Write implements mcp.Connection and notes which calls were answered.
func (c *drainedConn) Write(ctx context.Context, m jsonrpc.Message) error {
	err := c.Connection.Write(ctx, m)
	if r, ok := m.(*jsonrpc.Response); ok {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.pending[r.ID] {
			delete(c.pending, r.ID)
			if c.drained != nil && len(c.pending) == 0 {
				close(c.drained)
			}
		}
	}
	return err
}

// Close may be called several times.
func (c *drainedConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Connection.Close()
}
