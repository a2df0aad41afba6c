package load

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"syscall"
)

// The kinds of errors. An answer with an HTTP status other than 200 has the kind
// "http-STATUS".
const (
	ErrorRefused = "refused"    // nobody listens
	ErrorTimeout = "timeout"    // it took longer than Options.Timeout
	ErrorCut     = "cut"        // the answer ended before its end
	ErrorAnswer  = "bad-answer" // it is not what the protocol says
	ErrorDropped = "dropped"    // not sent: too many were open
)

// body is a request of the OpenAI API. ignore_eos is known to vLLM, SGLang,
// TensorRT-LLM and llama.cpp.
type body struct {
	Model         string    `json:"model"`
	Prompt        any       `json:"prompt,omitempty"`
	Messages      []message `json:"messages,omitempty"`
	MaxTokens     int       `json:"max_tokens"`
	Temperature   float64   `json:"temperature"`
	Stream        bool      `json:"stream"`
	StreamOptions options   `json:"stream_options"`
	IgnoreEOS     bool      `json:"ignore_eos,omitempty"`
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type options struct {
	IncludeUsage bool `json:"include_usage"`
}

// piece is one event of a streamed answer.
type piece struct {
	Choices []struct {
		Text  string `json:"text"`
		Delta struct {
			Content          string `json:"content"`
			ReasoningContent string `json:"reasoning_content"`
		} `json:"delta"`
		FinishReason *string `json:"finish_reason"`
	} `json:"choices"`
	Usage *struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
	} `json:"usage"`
	Error any `json:"error"`
}

// one sends a request and follows its answer; the kind of its error, "" where
// there is none. A request that the end of the load cut off leaves no record.
func (l *Load) one(ctx context.Context, s shape) string {
	r := &Request{Sent: l.Now(), Prompt: s.prompt}
	inner := ctx
	if l.o.Timeout > 0 {
		limited, cancel := context.WithTimeout(ctx, l.o.Timeout)
		defer cancel()
		inner = limited
	}
	l.mu.Lock()
	l.open[r] = true
	l.mu.Unlock()
	kind, detail := l.send(inner, r, s)
	if ctx.Err() != nil && kind != "" {
		l.mu.Lock()
		delete(l.open, r)
		l.mu.Unlock()
		return kind
	}
	if inner.Err() != nil && kind != "" {
		kind = ErrorTimeout
	}
	l.finish(r, kind, detail)
	return kind
}

func (l *Load) send(ctx context.Context, r *Request, s shape) (kind, detail string) {
	text, err := json.Marshal(l.ask(s))
	if err != nil {
		return ErrorAnswer, err.Error()
	}
	path := "/v1/completions"
	if l.o.Chat {
		path = "/v1/chat/completions"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(l.o.URL, "/")+path, bytes.NewReader(text))
	if err != nil {
		return ErrorRefused, err.Error()
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := l.client.Do(req)
	if err != nil {
		return kindOf(err), err.Error()
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		answer, _ := io.ReadAll(io.LimitReader(resp.Body, 500))
		return fmt.Sprintf("http-%d", resp.StatusCode), strings.TrimSpace(string(answer))
	}
	return l.follow(resp.Body, r)
}

// kindOf sorts an error of the network.
func kindOf(err error) string {
	var netErr net.Error
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return ErrorRefused
	case errors.As(err, &netErr) && netErr.Timeout():
		return ErrorTimeout
	}
	return ErrorCut
}

// ask is the request itself.
func (l *Load) ask(s shape) body {
	b := body{Model: l.o.Model, MaxTokens: s.output, Stream: true, StreamOptions: options{true}, IgnoreEOS: l.o.IgnoreEOS}
	r := rand.New(rand.NewPCG(s.seed, 0))
	switch {
	case l.o.Chat:
		b.Messages = []message{{"user", words(r, s.prompt)}}
	case l.o.Vocabulary > 0:
		ids := make([]int, s.prompt)
		for i := range ids { // the first ids are special tokens as a rule
			ids[i] = min(10, l.o.Vocabulary-1) + r.IntN(max(1, l.o.Vocabulary-10))
		}
		b.Prompt = ids
	default:
		b.Prompt = words(r, s.prompt)
	}
	return b
}

// words are common ones of about one token each.
func words(r *rand.Rand, n int) string {
	list := [...]string{"the", "of", "and", "to", "in", "is", "for", "that", "on", "with", "as", "was", "at", "by", "from", "this"}
	out := make([]string, n)
	for i := range out {
		out[i] = list[r.IntN(len(list))]
	}
	return strings.Join(out, " ")
}

// maxEvent bounds one event of a stream, against an answer without line ends.
const maxEvent = 1 << 20

// follow reads a stream of events to its end.
func (l *Load) follow(from io.Reader, r *Request) (kind, detail string) {
	lines := bufio.NewScanner(from)
	lines.Buffer(make([]byte, 0, 4<<10), maxEvent)
	finished := false
	for lines.Scan() {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data:"))
		if !ok {
			continue // comments, names of events, empty lines
		}
		data = bytes.TrimSpace(data)
		if string(data) == "[DONE]" {
			return "", ""
		}
		var p piece
		if err := json.Unmarshal(data, &p); err != nil {
			return ErrorAnswer, fmt.Sprintf("read an event: %v", err)
		}
		if p.Error != nil {
			return ErrorAnswer, fmt.Sprint(p.Error)
		}
		finished = l.take(r, &p) || finished
	}
	if err := lines.Err(); err != nil {
		return ErrorCut, err.Error()
	}
	if finished { // not every server ends with [DONE]
		return "", ""
	}
	return ErrorCut, "the stream ended without [DONE]"
}

// take notes what an event brought; true for the last of the answer.
func (l *Load) take(r *Request, p *piece) (finished bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range p.Choices {
		if c.Text+c.Delta.Content+c.Delta.ReasoningContent != "" {
			r.Tokens = append(r.Tokens, l.Now())
			r.Output = len(r.Tokens)
		}
		finished = finished || c.FinishReason != nil
	}
	if p.Usage != nil {
		r.Output = max(p.Usage.Completion, 0)
		if p.Usage.Prompt > 0 {
			r.Prompt = p.Usage.Prompt
		}
	}
	return finished
}
