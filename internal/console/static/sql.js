// What the page of SQL does better with a script: Ctrl Enter runs, and names of tables, columns and functions are offered.
"use strict";
(function () {
  const form = document.getElementById("sql-form");
  const field = document.getElementById("sql");
  if (!form || !field || !field.dataset.names) return;

  field.addEventListener("keydown", function (e) {
    if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) {
      e.preventDefault();
      close();
      form.requestSubmit(form.querySelector('button[value="run"]'));
    }
  });

  // The names are fetched when somebody begins to type, once a page; the browser keeps them by their ETag.
  let names = null, asked = false;
  function ask() {
    if (asked) return;
    asked = true;
    fetch(field.dataset.names, { headers: { Accept: "application/json" } })
      .then(function (answer) { return answer.ok ? answer.json() : null; })
      .then(function (got) { names = got; if (document.activeElement === field) offer(); })
      .catch(function () { asked = false; });
  }

  const list = document.createElement("ul");
  list.id = "sql-names";
  list.className = "names";
  list.hidden = true;
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", "Names");
  field.parentElement.appendChild(list);
  // A field of several lines is no combobox (ARIA in HTML, section 4): that names are offered is said instead.
  const said = document.createElement("div");
  said.className = "hidden";
  said.setAttribute("role", "status");
  field.parentElement.appendChild(said);
  field.setAttribute("aria-autocomplete", "list");
  field.setAttribute("aria-haspopup", "listbox");
  field.setAttribute("aria-controls", list.id);

  let word = "", at = 0;
  function close() {
    list.hidden = true;
    list.textContent = "";
    said.textContent = "";
    field.removeAttribute("aria-activedescendant");
  }
  function choose(item) {
    for (const other of list.children) other.setAttribute("aria-selected", other === item ? "true" : "false");
    field.setAttribute("aria-activedescendant", item.id);
    item.scrollIntoView({ block: "nearest" });
  }
  function chosen() { return list.querySelector('[aria-selected="true"]'); }
  function take(item) {
    field.setRangeText(item.dataset.name, at, at + word.length, "end");
    close();
    field.focus();
  }

  // Tables that the statement names, by their names and by what it calls them.
  function mentioned(text) {
    const found = new Map();
    for (const m of text.matchAll(/\b(?:from|join|update|into)\s+(?:public\.)?([a-z_][a-z0-9_]*)(?:\s+(?:as\s+)?(?!(?:where|on|set|join|left|right|full|inner|cross|order|group|limit|using|values|select|having|union)\b)([a-z_][a-z0-9_]*))?/gi)) {
      const table = names.tables.find(function (t) { return t.name === m[1].toLowerCase(); });
      if (!table) continue;
      found.set(table.name, table);
      if (m[2]) found.set(m[2].toLowerCase(), table);
    }
    return found;
  }
  function candidates(before, typed, dot) {
    const start = before.lastIndexOf(";") + 1;
    const end = field.value.indexOf(";", before.length);
    const text = field.value.slice(start, end < 0 ? undefined : end);
    const lead = before.slice(start);
    if ((lead.match(/'/g) || []).length % 2 || /--[^\n]*$/.test(lead)) return []; // in a text or a comment
    const tables = mentioned(text);
    const some = [];
    const add = function (name, kind) { if (name.startsWith(typed) && name !== typed && !some.some(function (s) { return s.name === name; })) some.push({ name: name, kind: kind }); };
    if (dot !== null) {
      const table = tables.get(dot);
      if (table) table.columns.forEach(function (c) { add(c, table.name); });
    } else {
      if (typed.length < 2) return [];
      const relation = /\b(from|join|update|into|table)\s+(public\.)?[a-z0-9_]*$/i.test(lead);
      if (!relation) new Set(tables.values()).forEach(function (table) { table.columns.forEach(function (c) { add(c, table.name); }); });
      names.tables.forEach(function (t) { add(t.name, "table"); });
      names.functions.forEach(function (f) { add(f, "function"); });
    }
    return some.slice(0, 12);
  }
  function offer() {
    if (!names || field.selectionStart !== field.selectionEnd) { close(); return; }
    const before = field.value.slice(0, field.selectionStart);
    const m = /(?:([a-z_][a-z0-9_]*)\.)?([a-z_][a-z0-9_]*)?$/i.exec(before);
    word = m[2] || "";
    at = before.length - word.length;
    const dot = m[1] && m[1].toLowerCase() !== "public" ? m[1].toLowerCase() : null;
    const some = word || dot !== null ? candidates(before, word.toLowerCase(), dot) : [];
    if (!some.length) { close(); return; }
    list.textContent = "";
    some.forEach(function (s, i) {
      const item = document.createElement("li");
      item.id = "sql-name-" + i;
      item.dataset.name = s.name;
      item.setAttribute("role", "option");
      const name = document.createElement("span");
      name.textContent = s.name;
      const kind = document.createElement("span");
      kind.className = "muted small";
      kind.textContent = s.kind;
      item.append(name, " ", kind);
      item.addEventListener("mousedown", function (e) { e.preventDefault(); take(item); });
      list.appendChild(item);
    });
    list.hidden = false;
    said.textContent = some.length + (some.length === 1 ? " name is offered" : " names are offered");
    place();
    choose(list.firstElementChild);
  }

  // The list stands under the cursor: a copy of the field says where that is.
  function place() {
    const copy = document.createElement("div");
    const style = getComputedStyle(field);
    copy.className = "copy";
    for (const p of ["fontFamily", "fontSize", "lineHeight", "padding", "borderWidth", "letterSpacing", "tabSize"]) copy.style[p] = style[p];
    copy.style.width = field.clientWidth + "px";
    copy.textContent = field.value.slice(0, at);
    const mark = document.createElement("span");
    mark.textContent = "x";
    copy.appendChild(mark);
    field.parentElement.appendChild(copy);
    const left = Math.min(mark.offsetLeft, Math.max(0, field.clientWidth - 260));
    const top = mark.offsetTop + mark.offsetHeight - field.scrollTop;
    copy.remove();
    list.style.left = left + "px";
    list.style.top = Math.min(top, field.clientHeight) + field.offsetTop + 2 + "px";
  }

  field.addEventListener("focus", ask);
  field.addEventListener("input", function () { ask(); offer(); });
  field.addEventListener("click", close);
  field.addEventListener("blur", close);
  field.addEventListener("keydown", function (e) {
    if (list.hidden || e.isComposing || e.ctrlKey || e.metaKey || e.altKey) return;
    const item = chosen();
    switch (e.key) {
    case "ArrowDown":
    case "ArrowUp": {
      e.preventDefault();
      const all = Array.from(list.children);
      choose(all[(all.indexOf(item) + (e.key === "ArrowDown" ? 1 : all.length - 1)) % all.length]);
      break;
    }
    case "Tab":
    case "Enter":
      if (e.shiftKey || !item) { close(); return; }
      e.preventDefault();
      take(item);
      break;
    case "Escape":
      e.preventDefault();
      close();
      break;
    case "ArrowLeft":
    case "ArrowRight":
    case "Home":
    case "End":
      close();
    }
  });
  if (!field.value) field.focus();
  document.documentElement.dataset.sql = "ready";
})();
