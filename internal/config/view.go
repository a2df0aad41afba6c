package config

// View gives the composed config for people: as written or resolved, without
// or with the hydra node, which then comes first as Hydra prints it.
func (c *Config) View(resolve, hydra bool) (*Node, error) {
	root, own := c.Root, c.Hydra
	if resolve {
		var err error
		if root, err = c.Resolve(); err != nil {
			return nil, err
		}
		if hydra {
			if own, err = c.ResolveHydra(); err != nil {
				return nil, err
			}
		}
	}
	if !hydra {
		return root, nil
	}
	all := newMap()
	all.entries = append([]Entry{{Key: newText("hydra"), Value: own}}, root.entries...)
	return all, nil
}
