package runs

import (
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/redact"
)

// envKey is the setting that gives the workload variables of its own.
const envKey = "pipeline.workload.env"

// secretEnv are the variables of a plan whose values are not recorded.
func secretEnv(p *plan.Plan) []string {
	var env []string
	for name, value := range p.Pipeline.Workload.Env {
		env = append(env, name+"="+value)
	}
	return redact.SecretNames(env)
}

// Secrets are the values that a run must not show: of the environment env, the
// command line, the configuration and the variables of the workload.
func Secrets(p *plan.Plan, env, argv []string, config []byte) *redact.Values {
	v := redact.NewValues(env)
	v.LearnArgs(argv)
	v.LearnArgs(p.Pipeline.Workload.Command)
	v.LearnConfig(config)
	for name, value := range p.Pipeline.Workload.Env {
		v.LearnVar(name, value)
	}
	return v
}

// PlanFiles are what a run has from its first moment: the configuration as it was
// composed, and the typed plan, without the values of secrets.
func PlanFiles(own *plan.Plan, composed []byte) (map[string][]byte, error) {
	secret := secretEnv(own)
	config, err := redact.YAML(composed, envKey, secret)
	if err != nil {
		return nil, err
	}
	p := *own
	p.Pipeline.Workload.Env = maps.Clone(p.Pipeline.Workload.Env)
	for _, name := range secret {
		p.Pipeline.Workload.Env[name] = redact.Mark
	}
	typed, err := plan.Marshal(&p)
	return map[string][]byte{ConfigName: config, PlanName: typed}, err
}

// WithoutEnv are overrides, or lines of them, without the values of secret
// variables.
func WithoutEnv(p *plan.Plan, lines []string) []string {
	return redact.Overrides(lines, envKey, p.Pipeline.Workload.Env, secretEnv(p))
}

// RestoreSecrets gives a plan the values that were not recorded: they must be in
// the environment now.
func RestoreSecrets(p *plan.Plan) error {
	env := maps.Clone(p.Pipeline.Workload.Env)
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if env[name] != redact.Mark {
			continue
		}
		value, ok := os.LookupEnv(name)
		if !ok {
			return fmt.Errorf("%s.%s is a secret and was not recorded; export %s before you resume", envKey, name, name)
		}
		env[name] = value
	}
	p.Pipeline.Workload.Env = env
	return nil
}
