package redact

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// LearnArgs takes the secrets of a command line.
func (v *Values) LearnArgs(args []string) {
	for _, s := range argSecrets(args) {
		value := args[s.arg][s.from:s.to]
		v.learn(value)
		if s.login {
			v.learnLogin(value)
		}
	}
}

// Args gives a command line without its secrets, short ones too. An argument may
// be a whole line for a shell.
// args is not changed; the result has the same number of arguments.
func (v *Values) Args(args []string) []string {
	out := slices.Clone(args)
	for _, s := range slices.Backward(argSecrets(args)) { // later ones first: offsets hold
		out[s.arg] = out[s.arg][:s.from] + Mark + out[s.arg][s.to:]
	}
	for i := range out {
		out[i] = secrets(v.Text(out[i]))
	}
	return out
}

// argSecret is a part of an argument that is secret.
// from and to are byte offsets in the argument with the index arg.
type argSecret struct {
	arg, from, to int
	login         bool // user:password
}

// word is a part of an argument: the whole, or a word of a line for a shell.
// from is a byte offset in the argument.
type word struct {
	text      string
	arg, from int
}

// shellWord takes quotes as a shell does, but knows no escapes.
var shellWord = regexp.MustCompile(`[^\s"';|&()]+|"[^"]*"|'[^']*'`)

// Whole arguments come before the words in them; from is a byte offset.
func words(args []string) []word {
	var out []word
	for i, arg := range args {
		out = append(out, word{arg, i, 0})
		if !strings.ContainsAny(arg, " \t\n") {
			continue
		}
		for _, at := range shellWord.FindAllStringIndex(arg, -1) {
			text := arg[at[0]:at[1]]
			from := at[0]
			if q := strings.Trim(text, `"'`); len(q) == len(text)-2 {
				text, from = q, from+1
			}
			out = append(out, word{text, i, from})
		}
	}
	return out
}

// Options whose value is a secret by habit, and what such a value never is.
var (
	passwordFlags = []string{"-p", "-pw", "-pass"}
	loginFlags    = []string{"-u", "--user", "--userpwd", "--proxy-user"}
	plainValue    = regexp.MustCompile(`^(?:[\d.,:/-]+|[./~].*|[A-Za-z0-9_.-]+\.(?:py|sh|json|ya?ml|txt|toml))$`)
	header        = regexp.MustCompile(`(?i)\b(?:authorization|x-api-key|x-auth-token|proxy-authorization)\s*[:=]\s*(?:(?:bearer|basic|token|apikey)\s+)?(\S+)|\b(?:bearer|basic)[ =:]+(\S+)`)
	namedText     = regexp.MustCompile(`(?i)(?:^|[\s;,{?&"'])["']?([A-Za-z0-9_.-]*(?:passwd|password|passphrase|pwd|secret|token|api_?-?key|access_?-?key|private_?-?key|credentials?))["']?\s*[:=]\s*["']?([^\s;,"'}&]+)`)
)

// argSecrets finds the secrets of a command line, in order and without overlap.
func argSecrets(args []string) []argSecret {
	var found []argSecret
	all := words(args)
	for i, w := range all {
		found = append(found, wordSecrets(w)...)
		if next, ok := value(all, i); ok {
			found = append(found, flagSecret(w.text, next)...)
		}
	}
	slices.SortFunc(found, func(a, b argSecret) int { return cmp.Or(a.arg-b.arg, a.from-b.from, b.to-a.to) })
	var out []argSecret
	for _, s := range found {
		if last := len(out) - 1; last >= 0 && out[last].arg == s.arg && s.from < out[last].to {
			out[last].to = max(out[last].to, s.to)
			continue
		}
		if s.to > s.from {
			out = append(out, s)
		}
	}
	return out
}

// value is the word that an option at i takes: the next of the same level.
// false if the next word is an option itself.
func value(all []word, i int) (word, bool) {
	if i+1 >= len(all) {
		return word{}, false
	}
	next := all[i+1]
	if all[i].from == 0 && strings.ContainsAny(all[i].text, " \t\n") { // a line: its words follow
		return word{}, false
	}
	return next, !strings.HasPrefix(next.text, "-") || next.text == "-"
}

// flagSecret is the value of an option that announces a secret.
func flagSecret(flag string, next word) []argSecret {
	whole := argSecret{arg: next.arg, from: next.from, to: next.from + len(next.text)}
	switch name, isFlag := strings.CutPrefix(flag, "-"); {
	case slices.Contains(loginFlags, flag):
		if user, _, ok := strings.Cut(next.text, ":"); ok {
			whole.from += len(user) + 1
			return []argSecret{whole}
		}
	case slices.Contains(passwordFlags, flag):
		if !plainValue.MatchString(next.text) {
			return []argSecret{whole}
		}
	case isFlag && secretFlag(strings.TrimLeft(name, "-"), next.text):
		return []argSecret{whole}
	case strings.EqualFold(flag, "password") && next.text != "": // netrc
		return []argSecret{whole}
	}
	return nil
}

// secretFlag is Secret for an option: what a name only hints at must look random.
func secretFlag(name, value string) bool {
	if name == "" || strings.Contains(name, "=") || secretName(name, value) == "" || !Secret(name, value) {
		return false
	}
	return !weakName(name) || random(value)
}

// wordSecrets are the secrets within one word: NAME=value, --name=value, headers,
// credentials of URLs, JSON, and what has the form of a secret.
// Parts may overlap; argSecrets joins them.
func wordSecrets(w word) []argSecret {
	var out []argSecret
	add := func(from, to int) {
		if from >= 0 && to > from {
			out = append(out, argSecret{arg: w.arg, from: w.from + from, to: w.from + to})
		}
	}
	if name, val, ok := strings.Cut(w.text, "="); ok && !strings.ContainsAny(name, " \t\n\"'") {
		key := strings.TrimLeft(name, "-+~")
		key = key[strings.LastIndexByte(key, '.')+1:]
		if secretFlag(key, val) {
			add(len(name)+1, len(w.text))
		}
	}
	for _, m := range header.FindAllStringSubmatchIndex(w.text, -1) {
		add(m[2], m[3])
		add(m[4], m[5])
	}
	for _, m := range urlLogin.FindAllStringSubmatchIndex(w.text, -1) {
		from := m[2]
		if i := strings.IndexByte(w.text[m[2]:m[3]], ':'); i >= 0 {
			from += i + 1
		}
		add(from, m[3])
	}
	for _, m := range urlQuery.FindAllStringSubmatchIndex(w.text, -1) {
		add(m[3], m[1])
	}
	for _, m := range namedText.FindAllStringSubmatchIndex(w.text, -1) {
		if secretFlag(w.text[m[2]:m[3]], w.text[m[4]:m[5]]) {
			add(m[4], m[5])
		}
	}
	for _, f := range secretForms {
		if f.hinted(w.text) {
			for _, m := range f.re.FindAllStringSubmatchIndex(w.text, -1) {
				add(m[2*f.group], m[2*f.group+1])
			}
		}
	}
	if from := opaqueArg(w.text); from >= 0 {
		add(from, len(w.text))
	}
	return out
}

var argPiece = regexp.MustCompile(`[A-Za-z0-9+/=]{20,}`)

// opaqueArg is where a value begins that looks random, as keys do, or -1. Names of
// models and files are long and mixed as well, but made of short pieces.
func opaqueArg(arg string) int {
	from := 0
	name, val, named := strings.Cut(arg, "=")
	if named && val != "" && !strings.ContainsAny(name, " /") {
		from = len(name) + 1
	} else if strings.HasPrefix(arg, "-") {
		return -1
	} else {
		name, val = "", arg
	}
	if strings.HasPrefix(val, "/") || strings.HasPrefix(val, ".") || opaqueValue(strings.ReplaceAll(strings.TrimLeft(name, "-+~"), "-", "_"), val) == "" {
		return -1
	}
	if hexValue.MatchString(val) {
		return from
	}
	for _, piece := range argPiece.FindAllString(val, -1) {
		if strings.ContainsAny(piece, "0123456789") && strings.ToLower(piece) != piece && strings.ToUpper(piece) != piece && entropy(piece) >= 3.8 {
			return from
		}
	}
	return -1
}
