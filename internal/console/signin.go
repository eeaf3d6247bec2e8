package console

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5/pgconn"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

func (c *Console) toSignIn(w http.ResponseWriter, r *http.Request) {
	to := "/signin"
	if r.Method == http.MethodGet && r.URL.Path != "/" && r.URL.Path != "/events" {
		to += "?" + url.Values{"next": {r.URL.RequestURI()}}.Encode()
	}
	switch {
	case r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Site") == "cross-site" &&
		r.Header.Get("Sec-Fetch-Mode") == "navigate":
		// Somebody follows a link in a pull request. His browser keeps the cookie back
		// (SameSite=Strict) until a page of this site asks: this one does, once.
		again := inside(r.URL.RequestURI())
		writePage(w, http.StatusOK, document(themeOf(r), "One moment",
			[]g.Node{h.Meta(g.Attr("http-equiv", "refresh"), h.Content("0;url="+again))},
			h.Main(h.ID("main"), h.Class("signin"), h.P(h.A(h.Href(again), g.Text("Go on")))))) // without refreshing
	case r.URL.Path == "/events":
		http.Error(w, "not signed in", http.StatusUnauthorized)
	case r.Header.Get("HX-Request") != "":
		w.Header().Set("HX-Redirect", "/signin") // the whole page, not a part of it
		http.Error(w, "not signed in", http.StatusUnauthorized)
	default:
		http.Redirect(w, r, to, http.StatusSeeOther)
	}
}

// inside returns a path of this console, "/" for anything else: whoever sends
// somebody a link to sign in must not be able to send him on elsewhere.
func inside(path string) string {
	u, err := url.Parse(path)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") ||
		strings.ContainsAny(path, "\\\r\n\t") {
		return "/"
	}
	return path
}

func (c *Console) signInPage(w http.ResponseWriter, r *http.Request) {
	if c.sessionOf(r) != nil {
		http.Redirect(w, r, inside(r.FormValue("next")), http.StatusSeeOther)
		return
	}
	c.showSignIn(w, r, http.StatusOK, "")
}

func (c *Console) showSignIn(w http.ResponseWriter, r *http.Request, status int, problem string) {
	next := inside(r.FormValue("next"))
	writePage(w, status, document(themeOf(r), "Sign in", nil,
		h.Main(h.ID("main"), h.Class("signin"),
			h.Div(h.Class("card"),
				h.H1(logo(), g.Text("iasql")),
				h.P(h.Class("muted"), g.Text("Sign in as a role of the database. You see here what that role sees, "+
					"and may do what it may do.")),
				g.If(problem != "", h.P(h.Class("alert bad"), h.Role("alert"), g.Text(problem))),
				h.Form(h.Method("post"), h.Action("/signin"),
					h.Input(h.Type("hidden"), h.Name("next"), h.Value(next)),
					h.Label(h.For("name"), g.Text("Role")),
					h.Input(h.ID("name"), h.Name("name"), h.Required(), h.AutoFocus(),
						g.Attr("autocomplete", "username"), g.Attr("autocapitalize", "none"), h.MaxLength("63"),
						h.Value(r.PostFormValue("name"))),
					h.Label(h.For("password"), g.Text("Password")),
					h.Input(h.ID("password"), h.Name("password"), h.Type("password"), h.Required(),
						g.Attr("autocomplete", "current-password"), h.MaxLength("1024")),
					h.Button(h.Class("primary"), h.Type("submit"), g.Text("Sign in")),
				),
				g.If(c.tokens(), c.tokenForm(next)),
			),
			h.P(h.Class("muted small"), g.Text("Version "+c.options.Version)),
		)))
}

func (c *Console) tokenForm(next string) g.Node {
	return h.Details(
		h.Summary(g.Text("Use a token instead")),
		h.P(h.Class("muted small"), g.Text("In a session of your role: "),
			h.Code(g.Text("SELECT iasql_console_token()")),
			g.Text(". It is good for one sign-in within five minutes.")),
		h.Form(h.Method("post"), h.Action("/signin"),
			h.Input(h.Type("hidden"), h.Name("next"), h.Value(next)),
			h.Label(h.For("token"), g.Text("Token")),
			h.Input(h.ID("token"), h.Name("token"), h.Required(), g.Attr("autocomplete", "off"), h.MaxLength("200")),
			h.Button(h.Type("submit"), g.Text("Sign in with the token")),
		))
}

func (c *Console) signIn(w http.ResponseWriter, r *http.Request) {
	name, password, token := r.PostFormValue("name"), r.PostFormValue("password"), r.PostFormValue("token")
	if token == "" && (name == "" || password == "" || len(name) > 63 || len(password) > 1024 ||
		strings.ContainsRune(name+password, 0)) {
		c.showSignIn(w, r, http.StatusBadRequest, "Give the name of a role and its password.")
		return
	}
	done, ok := c.attempts.begin(c.address(r), name)
	if !ok {
		w.Header().Set("Retry-After", "10")
		c.showSignIn(w, r, http.StatusTooManyRequests, "Too many attempts. Wait a moment and try again.")
		return
	}
	made, err := c.open(r, name, password, token)
	done(err != nil)
	if err != nil {
		status, text := c.whyNot(err, name)
		c.showSignIn(w, r, status, text)
		return
	}
	cookie, err := c.sessions.add(made)
	if err != nil {
		made.end()
		c.showSignIn(w, r, http.StatusServiceUnavailable, err.Error())
		return
	}
	if old := c.sessionOf(r); old != nil {
		c.sessions.remove(old)
	}
	c.log.Info("signed in to the console", "role", made.role, "from", c.address(r))
	c.setCookie(w, cookie, wholeLife)
	http.Redirect(w, r, inside(r.PostFormValue("next")), http.StatusSeeOther)
}

func (c *Console) open(r *http.Request, name, password, token string) (*session, error) {
	if token != "" {
		return c.redeem(r.Context(), token)
	}
	made, err := newSession(r.Context(), c.login(name, password), "")
	if err != nil {
		return nil, err
	}
	if err := made.mayUse(r.Context()); err != nil {
		made.end()
		return nil, err
	}
	return made, nil
}

// whyNot says why nobody is signed in, and no more: whether the role is there is
// nobody's business.
func (c *Console) whyNot(err error, name string) (status int, text string) {
	var pg *pgconn.PgError
	switch {
	case errors.Is(err, errNoReader):
		return http.StatusForbidden, "This role may not read the installation: an administrator can GRANT " +
			"iasql_reader TO it."
	case errors.As(err, &pg) && pg.Code == pgerrcode.InsufficientPrivilege && name == "":
		return http.StatusForbidden, "Your role may not sign in by a token: an administrator can GRANT it to the " +
			"login of --http-token-url."
	case errors.Is(err, errToken):
		return http.StatusForbidden, "This token is not good (any more). Ask for another one."
	case errors.Is(err, errLogin):
		c.log.Error("--http-token-url names a login that has rights of its own: make it NOINHERIT, with no attributes",
			"error", err)
		return http.StatusForbidden, "Tokens are not taken: the login for them must have no rights of its own. The " +
			"engine's log says more."
	case refusedLogin(err), errors.As(err, &pg) && pg.Code == pgerrcode.InsufficientPrivilege:
		c.log.Warn("an attempt to sign in to the console failed", "role", name, "error", err)
		return http.StatusForbidden, "The server does not let this role in with this password."
	case strings.Contains(err.Error(), "require_auth") || strings.Contains(err.Error(), "authentication method"):
		c.log.Warn("the server does not ask for a password by SCRAM", "role", name, "error", err)
		return http.StatusForbidden, "The server does not ask this role for its password by scram-sha-256, as the " +
			"console needs it; see pg_hba.conf."
	}
	c.log.Warn("nobody could be signed in to the console", "error", err)
	return http.StatusBadGateway, "The database cannot be reached."
}

func (c *Console) signOut(v *visit) {
	c.sessions.remove(v.session)
	c.setCookie(v.w, "", -1)
	http.Redirect(v.w, v.r, "/signin", http.StatusSeeOther)
}
