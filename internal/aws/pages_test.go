package aws

import (
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"iasql/internal/modules"
)

// A listing that is told a token for the second time fails, whether the token comes again
// at once or after others, and so does one that never ends.
func TestEndlessListing(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		next  map[string]string // the token that a page tells, by its own; * stands for any
		pages int
		ends  bool
	}{
		"ends":     {map[string]string{"": "a", "a": "b", "b": ""}, 3, true},
		"the same": {map[string]string{"": "a", "a": "a"}, 2, false},
		"a circle": {map[string]string{"": "a", "a": "b", "b": "c", "c": "a"}, 4, false},
	} {
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			_ = r.ParseForm()
			next := test.next[r.Form.Get("NextToken")]
			fmt.Fprintf(w, "<DescribeVpcsResponse><vpcSet/><nextToken>%s</nextToken></DescribeVpcsResponse>", next)
		})
		client, err := clientsOf(s.URL).EC2(t.Context(), scope)
		if err != nil {
			t.Fatal(err)
		}
		err = Pages(t.Context(), ec2.NewDescribeVpcsPaginator(client, &ec2.DescribeVpcsInput{}),
			func(*ec2.DescribeVpcsOutput) error { return nil })
		if (err == nil) != test.ends || err != nil &&
			(!HasCode(err, codeEndless) || modules.ClassOf(err) != modules.Transient ||
				!strings.Contains(err.Error(), "EC2:DescribeVpcs")) {
			t.Errorf("%s: %v", name, err)
		}
		if got := int(s.requests.Load()); got != test.pages {
			t.Errorf("%s: %d requests, want %d", name, got, test.pages)
		}
		// Another listing of the same is none of its business.
		if err := Pages(t.Context(), ec2.NewDescribeVpcsPaginator(client, &ec2.DescribeVpcsInput{}),
			func(*ec2.DescribeVpcsOutput) error { return nil }); (err == nil) != test.ends {
			t.Errorf("%s again: %v", name, err)
		}
	}
}

// A listing whose tokens are always new ends with the bound, and calls that are no pages
// of a listing may be made as often as one likes.
func TestListingsAreBounded(t *testing.T) {
	t.Parallel()
	op := &operation{service: "EC2", action: "DescribeVpcs"}
	ctx := Paging(t.Context())
	for i := range mostPages {
		if err := turn(ctx, op, &sqs.ListQueuesInput{NextToken: ptr(fmt.Sprint(i))}); err != nil {
			t.Fatalf("page %d: %v", i, err)
		}
	}
	if err := turn(ctx, op, &sqs.ListQueuesInput{NextToken: ptr("more")}); err == nil || err.Code != codeEndless {
		t.Errorf("after %d pages: %v", mostPages, err)
	}
	for range 3 {
		if err := turn(context.Background(), op, &sqs.ListQueuesInput{}); err != nil {
			t.Error(err)
		}
	}
}

func ptr(s string) *string { return &s }

// Whoever asks for pages does so under the one rule: in [Pages], in a declared listing, or
// under a context of [Paging] of its own.
func TestPagesAreAskedForInOnePlace(t *testing.T) {
	t.Parallel()
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (d.Name() == "test" || strings.HasPrefix(d.Name(), ".") && len(d.Name()) > 2) {
			if err == nil {
				err = fs.SkipDir
			}
			return err
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		source := strings.ReplaceAll(string(text), "NextPage(ctx context.Context", "") // where it is declared
		if strings.Contains(source, " nextToken(") && !strings.Contains(source, "Paging(") &&
			!strings.Contains(source, "func nextToken(") {
			t.Errorf("%s follows tokens outside of aws.Paging", path)
		}
		for _, call := range []string{".NextPage(ctx", ".NextPage(context", ".NextPage(r.", ".NextPage(t."} {
			// In a declared listing, one calls the function that has it under Paging.
			if strings.Contains(source, call) && filepath.Base(filepath.Dir(path)) != "declare" {
				t.Errorf("%s asks for pages outside of aws.Pages and aws.Paging", path)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
