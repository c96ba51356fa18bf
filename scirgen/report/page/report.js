"use strict";
(() => {
  const PER_PAGE = 20;
  const rows = [...document.querySelectorAll("#list > li")];
  const text = rows.map((row) => row.textContent.toLowerCase());
  const controls = [...document.querySelectorAll("[data-filter]")];
  const pagers = [...document.querySelectorAll("nav.pager")];
  const count = document.getElementById("count");
  const open = document.getElementById("open");
  const list = document.getElementById("list");
  if (!list) return;
  let fitting = rows;
  let page = 0;

  const shown = () => fitting.slice(page * PER_PAGE, (page + 1) * PER_PAGE);
  const pages = () => Math.max(1, Math.ceil(fitting.length / PER_PAGE));

  const draw = () => {
    page = Math.min(Math.max(page, 0), pages() - 1);
    const visible = new Set(shown());
    rows.forEach((row) => { row.hidden = !visible.has(row); });
    list.start = page * PER_PAGE + 1;
    const range = fitting.length ? `rows ${page * PER_PAGE + 1} to ${page * PER_PAGE + visible.size} of ` : "";
    const fit = fitting.length === rows.length ? "" : ` that fit, of ${rows.length}`;
    count.textContent = fitting.length ? `Showing ${range}${fitting.length}${fit}` : `No row fits, of ${rows.length}`;
    pagers.forEach((pager) => {
      pager.hidden = pages() === 1 && pager.getAttribute("aria-label") === "Pages, below";
      pager.querySelector(".page").textContent = `Page ${page + 1} of ${pages()}`;
      // Not the attribute "disabled": a button that goes away takes the keyboard's focus with it.
      pager.querySelectorAll("[data-page]").forEach((b) => {
        const to = page + Number(b.dataset.page);
        b.setAttribute("aria-disabled", String(to < 0 || to >= pages()));
      });
    });
    open.setAttribute("aria-pressed", String(visible.size > 0 && [...visible].every((row) => row.firstElementChild.open)));
  };

  const filter = () => {
    const wanted = controls.map((c) => [c.dataset.filter, c.value]);
    fitting = rows.filter((row, i) => wanted.every(([name, value]) =>
      !value || (name === "search" ? value.toLowerCase().split(/\s+/).every((w) => text[i].includes(w)) : row.dataset[name] === value)));
    page = 0;
    draw();
  };

  const turn = (by, below) => {
    const to = page + by;
    if (to < 0 || to >= pages()) return;
    page = to;
    draw();
    if (below) {
      list.scrollIntoView();
      shown()[0].querySelector("summary").focus();
    }
  };

  const follow = () => {
    const row = rows.find((r) => r.id && [r.id, encodeURIComponent(r.id)].includes(location.hash.slice(1)));
    if (!row) return;
    controls.forEach((c) => { c.value = ""; });
    fitting = rows;
    page = Math.floor(rows.indexOf(row) / PER_PAGE);
    row.firstElementChild.open = true;
    draw();
    row.scrollIntoView();
  };

  document.querySelectorAll(".controls, nav.pager").forEach((part) => { part.hidden = false; });
  controls.forEach((c) => c.addEventListener("input", filter));
  document.getElementById("clear").addEventListener("click", () => {
    controls.forEach((c) => { c.value = ""; });
    filter();
  });
  pagers.forEach((pager, i) => pager.querySelectorAll("[data-page]").forEach((b) =>
    b.addEventListener("click", () => turn(Number(b.dataset.page), i > 0))));
  open.addEventListener("click", () => {
    const on = open.getAttribute("aria-pressed") !== "true";
    shown().forEach((row) => { row.firstElementChild.open = on; });
    open.setAttribute("aria-pressed", String(on));
  });
  addEventListener("hashchange", follow);
  filter();
  follow();
})();
// A table that is wider than the window scrolls by keyboard, too.
for (const box of document.querySelectorAll(".wide")) if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
