// Package cxx owns C++ names: it demangles them and shortens them for people.
// The caller keeps the full name; the short one is for tables.
package cxx

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ianlancetaylor/demangle"
)

// Bounds on names. Template code produces names of tens of kilobytes; what is
// longer than that is data.
const (
	maxName  = 64 << 10 // bytes
	maxShort = 120      // characters
	maxDepth = 12       // of template arguments within each other
)

// Demangle returns the C++ name of a mangled symbol, and any other name as it is.
// A name that it cannot read, or longer than 64 KiB, comes back as it is.
func Demangle(name string) string {
	if len(name) > maxName || !strings.HasPrefix(name, "_Z") && !strings.HasPrefix(name, "__Z") {
		return name
	}
	s, err := demangle.ToString(name, demangle.MaxLength(17))
	if err != nil {
		return name
	}
	return s
}

// Short returns the name of a function for people: without its namespaces,
// return type and parameters, and with only that template argument which tells
// what a generic function does.
//
//	void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, ...>(int, T2, T3)
//	vectorized_elementwise_kernel<CUDAFunctor_add>
//
// It takes mangled names, those of the Itanium demanglers and those of the
// CUDA compiler, which writes (int)4 and <unnamed>. A name that is none of
// these comes back as it is, cut to a bounded length.
func Short(name string) string {
	if len(name) > maxName {
		return clip(name)
	}
	full := tidy(Demangle(name))
	s := shorten(full, 0)
	if s != "" {
		s += lambdaOf(full)
	}
	if s == "" {
		s = full
	}
	return clip(s)
}

// clip gives valid UTF-8 of at most maxShort characters without control characters.
func clip(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f { // would break a line or a terminal
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	if utf8.RuneCountInString(s) <= maxShort {
		return s
	}
	return string([]rune(s)[:maxShort-1]) + "…"
}

// tidy makes the spellings of different demanglers alike. Everything below works on tidy
// names.
func tidy(s string) string {
	s = strings.ReplaceAll(s, "(anonymous namespace)", "<unnamed>")
	return dropCasts(s)
}

// dropCasts turns (int)4 and (unsigned long)3ul into 4 and 3ul.
func dropCasts(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '(' {
			if n := castLen(s[i:]); n > 0 {
				i += n - 1
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// castLen returns the length of a cast in front of a number, 0 if there is none.
func castLen(s string) int {
	end := strings.IndexByte(s, ')')
	if end < 2 || end > 100 || end+1 >= len(s) {
		return 0
	}
	if c := s[end+1]; c != '-' && (c < '0' || c > '9') {
		return 0
	}
	for _, c := range []byte(s[1:end]) {
		if !isWord(c) && c != ' ' && c != ':' && c != '<' && c != '>' {
			return 0
		}
	}
	return end + 1
}

// isWord tells bytes of an identifier or a number; those of characters beyond ASCII are.
func isWord(c byte) bool {
	return c == '_' || c == '$' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// shorten does the work of Short on a tidy name, also on template arguments.
// It is "" where there is nothing to show, as for a namespace or beyond maxDepth.
func shorten(s string, depth int) string {
	if depth > maxDepth {
		return ""
	}
	scope, args := split(s)
	if len(scope) == 0 {
		return ""
	}
	base := scope[len(scope)-1]
	if vague[base] && len(scope) > 1 && scope[len(scope)-2] != unnamed {
		base = scope[len(scope)-2] + "::" + base
	}
	if len(args) == 0 {
		return base
	}
	if plain := strings.Join(args, ", "); len(plain) <= 24 && allPlain(args) {
		return base + "<" + plain + ">"
	}
	hint := operation(args, depth+1)
	switch {
	case hint == "" && allPlain(args):
		return base + "<" + folded(args) + ">"
	case hint == "":
		return base + "<…>"
	case strings.HasPrefix(hint, "cutlass_"):
		return hint
	}
	return base + "<" + hint + ">"
}

// lambdaOf tells a function that is a lambda from the function around it: what to add to the
// name of the latter, "" for no lambda.
func lambdaOf(s string) string {
	parts := components(s)
	i := slices.IndexFunc(parts, isLambda)
	if i < 1 {
		return ""
	}
	if n := lambdaNumber.FindStringSubmatch(parts[i]); n != nil {
		return "::{lambda#" + n[1] + "}"
	}
	return "::{lambda}"
}

// lambdaNumber matches the end of a lambda: {lambda(int)#2}, [lambda(int) (instance 2)].
var lambdaNumber = regexp.MustCompile(`(?:#|instance )([0-9]+)\)?[}\]]$`)

// folded lists plain template arguments as far as they fit, each run of equal
// ones once; "…" stands for the rest.
func folded(args []string) string {
	const room = 32
	list := ""
	for i, a := range slices.Compact(slices.Clone(args)) {
		if i > 0 {
			a = ", " + a
		}
		if len(list)+len(a) > room {
			return list + ", …"
		}
		list += a
	}
	return list
}

// vague names say nothing without the namespace around them.
var vague = map[string]bool{"kernel": true, "Kernel": true, "run": true, "operator()": true, "main": true, "type": true}

// wrappers are functors that hold the one that says what is done.
var wrappers = map[string]bool{
	"AUnaryFunctor": true, "BUnaryFunctor": true, "UnaryFunctor": true, "BinaryFunctor": true, "ReduceOp": true,
	"func_wrapper_t": true, "gpu_kernel_impl": true, "gpu_kernel_impl_nocast": true, "gpu_kernel_with_index": true,
	"GemmUniversal": true, "device_kernel": true,
}

// fillers are template arguments that every generic kernel has.
var fillers = map[string]bool{
	"array": true, "tuple": true, "TrivialOffsetCalculator": true, "OffsetCalculator": true, "LoadWithoutCast": true,
	"StoreWithoutCast": true, "LoadWithCast": true, "StoreWithCast": true, "TensorInfo": true, "integral_constant": true,
	"Array": true, "vector": true, "pair": true, "true_type": true, "false_type": true,
}

// operation finds the template argument that tells what a generic function does: the first
// class that is neither a filler nor a number format, inside wrappers; "" for none.
func operation(args []string, depth int) string {
	if depth > maxDepth {
		return ""
	}
	fallback := ""
	for _, a := range args {
		if isPlain(a) {
			continue
		}
		scope, inner := split(a)
		if len(scope) == 0 {
			continue
		}
		name := scope[len(scope)-1]
		if strings.HasPrefix(name, "operator") && len(scope) > 1 {
			name = scope[len(scope)-2] // a lambda in the call operator of a functor
		}
		if fillers[name] || name == unnamed {
			continue
		}
		if wrappers[name] {
			if op := operation(inner, depth+1); op != "" {
				return op
			}
		}
		if scalarTypes[name] {
			if fallback == "" {
				fallback = name
			}
			continue
		}
		return name
	}
	return fallback
}

// scalarTypes are classes that stand for a number format.
var scalarTypes = map[string]bool{
	"BFloat16": true, "Half": true, "__half": true, "__nv_bfloat16": true, "bfloat16_t": true, "half_t": true,
	"tfloat32_t": true, "float_e4m3_t": true, "float_e5m2_t": true, "complex": true,
	"Float8_e4m3fn": true, "Float8_e5m2": true, "__nv_fp8_e4m3": true, "__nv_fp8_e5m2": true,
}

// allPlain is true for no arguments.
func allPlain(args []string) bool {
	return !slices.ContainsFunc(args, func(a string) bool { return !isPlain(a) })
}

// isPlain reports a literal or a built-in type.
func isPlain(a string) bool {
	if a == "" || a[0] == '-' || a[0] >= '0' && a[0] <= '9' || a == "true" || a == "false" {
		return true
	}
	for word := range strings.FieldsSeq(strings.TrimRight(a, "*& ")) {
		if !builtin[word] {
			return false
		}
	}
	return true
}

// builtin are the words that types of the language consist of.
var builtin = map[string]bool{
	"void": true, "bool": true, "char": true, "short": true, "int": true, "long": true, "float": true, "double": true,
	"signed": true, "unsigned": true, "const": true, "__half": true, "half": true, "__int128": true,
}
