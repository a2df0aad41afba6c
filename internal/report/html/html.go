// Package html writes report.html: one self-contained file with the page, its
// styles, its program and the Result it shows. Nothing in it asks the network
// for anything, so it opens from a disk or out of a mail.
//
// The page is built from web/ with npm; what is built lies in assets/, so that
// Go alone can build the program. `make web` builds it again.
package html

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/report"
)

//go:generate go test -run TestTypesFollowResult . -update

//go:embed page.html assets/app.js assets/app.css assets/licences.txt
var assets embed.FS

// pageTemplate is the page around its program: what a preview that runs none shows.
var pageTemplate = template.Must(template.New("page.html").Funcs(template.FuncMap{"text": func(f analysis.Finding) string { return message.Text(f.Fact) }}).ParseFS(assets, "page.html"))

// maxBytes is the size that no report exceeds, but for the events of its timeline,
// which take some 4 bytes each: small enough to be mailed.
const maxBytes = 5_000_000

// page is what the template shows. The program of the page replaces the static
// part; that part is for a preview that runs no program.
type page struct {
	Title string
	// Banner says that a run did not end; "" for one that did.
	Banner string
	Note   note
	Policy string
	Style  template.CSS
	Script template.JS
	// Encoding of Data: json, or gzip+base64.
	Encoding string
	Data     template.JS
	Events   template.JS // see packEvents; "" without
	// Licences are those of what is bundled into Script.
	Licences string
	// Result is for readers without JavaScript, who get its findings.
	Result *analysis.Result
}

// note is what stands above the static part: while the page opens, and where it
// cannot. The page has no other words before it has read its result.
type note struct {
	Opening string
	Fails   string // the page puts its reason in the place of {why}
	Empty   string // reasons: the file carries no result,
	Old     string // or the browser cannot read it
}

// Write writes the report of r as one HTML file of at most maxBytes. Where r is
// larger than that allows, the page leaves out the details of the kernels that
// take the least time, and says so among its warnings.
func Write(w io.Writer, r *analysis.Result) error {
	script, err := asset("app.js")
	if err != nil {
		return err
	}
	style, err := asset("app.css")
	if err != nil {
		return err
	}
	licences, err := asset("licences.txt")
	if err != nil {
		return err
	}
	var beside sync.WaitGroup
	var events string
	var eventsErr error
	beside.Go(func() { events, eventsErr = packEvents(r.Overview.Detail) })
	room := maxBytes - len(script) - len(style) - len(licences) - pageRoom
	p, err := pack(r, room)
	beside.Wait()
	if err := cmp.Or(err, eventsErr); err != nil {
		return err
	}
	banner := report.Unfinished(r)
	if banner != "" {
		banner += " " + message.Phrase("unfinished-note")
	}
	var out bytes.Buffer
	err = pageTemplate.Execute(&out, page{
		Title:  title(r),
		Banner: banner,
		Note: note{
			Opening: message.Phrase("opening-the-report"), Fails: message.Phrase("report-cannot-be-shown", "{why}"),
			Empty: message.Phrase("file-carries-no-result"), Old: message.Phrase("browser-cannot-decompress"),
		},
		Policy:   policy(script, style),
		Style:    template.CSS(style),
		Script:   template.JS(script),
		Encoding: p.encoding,
		Data:     template.JS(p.text),
		Events:   template.JS(events),
		Licences: licences,
		Result:   r,
	})
	if err != nil {
		return fmt.Errorf("write HTML report: %w", err)
	}
	if out.Len()-len(events) > maxBytes {
		return fmt.Errorf("write HTML report: %d bytes are more than the %d that a report may have; open result.json instead", out.Len(), maxBytes)
	}
	if _, err := w.Write(out.Bytes()); err != nil {
		return fmt.Errorf("write HTML report: %w", err)
	}
	return nil
}

// asset is a file that make web built. It is missing only where the build is broken.
func asset(name string) (string, error) {
	b, err := assets.ReadFile("assets/" + name)
	if err != nil {
		return "", fmt.Errorf("write HTML report: read built page: %w", err)
	}
	return string(b), nil
}

// policy allows the page's own program and style and nothing else: no request,
// no other program, and no text that becomes markup.
func policy(script, style string) string {
	return strings.Join([]string{
		"default-src 'none'",
		"script-src '" + hash(script) + "'",
		"style-src '" + hash(style) + "'",
		"img-src data:",
		"base-uri 'none'",
		"form-action 'none'",
		"require-trusted-types-for 'script'",
		"trusted-types 'none'",
	}, "; ")
}

// hash names a script or a style in the policy: nothing else may run.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// title names the page in a row of tabs: by its model, else the command, else the first file,
// and by its run.
func title(r *analysis.Result) string {
	name := subject(r)
	if text := []rune(name); len(text) > longestTitle {
		name = string(text[:longestTitle-1]) + "…"
	}
	if name == "" {
		return message.Phrase("deepprof-report")
	}
	run := r.Source.Run
	if name == run {
		run = ""
	}
	return message.Phrase("page-title", name, run)
}

// longestTitle is what a title shows of a command, in characters.
const longestTitle = 80

// subject is what ran: the model, the command, or the file that holds it; "" where none of them
// is known.
func subject(r *analysis.Result) string {
	return cmp.Or(modelName(r), report.Command(r), firstFile(r), r.Source.Run)
}

// modelName is that of the model, for the title; "" where it is not known.
func modelName(r *analysis.Result) string {
	if r.Workload.Model == nil {
		return ""
	}
	return r.Workload.Model.Name
}

// firstFile is the input, for the title of an analysis of files; "" without one.
func firstFile(r *analysis.Result) string {
	if len(r.Source.Files) == 0 {
		return ""
	}
	return path.Base(filepath.ToSlash(r.Source.Files[0].Path))
}
