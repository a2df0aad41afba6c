package redact

import (
	"strings"
	"testing"
)

func TestRedactVar(t *testing.T) {
	jwt := "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
	for _, c := range []struct{ name, value, want string }{
		// By name.
		{"HF_TOKEN", "x", Mark},
		{"DB_PASSWORD", "123456", Mark},
		{"db_password", "1", Mark},
		{"AWS_SECRET_ACCESS_KEY", "abc", Mark},
		{"OPENAI_API_KEY", "abc", Mark},
		{"MyApiKey", "abc", Mark},
		{"GOOGLE_APPLICATION_CREDENTIALS", "/home/a/key.json", Mark},
		{"HTTP_AUTH", "ann:sesame", Mark},
		{"SENTRY_DSN", "https://1@x.example/2", Mark},
		{"PGPASSWORD", "abc", Mark},
		{"PGPASS", "abc", Mark},
		{"MYSQL_PWD", "abc", Mark},
		{"HFTOKEN", "abc", Mark},
		{"PROXY_BYPASS", "localhost", ""},
		// By value.
		{"X", "hf_abcdefghijklmnopqrstuvwx", Mark},
		{"X", "ghp_abcdefghijklmnopqrstuvwxyz0123456789", Mark},
		{"X", "glpat-abcdefghij0123456789", Mark},
		{"X", "sk-proj-abcdefghijklmnop1234", Mark},
		{"X", "nvapi-abcdefghijklmnopqrstuvwxyz", Mark},
		{"X", "AKIAIOSFODNN7EXAMPLE", Mark},
		{"X", jwt, Mark},
		{"X", "Bearer abcdefghijklmnop", Mark},
		{"X", "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n", Mark},
		{"X", "0123456789abcdef0123456789abcdef01234567", Mark},
		{"X", "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY", Mark},
		{"PROXY", "http://ann:sesame@proxy.example:3128", "http://[redacted]@proxy.example:3128"},
		{"URL", "https://x.example/a?b=1&token=abc&c=2", "https://x.example/a?b=1&token=[redacted]&c=2"},
		{"LINK", "https://x.example/?X-Amz-Signature=abc", "https://x.example/?X-Amz-Signature=[redacted]"},
		// No secrets.
		{"PATH", "/usr/local/bin:/usr/bin", ""},
		{"PWD", "/home/ann", ""},
		{"SSH_AUTH_SOCK", "/tmp/ssh-1/agent.1", ""},
		{"TOKENIZERS_PARALLELISM", "false", ""},
		{"MAX_NEW_TOKENS", "128", ""},
		{"NCCL_SESSION", "1", ""},
		{"USE_AUTH", "true", ""},
		{"CI_COMMIT_SHA", "0123456789abcdef0123456789abcdef01234567", ""},
		{"PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True", ""},
		{"CUDA_HOME", "/usr/local/cuda-13.0", ""},
		{"LS_COLORS", "rs=0:di=01;34:ln=01;36", ""},
		{"CUDA_VISIBLE_DEVICES", "GPU-dd7faccd-40f5-9cdb-2b78-1d6448d8a88a", ""},
		{"HF_TOKEN", "", ""},
		{"MODEL", "meta-llama/Llama-3.1-8B-Instruct", ""},
		{"KEYBOARD", "us", ""},
	} {
		got := Variable(c.name, c.value)
		want := c.want
		if want == "" {
			want = c.value
		}
		if got.Value != want || (got.Redacted != "") != (c.want != "") {
			t.Errorf("Variable(%q, %q) = %+v, want %q", c.name, c.value, got, want)
		}
	}
}

func TestSecret(t *testing.T) {
	for _, c := range []struct {
		name, value string
		want        bool
	}{
		{"OPENAI_KEY", "abc", true},
		{"DATABASE_URL", "postgres://u:p@db/x", true},
		{"GH_PAT", "abc", true},
		{"WANDB_APIKEY", "abc", true},
		{"DBPASSWORD", "abc", true},
		{"PGPASS", "abc", true},
		{"HTTP_PROXY", "http://u:p@proxy:3128", true},
		{"SLACK_WEBHOOK", "https://hooks.example/T0/B0/x", true},
		{"SESSION_COOKIE", "abc", true},
		{"DB_PASSWORD", "/looks/like/a/path", true},
		{"TOKEN_FILE", "hf_abcdefghijklmnopqrstuvwx", true}, // whatever the name says
		{"CUSTOM", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmN", true},

		{"PIP_CERT", "/etc/ssl/certs/ca-certificates.crt", false},
		{"NIX_SSL_CERT_FILE", "/etc/ssl/certs/ca-certificates.crt", false},
		{"SSL_CERT_FILE", "certs.pem", false},
		{"GOOGLE_APPLICATION_CREDENTIALS", "/home/a/key.json", false},
		{"AWS_WEB_IDENTITY_TOKEN_FILE", "/var/run/secrets/token", false},
		{"LM_LICENSE_FILE", "27000@licenses", false},
		{"NETRC", "~/.netrc", false},
		{"INIT_PWD", "/home/ann", false},
		{"PWD", "/home/ann", false},
		{"HF_TOKEN", "", false},
		{"HTTP_PROXY", "http://proxy:3128", false},
		{"TOKENIZERS_PARALLELISM", "false", false},
	} {
		if got := Secret(c.name, c.value); got != c.want {
			t.Errorf("Secret(%q, %q) = %v", c.name, c.value, got)
		}
	}
}

func TestRedactRemote(t *testing.T) {
	for in, want := range map[string]string{
		"https://ann:sesame@git.example/x.git": "https://[redacted]@git.example/x.git",
		"https://ghp_0123456789@git.example/x": "https://[redacted]@git.example/x",
		"git@git.example:x.git":                "git@git.example:x.git",
		"ssh://git@git.example/x.git":          "ssh://git@git.example/x.git",
		"":                                     "",
	} {
		if got := Remote(in); got != want {
			t.Errorf("Remote(%q) = %q, want %q", in, got, want)
		}
	}
}

func testRedactor() *Redactor {
	r := New()
	clear(r.hosts)
	clear(r.users)
	r.LearnHost("node17.cluster.example")
	r.LearnHost("vm")
	r.LearnUser("mallory")
	r.LearnUser("root")
	r.LearnPath("/gpfs9/groups")
	r.LearnVar("DB_PASSWORD", "correct horse")
	return r
}

func TestRedactText(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"open /home/mallory/x.py, then /home/mallory/x.py and /tmp/y", "open /redacted/1.py, then /redacted/1.py and /redacted/2"},
		{"-I/usr/include -L/opt/cuda/lib64", "-I/redacted/1 -L/redacted/2"},
		{"PATH=/usr/bin:/usr/local/bin", "PATH=/redacted/1:/redacted/2"},
		{`"file:///home/eve/a.html"`, `"file:///redacted/1.html"`},
		{`C:\Users\eve\a.txt`, `/redacted/1.txt`},
		{"~/secret/plan.txt", "/redacted/1.txt"},
		{"/gpfs9/a/b", "/redacted/1"},
		{"\x1b[32m/home/eve/x\x1b[0m", "\x1b[32m/redacted/1\x1b[0m"},
		{"mallory@node17.cluster.example", "redacted-user@redacted-host"},
		{"mallory mallory mallory", "redacted-user redacted-user redacted-user"},
		{"host node17: up", "host redacted-host: up"},
		{"password is correct horse!", "password is [redacted]!"},
		{"vm", "redacted-host"},
		{"the vm and the root cause", "the vm and the root cause"},
		{"curl https://a:b@x.example/", "curl https://[redacted]@x.example/"},
		// What must stay as it is.
		{"/model/layers.0/self_attn/MatMul", "/model/layers.0/self_attn/MatMul"},
		{"void k<(int)4>(float const*, at::Tensor&)", "void k<(int)4>(float const*, at::Tensor&)"},
		{"12 GB/s, 3/4, and/or, operator/(int)", "12 GB/s, 3/4, and/or, operator/(int)"},
		{"nsys/run.sqlite", "nsys/run.sqlite"},
		{"malloryesque", "malloryesque"},
		{"https://docs.example.com/usr/guide", "https://docs.example.com/usr/guide"},
	} {
		r := testRedactor()
		got := r.Text(c.in)
		if got != c.want {
			t.Errorf("text(%q) = %q, want %q", c.in, got, c.want)
		}
		if again := r.Text(got); again != got {
			t.Errorf("text is not stable: %q becomes %q", got, again)
		}
		same := testRedactor().sameLength(c.in)
		if len(same) != len(c.in) {
			t.Errorf("sameLength(%q) = %q has another length", c.in, same)
		}
		if (same == c.in) != (got == c.in) {
			t.Errorf("sameLength(%q) = %q, text gives %q", c.in, same, got)
		}
	}
}

func FuzzSameLength(f *testing.F) {
	for _, s := range []string{"/home/a/b", "mallory node17", "http://a:b@c/?token=x", "hf_abcdefghijklmnopqrstuvwx", "C:\\x", "~a/b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r := testRedactor()
		if got := r.sameLength(s); len(got) != len(s) {
			t.Errorf("%d bytes became %d: %q, %q", len(s), len(got), s, got)
		}
		if got := r.Text(s); strings.Contains(got, " mallory ") {
			t.Errorf("a name is left in %q", got)
		}
	})
}

func TestRedactJSON(t *testing.T) {
	in := `{"a\u002f":"\/home\/mallory\/x","n":1.50,"e":1e400,"u":"\u00e9<>","s":"say \"mallory\""}`
	got, err := testRedactor().JSON([]byte(in))
	must(t, err)
	want := `{"a\u002f":"/redacted/1","n":1.50,"e":1e400,"u":"\u00e9<>","s":"say \"redacted-user\""}`
	if string(got) != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	r := testRedactor()
	r.LearnUser("root")
	got, err = r.JSON([]byte(`{"root" : null, "user":"root", "mallory":1}`))
	must(t, err)
	if want := `{"root" : null, "user":"redacted-user", "redacted-user":1}`; string(got) != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	for _, bad := range []string{`{"a`, `"\x"`, `"\`} {
		if _, err := testRedactor().JSON([]byte(bad)); err == nil {
			t.Errorf("%q was taken for JSON", bad)
		}
	}
}
