package doctor_test

import (
	"context"
	"os"
	"testing"
	"time"

	"iasql/internal/aws"
	"iasql/internal/doctor"
	"iasql/internal/modules"
	"iasql/internal/modules/all"
	"iasql/internal/test/testaws"
)

func TestMain(m *testing.M) { testaws.Main(m) }

func TestTry(t *testing.T) {
	account := testaws.NewAccount(t)
	clients := aws.New(aws.Options{Endpoint: account.Endpoint, MaxBackoff: time.Millisecond, Accounts: func(context.Context, string) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: account.AccessKeyID, SecretAccessKey: account.SecretAccessKey}, nil
	}})
	registry, err := modules.NewRegistry(all.Modules(clients)...)
	if err != nil {
		t.Fatal(err)
	}
	r, err := doctor.Run(t.Context(), doctor.Options{Version: "x", Registry: registry, Clients: clients, Account: "a", Regions: []string{"us-east-1"}, Progress: func(s string) { t.Log(s) }})
	if err != nil {
		t.Fatal(err)
	}
	r.WriteText(os.Stdout)
}
