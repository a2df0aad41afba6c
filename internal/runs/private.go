package runs

import (
	"errors"
	"fmt"
	"os"

	"github.com/deepprof/deepprof/internal/redact"
)

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
