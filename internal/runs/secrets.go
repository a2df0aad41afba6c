package runs

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/deepprof/deepprof/internal/fact"
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
// Keys are names of files in the run. own is not changed.
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
// On an error p is not changed.
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

// writePrivate writes with mode 0600 and not atomically: it is written once, before the
// run has its name.
func (r *Run) writePrivate(exact []byte) error {
	f, err := os.OpenFile(r.Path(PrivateName), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("write %s: %w", PrivateName, err)
	}
	_, err = f.Write(exact)
	if err = errors.Join(err, f.Chmod(0o600), f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", PrivateName, err)
	}
	return nil
}

// Hide makes the run remove these secrets from everything that is written into it
// from now on. Create takes them in its options.
func (r *Run) Hide(secrets *redact.Values) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.secrets = secrets
}

// maxText bounds each sentence in the manifest. A program may print a megabyte
// without a line feed, and the manifest must fit into what a full disk leaves.
// It counts characters; a text that was cut ends with three dots more.
const maxText = 1200

// Text makes words of a foreign program fit for a screen and for the manifest:
// one line, without control characters, of bounded length.
func Text(s string) string {
	if len(s) > 4*maxText {
		s = s[:4*maxText] // at a character's middle at worst, which reads as one bad character
	}
	s = strings.Map(func(r rune) rune {
		switch {
		case r == utf8.RuneError, unicode.IsControl(r) && !unicode.IsSpace(r):
			return '\uFFFD'
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return '\uFFFD'
		}
		return r
	}, s)
	if r := []rune(s); len(r) > maxText {
		return string(r[:maxText]) + "..."
	}
	return s
}

// bound applies Text to everything that may quote a foreign program.
// bound changes the manifest in place; facts keep their codes.
func (m *Manifest) bound() {
	m.Reason.Fact = m.Reason.Map(Text)
	for i := range m.Warnings {
		m.Warnings[i].Fact = m.Warnings[i].Map(Text)
	}
	for i := range m.Steps {
		s := &m.Steps[i]
		s.Reason.Fact = s.Reason.Map(Text)
		for j := range s.Attempts {
			if o := s.Attempts[j].Outcome; o != nil {
				o.bound()
			}
		}
	}
}

// bound keeps codes; only words of others are cut.
func (o *Outcome) bound() {
	for _, f := range []*fact.Fact{&o.Text, &o.Evidence, &o.Cause} {
		*f = f.Map(Text)
	}
	for i := range o.Warnings {
		o.Warnings[i].Fact = o.Warnings[i].Map(Text)
	}
}
