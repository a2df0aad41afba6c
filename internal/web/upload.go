package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/report/folder"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/show"
)

// Limits of an upload beside its size.
const (
	maxUploadFiles = 64     // files of one request
	maxPackFiles   = 10_000 // files in a pack
	maxLabel       = 200    // bytes
	unpackedTimes  = 10     // what a pack may unpack to, by the limit of an upload
)

// Codes of steps that an upload takes the place of.
const (
	uploaded      fact.Code = "uploaded"
	notUploaded   fact.Code = "not-uploaded"
	uploadRefused fact.Code = "upload-refused"
)

// upload takes a pack, or files of nsys and ncu, and makes a run of the store.
// The run appears in the store whole or not at all.
func (s *server) upload(w http.ResponseWriter, r *http.Request) error {
	if err := os.MkdirAll(s.Store, 0o777); err != nil {
		return err
	}
	temp, err := os.MkdirTemp(s.Store, ".upload-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	r.Body = http.MaxBytesReader(w, r.Body, s.MaxUpload)
	files, label, err := receive(r, temp)
	if err != nil {
		return err
	}
	id, err := s.accept(r.Context(), temp, files, label)
	if err != nil {
		return err
	}
	w.Header().Set("Location", api+"/runs/"+id)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_, err = fmt.Fprintf(w, "{\"id\": %q}\n", id)
	return err
}

// receive writes the files of a form under names of ours.
// Names that the client gave are not used, except for a known ending.
func receive(r *http.Request, dir string) (files []string, label string, err error) {
	form, err := r.MultipartReader()
	if err != nil {
		return nil, "", refused(http.StatusBadRequest, "usage", "send the files as a form (multipart/form-data): %v", err)
	}
	for {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, "", unread(err)
		}
		switch {
		case part.FormName() == "label":
			text, err := io.ReadAll(io.LimitReader(part, maxLabel))
			if err != nil {
				return nil, "", unread(err)
			}
			label = runs.Text(string(text))
		case part.FormName() != "file":
			return nil, "", refused(http.StatusBadRequest, "usage", "the form has a field %q; it may have file and label", part.FormName())
		case len(files) == maxUploadFiles:
			return nil, "", refused(http.StatusBadRequest, "usage", "more than %d files", maxUploadFiles)
		default:
			path := filepath.Join(dir, fmt.Sprintf("%d%s", len(files), extension(part.FileName())))
			if err := save(part, path); err != nil {
				return nil, "", unread(err)
			}
			files = append(files, path)
		}
	}
	if len(files) == 0 {
		return nil, "", refused(http.StatusBadRequest, "usage", "the form has no file")
	}
	return files, label, nil
}

// unread tells what the client did wrong from a full disk or missing rights of ours.
func unread(err error) error {
	var large *http.MaxBytesError
	if errors.As(err, &large) || os.IsPermission(err) || runs.IsDiskFull(err) {
		return err
	}
	return refused(http.StatusBadRequest, "usage", "read the upload: %v", err)
}

// extension is that of a file of the profilers or of a pack, and nothing else of
// the name that a client gave.
func extension(name string) string {
	for _, ext := range []string{".sqlite", ".nsys-rep", ".ncu-rep", runs.PackExt} {
		if strings.HasSuffix(name, ext) {
			return ext
		}
	}
	return ""
}

// save writes a part to a new file; a name that was there already is an error.
func save(part *multipart.Part, path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, part)
	return errors.Join(err, f.Close())
}

// accept makes a run of files that were received, by what they hold.
func (s *server) accept(ctx context.Context, temp string, files []string, label string) (string, error) {
	kinds := make([]show.Kind, len(files))
	for i, file := range files {
		var err error
		if kinds[i], err = show.Recognize(file); err != nil {
			return "", refused(http.StatusUnprocessableEntity, "unreadable", "file %d: %v", i+1, errors.Unwrap(err))
		}
		switch {
		case kinds[i] == show.Pack && len(files) == 1:
			return s.acceptPack(ctx, temp, file)
		case kinds[i] != show.Timeline && kinds[i] != show.Counters || extension(file) == "":
			return "", refused(http.StatusUnprocessableEntity, "unreadable", "file %d is neither a report of nsys (.sqlite, .nsys-rep) nor of ncu (.ncu-rep); a packed run is uploaded alone", i+1)
		}
	}
	return s.acceptFiles(ctx, files, kinds, label)
}

// acceptPack unpacks beside the runs, checks what it holds, and moves it among
// them in one step.
func (s *server) acceptPack(ctx context.Context, temp, pack string) (string, error) {
	r, err := runs.OpenWith(ctx, pack, runs.UnpackOptions{CacheDir: filepath.Join(temp, "pack"), MaxBytes: unpackedTimes * s.MaxUpload, MaxFiles: maxPackFiles})
	if err != nil {
		return "", refused(http.StatusUnprocessableEntity, "unreadable", "%s", strings.ReplaceAll(err.Error(), pack, "the pack"))
	}
	defer r.Close()
	if !runs.ValidID(r.ID()) {
		return "", refused(http.StatusUnprocessableEntity, "unreadable", "the pack has no id of a run")
	}
	target := filepath.Join(s.Store, r.ID())
	if _, err := os.Lstat(target); err == nil {
		return "", refused(http.StatusConflict, "exists", "the store has the run %s already", r.ID())
	}
	if err := os.Rename(r.Dir(), target); err != nil {
		return "", err
	}
	return r.ID(), nil
}

// acceptFiles makes a run of captures and analyzes it.
// A capture that cannot be analyzed is refused, and its run removed again.
func (s *server) acceptFiles(ctx context.Context, files []string, kinds []show.Kind, label string) (string, error) {
	r, err := runs.Create(s.Store, runs.CreateOptions{Label: label, Version: s.Version, Command: []string{"deepprof", "serve"}, Steps: []runs.Step{{Name: "nsys"}, {Name: "ncu"}, {Name: "report"}}})
	if err != nil {
		return "", err
	}
	steps := map[show.Kind]string{show.Timeline: "nsys", show.Counters: "ncu"}
	placed := map[string][]string{}
	for i, file := range files {
		step := steps[kinds[i]]
		name := "run"
		if n := len(placed[step]); n > 0 {
			name = fmt.Sprintf("run%d", n+1)
		}
		rel := step + "/" + name + extension(file)
		if err = errors.Join(os.MkdirAll(r.Path(step), 0o777), os.Rename(file, r.Path(rel))); err != nil {
			break
		}
		placed[step] = append(placed[step], rel)
	}
	for _, step := range []string{"nsys", "ncu"} {
		if err == nil {
			err = record(ctx, r, step, placed[step])
		}
	}
	if err == nil {
		err = s.analyzeUpload(ctx, r)
	}
	if err != nil {
		name := r.ID()
		cerr := errors.Join(r.Finish(runs.StatusFailed, fact.New(uploadRefused)), r.Close(), runs.Delete(s.Store, name))
		return "", refused(http.StatusUnprocessableEntity, "unreadable", "%s", strings.ReplaceAll(errors.Join(err, cerr).Error(), r.Dir()+"/", ""))
	}
	return r.ID(), errors.Join(r.Finish(runs.StatusDone, fact.Fact{}), r.Close())
}

// record notes the files of a step, or that there are none.
func record(ctx context.Context, r *runs.Run, step string, rels []string) error {
	if len(rels) == 0 {
		return r.SkipStep(step, fact.New(notUploaded))
	}
	if err := r.StartStep(step); err != nil {
		return err
	}
	if err := r.StartAttempt(step, ""); err != nil {
		return err
	}
	hashed, err := r.HashFiles(ctx, rels...)
	if err != nil {
		return err
	}
	if err := r.EndAttempt(step, runs.Result{Outcome: runs.Outcome{Kind: "uploaded", Usable: true, Text: fact.New(uploaded)}, Files: hashed}); err != nil {
		return err
	}
	return r.EndStep(step, runs.StateDone, fact.Fact{})
}

// analyzeUpload writes the reports into the run, which is still open.
func (s *server) analyzeUpload(ctx context.Context, r *runs.Run) error {
	if err := r.StartStep("report"); err != nil {
		return err
	}
	result, err := s.Analyze(ctx, "upload", []string{r.Dir()})
	if err != nil {
		return err
	}
	if _, err := folder.Write(r.Dir(), result); err != nil {
		return err
	}
	return r.EndStep("report", runs.StateDone, fact.Fact{})
}
