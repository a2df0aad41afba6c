package config

import (
	"slices"
	"strings"
)

type sweepKind uint8

const (
	choiceSweep sweepKind = iota
	rangeSweep
	globSweep
	intervalSweep
)

// sweep is a value that stands for several runs.
type sweep struct {
	kind     sweepKind
	simple   bool      // a,b,c rather than choice(a,b,c)
	list     []element // choice
	numbers  [3]*Node  // range: start, stop, step; interval: start, end
	patterns []string  // glob: include
	excluded []string  // glob: exclude
}

type argument struct {
	name  string
	value element
}

// leftOut are functions of Hydra's that only rewrite a value which can as well
// be written down.
var leftOut = []string{"int", "float", "str", "bool", "json_str", "sort", "shuffle", "tag"}

// function parses name(args). The functions that describe a sweep are known;
// the others are refused by name.
func (p *overrideParser) function() (element, error) {
	name := p.take()
	p.take()
	args, err := p.arguments()
	if err != nil {
		return element{}, err
	}
	call := p.line[name.pos:p.tokens[p.next-1].pos] + strings.TrimLeft(p.tokens[p.next-1].text, " \t")
	fail := func(class, text string) (element, error) {
		e := p.fail(name.pos, "%s while evaluating '%s': %s", class, call, text)
		e.Kind = "override-function"
		return element{}, e
	}
	for i := 1; i < len(args); i++ {
		if args[i].name == "" && args[i-1].name != "" {
			e := p.fail(name.pos, "positional argument follows keyword argument")
			e.Kind = "override-function"
			return element{}, e
		}
	}
	switch name.text {
	case "choice":
		return choiceOf(args, fail)
	case "range":
		return rangeOf(args, fail)
	case "interval":
		return intervalOf(args, fail)
	case "glob":
		return globOf(args, fail)
	}
	if slices.Contains(leftOut, name.text) {
		return fail("UnsupportedFunction", "the override function "+name.text+"() is left out; write the value itself")
	}
	return fail("HydraException", "Unknown function '"+name.text+"'\nAvailable: choice,glob,interval,range")
}

func (p *overrideParser) arguments() ([]argument, error) {
	var args []argument
	if p.accept(tokParenClose) {
		return nil, nil
	}
	for {
		var a argument
		if p.peek().typ == tokID && p.tokens[p.next+1].typ == tokEqual {
			a.name = p.take().text
			p.take()
		}
		var err error
		if a.value, err = p.element(); err != nil {
			return nil, err
		}
		a.value.quote = 0
		args = append(args, a)
		if p.accept(tokParenClose) {
			return args, nil
		}
		if !p.accept(tokComma) {
			return nil, p.unexpected("',' or ')'")
		}
	}
}

type failFunc func(class, text string) (element, error)

func choiceOf(args []argument, fail failFunc) (element, error) {
	s := &sweep{kind: choiceSweep}
	for _, a := range args {
		switch {
		case a.name != "":
			return fail("TypeError", "got an unexpected keyword argument '"+a.name+"'")
		case a.value.sweep != nil && len(args) == 1:
			return fail("ValueError", "nesting choices is not supported")
		case a.value.sweep != nil || a.value.scalar != nil && a.value.scalar.kind == Null:
			return fail("TypeError", "mismatch type argument args: a choice is a string, number, bool, list or dict")
		}
		s.list = append(s.list, a.value)
	}
	if len(args) == 0 {
		return fail("ValueError", "empty choice is not legal")
	}
	return element{sweep: s}, nil
}

// bind puts arguments in the places of their names, as a call does.
func bind(names []string, required int, args []argument, fail failFunc) ([]*element, error) {
	bound := make([]*element, len(names))
	for i, a := range args {
		place := i
		if a.name != "" {
			place = slices.Index(names, a.name)
		}
		switch {
		case place < 0:
			_, err := fail("TypeError", "got an unexpected keyword argument '"+a.name+"'")
			return nil, err
		case place >= len(names):
			_, err := fail("TypeError", "too many positional arguments")
			return nil, err
		case bound[place] != nil:
			_, err := fail("TypeError", "multiple values for argument '"+names[place]+"'")
			return nil, err
		}
		bound[place] = &a.value
	}
	for i := range required {
		if bound[i] == nil {
			_, err := fail("TypeError", "missing a required argument: '"+names[i]+"'")
			return nil, err
		}
	}
	return bound, nil
}

func elementType(e *element) string {
	switch {
	case e.sweep != nil:
		return "Sweep"
	case e.isList:
		return "list"
	case e.isDict:
		return "dict"
	}
	return pyType(e.scalar)
}

func numbersOf(names []string, bound []*element, fail failFunc) ([3]*Node, error) {
	var numbers [3]*Node
	for i, e := range bound {
		if e == nil {
			continue
		}
		if e.scalar == nil || e.scalar.kind != Int && e.scalar.kind != Float && e.scalar.kind != Bool {
			_, err := fail("TypeError", "mismatch type argument "+names[i]+": "+elementType(e)+" is incompatible with Union[int, float]")
			return numbers, err
		}
		numbers[i] = e.scalar
	}
	return numbers, nil
}

func rangeOf(args []argument, fail failFunc) (element, error) {
	names := []string{"start", "stop", "step"}
	bound, err := bind(names, 1, args, fail)
	if err != nil {
		return element{}, err
	}
	numbers, err := numbersOf(names, bound, fail)
	if err != nil {
		return element{}, err
	}
	if numbers[1] == nil {
		numbers[0], numbers[1] = newInt(0), numbers[0]
	}
	if numbers[2] == nil {
		numbers[2] = newInt(1)
	}
	return element{sweep: &sweep{kind: rangeSweep, numbers: numbers}}, nil
}

func intervalOf(args []argument, fail failFunc) (element, error) {
	names := []string{"start", "end"}
	bound, err := bind(names, 2, args, fail)
	if err != nil {
		return element{}, err
	}
	numbers, err := numbersOf(names, bound, fail)
	if err != nil {
		return element{}, err
	}
	return element{sweep: &sweep{kind: intervalSweep, numbers: numbers}}, nil
}

func globOf(args []argument, fail failFunc) (element, error) {
	names := []string{"include", "exclude"}
	bound, err := bind(names, 1, args, fail)
	if err != nil {
		return element{}, err
	}
	s := &sweep{kind: globSweep}
	for i, into := range []*[]string{&s.patterns, &s.excluded} {
		e := bound[i]
		switch {
		case e == nil:
		case e.scalar != nil && e.scalar.kind == String:
			*into = []string{e.scalar.text}
		case e.isList && !slices.ContainsFunc(e.list, func(x element) bool { return x.scalar == nil || x.scalar.kind != String }):
			for _, x := range e.list {
				*into = append(*into, x.scalar.text)
			}
		default:
			return fail("TypeError", "mismatch type argument "+names[i]+": "+elementType(e)+" is incompatible with Union[List[str], str]")
		}
	}
	return element{sweep: s}, nil
}
