package redact

import (
	"math"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Mark replaces whatever was removed as a secret.
const Mark = "[redacted]"

// EnvVar is an environment variable as it is kept: its value, or why (part of)
// the value is missing.
type EnvVar struct {
	Value    string `json:"value" jsonschema:"the value; what was removed from it reads [redacted]"`
	Redacted string `json:"redacted,omitempty" jsonschema:"why the value, or part of it, was removed"`
}

// Words of a variable's name, between underscores, that mean a secret whatever
// the value is.
var secretWords = []string{
	"SECRET", "SECRETS", "TOKEN", "PASSWORD", "PASSWD", "PASSPHRASE", "PASS", "PW",
	"APIKEY", "CREDENTIAL", "CREDENTIALS", "CREDS", "BEARER", "JWT", "DSN", "WEBHOOK", "PAT", "SAS", "NETRC",
}

// Words that mean a secret unless the value is a plain switch.
var maybeSecretWords = []string{"KEY", "AUTH", "COOKIE", "SESSION", "SIGNATURE", "CERT", "LICENSE", "CONNSTR"}

// Ends of words that run together, PGPASS and DBPWD, and words that only look
// so.
var (
	secretEnds = []string{"PASS", "PASSWD", "PWD", "TOKEN"}
	plainEnds  = []string{"BYPASS", "COMPASS", "OVERPASS", "UNDERPASS", "MULTIPASS", "ENCOMPASS", "ASKPASS"}
)

// Parts of a name that mean a secret also where words run together.
var secretParts = []string{"PASSWORD", "SECRET", "APIKEY", "API_KEY", "ACCESS_KEY", "PRIVATE_KEY", "CONNECTION_STRING", "AUTHTOKEN", "ACCESSTOKEN"}

// Names that the lists above would hit and that hold no secret.
var plainNames = []string{
	"PWD", "OLDPWD", "SSH_AUTH_SOCK", "XDG_SESSION_ID", "XDG_SESSION_TYPE", "XDG_SESSION_CLASS", "XDG_SESSION_DESKTOP",
	"DESKTOP_SESSION", "SESSION_MANAGER", "SSL_CERT_FILE", "SSL_CERT_DIR", "NVIDIA_REQUIRE_CUDA",
}

var switches = []string{"", "0", "1", "true", "false", "yes", "no", "on", "off", "none"}

// Words of a name that announce a long hexadecimal value which is no secret.
var hashWords = []string{"SHA", "SHA1", "SHA256", "COMMIT", "HASH", "DIGEST", "REVISION", "REV", "UUID", "GUID", "ID", "VERSION"}

// secretForm is a kind of secret. A text without any of the hints cannot match,
// which saves the search in the many that have none.
type secretForm struct {
	what  string
	hints []string
	re    *regexp.Regexp
}

// secretForms are values that are secrets wherever they stand. They are also
// applied to text and commands when a pack is redacted.
var secretForms = []secretForm{
	{"a private key", []string{"-----BEGIN"}, regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z)`)},
	{"a Hugging Face token", []string{"hf_"}, regexp.MustCompile(`\bhf_[A-Za-z0-9]{20,}`)},
	{"a GitHub token", []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"}, regexp.MustCompile(`\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})`)},
	{"a GitLab token", []string{"gl"}, regexp.MustCompile(`\bgl(?:pat|ptt|dt|rt|cbt)-[A-Za-z0-9_-]{16,}`)},
	{"an API key", []string{"sk-", "rk-", "pk-", "sk_", "rk_", "nvapi-"}, regexp.MustCompile(`\b(?:sk|rk|pk)-[A-Za-z0-9_-]{16,}|\b(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,}|\bnvapi-[A-Za-z0-9_-]{20,}`)},
	{"a Slack token", []string{"xox"}, regexp.MustCompile(`\bxox[abeoprs]-[A-Za-z0-9-]{10,}`)},
	{"an AWS key", []string{"AKIA", "ASIA", "AROA"}, regexp.MustCompile(`\b(?:AKIA|ASIA|AROA)[0-9A-Z]{16}\b`)},
	{"a Google key", []string{"AIza", "ya29."}, regexp.MustCompile(`\bAIza[0-9A-Za-z_-]{35}|\bya29\.[0-9A-Za-z_-]{20,}`)},
	{"a JSON web token", []string{"eyJ"}, regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`)},
	{"a login of a host", []string{"@"}, regexp.MustCompile(`^[^\s/@:'"<>]+:[^\s/@'"<>]+@[^\s/@:]+(?::\d+)?(?:/\S*)?$`)},
	{"an authorization header", []string{"earer", "asic", "EARER", "ASIC"}, regexp.MustCompile(`\b(?:[Bb]earer|[Bb]asic|BEARER|BASIC)[ =:]+[A-Za-z0-9._~+/=-]{12,}`)},
}

var (
	urlUser   = regexp.MustCompile(`\b([A-Za-z][A-Za-z0-9+.-]*://)[^\s/@'"<>]+@`)
	urlQuery  = regexp.MustCompile(`(?i)([?&](?:access_?token|token|api_?key|key|sig|signature|x-amz-signature|x-amz-credential|x-amz-security-token|password|secret|code)=)[^\s&;'"<>]+`)
	uuidValue = regexp.MustCompile(`(?i)^(?:(?:GPU|MIG)-)?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?:$|[,/:])`)
	hexValue  = regexp.MustCompile(`^(?:[0-9a-f]{32,}|[0-9A-F]{32,})$`)
	opaque    = regexp.MustCompile(`^[A-Za-z0-9+/_=-]{24,}$`)
)

// Variable returns a variable with what looks secret in it removed: the whole
// value when the name says so or the value has the form of a key; only the
// credentials when it is a URL.
func Variable(name, value string) EnvVar {
	if why := secretName(name, value); why != "" {
		return EnvVar{Value: Mark, Redacted: why}
	}
	for _, f := range secretForms {
		if f.in(value) {
			return EnvVar{Value: Mark, Redacted: "the value looks like " + f.what}
		}
	}
	if clean := redactURLs(value); clean != value {
		return EnvVar{Value: clean, Redacted: "credentials in a URL"}
	}
	if why := opaqueValue(name, value); why != "" {
		return EnvVar{Value: Mark, Redacted: why}
	}
	return EnvVar{Value: value}
}

// Words at the end of a name that announce a place, and words that stand for a
// file as often as for what is in it.
var (
	placeWords   = []string{"FILE", "PATH", "DIR", "FOLDER", "BUNDLE"}
	fileOrSecret = []string{"CREDENTIAL", "CREDENTIALS", "CREDS", "NETRC", "KEY", "AUTH", "COOKIE", "SESSION", "CERT", "LICENSE", "PWD"}
	filePath     = regexp.MustCompile(`^(?:~|\.{1,2})?/[^\s=]*$`)
)

// Secret tells whether a variable must not reach a report. It is Variable's
// rule for the record, less plain switches and the variables that say where
// something lies: a program needs SSL_CERT_FILE, and its value gives nothing
// away.
func Secret(name, value string) bool {
	if slices.Contains(switches, strings.ToLower(value)) {
		return false
	}
	v := Variable(name, value)
	if v.Redacted == "" {
		return false
	}
	said, byName := strings.CutPrefix(v.Redacted, nameSays)
	if !byName || Secrets(value) != value {
		return true
	}
	words := nameWords(name)
	if last := words[len(words)-1]; slices.Contains(placeWords, last) {
		return false
	}
	return !slices.Contains(fileOrSecret, said) || !filePath.MatchString(value)
}

// Secrets removes what has the form of a secret from free text.
func Secrets(text string) string {
	for _, f := range secretForms {
		if f.hinted(text) {
			text = f.re.ReplaceAllLiteralString(text, Mark)
		}
	}
	return redactURLs(text)
}

func (f secretForm) hinted(s string) bool {
	return slices.ContainsFunc(f.hints, func(h string) bool { return strings.Contains(s, h) })
}

func (f secretForm) in(s string) bool { return f.hinted(s) && f.re.MatchString(s) }

func redactURLs(s string) string {
	if strings.Contains(s, "://") {
		s = urlUser.ReplaceAllString(s, "${1}"+Mark+"@")
	}
	if strings.Contains(s, "=") && strings.ContainsAny(s, "?&") {
		s = urlQuery.ReplaceAllString(s, "${1}"+Mark)
	}
	return s
}

const nameSays = "the name says "

func nameWords(name string) []string {
	return strings.FieldsFunc(strings.ToUpper(name), func(r rune) bool { return r == '_' || r == '-' || r == '.' })
}

func secretName(name, value string) string {
	upper := strings.ToUpper(name)
	if slices.Contains(plainNames, upper) || value == "" {
		return ""
	}
	for _, w := range nameWords(name) {
		if slices.Contains(secretWords, w) {
			return nameSays + w
		}
		if slices.Contains(maybeSecretWords, w) && !slices.Contains(switches, strings.ToLower(value)) {
			return nameSays + w
		}
		for _, end := range secretEnds {
			if strings.HasSuffix(w, end) && !slices.Contains(plainEnds, w) {
				return nameSays + end
			}
		}
	}
	for _, p := range secretParts {
		if strings.Contains(upper, p) {
			return nameSays + p
		}
	}
	return ""
}

// opaqueValue recognises keys without a known form: long, of one word, and
// too random to be a name. A value with a dot or a leading slash is a file or
// host name.
func opaqueValue(name, value string) string {
	words := strings.Split(strings.ToUpper(name), "_")
	if slices.ContainsFunc(words, func(w string) bool { return slices.Contains(hashWords, w) }) {
		return ""
	}
	if uuidValue.MatchString(value) { // CUDA_VISIBLE_DEVICES names GPUs so
		return ""
	}
	if hexValue.MatchString(value) {
		return "the value is a long hexadecimal number"
	}
	if !opaque.MatchString(value) || strings.HasPrefix(value, "/") || strings.Count(value, "/") > 3 {
		return ""
	}
	if strings.ContainsAny(value, "0123456789") && strings.ToLower(value) != value && strings.ToUpper(value) != value && entropy(value) >= 4 {
		return "the value looks random, as keys do"
	}
	return ""
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

// Remote removes credentials from a git remote. The user of an scp-like
// address (git@host:path) is part of the address and stays.
func Remote(remote string) string {
	if u, err := url.Parse(remote); err == nil && u.User != nil {
		if _, has := u.User.Password(); !has && u.Scheme == "ssh" {
			return remote
		}
	}
	return Secrets(remote)
}
