package redact

import (
	"os"
	"path/filepath"
	"testing"
)

func TestSecretVariables(t *testing.T) {
	dir := t.TempDir()
	cert := filepath.Join(dir, "cert.pem")
	if err := os.WriteFile(cert, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, value string
		want        bool
	}{
		{"HF_TOKEN", "hf_abc", true},
		{"OPENAI_KEY", "abc", true},
		{"DATABASE_URL", "postgres://u:p@host/db", true},
		{"DATABASE_URL", "u:p@host:5432/db", true},
		{"HTTP_PROXY", "http://u:p@proxy:3128", true},
		{"http_proxy", "u:p@proxy", true},
		{"GH_PAT", "ghp_0123456789abcdefghijABCDEFGHIJ", true},
		{"ANYTHING", "ghp_0123456789abcdefghijABCDEFGHIJ", true},
		{"ANYTHING", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdefgh", true},
		{"WANDB_APIKEY", "k", true},
		{"DBPASSWORD", "x", true},
		{"PGPASS", "x", true},
		{"PGPASSWORD", "x", true},
		{"SLACK_WEBHOOK", "https://hooks.example.com/T0/B0/x", true},
		{"SESSION_COOKIE", "abc", true},
		{"AWS_SECRET_ACCESS_KEY", "abc", true},
		{"MY_PASSWORD", "x", true},
		{"DEPLOY", "0123456789abcdef0123456789abcdef", true},
		{"DEPLOY", "qT7xLz02NvKp9RwYb4JdHs6M", true},
		{"DOWNLOAD", "https://host/f?sig=abcdef", true},

		{"PIP_CERT", cert, false},
		{"NIX_SSL_CERT_FILE", cert, false},
		{"SSL_CERT_FILE", "/no/such/file.pem", false},
		{"SSL_CERT_DIR", dir + ":" + dir, false},
		{"AWS_SHARED_CREDENTIALS_FILE", "/root/.aws/none", false},
		{"GOOGLE_APPLICATION_CREDENTIALS", cert, false},
		{"SSH_AUTH_SOCK", "/tmp/agent.1", false},
		{"GIT_ASKPASS", "/usr/bin/none", false},
		{"HF_HUB_DISABLE_IMPLICIT_TOKEN", "1", false},
		{"USE_AUTH", "false", false},
		{"TOKENIZERS_PARALLELISM", "false", false},
		{"PWD", "/home/me", false},
		{"PATH", "/usr/bin:/bin", false},
		{"HOME", dir, false},
		{"HTTP_PROXY", "http://proxy:3128", false},
		{"CUDA_VISIBLE_DEVICES", "GPU-4c3fA1b2-0d9e-4f5a-8b7c-1234567890ab", false},
		{"DEVICES", "GPU-4c3fa1b2-0d9e-4f5a-8b7c-1234567890ab", false},
		{"GIT_COMMIT", "0123456789abcdef0123456789abcdef01234567", false},
		{"IMAGE", "registry/app:tag@sha256:0123", false},
		{"LD_LIBRARY_PATH", "/usr/lib:/no/such", false},
		{"BYPASS", "cache", false},
		{"OMP_NUM_THREADS", "8", false},
		{"NVIDIA_REQUIRE_CUDA", "cuda>=12.4 brand=tesla,driver>=470", false},
		{"", "x", false},
	} {
		if got := Secret(c.name, c.value); got != c.want {
			t.Errorf("%s=%s: %v", c.name, c.value, got)
		}
	}
	if got := Secret("CERT", "etc/key"); !got {
		t.Error("a value that only looks like a path under a name that announces a secret was let through")
	}
}
