package events_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode"

	"iasql/internal/aws/events"
)

// What looks like a secret in what a caller calls himself and his tool is left out; what does
// not is kept, as it is the point of it all.
func TestActorsHoldNoSecrets(t *testing.T) {
	const key, jwt = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
		"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
	for _, c := range []struct{ text, want string }{
		{"aws-cli/2.15.0 Python/3.11.6 Linux/6.1 exe/x86_64 prompt/off command/ec2.run-instances", ""},
		{"APN/1.0 HashiCorp/1.0 Terraform/1.5.7 (+https://www.terraform.io) terraform-provider-aws/5.1.0 " +
			"(+https://registry.terraform.io/providers/hashicorp/aws) aws-sdk-go-v2/1.18.1 os/linux lang/go/1.20.5 " +
			"md/GOOS/linux md/GOARCH/amd64 api/ec2/1.100.1", ""},
		{"Boto3/1.34.0 md/Botocore#1.34.0 ua/2.0 os/linux#5.10 md/arch#x86_64 lang/python#3.9.18 md/pyimpl#CPython " +
			"exec-env/AWS_Lambda_python3.9 cfg/retry-mode#legacy Botocore/1.34.0", ""},
		{"[S3Console/0.4, aws-internal/3 aws-sdk-java/1.12.488 Linux/5.10.186 OpenJDK_64-Bit_Server_VM/25.372-b08 " +
			"java/1.8.0_372 vendor/Oracle_Corporation cfg/retry-mode/standard]", ""},
		{"tool/1 password=hunter2 done", "tool/1 password=******** done"},
		{"curl -u x https://ana:hunter2@example.com/", "curl -u x https://********@example.com/"},
		{`{"MasterUserPassword": "hunter2"}`, `{"MasterUserPassword": "********"}`},
		{"mysql --password hunter2 -h db", "mysql --password ******** -h db"},
		{"https://b.s3.amazonaws.com/k?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20260102&X-Amz-Signature=fe5f80f77d5fa3beca038a248ff027d0445342fe2855ddc963176630326f1024&X-Amz-Security-Token=IQoJb3JpZ2luX2VjEJr",
			"https://b.s3.amazonaws.com/k?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=********&X-Amz-Signature=********&X-Amz-Security-Token=********"},
		{"x-amz-signature%3Dfe5f80f77d", "x-amz-signature%3D********"},
		{"Authorization: Bearer abcdefgh12345678", "Authorization: ********"},
		{"run with " + key + " please", "run with ******** please"},
		{key, "********"},
		{"AKIAIOSFODNN7EXAMPLE", "********"},
		{"job " + jwt, "job ********"},
		{"git ghp_0123456789abcdefghijABCDEFGHIJ", "git ********"},
		{"sha 0123456789abcdef0123456789abcdef01234567", ""},
		{"\x1b[31mred\u202e\u200bx\u2028\x9b1m\x00", "\ufffd[31mred\ufffd\ufffdx\ufffd\ufffd1m\ufffd"},
	} {
		want := c.want
		if want == "" {
			want = c.text
		}
		body := string(event("111122223333", "eu-west-1", "ec2.amazonaws.com", "DeleteVpc", "{}", "null"))
		text, err := json.Marshal(c.text)
		if err != nil {
			t.Fatal(err)
		}
		e, err := events.Parse([]byte(strings.Replace(body, `"aws-cli/2.15.0"`, string(text), 1)))
		if err != nil {
			t.Fatal(err)
		}
		if e.Actor.UserAgent != want {
			t.Errorf("%q is kept as\n%q, want\n%q", c.text, e.Actor.UserAgent, want)
		}
	}
	for _, arn := range []string{
		"arn:aws:sts::111122223333:assumed-role/AWSReservedSSO_AdministratorAccess_0a1b2c3d4e5f6a7b/ana@example.com",
		"arn:aws:iam::111122223333:user/division_abc/subdivision_xyz/SecretRotationProductionTokenService",
		"arn:aws:sts::111122223333:assumed-role/AmazonEKSPodIdentityRoleProductionCluster/eks-prod-my-service-1f2e3d4c-5b6a-7980",
		"arn:aws:sts::111122223333:assumed-role/aws-service-role/i-0123456789abcdef0",
	} {
		body := strings.Replace(string(event("111122223333", "eu-west-1", "ec2.amazonaws.com", "DeleteVpc", "{}",
			"null")), "arn:aws:sts::111122223333:assumed-role/Admin/ana@example.com", arn, 1)
		if e, err := events.Parse([]byte(body)); err != nil || e.Actor.ARN != arn {
			t.Errorf("%s is kept as %+v, %v", arn, e, err)
		}
	}
	// However long a text is, and wherever in it a secret begins, no half of it is kept.
	for n := range 1100 {
		e, err := events.Parse([]byte(strings.Replace(string(event("111122223333", "eu-west-1", "ec2.amazonaws.com",
			"DeleteVpc", "{}", "null")), "aws-cli/2.15.0", strings.Repeat("x ", n/2)+" "+key, 1)))
		if err != nil || len(e.Actor.UserAgent) > 500 || strings.Contains(e.Actor.UserAgent, key[:4]) {
			t.Fatalf("of a secret after %d bytes is kept %q, %v", n, e.Actor.UserAgent, err)
		}
	}
}

// Whatever an event says is bounded, and has nothing that a terminal or a page would obey.
func FuzzActor(f *testing.F) {
	f.Add("aws-cli/2", "ana@example.com", "192.0.2.1")
	f.Add("\x1b]0;x\x07", strings.Repeat("é", 5000), "password=\u202e")
	f.Fuzz(func(t *testing.T, agent, session, address string) {
		text := func(s string) string { b, _ := json.Marshal(s); return string(b) }
		body := string(event("111122223333", "eu-west-1", "ec2.amazonaws.com", "DeleteVpc", "{}", "null"))
		body = strings.Replace(body, `"aws-cli/2.15.0"`, text(agent), 1)
		body = strings.Replace(body, `"192.0.2.10"`, text(address), 1)
		body = strings.Replace(body, `"arn:aws:sts::111122223333:assumed-role/Admin/ana@example.com"`,
			text("arn:aws:sts::111122223333:assumed-role/Admin/"+session), 1)
		e, err := events.Parse([]byte(body))
		if err != nil {
			return
		}
		a := e.Actor
		for _, said := range []string{a.ARN, a.Session, a.Name, a.Address, a.UserAgent, a.InvokedBy, a.Type,
			a.Account} {
			if len(said) > 2048 || strings.ContainsFunc(said, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Errorf("%q", said)
			}
		}
		if len(fmt.Sprint(a)) > 6000 {
			t.Errorf("%d bytes", len(fmt.Sprint(a)))
		}
	})
}
