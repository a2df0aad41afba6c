package plan

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/deepprof/deepprof/internal/tool"
)

// structComments reads the doc comments of package plan: for each dotted key
// what its struct field says, with the field's name replaced by the key's.
func structComments(t testing.TB) map[string]string {
	t.Helper()
	files := tool.Match(".", "*.go")
	types := map[string]*ast.StructType{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				if st, ok := spec.Type.(*ast.StructType); ok {
					types[spec.Name.Name] = st
				}
			}
			return true
		})
	}
	out := map[string]string{}
	walkStruct(types, "Plan", "", out)
	return out
}

func walkStruct(types map[string]*ast.StructType, name, path string, out map[string]string) {
	for _, f := range types[name].Fields.List {
		if f.Tag == nil {
			continue
		}
		tag, err := strconv.Unquote(f.Tag.Value)
		if err != nil {
			continue
		}
		key := reflect.StructTag(tag).Get("key")
		full := strings.TrimPrefix(path+"."+key, ".")
		text := strings.Join(strings.Fields(f.Doc.Text()), " ")
		out[full] = strings.Replace(text, f.Names[0].Name, "`"+key+"`", 1)
		if id, ok := f.Type.(*ast.Ident); ok && types[id.Name] != nil {
			walkStruct(types, id.Name, full, out)
		}
	}
}

// yamlFile is what the comments of one file say.
type yamlFile struct {
	description string            // first comment line that is no @package header
	comments    map[string]string // by dotted key, packages included
	bare        []string          // dotted keys without a comment
}

// free are the mappings whose keys the configuration does not know; one
// comment on the mapping speaks for all of them.
var free = []string{"model.config", "model.stage_hooks", "pipeline.workload.env"}

func readYAML(tree fs.FS, path string) (*yamlFile, error) {
	data, err := fs.ReadFile(tree, path)
	if err != nil {
		return nil, err
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	f := &yamlFile{comments: map[string]string{}, description: firstComment(string(data))}
	pkg := strings.ReplaceAll(strings.Trim(filepath.Dir(path), "."), "/", ".")
	if strings.HasPrefix(string(data), "# @package _global_\n") {
		pkg = ""
	}
	if len(doc.Content) > 0 {
		f.walk(doc.Content[0], pkg)
	}
	return f, nil
}

// firstComment is the one-line description at the top of a file.
func firstComment(text string) string {
	for line := range strings.Lines(text) {
		comment, ok := strings.CutPrefix(strings.TrimSpace(line), "#")
		if !ok {
			return ""
		}
		if comment = strings.TrimSpace(comment); !strings.HasPrefix(comment, "@package") {
			return comment
		}
	}
	return ""
}

func (f *yamlFile) walk(n *yaml.Node, path string) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		name := strings.TrimPrefix(path+"."+key.Value, ".")
		if key.Value == "defaults" {
			continue
		}
		comment := plainComment(key.HeadComment)
		f.comments[name] = comment
		leaf := value.Kind != yaml.MappingNode || len(value.Content) == 0 || slices.Contains(free, name)
		if !leaf {
			f.walk(value, name)
			continue
		}
		if comment == "" {
			f.bare = append(f.bare, name)
		}
	}
}

// plainComment joins the last paragraph of a comment into one line.
func plainComment(text string) string {
	paragraphs := strings.Split(text, "\n\n")
	lines := strings.Split(paragraphs[len(paragraphs)-1], "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "#"))
	}
	return strings.Join(lines, " ")
}
