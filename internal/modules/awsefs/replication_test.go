package awsefs

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"iasql/internal/modules"
	"iasql/internal/test/awstest"
)

// A file system tells where it is replicated to, and not what is replicated into it. A replication that ends is over.
func TestReplication(t *testing.T) {
	t.Parallel()
	var (
		answer string
		sent   []string
	)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch {
		case r.Method != http.MethodGet:
			sent = append(sent, strings.TrimSpace(r.Method+" "+r.URL.Path+" "+string(body)))
			fmt.Fprint(w, `{"SourceFileSystemId": "fs-1"}`)
		case strings.HasSuffix(r.URL.Path, "/replication-configurations") && answer == "":
			w.Header().Set("X-Amzn-Errortype", "ReplicationNotFound")
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"ErrorCode": "ReplicationNotFound", "Message": "it has none"}`)
		case strings.HasSuffix(r.URL.Path, "/replication-configurations"):
			fmt.Fprintf(w, `{"Replications": [%s]}`, answer)
		case strings.HasSuffix(r.URL.Path, "/backup-policy"):
			fmt.Fprint(w, `{"BackupPolicy": {"Status": "DISABLED"}}`)
		case strings.HasSuffix(r.URL.Path, "/lifecycle-configuration"):
			fmt.Fprint(w, `{"LifecyclePolicies": []}`)
		case strings.HasSuffix(r.URL.Path, "/policy"):
			fmt.Fprint(w, `{"FileSystemId": "fs-1", "Policy": "{}"}`)
		case strings.HasSuffix(r.URL.Path, "/file-systems"):
			fmt.Fprint(w, `{"FileSystems": [{"FileSystemId": "fs-1", "LifeCycleState": "available", "PerformanceMode": "generalPurpose", "Tags": []}]}`)
		default:
			fmt.Fprint(w, `{"Tags": []}`)
		}
	}))
	t.Cleanup(server.Close)
	r := newFileSystem(awstest.Fake(server.URL))
	const column = "replication_configuration"
	to := func(status string) string {
		return `{"SourceFileSystemId": "fs-1", "Destinations": [{"FileSystemId": "fs-2", "Region": "eu-west-1", "Status": "` + status + `"}]}`
	}
	for _, c := range []struct {
		answer string
		want   modules.Value
	}{
		{"", modules.Null},
		{to("ENABLED"), document(t, `{"Destinations": [{"Region": "eu-west-1"}]}`)},
		{to("ENABLING"), document(t, `{"Destinations": [{"Region": "eu-west-1", "FileSystemId": "arn:aws:elasticfilesystem:eu-west-1:1:file-system/fs-2", "KmsKeyId": "k"}]}`)},
		{to("DELETING"), modules.Null},
		{`{"SourceFileSystemId": "fs-0", "Destinations": [{"FileSystemId": "fs-1", "Region": "us-east-1", "Status": "ENABLED"}]}`, modules.Null},
	} {
		answer = c.answer
		rows, err := awstest.Get(t.Context(), r, awstest.Scope("us-east-1"), []modules.Row{{"file_system_id": modules.Text("fs-1")}})
		if err != nil || len(rows) != 1 {
			t.Fatal(rows, err)
		}
		if got, read := rows[0][column]; !read || !r.Table().Column(column).Same(got, c.want) {
			t.Errorf("%s: got %s, want %s", c.answer, got, c.want)
		}
	}
	for _, other := range []string{`{"Destinations": [{"Region": "eu-west-2"}]}`, `{"Destinations": [{"Region": "eu-west-1", "FileSystemId": "fs-3"}]}`} {
		if r.Table().Column(column).Same(document(t, other), document(t, `{"Destinations": [{"Region": "eu-west-1", "FileSystemId": "fs-2"}]}`)) {
			t.Errorf("%s is the same as another", other)
		}
	}
	one, other := document(t, `{"Destinations": [{"Region": "eu-west-1"}]}`), document(t, `{"Destinations": [{"Region": "eu-west-2"}]}`)
	for _, c := range []struct {
		have, want modules.Value
		sent       string
	}{
		{modules.Null, one, `POST /2015-02-01/file-systems/fs-1/replication-configuration {"Destinations":[{"Region":"eu-west-1"}]}`},
		{one, other, `DELETE /2015-02-01/file-systems/fs-1/replication-configuration`}, // and the next pass makes another
		{one, modules.Null, `DELETE /2015-02-01/file-systems/fs-1/replication-configuration`},
	} {
		sent = nil
		have, want := modules.Row{"file_system_id": modules.Text("fs-1"), column: c.have}, modules.Row{column: c.want}
		if err := awstest.Update(t.Context(), r, awstest.Permit(), awstest.Scope("us-east-1"), have, want, []string{column}); err != nil ||
			!slices.Equal(sent, []string{c.sent}) {
			t.Errorf("from %s to %s: %v, sent %q, want %q", c.have, c.want, err, sent, c.sent)
		}
	}
	for _, c := range []struct {
		have modules.Value
		sent []string
	}{
		{modules.Null, []string{"DELETE /2015-02-01/file-systems/fs-1"}},
		{one, []string{"DELETE /2015-02-01/file-systems/fs-1/replication-configuration", "DELETE /2015-02-01/file-systems/fs-1"}},
	} {
		sent = nil
		have := modules.Row{"file_system_id": modules.Text("fs-1"), column: c.have}
		if err := awstest.Delete(t.Context(), r, awstest.Permit(), awstest.Scope("us-east-1"), have); err != nil ||
			!slices.Equal(sent, c.sent) {
			t.Errorf("delete of %s: %v, sent %q, want %q", c.have, err, sent, c.sent)
		}
	}
}
