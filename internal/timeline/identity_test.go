package timeline

import (
	"encoding/json"
	"testing"
)

func TestIdentity(t *testing.T) {
	for name, want := range map[string]string{
		"rank3.node1":           `{"rank":3,"host":"node1"}`,
		"run.3.node1":           `{"rank":3,"host":"node1"}`,
		"run.3.node1.2":         `{"rank":3,"host":"node1","window":2}`,
		"run.3.1":               `{}`,
		"rank3.node1.2":         `{"rank":3,"host":"node1","window":2}`,
		"report_rank12":         `{"rank":12}`,
		"train-Rank-0-of-4":     `{"rank":0}`,
		"report.3":              `{}`,
		"frank3":                `{}`,
		"ranked":                `{}`,
		"rank99999999999999999": `{}`,
	} {
		got, err := json.Marshal(IdentityOfName(name))
		if err != nil || string(got) != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	for _, c := range []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{"RANK": "3", "LOCAL_RANK": "1", "WORLD_SIZE": "8", "SLURM_PROCID": "0"}, `{"rank":3,"local":1,"world":8}`},
		{map[string]string{"OMPI_COMM_WORLD_RANK": "2", "SLURM_PROCID": "0", "SLURMD_NODENAME": "n2"}, `{"rank":2,"host":"n2"}`},
		{map[string]string{"SLURM_PROCID": "5", "SLURM_NTASKS": "6", "SLURM_LOCALID": "1", "SLURMD_NODENAME": "n2"}, `{"rank":5,"local":1,"world":6,"host":"n2"}`},
		{map[string]string{"RANK": "x"}, `{}`},
		{nil, `{}`},
	} {
		got, err := json.Marshal(identityOf(func(name string) string { return c.env[name] }))
		if err != nil || string(got) != c.want {
			t.Errorf("%v is %s, want %s", c.env, got, c.want)
		}
	}
}
