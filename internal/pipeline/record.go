package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/ncurep"
	"github.com/deepprof/deepprof/internal/runs"
)

// recorder writes what each profiler printed into a folder, in a form that can
// be played again; nil where none is named.
func recorder(o Options) (func(capture.Tool, capture.Recording), error) {
	if o.Recording == "" {
		return nil, nil
	}
	if err := os.MkdirAll(o.Recording, 0o777); err != nil {
		return nil, err
	}
	count := map[capture.Tool]int{}
	return func(profiler capture.Tool, r capture.Recording) {
		name := string(profiler)
		if count[profiler]++; count[profiler] > 1 {
			name += fmt.Sprintf(".%d", count[profiler])
		}
		if err := os.WriteFile(filepath.Join(o.Recording, name+".rec"), []byte(r.String()), 0o666); err != nil {
			o.tellError("warning", err)
		}
	}, nil
}

// A RecordingError says that a run has no recording. The run itself is there.
type RecordingError struct{ Err error }

func (e *RecordingError) Error() string { return "no recording: " + e.Err.Error() }

func (e *RecordingError) Unwrap() error { return e.Err }

// packRecording packs a run for 'deepprof demo --from', without what is the
// machine's own business.
func packRecording(ctx context.Context, j *job, s *Summary) error {
	if s.Status == runs.StatusInterrupted {
		return &RecordingError{errors.New("the run was interrupted; deepprof runs pack --strip-cubins --redact makes one of what there is")}
	}
	r, err := runs.Open(ctx, s.Dir)
	if err != nil {
		return &RecordingError{err}
	}
	defer r.Close()
	path := filepath.Join(j.Recording, "recording"+runs.PackExt)
	packed, err := runs.Pack(ctx, r, path, runs.PackOptions{StripCubins: true, Redact: true, Overwrite: true, Strip: func(in io.ReaderAt, size int64, w io.Writer) error {
		_, err := ncurep.Strip(in, size, w)
		return err
	}})
	if err != nil {
		return &RecordingError{err}
	}
	j.tell(recordingWritten, fact.File("file", path), fact.Bytes("size", packed.Bytes))
	return nil
}
