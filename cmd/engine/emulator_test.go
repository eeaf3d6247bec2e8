package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// What the emulator lacks is answered for it, and everything else comes from it.
func TestCorrectEmulator(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := correctEmulator(t.Context(), "emulator", listener); err == nil || !strings.Contains(err.Error(), "http://emulator:5000") {
		t.Errorf("an address without a scheme: %v", err)
	}
	emulator := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "its own")
	}))
	t.Cleanup(emulator.Close)
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- correctEmulator(ctx, emulator.URL, listener) }()
	ask := func(target string) string {
		t.Helper()
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+listener.Addr().String(), nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("X-Amz-Target", target)
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	if got := ask("DynamoDB_20120810.ListTables"); got != "its own" {
		t.Errorf("got %q", got)
	}
	if got := ask("CodePipeline_20150709.GetPipelineState"); !strings.Contains(got, "stageStates") {
		t.Errorf("got %q", got)
	}
	end()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
