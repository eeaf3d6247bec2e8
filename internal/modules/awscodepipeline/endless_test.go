package awscodepipeline

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"iasql/internal/aws"
	"iasql/internal/modules"
	"iasql/internal/test/awstest"
)

// What is read of one object may have pages, too: tags whose pages do not end are an error,
// and not read for ever.
func TestEndlessTags(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/x-amz-json-1.1")
		_, action, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
		switch action {
		case "GetPipeline":
			fmt.Fprint(w, `{"metadata": {"pipelineArn": "arn:aws:codepipeline:us-west-2:123456789012:p"}, "pipeline": {"name": "p", "roleArn": "arn:aws:iam::123456789012:role/r", "stages": [], "version": 1}}`)
		case "GetPipelineState":
			fmt.Fprint(w, `{"pipelineName": "p"}`)
		case "ListTagsForResource":
			asked.Add(1)
			fmt.Fprint(w, `{"nextToken": "again", "tags": [{"key": "a", "value": "1"}]}`)
		default:
			t.Errorf("it calls %s", action)
		}
	}))
	t.Cleanup(server.Close)
	_, err := awstest.Get(t.Context(), newPipeline(awstest.Fake(server.URL)), awstest.Scope("us-west-2"),
		[]modules.Row{{"name": modules.Text("p")}})
	if !aws.HasCode(err, "EndlessListing") || asked.Load() != 2 {
		t.Errorf("after %d pages: %v", asked.Load(), err)
	}
}
