// What the pages do better with a script. All of them can be read without it.
"use strict";
(function () {
  // Times in the reader's zone. The title keeps what the server has written, which is UTC.
  const full = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
  function ago(then) {
    const s = Math.max(0, (Date.now() - then) / 1000);
    if (s < 60) return Math.floor(s) + " s ago";
    if (s < 3600) return Math.floor(s / 60) + " min ago";
    if (s < 172800) return Math.floor(s / 3600) + " h ago";
    return Math.floor(s / 86400) + " days ago";
  }
  function times(root) {
    for (const t of root.querySelectorAll("time[datetime]")) {
      const then = new Date(t.dateTime);
      if (isNaN(then)) continue;
      const text = t.classList.contains("ago") ? ago(then) : full.format(then);
      if (t.textContent !== text) t.textContent = text;
    }
  }
  // On a narrow screen each row of a table is a card, whose cells bear their column's name.
  function cards(root) {
    for (const table of root.querySelectorAll(".scroll > table")) {
      if (!table.tHead || !table.tBodies.length || table.closest(".feed")) continue;
      const names = Array.from(table.tHead.rows[0].cells, function (c) { return c.textContent.replace(/ [↑↓]$/, ""); });
      for (const row of table.tBodies[0].rows) {
        for (const cell of row.cells) if (cell.cellIndex) cell.dataset.label = names[cell.cellIndex];
      }
      table.classList.add("cards");
    }
  }
  // One box ticks all rows of a page.
  function ticks(root) {
    const all = root.querySelector("input[data-all]");
    if (!all) return;
    all.hidden = false;
    all.onchange = function () { for (const box of root.querySelectorAll(".tick input[name=row]")) box.checked = all.checked; };
  }
  function dress() { times(document); cards(document); ticks(document); }
  dress();
  setInterval(function () { times(document); }, 10000);
  document.addEventListener("htmx:afterSettle", dress);

  // Another theme, without leaving what one has typed. The answer, which leads elsewhere, sets the cookie.
  const theme = document.querySelector("form.theme");
  if (theme) theme.addEventListener("submit", function (e) {
    const chosen = e.submitter;
    if (!chosen || !chosen.value) return;
    e.preventDefault();
    const data = new URLSearchParams(new FormData(theme, chosen));
    fetch(theme.action, { method: "POST", body: data, redirect: "manual" }).then(function (answer) {
      if (answer.type !== "opaqueredirect") return; // it was refused
      if (chosen.value === "auto") delete document.documentElement.dataset.theme;
      else document.documentElement.dataset.theme = chosen.value;
      const scheme = document.querySelector('meta[name="color-scheme"]');
      scheme.content = chosen.value === "auto" ? "light dark" : chosen.value;
      for (const b of theme.querySelectorAll("button")) b.setAttribute("aria-pressed", b === chosen ? "true" : "false");
    }, function () {}); // the engine is away, which the page says
  });

  // Where the pages' names do not all fit, the one that is open is in sight.
  const here = document.querySelector(".side nav a[aria-current]");
  if (here) here.scrollIntoView({ block: "nearest", inline: "center" });

  // The page asks anew when something has happened, unless somebody is typing.
  const light = document.getElementById("listening");
  if (light) {
    const batch = document.querySelector("[data-batch]");
    const source = new EventSource("/events" + (batch ? "?batch=" + batch.dataset.batch : ""));
    // What stands beside a batch has nothing that is typed into.
    const beside = function () { document.body.dispatchEvent(new CustomEvent("beside")); };
    source.addEventListener("beside", beside);
    source.onopen = function () { light.textContent = "live"; light.classList.add("on"); };
    source.onerror = function () { light.textContent = "offline"; light.classList.remove("on"); };
    source.addEventListener("ended", function () { source.close(); location.reload(); });
    source.onmessage = function () {
      beside();
      const at = document.activeElement;
      if (at && at.closest && at.closest("#live form")) return;
      if (document.querySelector("#live details[open]:not(.step, .fold), #live .tick input:checked")) return;
      document.body.dispatchEvent(new CustomEvent("iasql"));
    };
    window.addEventListener("pagehide", function () { source.close(); });
  }

  // The search and the list of keys are dialogs. In the search the arrow keys walk the results while one types on.
  const search = document.getElementById("search");
  const keys = document.getElementById("keys");
  function open(dialog) {
    if (!dialog || dialog.open) return;
    for (const other of document.querySelectorAll("dialog[open]")) other.close();
    dialog.showModal();
    const field = dialog.querySelector("input[name=q]");
    if (field) field.select();
  }
  function choices() { return Array.from(search.querySelectorAll(".hit")); }
  function choose(hit) {
    const field = search.querySelector("input[name=q]");
    for (const other of choices()) other.setAttribute("aria-selected", other === hit ? "true" : "false");
    if (!hit) { field.removeAttribute("aria-activedescendant"); return; }
    field.setAttribute("aria-activedescendant", hit.id);
    hit.scrollIntoView({ block: "nearest" });
  }
  if (search) {
    const field = search.querySelector("input[name=q]");
    const answered = function () {
      // The results are a list to choose from, in groups: the elements between have no meaning of their own then.
      const hits = document.getElementById("hits"), all = choices();
      all.forEach(function (hit, i) { hit.id = "hit-" + i; hit.setAttribute("role", "option"); hit.tabIndex = -1; });
      for (const group of hits.querySelectorAll(".hits")) {
        group.setAttribute("role", "group");
        group.setAttribute("aria-label", group.querySelector("h2").textContent);
        for (const other of group.querySelectorAll("h2, ul, li")) other.setAttribute("role", "presentation");
      }
      hits.setAttribute("role", all.length ? "listbox" : "status");
      field.setAttribute("aria-expanded", all.length ? "true" : "false");
      search.dataset.answers = field.value;
      choose(all[0]);
      if (waiting) { waiting = false; go(); }
    };
    let waiting = false;
    const go = function () {
      const hit = search.querySelector('.hit[aria-selected="true"]');
      if (hit) hit.click();
    };
    search.addEventListener("htmx:afterSwap", answered);
    search.addEventListener("keydown", function (e) {
      if (e.isComposing) return;
      if (e.key === "ArrowDown" || e.key === "ArrowUp") {
        e.preventDefault();
        const all = choices();
        if (!all.length) return;
        const at = all.findIndex(function (hit) { return hit.getAttribute("aria-selected") === "true"; });
        choose(all[(at + (e.key === "ArrowDown" ? 1 : all.length - 1) + (at < 0 ? 1 : 0)) % all.length]);
      }
    });
    search.querySelector("form").addEventListener("submit", function (e) {
      e.preventDefault();
      if (search.dataset.answers === field.value) go(); else waiting = field.value.trim() !== ""; // the results are on their way
    });
    field.addEventListener("input", function () { waiting = false; });
  }
  // A browser leaves the focus in a closed dialog's field until it draws next: the next key would be typed there.
  function shut(dialog) {
    dialog.close();
    if (dialog.contains(document.activeElement)) document.activeElement.blur();
  }
  for (const dialog of document.querySelectorAll("dialog")) {
    // A field for searching would take the first Escape for itself.
    dialog.addEventListener("keydown", function (e) { if (e.key === "Escape") { e.preventDefault(); shut(dialog); } });
    dialog.addEventListener("click", function (e) { if (e.target === dialog) shut(dialog); });
  }
  for (const link of document.querySelectorAll("a[data-dialog]")) {
    link.addEventListener("click", function (e) {
      if (e.ctrlKey || e.metaKey || e.shiftKey) return;
      e.preventDefault();
      open(document.getElementById(link.dataset.dialog));
    });
  }
  if (/Mac|iPhone|iPad/.test(navigator.platform)) {
    for (const key of document.querySelectorAll("kbd")) key.textContent = key.textContent.replace("Ctrl", "⌘");
  }

  // Keys: / searches, g and a letter goes to a page, f to the filter, j and k walk a list, ? shows the keys.
  let going = false;
  document.addEventListener("keydown", function (e) {
    if (search && (e.ctrlKey || e.metaKey) && !e.altKey && !e.shiftKey && e.key.toLowerCase() === "k") {
      e.preventDefault();
      open(search);
      return;
    }
    if (e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName)) return;
    if (document.querySelector("dialog[open]")) return;
    if (going) {
      going = false;
      const link = document.querySelector('nav a[data-key="' + CSS.escape(e.key) + '"]');
      if (link) { e.preventDefault(); link.click(); }
      return;
    }
    if (e.key === "g") { going = true; setTimeout(function () { going = false; }, 1500); return; }
    if (e.key === "/" && search) { e.preventDefault(); open(search); return; }
    if (e.key === "?" && keys) { e.preventDefault(); open(keys); return; }
    if (e.key === "f") {
      const filter = document.querySelector("[data-search]");
      if (filter) { e.preventDefault(); filter.focus(); }
      return;
    }
    if (e.key === "j" || e.key === "k") {
      const links = Array.from(document.querySelectorAll("#live tbody tr td:not(.tick):first-child a, #live tbody tr td.tick + td a"));
      const here = links.indexOf(document.activeElement);
      const next = links[e.key === "j" ? here + 1 : Math.max(0, here - 1)];
      if (next) { e.preventDefault(); next.focus(); }
    }
  });
  document.documentElement.dataset.ready = "yes";
})();
