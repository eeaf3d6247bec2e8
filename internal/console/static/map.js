// Zooms and moves a map, by mouse, touch and keys. Without a script it is scrolled.
"use strict";
(function () {
  let kept = null; // zoom and place, for when the page has asked anew
  function dress() {
    const view = document.getElementById("map");
    if (!view || view.dataset.dressed) return;
    const svg = view.querySelector("svg");
    if (!svg) return;
    view.dataset.dressed = "yes";
    const width = svg.width.baseVal.value, height = svg.height.baseVal.value;
    let zoom = 1;
    function keep() { kept = { address: location.href, zoom: zoom, x: view.scrollLeft, y: view.scrollTop }; }
    // What is at x, y of the view stays there.
    function to(value, x, y) {
      value = Math.min(3, Math.max(0.08, value));
      const across = (view.scrollLeft + x) / zoom, down = (view.scrollTop + y) / zoom;
      zoom = value;
      svg.setAttribute("width", width * zoom);
      svg.setAttribute("height", height * zoom);
      view.scrollLeft = across * zoom - x;
      view.scrollTop = down * zoom - y;
      keep();
    }
    function middle(by) { to(zoom * by, view.clientWidth / 2, view.clientHeight / 2); }
    function whole() { to(Math.min(1, (view.clientWidth - 8) / width, Math.max(240, view.clientHeight - 8) / height), 0, 0); }
    const tools = document.createElement("div");
    tools.className = "map-tools";
    for (const [sign, name, act] of [["+", "Zoom in", function () { middle(1.25); }], ["−", "Zoom out", function () { middle(0.8); }],
      ["All", "All: show the whole map", whole]]) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = sign;
      button.title = name;
      button.setAttribute("aria-label", name);
      button.addEventListener("click", act);
      tools.append(button);
    }
    view.before(tools);
    view.addEventListener("keydown", function (e) {
      if (e.ctrlKey || e.metaKey || e.altKey) return;
      const moves = { ArrowLeft: [-60, 0], ArrowRight: [60, 0], ArrowUp: [0, -60], ArrowDown: [0, 60] };
      if (e.key === "+" || e.key === "=") middle(1.25);
      else if (e.key === "-") middle(0.8);
      else if (e.key === "0") whole();
      else if (moves[e.key]) view.scrollBy(moves[e.key][0], moves[e.key][1]); // at once: nothing is animated
      else return;
      e.preventDefault();
    });
    view.addEventListener("wheel", function (e) {
      if (!e.ctrlKey && !e.metaKey) return; // the wheel alone scrolls
      e.preventDefault();
      const box = view.getBoundingClientRect();
      to(zoom * Math.exp(-e.deltaY / 400), e.clientX - box.left, e.clientY - box.top);
    }, { passive: false });
    let drag = null;
    view.addEventListener("pointerdown", function (e) {
      if (e.pointerType === "mouse" && e.button === 0) drag = { x: e.clientX, y: e.clientY, moved: false };
    });
    view.addEventListener("pointermove", function (e) {
      if (!drag || !(e.buttons & 1)) { drag = null; return; }
      const x = e.clientX - drag.x, y = e.clientY - drag.y;
      if (!drag.moved && Math.abs(x) + Math.abs(y) < 5) return;
      drag = { x: e.clientX, y: e.clientY, moved: true };
      view.classList.add("moving");
      view.scrollBy(-x, -y);
    });
    view.addEventListener("dragstart", function (e) { e.preventDefault(); });
    view.addEventListener("click", function (e) { // a drag follows no link
      if (drag && drag.moved) { e.preventDefault(); e.stopPropagation(); }
      drag = null;
      view.classList.remove("moving");
    }, true);
    view.addEventListener("pointerleave", function () { view.classList.remove("moving"); });
    // Two fingers zoom. One scrolls, as everywhere.
    let apart = 0;
    function fingers(e) { return Math.hypot(e.touches[0].clientX - e.touches[1].clientX, e.touches[0].clientY - e.touches[1].clientY); }
    view.addEventListener("touchstart", function (e) { apart = e.touches.length === 2 ? fingers(e) : 0; }, { passive: true });
    view.addEventListener("touchmove", function (e) {
      if (e.touches.length !== 2 || !apart) return;
      e.preventDefault();
      const now = fingers(e), box = view.getBoundingClientRect();
      to(zoom * now / apart, (e.touches[0].clientX + e.touches[1].clientX) / 2 - box.left,
        (e.touches[0].clientY + e.touches[1].clientY) / 2 - box.top);
      apart = now;
    }, { passive: false });
    view.addEventListener("scroll", keep, { passive: true });
    if (kept && kept.address === location.href) {
      const was = kept;
      to(was.zoom, 0, 0);
      view.scrollTo(was.x, was.y);
    }
  }
  dress();
  document.addEventListener("htmx:afterSettle", dress);
})();
