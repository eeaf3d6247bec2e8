package aws

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"sync"

	"iasql/internal/modules"
)

// A listing ends, or fails. Whoever asks for one page after the other does so under a
// context of [Paging]; the middleware then refuses a page that has been asked for before,
// whatever the API calls its tokens, and one after more pages than anybody has.

// mostPages bounds the pages of one listing: a hundred million objects at the thousand a
// page that listings have, and ten days of them at three pages a second.
const mostPages = 100_000

// codeEndless is the code of listings that do not end. It is this package's own.
const codeEndless = "EndlessListing"

// paging is what is known of a listing under way.
type paging struct {
	mu    sync.Mutex
	asked map[uint64]bool // by what was asked for
}

type pagingKey struct{}

// pagingSeed makes the hashes of one process alike.
var pagingSeed = maphash.MakeSeed()

// Paging returns the context of one listing, for the calls of its pages and no others:
// asking for the same page twice fails, because it means that the API has told the same
// token again, and would for ever.
func Paging(ctx context.Context) context.Context {
	return context.WithValue(ctx, pagingKey{}, &paging{asked: map[uint64]bool{}})
}

// turn notes that a listing asks for a page, and returns an error if it did before.
func turn(ctx context.Context, op *operation, input any) *modules.Error {
	p, ok := ctx.Value(pagingKey{}).(*paging)
	if !ok {
		return nil
	}
	text, err := json.Marshal(input)
	if err != nil { // an input that cannot be written has no tokens
		return nil
	}
	var hash maphash.Hash
	hash.SetSeed(pagingSeed)
	_, _ = hash.WriteString(op.service + " " + op.action + " ")
	_, _ = hash.Write(text)
	p.mu.Lock()
	defer p.mu.Unlock()
	said := ""
	switch {
	case p.asked[hash.Sum64()]:
		said = fmt.Sprintf("after %d pages it was told the token of a page that it had read before", len(p.asked))
	case len(p.asked) >= mostPages:
		said = fmt.Sprintf("it has more than %d pages", mostPages)
	}
	p.asked[hash.Sum64()] = true
	if said == "" {
		return nil
	}
	return &modules.Error{Class: modules.Transient, Code: codeEndless,
		Message: fmt.Sprintf("the listing by %s:%s does not end: %s. %s", op.service, op.action, said, Disbelieved)}
}
