package platform

import "testing"

// The verifier of the password "pencil" with the salt of RFC 7677's example, as
// PostgreSQL's own scram_build_secret makes it: StoredKey and ServerKey follow
// from the RFC's exchange.
func TestScramVerifier(t *testing.T) {
	t.Parallel()
	salt := []byte{0x5b, 0x6d, 0x99, 0x68, 0x9d, 0x12, 0x35, 0x8e, 0xec, 0xa0, 0x4b, 0x14, 0x12, 0x36, 0xfa, 0x81}
	got, err := scramVerifierWith("pencil", salt, 4096)
	if err != nil {
		t.Fatal(err)
	}
	const want = "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	other, err := scramVerifier("pencil")
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := scramVerifier("pencil"); again == other {
		t.Error("the salt is not random")
	}
}
