package events

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxFile bounds a file that a trail has delivered, uncompressed: AWS's are a few megabytes.
const maxFile = 512 << 20

// Records reads a file that a trail has delivered, compressed or not, and gives each record
// of a call to each, in their order. What is no such record is left out; skipped is told
// why, if it is not nil. It keeps one record in memory at a time, and returns each's error
// as it is.
func Records(r io.Reader, each func(*Event) error, skipped func(error)) error {
	file := bufio.NewReader(r)
	if magic, _ := file.Peek(2); len(magic) == 2 && magic[0] == 0x1f && magic[1] == 0x8b {
		unzipped, err := gzip.NewReader(file)
		if err != nil {
			return fmt.Errorf("the file: %w", err)
		}
		defer unzipped.Close()
		file = bufio.NewReader(unzipped)
	}
	in := &bounded{r: io.LimitReader(file, maxFile), left: MaxMessage}
	dec := json.NewDecoder(in)
	if err := enter(dec); err != nil {
		return fmt.Errorf("the file: %w", malformed(err))
	}
	for dec.More() {
		in.left = 2 * MaxMessage // the decoder reads ahead
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return fmt.Errorf("the file: %w", malformed(err))
		}
		e, err := fromFile(raw)
		if err == nil {
			err = each(e)
			if err != nil {
				return err
			}
			continue
		}
		if skipped != nil {
			skipped(err)
		}
	}
	if _, err := dec.Token(); err != nil { // the end of the list
		return fmt.Errorf("the file: %w", malformed(err))
	}
	return nil
}

// fromFile reads a record of a file.
func fromFile(raw []byte) (*Event, error) {
	if len(raw) > MaxMessage {
		return nil, fmt.Errorf("it has %d bytes, more than %d", len(raw), MaxMessage)
	}
	if err := shallow(raw); err != nil {
		return nil, err
	}
	e, err := parseRecord(raw)
	if err != nil {
		return nil, err
	}
	if e.Account == "" {
		e.Account = e.Actor.Account
	}
	return e, e.check()
}

// enter reads up to the first record.
func enter(dec *json.Decoder) error {
	for _, want := range []json.Token{json.Delim('{'), "Records", json.Delim('[')} {
		got, err := dec.Token()
		if err != nil {
			return err
		}
		if got != want {
			return errors.New(`it does not begin with {"Records": [`)
		}
	}
	return nil
}

// bounded is a reader that fails where one value is larger than any should be.
type bounded struct {
	r    io.Reader
	left int
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("one of its records has more than %d bytes", MaxMessage)
	}
	n, err := b.r.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
