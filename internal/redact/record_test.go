package redact

import (
	"slices"
	"strings"
	"testing"
)

func TestRedactRecords(t *testing.T) {
	secret := []string{"MY_PASSWORD"}
	got := Overrides([]string{
		"deepprof", "run", "+pipeline.workload.env.MY_PASSWORD=a=b", "++pipeline.workload.env={MY_PASSWORD: x}",
		"+pipeline.workload.env.OTHER=y", "--", "prog", "MY_PASSWORD=kept as it was",
	}, "pipeline.workload.env", nil, secret)
	want := []string{
		"deepprof", "run", "+pipeline.workload.env.MY_PASSWORD=[redacted]", "++pipeline.workload.env=[redacted]",
		"+pipeline.workload.env.OTHER=y", "--", "prog", "MY_PASSWORD=kept as it was",
	}
	if !slices.Equal(got, want) {
		t.Errorf("arguments %q", got)
	}
	text := "a: 1e3\npipeline:\n  workload:\n    command:\n    - \"012\"\n    env:\n      OTHER: \"yes\"\n      MY_PASSWORD: sesame\n"
	clean, err := YAML([]byte(text), "pipeline.workload.env", secret)
	if err != nil || strings.Contains(string(clean), "sesame") {
		t.Fatalf("configuration %s, %v", clean, err)
	}
	for _, kept := range []string{"a: 1e3\n", `- "012"`, `OTHER: "yes"`, `MY_PASSWORD: "[redacted]"`} {
		if !strings.Contains(string(clean), kept) {
			t.Errorf("%q is not in\n%s", kept, clean)
		}
	}
	if same, err := YAML([]byte(text), "pipeline.workload.env", nil); err != nil || string(same) != text {
		t.Errorf("a configuration without secrets was changed: %s, %v", same, err)
	}
	if _, err := YAML([]byte("a: 1\n"), "pipeline.workload.env", secret); err == nil {
		t.Error("a secret that was not found is no error")
	}
}

// TestUntilInterrupted: before the first stage one interrupt is enough, and
// none is lost.
func TestRedactValues(t *testing.T) {
	env := map[string]string{"MY_API_KEY": "zzz", "PLAIN": "yes"}
	got := Overrides([]string{"deepprof", "+pipeline.workload={env: {MY_API_KEY: zzz, PLAIN: yes}}"}, "pipeline.workload.env", env, []string{"MY_API_KEY"})
	if got[1] != "+pipeline.workload={env: {MY_API_KEY: "+Mark+", PLAIN: yes}}" {
		t.Errorf("%q", got)
	}
}
