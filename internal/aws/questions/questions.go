// Package questions has what people ask of their AWS accounts, as statements of SQL
// that the console offers. A file begins with the question and, in comments, what its
// answer means:
//
//	-- Which volumes are not encrypted?
//	-- One sentence or more of what is shown.
//	-- needs: aws_ec2.general_purpose_volume
//	-- asks: days = 90
//
// needs lists the tables and their modules. asks has what is asked for and what it is
// if nothing is said; the statement has it as psql would, :'days'.
package questions

import "embed"

// Files are the questions.
//
//go:embed *.sql
var Files embed.FS
