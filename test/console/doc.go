// Package console tests the console as its visitors meet it: in Chromium, and
// with requests that no browser would make.
package console
