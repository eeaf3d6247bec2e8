package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// What the emulator lacks is answered for it, and everything else comes from it.
func TestCorrectEmulator(t *testing.T) {
	t.Parallel()
	if err := correctEmulator(t.Context(), "emulator", ":0"); err == nil || !strings.Contains(err.Error(), "http://emulator:5000") {
		t.Errorf("an address without a scheme: %v", err)
	}
	emulator := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "its own")
	}))
	t.Cleanup(emulator.Close)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := free.Addr().String()
	_ = free.Close()
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- correctEmulator(ctx, emulator.URL, at) }()
	ask := func(target string) string {
		for range 100 {
			request, _ := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+at, nil)
			request.Header.Set("X-Amz-Target", target)
			answer, err := http.DefaultClient.Do(request)
			if err != nil {
				time.Sleep(20 * time.Millisecond)
				continue
			}
			body, _ := io.ReadAll(answer.Body)
			_ = answer.Body.Close()
			return string(body)
		}
		return "nothing"
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
