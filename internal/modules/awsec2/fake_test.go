package awsec2

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"iasql/internal/aws"
	"iasql/internal/test/awstest"
)

// fake returns clients of an EC2 that answers a form as answer says, one at a
// time.
func fake(t *testing.T, answer func(form map[string]string) (status int, body string)) *aws.Clients {
	var mu sync.Mutex
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		form := map[string]string{}
		for k := range r.Form {
			form[k] = r.Form.Get(k)
		}
		mu.Lock()
		defer mu.Unlock()
		if form["Action"] == "DescribeInstanceCreditSpecifications" {
			fmt.Fprint(w, `<DescribeInstanceCreditSpecificationsResponse><instanceCreditSpecificationSet/></DescribeInstanceCreditSpecificationsResponse>`)
			return
		}
		status, body := answer(form)
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}))
	t.Cleanup(server.Close)
	return awstest.Fake(server.URL)
}
