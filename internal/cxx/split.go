package cxx

import (
	"iter"
	"strings"
)

// unnamed is how the CUDA compiler writes a namespace without a name; tidy makes other
// spellings this one.
const unnamed = "<unnamed>"

// split takes a tidy name apart: the components of the qualified name, without
// template arguments, and the template arguments of the last one. Of a lambda
// it gives the function that the lambda was written in.
func split(s string) (scope, args []string) {
	parts := components(s)
	if parts[len(parts)-1] == "" {
		return nil, nil // a namespace, or half a name
	}
	for i, p := range parts {
		name, list := templateList(p)
		if name == "" || isLambda(name) {
			if i == 0 {
				continue
			}
			break
		}
		scope = append(scope, name)
		args = list
	}
	return scope, args
}

// components are the parts of the qualified name between its ::, with their
// template arguments.
func components(s string) []string {
	s = declarator(afterDecltype(strings.TrimSpace(s)))
	parts := topLevel(afterReturnType(beforeParameters(s)), "::")
	for i, p := range parts {
		parts[i] = strings.TrimSpace(p)
	}
	return parts
}

// isLambda knows the forms of GNU, of the CUDA compiler and of LLVM.
func isLambda(name string) bool {
	return strings.HasPrefix(name, "[lambda") || strings.HasPrefix(name, "{lambda") || strings.HasPrefix(name, "'lambda")
}

// afterDecltype drops a return type decltype(...), of which brackets may not be balanced by
// what follows.
func afterDecltype(s string) string {
	rest, ok := strings.CutPrefix(s, "decltype")
	rest = strings.TrimLeft(rest, " ")
	if !ok || !strings.HasPrefix(rest, "(") {
		return s
	}
	if end := closing(rest); end > 0 && end+1 < len(rest) {
		return strings.TrimSpace(rest[end+1:])
	}
	return s
}

// declarator takes the function out of the type of a pointer that it returns:
// g<int>(int) of int (*g<int>(int))(float).
func declarator(s string) string {
	open := len(beforeParameters(s))
	if open+1 >= len(s) || s[open+1] != '*' && s[open+1] != '&' {
		return s
	}
	end := closing(s[open:])
	if end < 0 {
		return s
	}
	return strings.TrimLeft(s[open+1:open+end], "*& ")
}

// closing is the place of the parenthesis that closes the one s begins with; -1 where none
// does.
func closing(s string) int {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// brackets visits the bytes of a name, each with how many brackets are open around it; both
// of a pair have the depth outside. Names of operators, whose brackets do not nest, are passed
// over. Of a name that closes more than it opens the depth is negative.
func brackets(s string) iter.Seq2[int, int] {
	return func(yield func(at, depth int) bool) {
		depth := 0
		for i := 0; i < len(s); i++ {
			if n := skipOperator(s, i); n > 0 {
				i += n - 1
				continue
			}
			switch s[i] {
			case '>', ']', '}', ')':
				depth--
			}
			if !yield(i, depth) {
				return
			}
			switch s[i] {
			case '<', '[', '{', '(':
				depth++
			}
		}
	}
}

// beforeParameters cuts a name at its parameter list; one without comes back as it is.
func beforeParameters(s string) string {
	for i, depth := range brackets(s) {
		if s[i] == '(' && depth == 0 && i > 0 {
			return s[:i]
		}
	}
	return s
}

// skipOperator returns the length of an operator's name at i: its brackets do
// not nest. It is 0 where no such name begins.
func skipOperator(s string, i int) int {
	const word = "operator"
	if !strings.HasPrefix(s[i:], word) || i > 0 && isWord(s[i-1]) {
		return 0
	}
	rest := s[i+len(word):]
	for _, op := range []string{"()", " ()", "<<=", ">>=", "<=>", "<<", ">>", "<=", ">=", "->*", "->", "<", ">", "[]"} {
		if strings.HasPrefix(rest, op) {
			return len(word) + len(op)
		}
	}
	return 0
}

// afterReturnType drops what stands before the last space outside brackets, unless that is
// all of the name.
func afterReturnType(s string) string {
	last := -1
	for i, depth := range brackets(s) {
		if s[i] == ' ' && depth == 0 {
			last = i
		}
	}
	rest := strings.TrimSpace(s[last+1:])
	if rest == "" || rest == "const" || strings.Trim(rest, "*& ") == "" {
		return strings.TrimSpace(s)
	}
	return rest
}

// topLevel splits at a separator that is outside all brackets. There is always one part.
func topLevel(s, sep string) []string {
	var out []string
	start := 0
	for i, depth := range brackets(s) {
		if depth == 0 && i >= start && strings.HasPrefix(s[i:], sep) {
			out = append(out, s[start:i])
			start = i + len(sep)
		}
	}
	return append(out, s[start:])
}

// templateList separates a component from its template arguments; nil for none.
func templateList(s string) (string, []string) {
	if s == unnamed {
		return s, nil
	}
	open := -1
	for i := range brackets(s) {
		if s[i] == '<' {
			open = i
			break
		}
	}
	if open < 0 || !strings.HasSuffix(s, ">") {
		return s, nil
	}
	var args []string
	for _, a := range topLevel(s[open+1:len(s)-1], ",") {
		args = append(args, strings.TrimSpace(a))
	}
	return s[:open], args
}
