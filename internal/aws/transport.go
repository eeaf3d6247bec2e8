package aws

import (
	"bytes"
	"io"
	"net/http"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
)

// longestDetached is up to which size a request's body is held in memory: far
// above what any API call has that does not upload an object.
const longestDetached = 1 << 20

// detached is an HTTP client that sends copies of request bodies.
//
// The SDK closes the body of a request as soon as the head of the answer is
// there (smithy-go, ClientHandler.Handle). net/http may not be done with it at
// that moment; it then takes the closed body for a failed request and closes the
// connection, in the middle of the answer: "use of closed network connection",
// for about one in several hundred answers of more than 4 KB from a server
// nearby, although the call has had its effect. A copy is closed by nobody else.
type detached struct{ client awssdk.HTTPClient }

// Do sends the request.
func (d detached) Do(req *http.Request) (*http.Response, error) {
	if req.Body == nil || req.Body == http.NoBody || req.ContentLength <= 0 || req.ContentLength > longestDetached {
		return d.client.Do(req)
	}
	body := make([]byte, req.ContentLength)
	if _, err := io.ReadFull(req.Body, body); err != nil {
		return nil, err
	}
	sent := req.WithContext(req.Context()) // a copy
	sent.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	sent.Body, _ = sent.GetBody()
	return d.client.Do(sent)
}
