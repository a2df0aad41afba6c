package analysis

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"runtime"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/deepprof/deepprof/conf"
	"github.com/deepprof/deepprof/internal/cxx"
)

// CategoriesFile is the name of the rules file in the configuration tree.
const CategoriesFile = "categories.rules"

// otherCategory is that of kernels which no rule matches.
const otherCategory = "other"

// graphCategory stands for CUDA graphs whose kernels were not traced.
const graphCategory = "graph"

// A Category is a kind of kernel. Label is what users name theirs; that of a shipped
// one, and of one without a name, is its ID, whose words are in internal/message.
type Category struct {
	ID    string `yaml:"id"`
	Label string `yaml:"label"`
}

// A Rule puts the kernels whose name it matches into a category.
type Rule struct {
	Name     string `yaml:"name"`
	Category string `yaml:"category"`
	Match    string `yaml:"match"`

	re *regexp.Regexp
}

// Categories are the categories of kernels and the rules that choose them.
type Categories struct {
	List  []Category // "graph" and "other" come last
	Rules []Rule     // the first that matches decides
	index map[string]int
}

// categoriesFile is a rules file. Shipped absent means true: rules of a user come
// before those of deepprof and do not replace them.
type categoriesFile struct {
	Shipped    *bool      `yaml:"shipped"`
	Categories []Category `yaml:"categories"`
	Rules      []Rule     `yaml:"rules"`
}

// LoadCategories reads the rules file of each overlay that has one, and the
// shipped one. Rules of an earlier overlay are tried first; one that says
// "shipped: false" keeps those after it out.
func LoadCategories(overlays ...fs.FS) (*Categories, error) {
	c := &Categories{index: map[string]int{}}
	for i, fsys := range append(append([]fs.FS{}, overlays...), conf.FS) {
		if fsys == nil {
			continue
		}
		data, err := fs.ReadFile(fsys, CategoriesFile)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read kernel categories: %w", err)
		}
		more, err := c.add(data)
		if err != nil {
			if i < len(overlays) {
				return nil, fmt.Errorf("read %s of the configuration overlay: %w", CategoriesFile, err)
			}
			return nil, fmt.Errorf("read shipped %s: %w", CategoriesFile, err)
		}
		if !more {
			break
		}
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	c.declare(Category{graphCategory, graphCategory})
	c.declare(Category{otherCategory, otherCategory})
	return c, nil
}

// add takes the categories and rules of a file behind those that came before, which are
// tried first. It returns false where the file keeps later ones out; an unknown key is
// an error.
func (c *Categories) add(data []byte) (more bool, err error) {
	var f categoriesFile
	dec := yaml.NewDecoder(strings.NewReader(string(data)))
	dec.KnownFields(true)
	if err := dec.Decode(&f); err != nil {
		return false, err
	}
	for _, category := range f.Categories {
		if category.ID == "" {
			return false, errors.New("a category has no id")
		}
		if category.Label == "" {
			category.Label = category.ID
		}
		c.declare(category)
	}
	for i, r := range f.Rules {
		if r.Name == "" {
			r.Name = fmt.Sprintf("rule %d", i+1)
		}
		if r.re, err = regexp.Compile(r.Match); r.Match == "" { // which Go accepts, and which would match every kernel
			err = errors.New("it is empty")
		}
		if err != nil {
			return false, fmt.Errorf("rule %s: the pattern %q is no regular expression: %w", r.Name, r.Match, err)
		}
		c.Rules = append(c.Rules, r)
	}
	return f.Shipped == nil || *f.Shipped, nil
}

// declare keeps the first declaration of an ID, with its label and its place in the
// order.
func (c *Categories) declare(category Category) {
	if _, ok := c.index[category.ID]; !ok {
		c.index[category.ID] = len(c.List)
		c.List = append(c.List, category)
	}
}

// check finds what would fail later: a rule whose category nobody declared, and more
// categories than the labels of a painting can tell apart, which are bytes and also
// stand for causes.
func (c *Categories) check() error {
	var errs []error
	for _, r := range c.Rules {
		if _, ok := c.index[r.Category]; !ok {
			errs = append(errs, fmt.Errorf("kernel categories: rule %s names the category %q, which is not in the list; add it under categories", r.Name, r.Category))
		}
	}
	if len(c.List) > 200 {
		errs = append(errs, fmt.Errorf("kernel categories: %d categories; at most 200 can be told apart", len(c.List)))
	}
	return errors.Join(errs...)
}

// kinds remembers the short name and the category of kernels: there are many
// rows of one name, and many rules.
type kinds struct {
	c     *Categories
	known map[string]kind
}

// A kind is what is known of a kernel by its name alone; rule is "" where none matched.
type kind struct {
	short    string
	category int
	rule     string
}

// of asks the rules once for each name; it is for one goroutine.
func (k *kinds) of(name string) kind {
	got, ok := k.known[name]
	if !ok {
		got = k.ask(name)
		k.known[name] = got
	}
	return got
}

func (k *kinds) ask(name string) kind {
	got := kind{short: cxx.Short(name)}
	got.category, got.rule = k.c.of(name, got.short)
	return got
}

// learn asks the rules for many names beside each other: everything else waits for that.
func (k *kinds) learn(names []string) {
	found, workers := make([]kind, len(names)), runtime.GOMAXPROCS(0)
	var beside sync.WaitGroup
	for w := range workers {
		beside.Go(func() {
			for i := w; i < len(names); i += workers {
				found[i] = k.ask(names[i])
			}
		})
	}
	beside.Wait()
	for i, name := range names {
		k.known[name] = found[i]
	}
}

// of gives the category of a kernel by its names, as an index into List, and
// the rule that chose it, or the last category and "".
func (c *Categories) of(names ...string) (int, string) {
	for i := range c.Rules {
		r := &c.Rules[i]
		for _, name := range names {
			if name != "" && r.re.MatchString(name) {
				return c.index[r.Category], r.Name
			}
		}
	}
	return len(c.List) - 1, ""
}
