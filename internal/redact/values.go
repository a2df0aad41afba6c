package redact

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"

	"go.yaml.in/yaml/v3"
)

// Values are the secrets of one run: what its environment, its command line, its
// configuration and its inputs hold. They are learned first and then removed from
// every file, in every encoding that the files use. A nil *Values knows none. It
// is not safe for concurrent use.
// Learning more later is allowed, but files that were cleaned before are not cleaned
// again.
type Values struct {
	known map[string]bool
	find  *finder // made from known; nil when that has changed
}

// NewValues returns Values that know the secrets of an environment, a list of
// NAME=value.
func NewValues(environ []string) *Values {
	v := &Values{known: map[string]bool{}}
	v.learnEnviron(environ)
	return v
}

// Bounds of a value that is removed wherever it stands. A shorter one is removed
// from command lines only: it would hit numbers and words.
const (
	shortestValue = 4
	longestValue  = 64 << 10
)

// ordinary are values that say nothing, and words that files of a run are full of.
var ordinary = []string{
	"password", "passwd", "secret", "token", "none", "null", "true", "false", "default", "test", "user", "admin", "root", "localhost", "redacted",
	"example", "kernel", "kernels", "prefill", "decode", "cuda", "nsys", "ncu", "deepprof", "python", "python3", "bearer", "basic", "auto", "llama", "model", "text",
	"string", "schema", "stages", "steps", "launch", "launches", "version", "command", "files", "path", "name", "value", "status", "done", "time", "prompt",
}

// learn takes a secret and the parts of it that are secrets themselves.
// v must not be nil, here and in every method that learns.
func (v *Values) learn(value string) {
	value = strings.Trim(strings.TrimSpace(value), `"'`)
	v.add(value)
	for _, m := range urlLogin.FindAllStringSubmatch(value, -1) {
		v.learnLogin(m[1])
	}
	v.learnForms(value)
	if strings.Contains(value, "\n") { // a key in lines; a log may indent them
		for line := range strings.Lines(value) {
			if line = strings.TrimSpace(line); len(line) >= 16 && !strings.HasPrefix(line, "-----") {
				v.add(line)
			}
		}
	}
}

// add leaves out what is too short, too long or too ordinary to be removed everywhere:
// that would destroy numbers and words of reports.
func (v *Values) add(value string) {
	if len(value) < shortestValue || len(value) > longestValue || slices.Contains(ordinary, strings.ToLower(value)) || value == Mark {
		return
	}
	if len(value) < 6 && strings.Trim(value, "0123456789") == "" {
		return
	}
	v.known[value], v.find = true, nil
}

// learnLogin takes user:password, which travels as base64 too.
func (v *Values) learnLogin(login string) {
	_, password, ok := strings.Cut(login, ":")
	if !ok || password == "" {
		v.add(login) // a token in the place of a user
		return
	}
	v.add(password)
	if plain, err := url.PathUnescape(password); err == nil {
		v.add(plain)
	}
	v.add(base64.StdEncoding.EncodeToString([]byte(login)))
}

// learnForms takes what has the form of a secret in a text.
func (v *Values) learnForms(text string) {
	for _, f := range secretForms {
		if !f.hinted(text) {
			continue
		}
		for _, m := range f.re.FindAllStringSubmatch(text, -1) {
			v.add(strings.Trim(m[f.group], `"'`))
		}
	}
}

// learnEnviron takes the secrets of an environment.
func (v *Values) learnEnviron(environ []string) {
	for _, kv := range environ {
		if name, value, ok := strings.Cut(kv, "="); ok {
			v.LearnVar(name, value)
		}
	}
}

// LearnVar takes a variable, or a setting of a configuration, if it is secret.
func (v *Values) LearnVar(name, value string) {
	if !Secret(name, value) {
		return
	}
	clean := Variable(name, value)
	switch {
	case clean.Value != Mark: // only the credentials of a URL
		v.learnParts(value)
	case weakName(name) && !random(value):
	default:
		v.learn(value)
		v.learnParts(value)
	}
}

// learnParts takes the credentials of the URLs in a value.
func (v *Values) learnParts(value string) {
	for _, m := range urlLogin.FindAllStringSubmatch(value, -1) {
		v.learnLogin(m[1])
	}
	for _, m := range urlQuery.FindAllStringSubmatchIndex(value, -1) {
		v.add(value[m[3]:m[1]])
	}
	for _, m := range hostLogin.FindAllStringSubmatch(value, -1) {
		v.learnLogin(m[1])
	}
	v.learnForms(value)
}

var (
	urlLogin  = regexp.MustCompile(`\b[A-Za-z][A-Za-z0-9+.-]*://([^\s/@'"<>]+)@`)
	hostLogin = regexp.MustCompile(`^([^\s/@:'"<>]+:[^\s/@'"<>]+)@[^\s/@:]+`)
)

// weakName tells a name that announces a secret only if the value looks like one.
func weakName(name string) bool {
	for _, w := range nameWords(name) {
		if slices.Contains(secretWords, w) || slices.ContainsFunc(secretEnds, func(end string) bool { return strings.HasSuffix(w, end) }) {
			return false
		}
	}
	upper := strings.ToUpper(name)
	return !slices.ContainsFunc(secretParts, func(p string) bool { return strings.Contains(upper, p) })
}

// random tells a value that nobody would use as an ordinary word or path.
// It is a guess: 8 bytes with letters and digits, or 12 with any sign, are enough.
func random(value string) bool {
	if len(value) < 8 || strings.HasPrefix(value, "/") || strings.HasPrefix(value, "~") || strings.HasPrefix(value, ".") {
		return false
	}
	var digit, letter, other bool
	for _, c := range value {
		switch {
		case unicode.IsDigit(c):
			digit = true
		case unicode.IsLetter(c):
			letter = true
		default:
			other = true
		}
	}
	return digit && letter || other && len(value) >= 12
}

// LearnConfig takes the secrets of a configuration in YAML: values whose key
// announces one, and values of a known form. What cannot be parsed is searched
// as text.
// It only reads text. Lists are taken as command lines.
func (v *Values) LearnConfig(text []byte) {
	var doc yaml.Node
	if yaml.Unmarshal(text, &doc) != nil {
		v.learnForms(string(text))
		return
	}
	v.learnNode("", &doc)
}

func (v *Values) learnNode(key string, n *yaml.Node) {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			v.learnNode(n.Content[i].Value, n.Content[i+1])
		}
	case yaml.ScalarNode:
		v.learnSetting(key, n.Value)
	case yaml.SequenceNode:
		var args []string
		for _, c := range n.Content {
			if c.Kind == yaml.ScalarNode {
				args = append(args, c.Value)
			} else {
				v.learnNode(key, c)
			}
		}
		v.LearnArgs(args)
	default:
		for _, c := range n.Content {
			v.learnNode(key, c)
		}
	}
}

// learnSetting is LearnVar for a value that need not be a variable: ordinary
// settings are long, mixed and no secret.
func (v *Values) learnSetting(key, value string) {
	if secretName(key, value) != "" && Secret(key, value) {
		v.LearnVar(key, value)
		return
	}
	v.learnParts(value)
}

// Text removes the known values from a text. Longer values go first.
func (v *Values) Text(s string) string {
	if v == nil || len(v.known) == 0 {
		return s
	}
	return string(v.finder().replace([]byte(s), func(int) []byte { return []byte(Mark) }))
}

// JSON removes the known values from the strings of a JSON text.
// data itself is returned if nothing is known, and is never changed.
func (v *Values) JSON(data []byte) ([]byte, error) {
	if v == nil || len(v.known) == 0 {
		return data, nil
	}
	return editJSON(data, v.Text)
}

// in tells whether a known value is in the data, in any encoding.
func (v *Values) in(data []byte) bool {
	if v == nil || len(v.known) == 0 {
		return false
	}
	_, _, ok := v.finder().next(data, 0)
	return ok
}

// finder is made anew after anything was learned.
// What is learned between two searches makes the second build it again: learn everything first.
func (v *Values) finder() *finder {
	if v.find == nil {
		v.find = newFinder()
		for value := range v.known {
			for _, e := range encodings(value) {
				v.find.add(e, boundary(value, e))
			}
		}
	}
	return v.find
}

// encodings are the ways in which a file may write a value.
// The value as it is comes first; no encoding is repeated.
func encodings(value string) [][]byte {
	out := [][]byte{[]byte(value)}
	put := func(s string) {
		if len(s) >= shortestValue && !slices.ContainsFunc(out, func(b []byte) bool { return string(b) == s }) {
			out = append(out, []byte(s))
		}
	}
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		text, _ := binary.Append(nil, order, utf16.Encode([]rune(value))) // numbers can always be encoded
		put(string(text))
	}
	plain, _ := json.Marshal(value)
	put(string(plain[1 : len(plain)-1]))
	var loose strings.Builder
	e := json.NewEncoder(&loose)
	e.SetEscapeHTML(false)
	_ = e.Encode(value) // a string can always be encoded
	put(strings.TrimSuffix(loose.String(), "\n")[1 : loose.Len()-2])
	for _, escaped := range []string{url.QueryEscape(value), url.PathEscape(value)} {
		put(escaped)
		put(lowerEscapes(escaped))
	}
	put(htmlText.Replace(value))
	put(strings.ReplaceAll(value, "'", "''"))        // YAML
	put(strings.ReplaceAll(value, "'", `'"'"'`))     // a shell
	put(markdownText.ReplaceAllString(value, `\$0`)) // Markdown
	for _, b := range base64Cores(value) {
		put(b)
	}
	return out
}

var (
	htmlText     = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;")
	markdownText = regexp.MustCompile("[\\\\`*_{}\\[\\]<>|~]")
	escape       = regexp.MustCompile(`%[0-9A-F]{2}`)
)

// lowerEscapes: some writers use lower-case digits in %2f.
func lowerEscapes(s string) string { return escape.ReplaceAllStringFunc(s, strings.ToLower) }

// base64Cores are the characters that a value gives in base64 whatever stands
// before and behind it: three, since four characters hold three bytes. Values
// whose core is so short that it also occurs by chance are left to the others.
func base64Cores(value string) []string {
	const shortest = 8
	var out []string
	for shift := range 3 {
		padded := append(make([]byte, shift), value...)
		whole := len(padded) * 8 / 6 // characters that only bytes of the value make
		from := (shift*8 + 5) / 6
		for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			text := enc.EncodeToString(padded)
			if core := text[from:whole]; len(core) >= shortest && !slices.Contains(out, core) {
				out = append(out, core)
			}
		}
	}
	return out
}

// boundary tells an encoding that must stand alone: a short word or number also
// occurs inside others.
func boundary(value string, encoded []byte) bool {
	return len(value) < 8 && string(encoded) == value || strings.Trim(value, "0123456789.") == ""
}
