package cells

import (
	"fmt"
	"maps"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// serverParameters are the parameters of a connection that a foreign server takes as they are:
// those of libpq (manual, section 34.1.2) that postgres_fdw allows (section F.38.1.1), but for what
// has a place of its own in the URL and for what would be a secret.
var serverParameters = []string{"application_name", "channel_binding", "connect_timeout", "gssencmode", "hostaddr",
	"keepalives", "keepalives_count", "keepalives_idle", "keepalives_interval", "krbsrvname", "load_balance_hosts",
	"service", "ssl_min_protocol_version", "sslcert", "sslcrl", "sslkey", "sslmode", "sslrootcert", "sslsni",
	"target_session_attrs", "tcp_user_timeout"}

// defaultParameters hold where the connection says nothing else. A server that does not answer is
// given up after 3 seconds, and one that has gone in the midst of an answer after 20
// (connect_timeout is in seconds, tcp_user_timeout in milliseconds).
var defaultParameters = map[string]string{"connect_timeout": "3", "keepalives_idle": "10", "keepalives_interval": "5",
	"keepalives_count": "2", "tcp_user_timeout": "20000"}

// authority tells the hosts from the rest of a URL.
var authority = regexp.MustCompile(`^(postgres(?:ql)?://(?:[^@/?#]*@)?)([^@/?#]*)(.*)$`)

// serverOptions checks the URL of a cell and returns what a foreign server for it is told. It fails
// if the URL has a password, names no database, or has a parameter that a foreign server does not
// take.
func serverOptions(connection string) (map[string]string, error) {
	// What has several hosts with ports is no URL to package url.
	parts := authority.FindStringSubmatch(connection)
	if parts == nil {
		parts = make([]string, 4)
	}
	u, err := url.Parse(parts[1] + parts[3])
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		// The text may have a password in it, so that it is not repeated.
		return nil, fmt.Errorf("the connection of a cell is a URL: postgres://user@host:port/database, or " +
			"postgres:///?service=NAME")
	}
	query := u.Query()
	if _, secret := u.User.Password(); secret || query.Has("password") || query.Has("sslpassword") {
		return nil, fmt.Errorf("the connection has a password, which the registry does not keep: leave it out, and " +
			"put it into the password file (PGPASSFILE, ~/.pgpass)")
	}
	options := maps.Clone(defaultParameters)
	for name, values := range query {
		switch {
		case name == "host" || name == "port" || name == "dbname" || name == "user":
		case slices.Contains(serverParameters, name):
			options[name] = values[0]
		default:
			return nil, fmt.Errorf("the connection has the parameter %q, which a foreign server does not take; it "+
				"may have %s", name, strings.Join(serverParameters, ", "))
		}
	}
	if _, err := pgconn.ParseConfig(connection); err != nil {
		return nil, fmt.Errorf("the connection: %w", err)
	}
	var hosts, ports []string
	for host := range strings.SplitSeq(parts[2], ",") {
		if host == "" {
			continue
		}
		name, port, err := net.SplitHostPort(host)
		if err != nil {
			name, port = strings.Trim(host, "[]"), "5432"
		}
		hosts, ports = append(hosts, name), append(ports, port)
	}
	set := func(option, value string) {
		if value != "" {
			options[option] = value
		}
	}
	set("host", strings.Join(hosts, ","))
	set("port", strings.Join(ports, ","))
	set("host", query.Get("host"))
	set("port", query.Get("port"))
	set("dbname", strings.TrimPrefix(u.Path, "/"))
	set("dbname", query.Get("dbname"))
	if options["service"] == "" {
		for _, must := range []string{"host", "dbname"} {
			if options[must] == "" {
				return nil, fmt.Errorf("the connection does not say its %s: "+
					"postgres://user@host:port/database", must)
			}
		}
	}
	return options, nil
}
