package tool

import (
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Words of a variable's name, between underscores, that mean a secret.
var secretWords = []string{
	"SECRET", "SECRETS", "TOKEN", "PASSWORD", "PASSWD", "PASSPHRASE", "PASS", "PW", "KEY", "AUTH", "APIKEY",
	"CREDENTIAL", "CREDENTIALS", "CREDS", "BEARER", "JWT", "DSN", "WEBHOOK", "PAT", "SAS", "NETRC",
	"COOKIE", "SESSION", "SIGNATURE", "CERT", "LICENSE", "CONNSTR",
}

// Parts of a name that mean a secret also where words run together.
var secretParts = []string{
	"PASSWORD", "PASSWD", "PASSPHRASE", "SECRET", "APIKEY", "API_KEY", "ACCESS_KEY", "PRIVATE_KEY",
	"CONNECTION_STRING", "AUTHTOKEN", "ACCESSTOKEN",
}

// Ends of a word that mean a secret: PGPASS, HFTOKEN.
var (
	secretEnd = regexp.MustCompile(`(?:PASS|TOKEN)(?:_|$)`)
	plainEnd  = regexp.MustCompile(`(?:BYPASS|COMPASS|ASKPASS)(?:_|$)`)
)

// Names that the lists hit and that hold no secret.
var plainNames = []string{
	"PWD", "OLDPWD", "SSH_AUTH_SOCK", "XDG_SESSION_ID", "XDG_SESSION_TYPE", "XDG_SESSION_CLASS", "XDG_SESSION_DESKTOP",
	"DESKTOP_SESSION", "SESSION_MANAGER", "GDMSESSION", "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES",
}

var plainValues = []string{"", "0", "1", "true", "false", "yes", "no", "on", "off", "none", "auto", "default"}

// secretForms are values that are secrets whatever the name is.
var secretForms = []*regexp.Regexp{
	regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----`),
	regexp.MustCompile(`\bhf_[A-Za-z0-9]{20,}`),
	regexp.MustCompile(`\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})`),
	regexp.MustCompile(`\bgl(?:pat|ptt|dt|rt|cbt)-[A-Za-z0-9_-]{16,}`),
	regexp.MustCompile(`\b(?:sk|rk|pk)-[A-Za-z0-9_-]{16,}|\b(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,}|\bnvapi-[A-Za-z0-9_-]{20,}`),
	regexp.MustCompile(`\bxox[abeoprs]-[A-Za-z0-9-]{10,}`),
	regexp.MustCompile(`\b(?:AKIA|ASIA|AROA)[0-9A-Z]{16}\b`),
	regexp.MustCompile(`\bAIza[0-9A-Za-z_-]{35}|\bya29\.[0-9A-Za-z_-]{20,}`),
	regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`),
	regexp.MustCompile(`\b(?:[Bb]earer|[Bb]asic|BEARER|BASIC)[ =:]+[A-Za-z0-9._~+/=-]{12,}`),
	regexp.MustCompile(`://[^\s/@:'"<>]*:[^\s/@'"<>]+@`), // a password in a URL
	regexp.MustCompile(`^[^\s/@:'"<>]+:[^\s/@'"<>]+@[^\s/@:]+(?::\d+)?(?:/\S*)?$`),
	regexp.MustCompile(`(?i)[?&](?:access_?token|token|api_?key|key|sig|signature|x-amz-signature|x-amz-credential|x-amz-security-token|password|secret)=[^\s&;'"<>]+`),
}

var (
	uuidValue = regexp.MustCompile(`(?i)^(?:(?:GPU|MIG)-)?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?:$|[,/:])`)
	hexValue  = regexp.MustCompile(`^(?:[0-9a-f]{32,}|[0-9A-F]{32,})$`)
	opaque    = regexp.MustCompile(`^[A-Za-z0-9+/_=-]{24,}$`)
)

// Words of a name that announce a long value which is no secret.
var hashWords = []string{"SHA", "SHA1", "SHA256", "COMMIT", "HASH", "DIGEST", "REVISION", "REV", "UUID", "GUID", "ID", "VERSION"}

// SecretVar reports whether an environment variable looks like a secret, by its
// name or by its value. A program may need a variable that is taken from it, so
// plain switches and paths of files are none, whatever the name says: where a
// key lies is not the key.
func SecretVar(name, value string) bool {
	if slices.Contains(plainValues, strings.ToLower(value)) {
		return false
	}
	if slices.ContainsFunc(secretForms, func(re *regexp.Regexp) bool { return re.MatchString(value) }) {
		return !strings.Contains(value, "@sha256:")
	}
	upper := strings.ToUpper(name)
	if slices.Contains(plainNames, upper) || isPath(upper, value) {
		return false
	}
	return secretName(upper) || randomValue(upper, value)
}

func nameWords(upper string) []string {
	return strings.FieldsFunc(upper, func(r rune) bool { return r == '_' || r == '-' || r == '.' })
}

func secretName(upper string) bool {
	in := func(part string) bool { return strings.Contains(upper, part) }
	word := func(w string) bool { return slices.Contains(secretWords, w) }
	return slices.ContainsFunc(nameWords(upper), word) || slices.ContainsFunc(secretParts, in) ||
		(secretEnd.MatchString(upper) && !plainEnd.MatchString(upper))
}

// isPath reports whether a value is an existing file or folder, a list of such,
// or an absolute path under a name that announces one.
func isPath(upper, value string) bool {
	if !strings.Contains(value, "/") {
		return false
	}
	words := nameWords(upper)
	last := words[max(len(words)-1, 0):]
	if strings.HasPrefix(value, "/") && len(last) == 1 && slices.Contains([]string{"FILE", "DIR", "PATH", "HOME", "SOCK", "ROOT", "ASKPASS"}, last[0]) {
		return true
	}
	for _, p := range filepath.SplitList(value) {
		if _, err := os.Stat(p); p != "" && err != nil {
			return false
		}
	}
	return true
}

// randomValue recognises keys without a known form: long, of one word, and too
// random to be a name.
func randomValue(upper, value string) bool {
	if slices.ContainsFunc(nameWords(upper), func(w string) bool { return slices.Contains(hashWords, w) }) || uuidValue.MatchString(value) {
		return false
	}
	if hexValue.MatchString(value) {
		return true
	}
	return opaque.MatchString(value) && !strings.HasPrefix(value, "/") && strings.Count(value, "/") <= 3 &&
		strings.ContainsAny(value, "0123456789") && strings.ToLower(value) != value && strings.ToUpper(value) != value && entropy(value) >= 4
}

// entropy is Shannon's, in bits a character.
func entropy(s string) float64 {
	var n [256]int
	for i := range len(s) {
		n[s[i]]++
	}
	var h float64
	for _, c := range n {
		if c > 0 {
			p := float64(c) / float64(len(s))
			h -= p * math.Log2(p)
		}
	}
	return h
}
