package serving

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/deepprof/deepprof/internal/load"
	"github.com/deepprof/deepprof/internal/nsys"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/timeline"
	"github.com/deepprof/deepprof/internal/tool"
)

// errSessionLost says that nsys does not know the session any more.
var errSessionLost = errors.New("nsys has lost the session")

// A Session drives the windows of one server.
// One window at a time; its methods are not safe for concurrent use.
type Session struct {
	nsys.Session
	Program string        // nsys
	Env     []string      // that of the launch: sessions live in its TMPDIR
	Log     func(string)  // receives each command and what it printed
	Limit   time.Duration // of one command of nsys
}

// Start begins a window with that report. It returns when nsys collects.
// The error wraps errSessionLost where the session is gone or in another state.
func (s *Session) Start(ctx context.Context, output string) error {
	// Without the session, nsys would make an empty one and report success.
	if err := s.want(ctx, nsys.SessionLaunched); err != nil {
		return err
	}
	args, err := s.Session.Start(output)
	if err != nil {
		return err
	}
	if err := s.run(ctx, args); err != nil {
		return err
	}
	return s.want(ctx, nsys.SessionCollecting)
}

// Stop ends a window; its report is written when it returns.
func (s *Session) Stop(ctx context.Context) error {
	err := s.run(ctx, s.Session.Stop())
	if err != nil && s.want(ctx, nsys.SessionCollecting) != nil {
		return errors.Join(errSessionLost, err)
	}
	return err
}

// Launched waits until the session is there and nothing is collected.
// It gives up when the server ended or after limit, with the last answer as the error.
func (s *Session) Launched(ctx context.Context, server *Server, limit time.Duration) error {
	for began := time.Now(); ; {
		err := s.want(ctx, nsys.SessionLaunched)
		if err == nil || ctx.Err() != nil || !server.Alive() || time.Since(began) > limit {
			return err
		}
		select {
		case <-time.After(probeEvery):
		case <-ctx.Done():
		}
	}
}

// Shutdown ends the session, which sends SIGTERM to the server.
func (s *Session) Shutdown(ctx context.Context, server *Server) error {
	server.expect()
	return s.run(ctx, s.Session.Shutdown())
}

// endTime is how long the end of a session may take whose server is gone.
const endTime = 30 * time.Second

// End ends a session that is there after its server has ended: nsys makes an empty one where
// that happens just before a window begins, and its agent would stay for good.
func (s *Session) End(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, endTime)
	defer cancel()
	if is, err := s.state(ctx); err != nil || is == "" {
		return err
	}
	return s.run(ctx, s.Session.Shutdown())
}

// want checks the state of the session.
func (s *Session) want(ctx context.Context, state string) error {
	switch is, err := s.state(ctx); {
	case err != nil:
		return err
	case is == state:
		return nil
	case is == "":
		return errSessionLost
	default:
		return fmt.Errorf("%w: it is in state %s, not %s", errSessionLost, is, state)
	}
}

// state is what nsys lists for the session; "" where it is gone.
func (s *Session) state(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, s.Limit)
	defer cancel()
	out, _, _, err := tool.Output(ctx, tool.Command{Path: s.Program, Args: s.List(), Env: s.Env})
	if err != nil {
		return "", fmt.Errorf("list the sessions of nsys: %w", err)
	}
	return s.State(string(out)), nil
}

// The error quotes the last line that nsys printed; everything goes to Log.
func (s *Session) run(ctx context.Context, args []string) error {
	ctx, cancel := context.WithTimeout(ctx, s.Limit)
	defer cancel()
	c := tool.Command{Path: s.Program, Args: args, Env: s.Env}
	out, errs, exit, err := tool.Output(ctx, c)
	printed := strings.TrimSpace(string(errs) + string(out))
	s.Log("$ " + c.String() + "\n" + printed)
	switch {
	case err != nil:
		return fmt.Errorf("nsys %s: %w", args[0], err)
	case !exit.OK():
		last := printed[strings.LastIndexByte(printed, '\n')+1:]
		return fmt.Errorf("nsys %s: %s: %s", args[0], exit, tool.Quote(last))
	}
	return nil
}

// Store ends the attempt of a step that started the server, with the files that it
// left. Those of a window carry its number.
// It goes on when ctx has ended, so that an interrupted step keeps its files.
func (m *Measured) Store(ctx context.Context, store *runs.Run, step string) error {
	folder, files := runs.ServerOf(step), m.Files
	if m.Requests != nil {
		if err := load.WriteRequests(store.Path(folder+"/"+runs.RequestsName), m.Requests); err != nil {
			return err
		}
	}
	if err := store.WriteJSON(folder+"/"+runs.WindowsName, m.Record); err != nil {
		return err
	}
	files = append(files, store.Present(folder, runs.CommandName, runs.StdoutName, runs.StderrName, runs.SessionLog, runs.LoadStdout, runs.LoadStderr, runs.WindowsName, runs.RequestsName)...)
	hashed, err := store.HashFiles(context.WithoutCancel(ctx), files...)
	if err != nil {
		return err
	}
	for i := range hashed {
		if n := m.Record.Number(strings.TrimSuffix(hashed[i].Path, path.Ext(hashed[i].Path))); n > 0 {
			hashed[i].Of = &timeline.Identity{Window: n}
		}
	}
	return store.EndAttempt(step, runs.Result{Outcome: m.Outcome.Stored(), Files: hashed})
}

// sessionRecord is what the nsys step recorded of the server; false where it did not.
func sessionRecord(store *runs.Run) (*load.Record, bool) {
	r, err := load.ReadRecord(store.Path(runs.ServerOf(plan.StepNsys) + "/" + runs.WindowsName))
	return r, err == nil
}

// StartTime is how long the server took in the nsys step until it served requests; 0
// where that was not measured.
func StartTime(store *runs.Run) time.Duration {
	r, ok := sessionRecord(store)
	if !ok {
		return 0
	}
	return time.Duration(r.Ready * float64(time.Second))
}

// WindowTimeline is the export of the window that counters are chosen from, within the
// run; "" where there is none.
func WindowTimeline(store *runs.Run) string {
	r, ok := sessionRecord(store)
	if !ok || r.Busiest() == "" {
		return ""
	}
	return r.Busiest() + ".sqlite"
}
