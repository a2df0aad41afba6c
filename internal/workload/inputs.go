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

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/format"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/tool"
)

// Codes of files and folders of the configuration that a session could not use.
// internal/message has their words; a comment names the parameters.
const (
	folderAbsent      fact.Code = "folder-absent"       // key, dir, give
	folderUnreadable  fact.Code = "folder-unreadable"   // key, dir, give, error
	folderIsFile      fact.Code = "folder-is-file"      // key, dir, give
	modelNoConfig     fact.Code = "model-no-config"     // dir
	modelNoWeights    fact.Code = "model-no-weights"    // dir, config
	modelIndexDamaged fact.Code = "model-index-damaged" // file, error
	modelShardsAbsent fact.Code = "model-shards-absent" // dir, n, all, names, more
	configUnread      fact.Code = "config-unread"       // error
	configNoObject    fact.Code = "config-no-object"    // file, error
	configNoType      fact.Code = "config-no-type"      // file
	datasetNoMatch    fact.Code = "dataset-no-match"    // dir, patterns
	listUnread        fact.Code = "list-unread"         // error
	listEmpty         fact.Code = "list-empty"          // file
	listFilesAbsent   fact.Code = "list-files-absent"   // file, n, all, names, more
)

// InputProblems are files or folders of the configuration that a session could
// not use; zero where nothing is wrong.
type InputProblems struct{ Model, Dataset fact.Fact }

// CheckInputs looks at the files of the model and of the dataset before anything
// slow starts: what is plainly wrong is told without an interpreter. Relative
// paths begin at start. Sessions look closer, at what images hold for example.
func CheckInputs(p *plan.Plan, start string) (found InputProblems) {
	if !Shipped(p) {
		return found
	}
	switch m := p.Model; {
	case m.Path != "":
		found.Model = checkFolder(Abs(m.Path, start))
	case m.Config.File != "":
		found.Model = checkConfig(Abs(m.Config.File, start))
	}
	if d := p.Dataset; d.Root != "" {
		found.Dataset = checkDataset(d, Abs(d.Root, start), Abs(d.SubsetFilelist, start))
	}
	return found
}

const weightsIndex = "model.safetensors.index.json"

// checkFolder is zero for a folder that a model can be loaded from.
func checkFolder(path string) fact.Fact {
	if problem := notFolder("model.path", path); !problem.IsZero() {
		return problem
	}
	dir, config := fact.File("dir", path), filepath.Join(path, "config.json")
	switch {
	case !isFile(config):
		return fact.New(modelNoConfig, dir)
	case isFile(filepath.Join(path, weightsIndex)):
		return checkShards(path)
	case len(tool.Match(path, "*.safetensors")) == 0:
		return fact.New(modelNoWeights, dir, fact.File("config", config))
	}
	return fact.Fact{}
}

// checkShards compares the index of the weights with the files beside it: a download
// that broke off lacks some of them.
func checkShards(path string) fact.Fact {
	var index struct {
		Weights map[string]string `json:"weight_map"`
	}
	name := filepath.Join(path, weightsIndex)
	text, err := format.ReadFile(name, maxFile)
	if err == nil {
		err = json.Unmarshal(text, &index)
	}
	if err != nil {
		return fact.New(modelIndexDamaged, fact.File("file", name), fact.Error("error", err))
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
		return fact.Fact{}
	}
	slices.Sort(absent)
	return fact.New(modelShardsAbsent, append(several(absent, len(shards)), fact.File("dir", path))...)
}

// checkConfig is zero for a readable config.json of a model.
func checkConfig(path string) fact.Fact {
	text, err := format.ReadFile(path, maxFile)
	if err != nil {
		return fact.New(configUnread, fact.Error("error", err))
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		return fact.New(configNoObject, fact.File("file", path), fact.Error("error", err))
	}
	if kind, ok := fields["model_type"].(string); !ok || kind == "" {
		return fact.New(configNoType, fact.File("file", path))
	}
	return fact.Fact{}
}

// checkDataset is zero where there is something to read; root and list are absolute.
func checkDataset(d plan.Dataset, root, list string) fact.Fact {
	if problem := notFolder("dataset.root", root); !problem.IsZero() {
		return problem
	}
	if list != "" {
		return checkList(root, list)
	}
	for _, pattern := range d.FallbackPatterns {
		for range matches(root, pattern) {
			return fact.Fact{} // an unreadable pattern too: the session judges it
		}
	}
	return fact.New(datasetNoMatch, fact.File("dir", root), fact.Names("patterns", fact.KindName, d.FallbackPatterns))
}

// checkList is zero for a list all of whose files are there.
func checkList(root, list string) fact.Fact {
	files, err := listedFiles(root, list)
	bad := slices.DeleteFunc(slices.Clone(files), isFile)
	switch {
	case err != nil:
		return fact.New(listUnread, fact.Error("error", err))
	case len(files) == 0:
		return fact.New(listEmpty, fact.File("file", list))
	case len(bad) > 0:
		return fact.New(listFilesAbsent, append(several(bad, len(files)), fact.File("file", list))...)
	}
	return fact.Fact{}
}

// deepest bounds the search where links lead in circles, as the kernel does.
const deepest = 40

// matches yields the files below dir that match a pattern as Python's glob takes
// it: "**" is any number of folders, and names that begin with a dot are meant
// only where the pattern says so. A file can come twice. A pattern that cannot be
// read here yields an error; the session judges it.
func matches(dir, pattern string) iter.Seq2[string, error] {
	parts := strings.Split(filepath.ToSlash(filepath.Clean(pattern)), "/")
	return func(yield func(string, error) bool) { walkMatches(dir, parts, 0, yield) }
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

// matchEntry goes on while yield is true; "**" matches any number of folders.
func matchEntry(path string, pattern []string, depth int, yield func(string, error) bool) bool {
	first, rest := pattern[0], pattern[1:]
	if first == "**" {
		if len(rest) == 0 && isFile(path) {
			return yield(path, nil)
		}
		return !isFolder(path) || walkMatches(path, pattern, depth+1, yield)
	}
	ok, err := filepath.Match(strings.ReplaceAll(first, "[!", "[^"), filepath.Base(path))
	if err != nil {
		return yield("", fmt.Errorf("pattern %q: %w", first, err))
	}
	return !ok || walkMatches(path, rest, depth+1, yield)
}

// DatasetFiles are the files that a session takes its samples from: those of the
// list in its order, else those that match the patterns, sorted. Relative paths
// begin at start. None for generated inputs.
// A file that several patterns match comes once. Files of a list need not exist.
func DatasetFiles(d plan.Dataset, start string) ([]string, error) {
	root := Abs(d.Root, start)
	if root == "" {
		return nil, nil
	}
	if d.SubsetFilelist != "" {
		return listedFiles(root, Abs(d.SubsetFilelist, start))
	}
	var out []string
	for _, pattern := range d.FallbackPatterns {
		for path, err := range matches(root, pattern) {
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
	f, err := format.Open(list)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []string
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if line := strings.TrimSpace(lines.Text()); line != "" && !strings.HasPrefix(line, "#") {
			out = append(out, Abs(line, root))
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read %s: %w", list, err)
	}
	return out, nil
}

// notFolder says what is wrong with the folder of a key; zero for nothing.
func notFolder(key, path string) fact.Fact {
	of := []fact.Param{fact.Key("key", key), fact.File("dir", path), fact.ID("give", "give", key)}
	switch info, err := os.Stat(path); {
	case os.IsNotExist(err):
		return fact.New(folderAbsent, of...)
	case err != nil:
		return fact.New(folderUnreadable, append(of, fact.Error("error", err))...)
	case !info.IsDir():
		return fact.New(folderIsFile, of...)
	}
	return fact.Fact{}
}

// isFolder follows links: datasets and models are often linked.
func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// isFile follows links.
func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// several are the parameters n, all, names and more of a list: the first ten names.
func several(list []string, all int) []fact.Param {
	named := min(len(list), 10)
	of := []fact.Param{fact.Count("n", len(list)), fact.Count("all", all), fact.Names("names", fact.KindFile, list[:named])}
	if more := len(list) - named; more > 0 {
		of = append(of, fact.Count("more", more))
	}
	return of
}
