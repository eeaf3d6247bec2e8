// Package adversary holds what people try who want more than they were given:
// users of the system who would be its engine, readers who would know its
// secrets, logins without grants who would stop it. docs/security.md says what
// is defended against, and these tests hold it to that.
package adversary
