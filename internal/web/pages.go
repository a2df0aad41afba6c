package web

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"

	"github.com/deepprof/deepprof/internal/message"
)

// pageFiles is the page: it asks the API for everything that it shows.
//
//go:embed page
var pageFiles embed.FS

// pages serves the page of the store, which is built into the program.
// It holds nothing of a run.
func pages() http.Handler {
	files, err := fs.Sub(pageFiles, "page")
	if err != nil {
		panic(err) // the folder is embedded
	}
	return http.FileServerFS(files)
}

// pageWords is words.js: the words of the page, which it has before anyone gave a token.
func pageWords(w http.ResponseWriter, _ *http.Request) {
	words, err := json.Marshal(message.StoreTexts())
	if err != nil {
		panic(err) // texts always marshal
	}
	w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
	fmt.Fprintf(w, "const words = %s;\n", words)
}
