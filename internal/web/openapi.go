package web

import (
	"net/http"
	"regexp"
	"strings"

	"github.com/deepprof/deepprof/internal/show"
)

// An object of the description, which has too many shapes for types of its own.
type object = map[string]any

// openAPI describes the routes, from the table that serves them and the
// declarations of the views.
func (s *server) openAPI(w http.ResponseWriter, _ *http.Request) error {
	paths := map[string]object{}
	for _, r := range s.routes() {
		if paths[r.path] == nil {
			paths[r.path] = object{}
		}
		paths[r.path][strings.ToLower(r.method)] = operation(&r)
	}
	return writeJSON(w, object{
		"openapi": "3.1.0", "info": object{"title": "deepprof", "version": "1", "description": "Runs of deepprof and their views; rows are those of --json on the command line."},
		"paths": paths, "components": object{
			"schemas":         object{"Problem": object{"type": "object", "required": []string{"status", "code", "detail"}, "properties": object{"status": object{"type": "integer"}, "code": object{"type": "string"}, "detail": object{"type": "string"}}}},
			"securitySchemes": object{"token": object{"type": "http", "scheme": "bearer"}},
		},
		"security": []object{{"token": []string{}}, {}},
	})
}

// placeholder is a parameter in the path of a route.
var placeholder = regexp.MustCompile(`\{(\w+)\}`)

// operation describes one row of the routes; operationIds are unique by method and path.
// Paths and parameters are those of the table: an operation cannot be described that is not served.
func operation(r *route) object {
	var parameters []object
	for _, m := range placeholder.FindAllStringSubmatch(r.path, -1) {
		parameters = append(parameters, object{"name": m[1], "in": "path", "required": true, "schema": object{"type": "string"}, "description": `id of a run, or "latest"`})
	}
	name := strings.Trim(strings.NewReplacer("/", "_", "{", "", "}", "", ".", "_").Replace(strings.TrimPrefix(r.path, api)), "_")
	op := object{"operationId": strings.ToLower(r.method) + "_" + name, "summary": r.short}
	ok := object{"description": "done"}
	switch {
	case r.view != nil:
		defaults := show.NewRequest()
		for _, p := range params(r.view) {
			parameters = append(parameters, object{"name": p.Name, "in": "query", "schema": schemaOf(p, defaults)})
		}
		parameters = append(parameters, object{"name": layoutParam, "in": "query", "schema": object{"type": "string", "enum": []string{"rows", "page"}, "default": "rows"},
			"description": "rows are those of --json; page has the columns and cells of the table that a person reads"})
		ok = object{"description": "rows", "content": object{"application/json": object{"schema": rowsSchema(r.view)}}}
	case r.method == http.MethodPost:
		op["requestBody"] = object{"required": true, "content": object{"multipart/form-data": object{"schema": object{"type": "object", "properties": object{
			"file": object{"type": "array", "items": object{"type": "string", "contentMediaType": "application/octet-stream"}}, "label": object{"type": "string"}}}}}}
	case r.method == http.MethodPut:
		op["requestBody"] = object{"required": true, "content": object{"application/json": object{"schema": object{"type": "object", "properties": object{
			"tags": object{"type": "array", "items": object{"type": "string"}}, "comment": object{"type": "string"}}}}}}
	case strings.HasSuffix(r.path, "/timeline"):
		for _, p := range tileParams {
			parameters = append(parameters, object{"name": p.name, "in": "query", "schema": &schema{Type: "integer", Description: p.help}})
		}
		parameters = append(parameters, object{"name": partParam, "in": "query", "schema": &schema{Type: "string", Description: "of several timelines, one of parts; the first where it is not given"}})
	}
	if len(parameters) > 0 {
		op["parameters"] = parameters
	}
	op["responses"] = object{"2XX": ok, "default": object{"description": "refused", "content": object{"application/problem+json": object{"schema": object{"$ref": "#/components/schemas/Problem"}}}}}
	return op
}

// rowsSchema describes the answer of a view; a row has the columns of one of its
// tables, and may have more.
func rowsSchema(v *show.View) object {
	var rows []object
	for _, t := range v.Tables {
		info := t.Info()
		properties := object{}
		for _, c := range info.Columns {
			properties[c.Key] = object{"title": c.Title, "description": strings.TrimSpace(c.Help + " " + c.Unit)}
		}
		rows = append(rows, object{"title": info.Name, "type": "object", "properties": properties})
	}
	return object{"type": "object", "required": []string{"schema", "schema_version", "rows", "rows_left_out", "warnings"}, "properties": object{
		"schema": object{"type": "string"}, "schema_version": object{"type": "integer"}, "rows": object{"type": "array", "items": object{"anyOf": rows}},
		"rows_left_out": object{"type": "integer"}, "warnings": object{"type": "array", "items": object{"type": "string"}},
	}}
}
