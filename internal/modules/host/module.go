// Package host is the module host, which all modules of hosts depend on: the hosts and the way into each (table host),
// and what of them is looked at (table host_scope).
//
// It promises that a private key can be written and not read: it is moved to a table of the engine's own before its row
// is stored, and [Load] is the one way to it.
package host

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"iasql/internal/hosts"
	"iasql/internal/modules"
)

// Module returns the module host.
func Module() *modules.Module {
	return &modules.Module{
		Name:     "host",
		Version:  6,
		Doc:      "Hosts: the machines that are managed, the way into each, and what of them is looked at.",
		Settings: []*modules.Table{describeHost(), describeScope()},
		Migrations: map[int]string{1: functions, 2: from1 + functions, 3: scopeChecksAnew() + functions,
			4: scopeChecksAnew() + functions,
			5: checksAnew("host", hostChecks) + scopeChecksAnew() + functions,
			6: checksAnew("host", hostChecks) + functions},
		Drop: drop,
	}
}

var (
	// functions makes the triggers.
	//
	//go:embed sql/functions.sql
	functions string
	// from1 moves what version 1 had to where it is now.
	//
	//go:embed sql/from_1.sql
	from1 string
	//go:embed sql/drop.sql
	drop string
)

func describeHost() *modules.Table {
	return &modules.Table{
		Name: "host",
		Doc: "The machines that are managed, and how the engine gets into each: by SSH, or as a directory of its own " +
			"machine. Nothing is read or changed before iasql_confirm('identity', name) has said that its host key " +
			"is right, or its host certificate is one of cert_authority.",
		Provider:        hosts.Provider,
		DefinesAccounts: true,
		// A host shows at once what has been written to it. What was read before is still on its way for a while.
		ConsistencyWindow: 5 * time.Second,
		Columns: []modules.Column{
			{Name: "name", Type: modules.TypeText, Required: true, Identity: true, Check: "name <> ''",
				Doc: "What the other tables call the host, such as web-1."},
			{Name: "address", Type: modules.TypeText, Check: "address ~ '^[^[:space:]/@]+$'",
				Doc: "Its name or IP address for SSH. NULL: it is a directory of the engine's machine, host_root."},
			{Name: "port", Type: modules.TypeInteger, Required: true, Default: "22", Check: "port BETWEEN 1 AND 65535",
				Doc: "The port of its SSH server."},
			{Name: "user_name", Type: modules.TypeText, Required: true, Default: "'root'",
				Check: "user_name ~ '^[^[:space:]]+$'",
				Doc:   "Whom the engine logs in as."},
			{Name: "become", Type: modules.TypeBool, Required: true, Default: "false",
				Doc: "Whether the login works as root, by sudo -n: it has to be allowed that without a password."},
			{Name: "private_key", Type: modules.TypeText, WriteOnly: true,
				Doc: "The text of the login's private key, such as id_ed25519, without a passphrase. Shown as " +
					"asterisks once it is set; set it to NULL to remove it."},
			{Name: "identity_agent", Type: modules.TypeBool, Required: true, Default: "false", Since: 5,
				Doc: "Whether the login's keys are those of the engine's SSH agent, which SSH_AUTH_SOCK in the " +
					"engine's environment names, instead of private_key."},
			{Name: "certificate", Type: modules.TypeText, Since: 5, Check: "certificate ~ '-cert-v[0-9]+@'",
				Doc: "The text of a user certificate of the key, such as id_ed25519-cert.pub. NULL: the key is let " +
					"in without one, or the agent has one."},
			{Name: "cert_authority", Type: modules.TypeText, Since: 5, Check: "cert_authority <> ''",
				Doc: "The public key of the authority that certifies the host's key, or several, a line each: a host " +
					"certificate of it that names the address is believed without iasql_confirm. NULL: the host key " +
					"itself is compared, once it is confirmed."},
			{Name: "ssh_config", Type: modules.TypeBool, Required: true, Default: "false", Since: 6,
				Doc: "Whether the configuration of OpenSSH that the engine was started with, --ssh-config, says how " +
					"the address is reached, as ssh(1) would: HostName, Port, User, HostKeyAlias, and, unless the " +
					"row has private_key or identity_agent, IdentityFile, CertificateFile and IdentityAgent. What it " +
					"does not say is as the row has it."},
			{Name: "host_root", Type: modules.TypeText, Check: "host_root ~ '^/'",
				Doc: "A directory of the engine's machine that is managed instead of a host that is reached by SSH. " +
					"The engine has to be started with --host-root and the same directory."},
			{Name: "labels", Type: modules.TypeJSON, Check: "jsonb_typeof(labels) = 'object'",
				Doc: "What you know it by, such as {\"role\": \"web\"}."},
			{Name: "locked_by", Type: modules.TypeText, Check: "locked_by <> ''",
				Doc: "Who wants that nothing is changed on the host for now; it is still read. NULL: nobody."},
			{Name: "undo_after", Type: modules.TypeInteger, Required: true, Default: "60", Since: 2,
				Check: "undo_after BETWEEN 2 AND 3600",
				Doc: "After how many seconds the host undoes a change that touches the way in, unless the engine " +
					"has come " +
					"in over a new connection."},
			{Name: "container_socket", Type: modules.TypeText, Since: 2,
				Check: "container_socket ~ '^/[^[:cntrl:]]+$' AND octet_length(container_socket) <= 100",
				Doc: "The socket of Docker or Podman on it, such as /run/user/1000/podman/podman.sock. NULL: " +
					"/var/run/docker.sock or /run/podman/podman.sock, whichever is there."},
			{Name: "registry_auth", Type: modules.TypeText, WriteOnly: true, Since: 6,
				Doc: "What Docker or Podman pulls images from private registries with: the text of a config.json " +
					"as docker login writes it, {\"auths\": {\"ghcr.io\": {\"auth\": \"…\"}}}. Shown as asterisks " +
					"once it is set; set it to NULL to remove it."},
			{Name: "jump_host", Type: modules.TypeText, Since: 4,
				References: &modules.Reference{Table: "host", Key: "name", ByKey: true},
				Check:      "jump_host IS NULL OR address IS NOT NULL AND jump_host <> name",
				Doc: "The host by way of which the engine reaches it, over the connection that it has to that: the " +
					"address is looked up, and connected to, from there. That host has to be confirmed. NULL: the " +
					"engine reaches it directly."},
			{Name: "may_reboot", Type: modules.TypeBool, Required: true, Default: "false", Since: 5,
				Doc: "Whether the engine may reboot it where host_recovery says so, once in an hour at most."},
			{Name: "is_watched", Type: modules.TypeBool, Required: true, Default: "true", Since: 5,
				Doc: "Whether the host says what has changed on it, so that the engine looks there at once. It is " +
					"read as often as otherwise, too."},
		},
		Checks: hostChecks,
	}
}

// hostChecks are the checks of host as a whole.
var hostChecks = []string{
	"num_nonnulls(address, host_root) = 1",
	"NOT identity_agent OR private_key IS NULL",
	"NOT ssh_config OR address IS NOT NULL",
}

// scopeChecks are the checks of host_scope as a whole, which say what a pattern is for each kind.
var scopeChecks = []string{
	`CASE WHEN kind = 'mount' AND pattern = '/' THEN true WHEN kind IN ('file', 'block') OR kind = 'mount' AND pattern ~ '^/' THEN pattern ~ '^(/[^/]+)+$' AND pattern !~ '/\.\.?(/|$)' AND pattern !~ '[^/]\*\*|\*\*[^/]' ELSE pattern !~ '^/' END`,
	"kind = 'file' OR validate IS NULL",
	"kind = 'file' OR NOT secret",
}

// scopeChecksAnew gives host_scope of an earlier version these checks: its own are of fewer kinds.
func scopeChecksAnew() string { return checksAnew("host_scope", scopeChecks) }

// checksAnew gives a table of an earlier version its checks of this one.
func checksAnew(table string, checks []string) string {
	var b strings.Builder
	for i, check := range checks {
		fmt.Fprintf(&b, "ALTER TABLE public.%[1]s DROP CONSTRAINT IF EXISTS %[1]s_check_%[2]d, "+
			"ADD CONSTRAINT %[1]s_check_%[2]d CHECK (%[3]s);\n", table, i+1, check)
	}
	return b.String()
}

func describeScope() *modules.Table {
	return &modules.Table{
		Name: "host_scope",
		Doc: "What of a host is looked at, a pattern a row. What no row names is neither read nor imported, made, " +
			"changed or deleted.",
		Provider: hosts.Provider,
		Columns: []modules.Column{
			hosts.AccountColumn(),
			{Name: "kind", Type: modules.TypeText, Required: true, Identity: true, Default: "'file'",
				Enum: hosts.ScopeKinds, Doc: "What the pattern names: " + strings.Join(hosts.ScopeKinds, ", ") + "."},
			{Name: "pattern", Type: modules.TypeText, Required: true, Identity: true,
				Check: `pattern <> '' AND pattern !~ '[[:cntrl:]]' AND octet_length(pattern) <= 4096`,
				Doc: "Of files and blocks an absolute path. In it * stands for any characters of a name, ? for one, " +
					"** for any directories, and at the end for all that is below: /etc/myapp/** . Symbolic links " +
					"are not followed. Mount points are named likewise. Of other kinds a name, in which * stands " +
					"for any characters and ? for one: nginx* ."},
			{Name: "prune", Type: modules.TypeBool, Required: true, Default: "false",
				Doc: "Whether the mode ENFORCE deletes what is there and has no record. Otherwise it imports that."},
			{Name: "validate", Type: modules.TypeText, Check: `validate ~ '^\S.*\s\S*%s'`,
				Doc: "A command that has to accept the new content of a file before it replaces the old one, such as " +
					"visudo -cf %s: %s stands for the new file. It is run as the login, or as root with become, " +
					"without a shell."},
			{Name: "secret", Type: modules.TypeBool, Required: true, Default: "false", Since: 5,
				Doc: "Whether the contents of the files are secret: the engine neither reads them nor shows them, " +
					"and users write them to host_file.secret_content. A file is secret if one of the rows that " +
					"name it says so."},
		},
		Checks: scopeChecks,
	}
}

// Querier is what [Load] needs of a pool or a connection.
type Querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// Load returns a function that reads what the tables say of a host. The connection's role must be allowed to read the
// secrets, as is iasql_engine.
func Load(db Querier) func(ctx context.Context, name string) (hosts.Settings, error) {
	return func(ctx context.Context, name string) (hosts.Settings, error) {
		s := hosts.Settings{Name: name}
		err := db.QueryRow(ctx, `
			SELECT coalesce(h.address, ''), h.port, h.user_name, h.become, coalesce(k.value, ''),
				coalesce(h.host_root, ''), coalesce(h.locked_by, ''), h.undo_after, coalesce(h.container_socket, ''),
				coalesce(h.jump_host, ''), h.may_reboot, h.identity_agent, coalesce(h.certificate, ''),
				coalesce(h.cert_authority, ''), h.ssh_config, coalesce(r.value, ''),
				coalesce((SELECT w.identity FROM iasql_internal.world AS w WHERE w.account = h.name), ''),
				(SELECT coalesce(jsonb_agg(jsonb_build_object('Kind', p.kind, 'Pattern', p.pattern,
					'Prune', p.prune, 'Validate', coalesce(p.validate, ''), 'Secret', p.secret)
					ORDER BY p.kind, p.pattern), '[]')
				 FROM public.host_scope AS p WHERE p.account = h.name)
			FROM public.host AS h
			LEFT JOIN iasql_internal.account_secret AS k
				ON k.table_name = 'host' AND k.account = h.name AND k.column_name = 'private_key'
			LEFT JOIN iasql_internal.account_secret AS r
				ON r.table_name = 'host' AND r.account = h.name AND r.column_name = 'registry_auth'
			WHERE h.name = $1`, name,
		).Scan(&s.Address, &s.Port, &s.User, &s.Become, &s.PrivateKey, &s.Root, &s.LockedBy, &s.UndoAfter,
			&s.Socket, &s.JumpHost, &s.MayReboot, &s.IdentityAgent, &s.Certificate, &s.CertAuthority, &s.SSHConfig,
			&s.RegistryAuth, &s.Confirmed, &s.Scopes)
		if errors.Is(err, pgx.ErrNoRows) {
			return hosts.Settings{}, &modules.Error{Class: modules.Denied, Code: "NoHost", Err: err,
				Message: fmt.Sprintf("there is no host %s: insert it into host", name)}
		}
		if err != nil {
			return hosts.Settings{}, fmt.Errorf("load host %s: %w", name, err)
		}
		return s, nil
	}
}
