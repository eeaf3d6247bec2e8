// Package adversary tries to take what is not one's own, as somebody would who
// may log in: an outsider without rights, a reader, a user. What it tries has
// once worked.
package adversary
