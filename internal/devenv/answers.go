package devenv

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// textual are the services whose times moto answers as texts, although AWS's
// protocol for them, JSON 1.1, has numbers ("Timestamp serialization": Smithy's
// page "AWS JSON 1.1 protocol"), which is all that clients in Go read.
var textual = regexp.MustCompile(`/(codebuild|codedeploy|codepipeline)/aws4_request`)

var timeText = regexp.MustCompile(`: "(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z)"`)

// CorrectTimes makes times in moto's answers what AWS has.
func CorrectTimes(answer *http.Response) error {
	if !textual.MatchString(answer.Request.Header.Get("Authorization")) {
		return nil
	}
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	body = timeText.ReplaceAllFunc(body, func(text []byte) []byte {
		at, err := time.Parse(time.RFC3339, string(timeText.FindSubmatch(text)[1]))
		if err != nil {
			return text
		}
		return fmt.Appendf(nil, ": %d.%03d", at.Unix(), at.Nanosecond()/1e6)
	})
	answer.Body = io.NopCloser(bytes.NewReader(body))
	answer.ContentLength = int64(len(body))
	answer.Header.Set("Content-Length", strconv.Itoa(len(body)))
	return nil
}

// absent is what AWS answers of an object that has nothing of the kind, where moto has neither the kind nor the
// operation, and would make of it that the object cannot be read.
var absent = map[string]string{
	"AnyScaleFrontendService.ListTagsForResource":           `{"Tags": {}}`, // Application Auto Scaling
	"CodePipeline_20150709.GetPipelineState":                `{"stageStates": []}`,
	"DynamoDB_20120810.DescribeContributorInsights":         `{"ContributorInsightsStatus": "DISABLED"}`,
	"DynamoDB_20120810.DescribeKinesisStreamingDestination": `{"KinesisDataStreamDestinations": []}`,
}

// missing is that of REST APIs, by the path that is read.
var missing = []struct {
	path   *regexp.Regexp
	answer string
}{
	{regexp.MustCompile(`^/v1/apis/[^/]+/environmentVariables$`), `{"environmentVariables": {}}`}, // AppSync
	{regexp.MustCompile(`^/2015-02-01/file-systems/replication-configurations$`), `{"Replications": []}`},
	{regexp.MustCompile(`^/2024-08-31/functions/[^/]+/recursion-config$`), `{"RecursiveLoop": "Terminate"}`},
	{regexp.MustCompile(`^/2021-07-20/functions/[^/]+/runtime-management-config$`), `{"UpdateRuntimeOn": "Auto"}`},
}

// lacking is that of APIs whose requests are forms (the protocols Query and EC2), by the action.
var lacking = map[string]string{
	"DescribeNotificationConfigurations": `<DescribeNotificationConfigurationsResponse xmlns="http://autoscaling.amazonaws.com/doc/2011-01-01/">` +
		`<DescribeNotificationConfigurationsResult><NotificationConfigurations/></DescribeNotificationConfigurationsResult>` +
		`</DescribeNotificationConfigurationsResponse>`,
	"DescribeVolumeAttribute": `<DescribeVolumeAttributeResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/">` +
		`<autoEnableIO><value>false</value></autoEnableIO></DescribeVolumeAttributeResponse>`,
}

const form = "application/x-www-form-urlencoded"

// instead returns what is answered in the place of moto, and its type; "" where moto answers. It leaves the request to
// be read.
func instead(r *http.Request) (answer, kind string, err error) {
	if r.Method == http.MethodGet {
		for _, m := range missing {
			if m.path.MatchString(r.URL.Path) {
				return m.answer, "application/json", nil
			}
		}
	}
	if r.Method == http.MethodPost && strings.HasPrefix(r.Header.Get("Content-Type"), form) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return "", "", err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		values, err := url.ParseQuery(string(body))
		if err != nil {
			return "", "", nil // moto's to say
		}
		return lacking[values.Get("Action")], "text/xml", nil
	}
	return absent[r.Header.Get("X-Amz-Target")], "application/x-amz-json-1.0", nil
}

// Forward returns a handler that passes requests on to moto, and makes of its answers
// what AWS has. prepare, if not nil, sees each request before it goes.
func Forward(target *url.URL, prepare func(*httputil.ProxyRequest)) http.Handler {
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host // may name an S3 bucket
			if prepare != nil {
				prepare(r)
			}
		},
		// One connection a request: moto's server is apt to close an idle one
		// at the moment when it is used again.
		Transport:      &http.Transport{DisableKeepAlives: true},
		ModifyResponse: CorrectTimes,
		ErrorLog:       log.New(io.Discard, "", 0),
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			http.Error(w, "emulator: "+err.Error(), http.StatusBadGateway)
		},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, kind, err := instead(r)
		if err != nil {
			http.Error(w, "emulator: "+err.Error(), http.StatusBadGateway)
			return
		}
		if answer != "" {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", kind)
			_, _ = io.WriteString(w, answer)
			return
		}
		proxy.ServeHTTP(w, r)
	})
}

// Correcting returns a server that is the emulator at target, with AWS's answers; see [Forward].
func Correcting(target *url.URL) *http.Server {
	return &http.Server{Handler: Forward(target, nil), ReadHeaderTimeout: 10 * time.Second}
}

// Corrected listens on 127.0.0.1 for an SDK that is to read moto's answers, and
// returns its URL. It stops with stop.
func (m *Moto) Corrected() (at string, stop func(), err error) {
	target, err := url.Parse(m.URL())
	if err != nil {
		return "", nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := Correcting(target)
	go func() { _ = server.Serve(listener) }() // ends with Close
	return "http://" + listener.Addr().String(), func() { _ = server.Close() }, nil
}
