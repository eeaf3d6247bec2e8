// Package questions has what people ask of their hosts, as statements of SQL that the
// console offers. What a file says is in package iasql/internal/aws/questions.
package questions

import "embed"

// Files are the questions.
//
//go:embed *.sql
var Files embed.FS
