package pick

import (
	"slices"
	"sync"

	"github.com/deepprof/deepprof/internal/ncu"
)

// prepare finds beside each other what the ways to count need of all launches:
// medians, and numbers and configurations by both forms of the names.
func (c *choice) prepare() {
	if c.prepared {
		return
	}
	c.prepared = true
	bases := []string{baseFunction}
	if !c.plain && slices.ContainsFunc(c.l.groups, func(g group) bool { return g.names.mangled != "" }) {
		bases = append(bases, baseMangled)
	}
	configs := make([][]*configuration, len(bases))
	var beside sync.WaitGroup
	for i, base := range bases {
		if !c.p.Partial && c.numberings[base] == nil {
			c.numberings[base] = c.nameKinds(base)
			beside.Go(c.numberings[base].list)
		}
		if ncu.PerLaunchConfig(c.p.Version) {
			beside.Go(func() { configs[i] = c.findConfigurations(base) })
		}
	}
	beside.Go(c.findTypicals)
	beside.Wait()
	for i, base := range bases {
		if configs[i] != nil {
			c.configs[base] = configs[i]
		}
	}
}

// each asks for every form of the names, beside each other. What ask needs of all
// launches is prepared.
func (c *choice) each(bases []string, ask func(base string) way) []way {
	c.prepare()
	out := make([]way, len(bases))
	var beside sync.WaitGroup
	for i, base := range bases {
		beside.Go(func() { out[i] = ask(base) })
	}
	beside.Wait()
	return out
}
