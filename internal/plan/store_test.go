package plan

import (
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// Every option of every group survives being stored.
func TestStoredPlanReadsBack(t *testing.T) {
	sets := [][]string{
		nil,
		{"pipeline.unprofiled.timeout_s=null", "dataset.sampling.seed=3", "infer.prompt='Free OCR.'"},
		{"+pipeline.workload.env={A: b}", "model.config=/m/config.json", "pipeline.nsys.nvtx_domain_include=[a,b]"},
		{"+model.config.rope_theta=10000.0", "+model.config.nested={list: [1, 1.5, null, true]}"},
	}
	for _, group := range shippedGroups {
		for _, option := range shippedOptions(t, group) {
			choice := group + "=" + option
			sets = append(sets, append([]string{choice}, needs[choice]...))
		}
	}
	for _, overrides := range sets {
		p := mustDecode(t, overrides...)
		data, err := Marshal(p)
		if err != nil {
			t.Fatalf("%q: %v", overrides, err)
		}
		got, err := Unmarshal(data)
		if err != nil {
			t.Fatalf("%q: %v", overrides, err)
		}
		if !reflect.DeepEqual(p, got) {
			t.Errorf("%q: stored\n%#v\nread back\n%#v", overrides, p, got)
		}
	}
}

// A plan that a version without them stored lacks the keys that came later.
func TestStoredPlanOfAnEarlierVersion(t *testing.T) {
	data, err := Marshal(mustDecode(t))
	if err != nil {
		t.Fatal(err)
	}
	without := string(data)
	for _, line := range []string{`,?\s*"max_log_mb": 1000`, `,?\s*"wait_s": 600`} {
		if before := without; regexp.MustCompile(line).ReplaceAllString(before, "") == before {
			t.Fatalf("%s is not in the plan", line)
		}
		without = regexp.MustCompile(line).ReplaceAllString(without, "")
	}
	p, err := Unmarshal([]byte(without))
	if err != nil || p.Pipeline.Server.MaxLog != 0 || p.Pipeline.Server.Load.Wait != 0 {
		t.Errorf("%v", err)
	}
}

func TestStoredPlanErrors(t *testing.T) {
	good, err := Marshal(mustDecode(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ name, old, new, want string }{
		{"cut off", "}\n}\n", "", "read the plan"},
		{"newer schema", `"schema": 1`, `"schema": 99`, "newer"},
		{"wrong type", `"batch_size": 1,`, `"batch_size": "one",`, "infer.batch_size"},
		{"key missing", `"batch_size": 1,`, "", "infer.batch_size"},
		{"null where none is allowed", `"batch_size": 1,`, `"batch_size": null,`, "infer.batch_size"},
		{"no mapping", `"nvtx": {`, `"nvtx": 1, "was": {`, "nvtx"},
	} {
		bad := strings.Replace(string(good), test.old, test.new, 1)
		if bad == string(good) {
			t.Fatalf("%s: nothing to replace", test.name)
		}
		if _, err := Unmarshal([]byte(bad)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want an error about %s", test.name, err, test.want)
		}
	}
	unknown := strings.Replace(string(good), `"batch_size": 1,`, `"batch_size": 1, "later": true,`, 1)
	if _, err := Unmarshal([]byte(unknown)); err != nil {
		t.Errorf("a key of a later version: %v", err)
	}
}
