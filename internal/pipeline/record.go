package pipeline

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/ncurep"
	"github.com/deepprof/deepprof/internal/runs"
)

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
	packed, err := runs.Pack(ctx, r, path, runs.PackOptions{StripCubins: true, Redact: true, Overwrite: true, Strip: ncurep.Strip})
	if err != nil {
		return &RecordingError{err}
	}
	j.tell(recordingWritten, fact.File("file", path), fact.Bytes("size", packed.Bytes))
	return nil
}
