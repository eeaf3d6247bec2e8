package console

import (
	"net/http"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// theme is how a browser shows the pages: as its system does, light or dark.
type theme string

const (
	themeAuto  theme = "auto"
	themeLight theme = "light"
	themeDark  theme = "dark"
)

var themes = []struct {
	theme theme
	text  string
}{{themeAuto, "Auto"}, {themeLight, "Light"}, {themeDark, "Dark"}}

const themeCookie = "iasql-theme"

// themeOf returns what the browser's cookie says. What is no theme is auto.
func themeOf(r *http.Request) theme {
	cookie, err := r.Cookie(themeCookie)
	if err != nil {
		return themeAuto
	}
	if t := theme(cookie.Value); t == themeLight || t == themeDark {
		return t
	}
	return themeAuto
}

// attribute tells the stylesheet, which follows the system without it.
func (t theme) attribute() g.Node { return g.If(t != themeAuto, g.Attr("data-theme", string(t))) }

// scheme is the value of the meta element color-scheme: the browser paints with it
// before it has the stylesheet.
func (t theme) scheme() string {
	if t == themeAuto {
		return "light dark"
	}
	return string(t)
}

// themeSwitch is a form, so that it works without a script. app.js sends it without
// leaving the page.
func (v *visit) themeSwitch() g.Node {
	back := "/"
	if v.r.Method == http.MethodGet {
		back = v.r.URL.RequestURI()
	}
	chosen := themeOf(v.r)
	buttons := make([]g.Node, 0, len(themes))
	for _, t := range themes {
		buttons = append(buttons, h.Button(h.Type("submit"), h.Name("theme"), h.Value(string(t.theme)),
			h.Aria("pressed", map[bool]string{true: "true", false: "false"}[t.theme == chosen]), g.Text(t.text)))
	}
	return h.Form(h.Class("theme"), h.Method("post"), h.Action("/theme"),
		h.Input(h.Type("hidden"), h.Name("csrf"), h.Value(v.session.csrf)),
		h.Input(h.Type("hidden"), h.Name("back"), h.Value(back)),
		h.FieldSet(h.Legend(h.Class("hidden"), g.Text("Theme")), g.Group(buttons)))
}

// setTheme keeps the theme in the browser for a year. It is of the browser and not
// of the role, which several people may share.
func (c *Console) setTheme(v *visit) {
	cookie := &http.Cookie{Name: themeCookie, Path: "/", HttpOnly: true, Secure: c.options.TLS,
		SameSite: http.SameSiteLaxMode}
	switch t := theme(v.r.PostFormValue("theme")); t {
	case themeLight, themeDark:
		cookie.Value, cookie.MaxAge = string(t), 365*24*60*60
	case themeAuto:
		cookie.MaxAge = -1
	default:
		v.problem(http.StatusBadRequest, "There is no such theme", "Choose auto, light or dark.")
		return
	}
	http.SetCookie(v.w, cookie)
	http.Redirect(v.w, v.r, inside(v.r.PostFormValue("back")), http.StatusSeeOther)
}
