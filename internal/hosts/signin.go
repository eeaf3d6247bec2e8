package hosts

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// signIn is what the engine signs in to a host with.
type signIn struct {
	signers     []ssh.Signer
	certificate *ssh.Certificate // nil: the signers' keys are let in as they are, or have their own
	conn        net.Conn         // to the agent that has the keys; nil: the engine has them
}

// newSignIn returns what the settings say that the engine signs in with. socket is that of the engine's agent, "" if it
// has none. The error says what to do.
func newSignIn(ctx context.Context, settings *Settings, socket string) (s *signIn, err error) {
	s = &signIn{}
	switch {
	case settings.PrivateKey != "":
		err = s.ofKey(settings.PrivateKey)
	case settings.IdentityAgent:
		err = s.ofAgent(ctx, socket)
	default:
		err = errors.New("it has no private_key: UPDATE host SET private_key = '…', or identity_agent = true")
	}
	if err == nil && settings.Certificate != "" {
		err = s.certify(settings.Certificate, time.Now())
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *signIn) ofKey(text string) error {
	signer, err := ssh.ParsePrivateKey([]byte(text))
	if missing := new(ssh.PassphraseMissingError); errors.As(err, &missing) {
		return errors.New("its private_key has a passphrase: give it one without, which the vault keeps")
	}
	if err != nil {
		return errors.New("its private_key cannot be read: it is to be the text of a file such as id_ed25519")
	}
	s.signers = []ssh.Signer{signer}
	return nil
}

// ofAgent asks the agent which keys it has (draft-ietf-sshm-ssh-agent). It answers until the context's deadline.
func (s *signIn) ofAgent(ctx context.Context, socket string) error {
	if socket == "" {
		return errors.New("the engine has no SSH agent: start it with SSH_AUTH_SOCK in its environment")
	}
	conn, err := new(net.Dialer).DialContext(ctx, "unix", socket)
	if err != nil {
		return fmt.Errorf("the engine's SSH agent (SSH_AUTH_SOCK) does not answer: %w", err)
	}
	s.conn = conn
	if until, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(until)
	}
	if s.signers, err = agent.NewClient(conn).Signers(); err != nil {
		return fmt.Errorf("the engine's SSH agent (SSH_AUTH_SOCK) does not answer: %w", err)
	}
	if len(s.signers) == 0 {
		return errors.New("the engine's SSH agent (SSH_AUTH_SOCK) has no key, or is locked: add one by ssh-add")
	}
	return nil
}

// certify has the key sign in by its user certificate.
func (s *signIn) certify(text string, now time.Time) error {
	key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(text))
	certificate, ok := key.(*ssh.Certificate)
	if err != nil || !ok {
		return errors.New("its certificate cannot be read: it is to be the text of a file such as id_ed25519-cert.pub")
	}
	if certificate.CertType != ssh.UserCert {
		return errors.New("its certificate is one of a host: it is to be one of a user, as ssh-keygen -s makes it " +
			"without -h")
	}
	if from := time.Unix(int64(min(certificate.ValidAfter, 1<<62)), 0); now.Before(from) {
		return fmt.Errorf("its certificate is not valid before %s", from.UTC().Format(time.RFC3339))
	}
	if until := certificate.ValidBefore; until != ssh.CertTimeInfinity && uint64(now.Unix()) >= until {
		return fmt.Errorf("its certificate has expired at %s: UPDATE host SET certificate = '…', with one that "+
			"is valid", time.Unix(int64(min(until, 1<<62)), 0).UTC().Format(time.RFC3339))
	}
	of := certificate.Key.Marshal()
	at := slices.IndexFunc(s.signers, func(signer ssh.Signer) bool {
		return bytes.Equal(signer.PublicKey().Marshal(), of)
	})
	if at < 0 {
		whose := "private_key is"
		if s.conn != nil {
			whose = "the agent has"
		}
		return fmt.Errorf("its certificate is of the key %s, and %s %s", ssh.FingerprintSHA256(certificate.Key), whose,
			s.fingerprints())
	}
	signer, err := ssh.NewCertSigner(certificate, s.signers[at])
	if err != nil {
		return fmt.Errorf("its certificate cannot be used: %w", err)
	}
	s.signers, s.certificate = []ssh.Signer{signer}, certificate
	return nil
}

// keysOf returns the key of a signer, which may be an agent's, and that of the authority if it signs in by a
// certificate; nil if it does not.
func keysOf(signer ssh.Signer) (key, authority ssh.PublicKey) {
	key = signer.PublicKey()
	if parsed, err := ssh.ParsePublicKey(key.Marshal()); err == nil {
		if certificate, ok := parsed.(*ssh.Certificate); ok {
			return certificate.Key, certificate.SignatureKey
		}
	}
	return key, nil
}

func (s *signIn) fingerprints() string {
	var list []string
	for _, signer := range s.signers {
		key, _ := keysOf(signer)
		list = append(list, ssh.FingerprintSHA256(key))
	}
	return strings.Join(list, ", ")
}

// letIn says what to do where the server lets the engine not in.
func (s *signIn) letIn(user string) string {
	switch {
	case s.certificate != nil:
		return fmt.Sprintf("it does not let the certificate in: TrustedUserCAKeys of its sshd_config has to name the "+
			"authority %s, and one of the certificate's principals (%s) has to be %s, or in its "+
			"AuthorizedPrincipalsFile",
			ssh.FingerprintSHA256(s.certificate.SignatureKey), strings.Join(s.certificate.ValidPrincipals, ", "), user)
	case s.conn != nil:
		return fmt.Sprintf("it lets none of the agent's keys in (%s): put one of them into the authorized_keys of %s. "+
			"A server looks at the first six alone, unless its MaxAuthTries says another number",
			s.fingerprints(), user)
	}
	return fmt.Sprintf("it does not let the key in: put %s into the authorized_keys of %s. If it is there, the log "+
		"of its SSH server says why: others may write to the home or to .ssh, or the account has expired or has no "+
		"shell",
		authorized(s.signers[0].PublicKey()), user)
}

// keys are those that may be in authorized_keys, and let the engine in: its own, and those of the authorities of
// certificates.
func (s *signIn) keys() []string {
	var list []string
	for _, signer := range s.signers {
		key, authority := keysOf(signer)
		list = append(list, authorized(key))
		if authority != nil {
			list = append(list, authorized(authority))
		}
	}
	return list
}

func authorized(key ssh.PublicKey) string {
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key)))
}

// close ends the connection to the agent.
func (s *signIn) close() {
	if s.conn != nil {
		_ = s.conn.Close()
	}
}

// hostKeys are the kinds of host keys, the one by which a host is known first: of a server with several it has to be
// always the same.
var hostKeys = []string{ssh.KeyAlgoED25519, ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521,
	ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256}

// hostCertificates are the kinds of host certificates.
var hostCertificates = []string{ssh.CertAlgoED25519v01, ssh.CertAlgoECDSA256v01, ssh.CertAlgoECDSA384v01,
	ssh.CertAlgoECDSA521v01, ssh.CertAlgoRSASHA512v01, ssh.CertAlgoRSASHA256v01}

// hostKey is the key of an SSH server, and by what it is known.
type hostKey struct {
	authorities []ssh.PublicKey // whose certificates are believed; none: the key itself is compared
	address     string          // that a certificate has to name
	said        string          // what the key is, once the server has shown it
	err         error           // why the server is not believed
}

// newHostKey returns what is to be known of a host's key.
func newHostKey(settings *Settings) (*hostKey, error) {
	k := &hostKey{address: cmp.Or(settings.HostKeyAlias, settings.Address)}
	for rest := []byte(strings.TrimSpace(settings.CertAuthority)); len(rest) > 0; {
		key, _, _, left, err := ssh.ParseAuthorizedKey(rest)
		if _, certificate := key.(*ssh.Certificate); err != nil || certificate {
			return nil, errors.New("its cert_authority cannot be read: it is to be the public key of an authority, " +
				"such as the text of ca.pub, or several, a line each")
		}
		k.authorities, rest = append(k.authorities, key), bytes.TrimSpace(left)
	}
	return k, nil
}

// algorithms are the kinds of keys that the server may show.
func (k *hostKey) algorithms() []string {
	if len(k.authorities) > 0 {
		return hostCertificates
	}
	return hostKeys
}

// check is the [ssh.HostKeyCallback]. Without an authority any key is taken: who the host is is compared with who it
// was before anything is asked of it (R27), and signing in gives away nothing but that the key is ours.
func (k *hostKey) check(_ string, remote net.Addr, key ssh.PublicKey) error {
	if len(k.authorities) == 0 {
		k.said = "host key " + ssh.FingerprintSHA256(key)
		return nil
	}
	checker := &ssh.CertChecker{IsHostAuthority: func(authority ssh.PublicKey, _ string) bool {
		return slices.ContainsFunc(k.authorities, func(known ssh.PublicKey) bool {
			return bytes.Equal(known.Marshal(), authority.Marshal())
		})
	}}
	if k.err = checker.CheckHostKey(net.JoinHostPort(k.address, "22"), remote, key); k.err != nil {
		return k.err
	}
	certificate := key.(*ssh.Certificate) // or CheckHostKey would have failed
	if len(certificate.ValidPrincipals) == 0 {
		k.err = errors.New("it names no host (principal), and would be any host's")
		return k.err
	}
	k.said = fmt.Sprintf("host certificate of the authority %s for %s", ssh.FingerprintSHA256(certificate.SignatureKey),
		k.address)
	return nil
}

// refused returns why the server is not believed, given the error of the connection; "" if it is that error.
func (k *hostKey) refused(err error) string {
	switch {
	case k.err != nil:
		return fmt.Sprintf("its host certificate is not believed: %s. The certificate has to be valid, of an "+
			"authority of cert_authority, and to name %s", strings.TrimPrefix(k.err.Error(), "ssh: "), k.address)
	case len(k.authorities) > 0 && strings.Contains(err.Error(), "no common algorithm for host key"):
		return "it shows no host certificate: HostCertificate of its sshd_config names one, and cert_authority of " +
			"its row says that it has to have one"
	}
	return ""
}
