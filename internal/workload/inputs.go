package workload

import (
	"bufio"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/tool"
)

// An InputProblem is a file or folder of the configuration that a session could
// not use.
type InputProblem struct {
	Section string // model or dataset
	What    string // names the key and the file
	Next    string
}

// CheckInputs looks at the files of the model and of the dataset before anything
// slow starts: what is plainly wrong is told without an interpreter. Relative
// paths begin at start. Sessions look closer, at what images hold for example.
func CheckInputs(p *plan.Plan, start string) []InputProblem {
	if !Shipped(p) {
		return nil
	}
	var out []InputProblem
	add := func(section string, found *InputProblem) {
		if found != nil {
			found.Section = section
			out = append(out, *found)
		}
	}
	switch m := p.Model; {
	case m.Path != "":
		add("model", checkFolder(abs(m.Path, start)))
	case m.Config.File != "":
		add("model", checkConfig(abs(m.Config.File, start)))
	}
	if d := p.Dataset; d.Root != "" {
		add("dataset", checkDataset(d, abs(d.Root, start), abs(d.SubsetFilelist, start)))
	}
	return out
}

const weightsIndex = "model.safetensors.index.json"

func checkFolder(path string) *InputProblem {
	if state := notFolder(path); state != "" {
		return &InputProblem{What: fmt.Sprintf("model.path: %s %s", path, state), Next: "give the folder that save_pretrained wrote"}
	}
	config := filepath.Join(path, "config.json")
	if !isFile(config) {
		return &InputProblem{
			What: fmt.Sprintf("model.path: %s has no config.json", path),
			Next: "give the folder that holds config.json and the *.safetensors files themselves, not one above it",
		}
	}
	if isFile(filepath.Join(path, weightsIndex)) {
		return checkShards(path)
	}
	if len(tool.Match(path, "*.safetensors")) == 0 {
		return &InputProblem{
			What: fmt.Sprintf("model.path: %s has a config.json and no *.safetensors", path),
			Next: "download the weights, convert other formats with save_pretrained, or profile the shape alone with random weights: model.path=null model.config=" + config,
		}
	}
	return nil
}

func checkShards(path string) *InputProblem {
	var index struct {
		Weights map[string]string `json:"weight_map"`
	}
	name := filepath.Join(path, weightsIndex)
	text, err := os.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(text, &index)
	}
	if err != nil {
		return &InputProblem{What: fmt.Sprintf("model.path: read %s: %v", name, err), Next: "download the file again: it is damaged"}
	}
	shards := map[string]bool{}
	var absent []string
	for _, shard := range index.Weights {
		if !shards[shard] && !isFile(filepath.Join(path, shard)) {
			absent = append(absent, shard)
		}
		shards[shard] = true
	}
	if len(absent) == 0 {
		return nil
	}
	slices.Sort(absent)
	return &InputProblem{
		What: fmt.Sprintf("model.path: %s lacks %d of %d weight files: %s", path, len(absent), len(shards), several(absent, 10)),
		Next: "download them again; an interrupted download leaves such a folder",
	}
}

func checkConfig(path string) *InputProblem {
	text, err := os.ReadFile(path)
	if err != nil {
		return &InputProblem{What: fmt.Sprintf("model.config: %v", err), Next: "give the path of a config.json, or the fields themselves"}
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		return &InputProblem{What: fmt.Sprintf("model.config: %s is not a JSON object: %v", path, err), Next: "give the config.json of a Hugging Face model"}
	}
	if kind, ok := fields["model_type"].(string); !ok || kind == "" {
		return &InputProblem{What: fmt.Sprintf("model.config: %s has no model_type", path), Next: "give the config.json of a Hugging Face model"}
	}
	return nil
}

func checkDataset(d plan.Dataset, root, list string) *InputProblem {
	if state := notFolder(root); state != "" {
		return &InputProblem{What: fmt.Sprintf("dataset.root: %s %s", root, state), Next: "give a folder with dataset.root=/path"}
	}
	if list != "" {
		return checkList(root, list)
	}
	for _, pattern := range d.FallbackPatterns {
		for range matches(root, patternParts(pattern), 0) {
			return nil // an unreadable pattern too: the session judges it
		}
	}
	return &InputProblem{
		What: fmt.Sprintf("dataset.root: nothing in %s matches %s", root, strings.Join(d.FallbackPatterns, ", ")),
		Next: "check dataset.root and dataset.fallback_patterns (** crosses folders), or give dataset.subset_filelist",
	}
}

func checkList(root, list string) *InputProblem {
	files, err := listedFiles(root, list)
	bad := slices.DeleteFunc(slices.Clone(files), isFile)
	switch {
	case err != nil:
		return &InputProblem{What: fmt.Sprintf("dataset.subset_filelist: %v", err), Next: "give a text file with one path a line"}
	case len(files) == 0:
		return &InputProblem{What: fmt.Sprintf("dataset.subset_filelist: %s names no file", list), Next: "put one path on each line"}
	case len(bad) > 0:
		return &InputProblem{
			What: fmt.Sprintf("dataset.subset_filelist: %d of the %d files in %s are not there: %s", len(bad), len(files), list, several(bad, 10)),
			Next: "correct the list, or restore the files",
		}
	}
	return nil
}

// deepest bounds the search where links lead in circles, as the kernel does.
const deepest = 40

// matches yields the files below dir that match a pattern as Python's glob takes
// it: "**" is any number of folders, and names that begin with a dot are meant
// only where the pattern says so. A file can come twice. A pattern that cannot be
// read here yields an error; the session judges it.
func matches(dir string, pattern []string, depth int) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) { walkMatches(dir, pattern, depth, yield) }
}

// walkMatches returns false when yield asked to stop.
func walkMatches(dir string, pattern []string, depth int, yield func(string, error) bool) bool {
	if len(pattern) == 0 {
		return !isFile(dir) || yield(dir, nil)
	}
	first, rest := pattern[0], pattern[1:]
	if !strings.ContainsAny(first, "*?[") {
		return walkMatches(filepath.Join(dir, first), rest, depth, yield)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || depth > deepest {
		return true
	}
	if first == "**" && len(rest) > 0 && !walkMatches(dir, rest, depth, yield) {
		return false
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") && !strings.HasPrefix(first, ".") {
			continue
		}
		if !matchEntry(filepath.Join(dir, e.Name()), pattern, depth, yield) {
			return false
		}
	}
	return true
}

func matchEntry(path string, pattern []string, depth int, yield func(string, error) bool) bool {
	first, rest := pattern[0], pattern[1:]
	if first == "**" {
		if len(rest) == 0 && isFile(path) {
			return yield(path, nil)
		}
		return notFolder(path) != "" || walkMatches(path, pattern, depth+1, yield)
	}
	ok, err := filepath.Match(strings.ReplaceAll(first, "[!", "[^"), filepath.Base(path))
	if err != nil {
		return yield("", fmt.Errorf("pattern %q: %w", first, err))
	}
	return !ok || walkMatches(path, rest, depth+1, yield)
}

func patternParts(pattern string) []string {
	return strings.Split(filepath.ToSlash(filepath.Clean(pattern)), "/")
}

// DatasetFiles are the files that a session takes its samples from: those of the
// list in its order, else those that match the patterns, sorted. Relative paths
// begin at start. None for generated inputs.
func DatasetFiles(d plan.Dataset, start string) ([]string, error) {
	root := abs(d.Root, start)
	if root == "" {
		return nil, nil
	}
	if d.SubsetFilelist != "" {
		return listedFiles(root, abs(d.SubsetFilelist, start))
	}
	var out []string
	for _, pattern := range d.FallbackPatterns {
		for path, err := range matches(root, patternParts(pattern), 0) {
			if err != nil {
				return nil, fmt.Errorf("list the files of %s: %w", root, err)
			}
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// listedFiles reads a list of files: one path a line, relative to root or
// absolute, "#" begins a comment.
func listedFiles(root, list string) ([]string, error) {
	f, err := os.Open(list)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []string
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if line := strings.TrimSpace(lines.Text()); line != "" && !strings.HasPrefix(line, "#") {
			out = append(out, abs(line, root))
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read %s: %w", list, err)
	}
	return out, nil
}

// notFolder says what is wrong with a folder, "" for nothing.
func notFolder(path string) string {
	switch info, err := os.Stat(path); {
	case os.IsNotExist(err):
		return "does not exist"
	case err != nil:
		return "cannot be read: " + err.Error()
	case !info.IsDir():
		return "is not a folder"
	}
	return ""
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// several names the first n.
func several(list []string, n int) string {
	if len(list) <= n {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:n], ", "), len(list)-n)
}
