// Package doctor tests the command engine doctor as its users meet it: what it
// prints, where, and how it ends. What it finds is tested in internal/doctor, by
// troubles planted in an account and a database.
package doctor
