package engine

import (
	"testing"

	"iasql/internal/store"
)

func TestTurns(t *testing.T) {
	var turns coalescer
	if turns.ask("a") {
		t.Error("nothing lists, and is asked")
	}
	l, ended := turns.list("a")
	wanted := l.wanted
	if turns.ask("b") {
		t.Error("another account's listing is asked")
	}
	for range 3 {
		if !turns.ask("a") {
			t.Fatal("a listing is not asked")
		}
	}
	select {
	case <-wanted:
	default:
		t.Error("the listing is not told")
	}
	select {
	case <-wanted:
		t.Error("the listing is told more often than it has to look")
	default:
	}
	if !ended() {
		t.Error("nobody looks for who asked last")
	}
	if turns.ask("a") {
		t.Error("a listing that has ended is asked")
	}
	if _, ended := turns.list("a"); ended() {
		t.Error("a listing that nobody asked has been asked")
	}

	if !turns.wait("a", store.Push) || turns.wait("a", store.Push) || !turns.wait("b", store.Push) {
		t.Error("one waits for each account")
	}
	if !turns.wait("a", store.Full) || turns.wait("a", store.Full) {
		t.Error("one full cycle waits beside a push cycle")
	}
	turns.started("a", store.Push)
	if !turns.wait("a", store.Push) {
		t.Error("who has come still waits")
	}
}
