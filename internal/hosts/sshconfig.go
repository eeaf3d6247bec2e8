package hosts

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// sshConfig is what a configuration of OpenSSH says of how a host is reached, ssh_config(5).
type sshConfig struct {
	hostName, hostKeyAlias, user string
	port                         int
	identities, certificates     []string // files, which need not be there
	agent                        string   // a socket, or what names it; "": it says nothing of one
}

// resolved returns the settings as the configuration that the engine was started with completes them, where the host's
// row says that it does. The error says what to do.
func resolved(ctx context.Context, settings *Settings, options *Options) (*Settings, error) {
	if !settings.SSHConfig {
		return settings, nil
	}
	if options.SSHConfig == "" {
		return nil, errors.New("its row has ssh_config, and the engine reads none: start it with --ssh-config, " +
			"such as --ssh-config ~/.ssh/config")
	}
	c, err := readSSHConfig(ctx, options.SSHConfig, settings)
	if err != nil {
		return nil, err
	}
	of := *settings
	of.Address, of.Port, of.User, of.HostKeyAlias = c.hostName, c.port, c.user, c.hostKeyAlias
	if of.PrivateKey == "" && !of.IdentityAgent {
		err = c.signInOf(&of, options.AgentSocket)
	}
	return &of, err
}

// readSSHConfig asks ssh(1) what a configuration says of a host's address. What that does not say is as the row has it.
func readSSHConfig(ctx context.Context, file string, settings *Settings) (*sshConfig, error) {
	absolute, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	if strings.ContainsAny(absolute, "\"\n") {
		return nil, fmt.Errorf("--ssh-config %q: the name of the file may have no quotes and no line breaks", absolute)
	}
	if _, err := os.Stat(absolute); err != nil { // which Include would take for nothing
		return nil, fmt.Errorf("--ssh-config: %w", err)
	}
	// The first value that ssh finds counts.
	whole, err := os.CreateTemp("", "ssh_config")
	if err != nil {
		return nil, err
	}
	defer os.Remove(whole.Name())
	_, err = fmt.Fprintf(whole, "Include \"%s\"\nMatch all\nPort %d\nUser %s\n", absolute, settings.Port, settings.User)
	if err := errors.Join(err, whole.Close()); err != nil {
		return nil, err
	}
	// #nosec G204 -- the address is an argument after --, and ssh -G connects to nothing
	command := exec.CommandContext(ctx, "ssh", "-F", whole.Name(), "-G", "--", settings.Address)
	said := &bounded{}
	command.Stderr = said
	out, err := command.Output()
	if errors.Is(err, exec.ErrNotFound) {
		return nil, errors.New("ssh_config takes ssh of OpenSSH on the engine's machine: install openssh-client there")
	}
	if err != nil {
		return nil, fmt.Errorf("ssh -G does not accept %s: %w: %s", absolute, err, strings.TrimSpace(said.String()))
	}
	return parseSSHConfig(out, settings)
}

// parseSSHConfig reads what ssh -G prints: an option and its value a line.
func parseSSHConfig(out []byte, settings *Settings) (*sshConfig, error) {
	c := &sshConfig{}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		option, value, _ := strings.Cut(lines.Text(), " ")
		switch option {
		case "hostname":
			c.hostName = value
		case "hostkeyalias":
			c.hostKeyAlias = value
		case "user":
			c.user = value
		case "port":
			port, err := strconv.Atoi(value)
			if err != nil {
				return nil, fmt.Errorf("ssh -G says that its port is %q", value)
			}
			c.port = port
		case "identityfile":
			c.identities = append(c.identities, value)
		case "certificatefile":
			c.certificates = append(c.certificates, value)
		case "identityagent":
			c.agent = value
		case "proxyjump", "proxycommand":
			if value != "none" && settings.JumpHost == "" {
				return nil, fmt.Errorf("the engine's ssh_config has %s %s for it: insert the host on the way into "+
					"host, since that is to be confirmed as well, and UPDATE host SET jump_host = '…'", option, value)
			}
		}
	}
	if c.hostName == "" || c.user == "" || c.port == 0 {
		return nil, errors.New("ssh -G does not say how it is reached")
	}
	tokens, err := c.tokens()
	if err != nil {
		return nil, err
	}
	for _, list := range [][]string{c.identities, c.certificates} {
		for i := range list {
			list[i] = tokens(list[i])
		}
	}
	c.agent = tokens(c.agent)
	return c, nil
}

// tokens returns what expands ~ and the tokens of file names, as the sections TOKENS and IdentityFile of ssh_config(5)
// have them.
func (c *sshConfig) tokens() (func(string) string, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, err
	}
	replacer := strings.NewReplacer("%%", "%", "%d", home, "%h", c.hostName, "%p", strconv.Itoa(c.port), "%r", c.user,
		"%u", os.Getenv("USER"))
	return func(name string) string {
		if rest, is := strings.CutPrefix(name, "~/"); is {
			name = filepath.Join(home, rest)
		}
		return variable.ReplaceAllStringFunc(replacer.Replace(name), os.ExpandEnv)
	}, nil
}

// variable is one of the environment.
var variable = regexp.MustCompile(`\$\{\w+\}`)

// signInOf puts into the settings what the configuration has the engine sign in with: the first key that can be read,
// with its certificate, or else the agent.
func (c *sshConfig) signInOf(of *Settings, engines string) error {
	passphrase := ""
	for _, file := range c.identities {
		key, err := os.ReadFile(file) // #nosec G304 -- as the engine's own configuration names it
		if err != nil {
			continue
		}
		if err := new(signIn).ofKey(string(key)); err != nil {
			passphrase = file
			continue
		}
		of.PrivateKey = string(key)
		if of.Certificate == "" {
			of.Certificate = firstFile(append(c.certificates, file+"-cert.pub"))
		}
		return nil
	}
	if of.Agent = c.agent; c.agent == "" || c.agent == "SSH_AUTH_SOCK" {
		of.Agent = engines
	}
	of.IdentityAgent = of.Agent != "" && of.Agent != "none"
	if of.IdentityAgent {
		if of.Certificate == "" {
			of.Certificate = firstFile(c.certificates)
		}
		return nil
	}
	if passphrase != "" {
		return fmt.Errorf("its IdentityFile %s has a passphrase, or cannot be read, and there is no agent: start the "+
			"engine with SSH_AUTH_SOCK in its environment", passphrase)
	}
	return fmt.Errorf("none of its IdentityFiles is there (%s), and there is no agent",
		strings.Join(c.identities, ", "))
}

// firstFile returns the text of the first file that is there; "" if none is.
func firstFile(names []string) string {
	for _, name := range names {
		if text, err := os.ReadFile(name); err == nil { // #nosec G304 -- as the engine's own configuration names it
			return string(text)
		}
	}
	return ""
}
