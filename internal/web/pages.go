package web

import (
	"embed"
	"io/fs"
	"net/http"
)

// pageFiles is the page: it asks the API for everything that it shows.
//
//go:embed page
var pageFiles embed.FS

// pages serves the page of the store, which is built into the program.
func pages() http.Handler {
	files, err := fs.Sub(pageFiles, "page")
	if err != nil {
		panic(err) // the folder is embedded
	}
	return http.FileServerFS(files)
}
