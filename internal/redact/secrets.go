package redact

import (
	"encoding/base64"
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

// Parts of a name that mean a secret even if words run together.
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
// Hints are compared byte by byte, with their case.
type secretForm struct {
	what  string
	hints []string
	re    *regexp.Regexp
	group int // of the expression that is the secret; 0 is all of it
}

// secretForms are values that are secrets wherever they stand. They are also
// applied to text and commands when a pack is redacted.
var secretForms = []secretForm{
	{"a private key", []string{"-----BEGIN"}, regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z)`), 0},
	{"a Hugging Face token", []string{"hf_"}, regexp.MustCompile(`\bhf_[A-Za-z0-9]{20,}`), 0},
	{"a GitHub token", []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"}, regexp.MustCompile(`\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})`), 0},
	{"a GitLab token", []string{"gl"}, regexp.MustCompile(`\bgl(?:pat|ptt|dt|rt|cbt)-[A-Za-z0-9_-]{16,}`), 0},
	{"an API key", []string{"sk-", "rk-", "pk-", "sk_", "rk_", "nvapi-"}, regexp.MustCompile(`\b(?:sk|rk|pk)-[A-Za-z0-9_-]{16,}|\b(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,}|\bnvapi-[A-Za-z0-9_-]{20,}`), 0},
	{"a Slack token", []string{"xox"}, regexp.MustCompile(`\bxox[abeoprs]-[A-Za-z0-9-]{10,}`), 0},
	{"an AWS key", []string{"AKIA", "ASIA", "AROA"}, regexp.MustCompile(`\b(?:AKIA|ASIA|AROA)[0-9A-Z]{16}\b`), 0},
	{"a Google key", []string{"AIza", "ya29."}, regexp.MustCompile(`\bAIza[0-9A-Za-z_-]{35}|\bya29\.[0-9A-Za-z_-]{20,}`), 0},
	{"a JSON web token", []string{"eyJ"}, regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`), 0},
	{"a login of a host", []string{"@"}, regexp.MustCompile(`^[^\s/@:'"<>]+:[^\s/@'"<>]+@[^\s/@:]+(?::\d+)?(?:/\S*)?$`), 0},
	{"an authorization header", []string{"earer", "asic", "EARER", "ASIC"}, regexp.MustCompile(`\b(?:[Bb]earer|[Bb]asic|BEARER|BASIC)[ =:]+[A-Za-z0-9._~+/=-]{12,}`), 0},
	{"a SendGrid key", []string{"SG."}, regexp.MustCompile(`\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}`), 0},
	{"a token of a Telegram bot", []string{":"}, regexp.MustCompile(`\b(?:bot)?[0-9]{8,10}:[A-Za-z0-9_-]{35}\b`), 0},
	{"a Discord token", []string{"."}, regexp.MustCompile(`\b(?:[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}|mfa\.[A-Za-z0-9_-]{60,})`), 0},
	{"a Discord or Slack webhook", []string{"/webhooks/", "hooks.slack.com/"}, regexp.MustCompile(`(?:discord(?:app)?\.com/api/webhooks/[0-9]+/|hooks\.slack\.com/(?:services|workflows)/)([A-Za-z0-9_/-]{16,})`), 1},
	{"a Vault token", []string{"hvs.", "hvb.", "hvr."}, regexp.MustCompile(`\bhv[sbr]\.[A-Za-z0-9_-]{20,}`), 0},
	{"an age key", []string{"AGE-SECRET-KEY-"}, regexp.MustCompile(`\bAGE-SECRET-KEY-1[0-9A-Za-z]{20,}`), 0},
	{"a password in JSON", []string{"\"pass", "\"pwd", "\"secret", "\"token", "\"api", "\"client_secret", "\"access", "\"private", "\"refresh"}, regexp.MustCompile(`(?i)"(?:password|passwd|passphrase|pwd|secret|client_secret|token|access_token|refresh_token|api_?key|private_key|secret_key|access_key)"\s*:\s*"((?:[^"\\]|\\.)+)"`), 1},
	{"a password of a connection string", []string{"wd=", "WD=", "assword=", "ASSWORD=", "ccountKey=", "ccessKey=", "ccessSignature="}, regexp.MustCompile(`(?i)(?:^|[;\s"'{])(?:pwd|password|accountkey|sharedaccesskey|sharedaccesssignature)\s*=\s*(\{[^}]+\}|[^;\s"']+)`), 1},
	{"a token of a kubeconfig", []string{"token: ", "-data: "}, regexp.MustCompile(`(?m)^\s*(?:token|client-key-data):\s+["']?([A-Za-z0-9._~+/=-]{16,})`), 1},
	{"a password of a netrc", []string{"password "}, regexp.MustCompile(`\b(?:machine\s+\S+|login\s+\S+)\s+(?:account\s+\S+\s+)?password\s+(\S+)`), 1},
	{"an npm or PyPI token", []string{"npm_", "pypi-"}, regexp.MustCompile(`\bnpm_[A-Za-z0-9]{30,}|\bpypi-[A-Za-z0-9_-]{32,}`), 0},
	{"a token of a cloud or registry", []string{"dop_v1_", "shpat_", "dapi", "lin_api_", "figd_", "dckr_pat_", "glsa_", "sq0", "EAAC", "r8_", "gsk_", "xai-", "wandb_v1_"}, regexp.MustCompile(`\b(?:dop_v1_[a-f0-9]{40,}|shpat_[a-fA-F0-9]{32}|dapi[a-f0-9]{32}|lin_api_[A-Za-z0-9]{32,}|figd_[A-Za-z0-9_-]{30,}|dckr_pat_[A-Za-z0-9_-]{20,}|glsa_[A-Za-z0-9_]{32,}|sq0[a-z]{3}-[A-Za-z0-9_-]{22,}|r8_[A-Za-z0-9]{30,}|gsk_[A-Za-z0-9]{30,}|xai-[A-Za-z0-9]{30,}|wandb_v1_[A-Za-z0-9_]{30,})`), 0},
}

var (
	urlUser   = regexp.MustCompile(`\b([A-Za-z][A-Za-z0-9+.-]*://)[^\s/@'"<>]+@`)
	urlQuery  = regexp.MustCompile(`(?i)([?&](?:access_?token|token|api_?key|key|sig|signature|x-amz-signature|x-amz-credential|x-amz-security-token|password|secret|code)=)[^\s&;'"<>]+`)
	uuidValue = regexp.MustCompile(`(?i)^(?:(?:GPU|MIG)-)?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?:$|[,/:])`)
	hexValue  = regexp.MustCompile(`^(?:[0-9a-f]{32,}|[0-9A-F]{32,})$`)
	login     = regexp.MustCompile(`^[A-Za-z0-9_.@+-]{2,}:[\x21-\x7e]{3,}$`)
	opaque    = regexp.MustCompile(`^[A-Za-z0-9+/_=-]{24,}$`)
)

// Variable returns a variable with what looks secret in it removed: the whole
// value when the name says so or the value has the form of a key; only the
// credentials when it is a URL.
func Variable(name, value string) EnvVar {
	if word := secretName(name, value); word != "" {
		return EnvVar{Value: Mark, Redacted: "the name says " + word}
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
	if Variable(name, value).Redacted == "" {
		return false
	}
	word := secretName(name, value)
	if word == "" || secrets(value) != value {
		return true
	}
	words := nameWords(name)
	if last := words[len(words)-1]; slices.Contains(placeWords, last) {
		return false
	}
	return !slices.Contains(fileOrSecret, word) || !filePath.MatchString(value)
}

// secrets removes what has the form of a secret from free text.
func secrets(text string) string {
	for _, f := range secretForms {
		if f.hinted(text) {
			text = f.replace(text, func(string) string { return Mark })
		}
	}
	return redactURLs(text)
}

// hinted is a cheap test before the regular expression.
func (f secretForm) hinted(s string) bool {
	return slices.ContainsFunc(f.hints, func(h string) bool { return strings.Contains(s, h) })
}

// replace puts word(secret) in the place of each secret of the form.
func (f secretForm) replace(s string, word func(string) string) string {
	var b strings.Builder
	last := 0
	for _, m := range f.re.FindAllStringSubmatchIndex(s, -1) {
		from, to := m[2*f.group], m[2*f.group+1]
		if strings.Contains(s[from:to], Mark) {
			continue
		}
		b.WriteString(s[last:from] + word(s[from:to]))
		last = to
	}
	return b.String() + s[last:]
}

// in tells whether the text holds a secret of the form.
func (f secretForm) in(s string) bool { return f.hinted(s) && f.re.MatchString(s) }

// redactURLs takes users and passwords, and secret parameters, out of URLs.
func redactURLs(s string) string {
	if strings.Contains(s, "://") {
		s = urlUser.ReplaceAllString(s, "${1}"+Mark+"@")
	}
	if strings.Contains(s, "=") && strings.ContainsAny(s, "?&") {
		s = urlQuery.ReplaceAllString(s, "${1}"+Mark)
	}
	return s
}

// nameWords are in upper case.
func nameWords(name string) []string {
	return strings.FieldsFunc(strings.ToUpper(name), func(r rune) bool { return r == '_' || r == '-' || r == '.' })
}

// secretName is the word of a name that announces a secret; "" if none does, or
// if there is nothing to hide.
func secretName(name, value string) string {
	upper := strings.ToUpper(name)
	if slices.Contains(plainNames, upper) || value == "" {
		return ""
	}
	for _, w := range nameWords(name) {
		if slices.Contains(secretWords, w) {
			return w
		}
		if slices.Contains(maybeSecretWords, w) && !slices.Contains(switches, strings.ToLower(value)) {
			return w
		}
		for _, end := range secretEnds {
			if strings.HasSuffix(w, end) && !slices.Contains(plainEnds, w) {
				return end
			}
		}
	}
	for _, p := range secretParts {
		if strings.Contains(upper, p) {
			return p
		}
	}
	return ""
}

// opaqueValue recognizes keys without a known form: long, of one word, and
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
	if encodedLogin(value) {
		return "the value is a login in base64"
	}
	if !opaque.MatchString(value) || strings.HasPrefix(value, "/") || strings.Count(value, "/") > 3 {
		return ""
	}
	if strings.ContainsAny(value, "0123456789") && strings.ToLower(value) != value && strings.ToUpper(value) != value && entropy(value) >= 4 {
		return "the value looks random, as keys do"
	}
	return ""
}

// encodedLogin tells base64 of user:password, as HTTP and registries take it.
func encodedLogin(value string) bool {
	if len(value) < 8 || len(value) > 512 {
		return false
	}
	plain, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(value, "="))
	return err == nil && login.Match(plain)
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
	return secrets(remote)
}
