"use strict";
// Tables: a head's button sorts, the field filters. Code: source and machine code light up each other.

const number = (cell) => {
  if (cell.dataset.v !== undefined) return parseFloat(cell.dataset.v);
  const text = cell.textContent.trim();
  return /^[-+]?[\d,]*\.?\d+%?$/.test(text) ? parseFloat(text.replace(/,/g, "")) : NaN;
};

function sortable(box) {
  const table = box.querySelector("table.data"), body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => head.querySelector("button").addEventListener("click", () => {
    const down = head.getAttribute("aria-sort") === "ascending";
    heads.forEach((each) => each.setAttribute("aria-sort", "none"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const sign = down ? -1 : 1;
    const rows = [...body.rows].map((row) => [row, number(row.cells[column]), row.cells[column].textContent.trim()]);
    rows.sort(([, a, left], [, b, right]) => {
      if (isNaN(a) && isNaN(b)) return sign * left.localeCompare(right, "en", { numeric: true });
      return isNaN(a) ? 1 : isNaN(b) ? -1 : sign * (a - b);
    });
    body.append(...rows.map(([row]) => row));
  }));
  const field = box.querySelector("input");
  if (field) filterable(field, heads, body, box.querySelector(".count"));
}

const plain = (text) => text.toLowerCase().replace(/[^a-z0-9]/g, "");
const compare = { "<": (a, b) => a < b, ">": (a, b) => a > b, "=": (a, b) => a === b, "<=": (a, b) => a <= b, ">=": (a, b) => a >= b };

function condition(word, heads) {
  const [, name, sign, limit] = /^([^<>=]+)(<=|>=|<|>|=)(.+)$/.exec(word) || [];
  const column = heads.findIndex((head) => name && [head.dataset.name || "", head.textContent].some((text) => plain(text) === plain(name)));
  if (column < 0 || isNaN(parseFloat(limit))) return (row) => row.textContent.toLowerCase().includes(word.toLowerCase());
  return (row) => compare[sign](number(row.cells[column]), parseFloat(limit));
}

function filterable(field, heads, body, count) {
  field.addEventListener("input", () => {
    const wanted = field.value.split(/\s+/).filter(Boolean).map((word) => condition(word, heads));
    let shown = 0;
    for (const row of body.rows) {
      row.hidden = !wanted.every((holds) => holds(row));
      shown += !row.hidden;
    }
    count.textContent = wanted.length ? `${shown} of ${body.rows.length} rows` : "";
  });
}

function code(view) {
  const rows = [...view.querySelectorAll("tr[data-p]")];
  let pinned = null;
  const light = (place) => rows.forEach((row) => row.classList.toggle("lit", place !== null && row.dataset.p === place));
  const show = (row) => {
    light(row.dataset.p);
    for (const pane of view.querySelectorAll(".pane")) {
      const target = pane.contains(row) ? row : pane.querySelector(`tr[data-p="${row.dataset.p}"]`);
      if (!target) continue;
      const top = target.getBoundingClientRect().top - pane.getBoundingClientRect().top;
      if (top < 30 || top > pane.clientHeight - 40) pane.scrollTop += top - pane.clientHeight / 3;
    }
  };
  const pin = (row) => {
    view.querySelectorAll("[aria-current]").forEach((each) => each.removeAttribute("aria-current"));
    pinned = row;
    if (row) row.setAttribute("aria-current", "true");
    if (row) show(row); else light(null);
  };
  view.addEventListener("mouseover", (event) => {
    const row = event.target.closest("tr[data-p]");
    if (row && !pinned) light(row.dataset.p);
  });
  view.addEventListener("mouseout", () => { if (!pinned) light(null); });
  view.addEventListener("click", (event) => {
    const row = event.target.closest("tr[data-p]");
    if (row) pin(row === pinned ? null : row);
  });
  for (const pane of view.querySelectorAll(".pane")) {
    pane.addEventListener("keydown", (event) => {
      const own = rows.filter((row) => pane.contains(row));
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (event.key === "Escape") pin(null);
      if (!step || !own.length) return;
      event.preventDefault();
      const at = own.indexOf(pinned);
      pin(own[at < 0 ? (step > 0 ? 0 : own.length - 1) : Math.min(own.length - 1, Math.max(0, at + step))]);
    });
  }
  const heat = view.querySelector("select.heat");
  if (heat) heat.addEventListener("change", () => {
    for (const row of view.querySelectorAll("tr[data-h]")) {
      row.className = row.className.replace(/\bh\d\b/, `h${row.dataset.h[heat.value] || 0}`);
    }
  });
}

function scrollToHottest(view) {
  if (!view.open || view.dataset.seen) return;
  view.dataset.seen = "yes";
  for (const pane of view.querySelectorAll(".pane")) {
    const row = [9, 8, 7, 6, 5].map((heat) => pane.querySelector(`tr.h${heat}`)).find(Boolean);
    if (row && !pane.scrollTop) pane.scrollTop = row.getBoundingClientRect().top - pane.getBoundingClientRect().top - pane.clientHeight / 3;
  }
}

document.querySelectorAll(".sortable").forEach(sortable);
for (const view of document.querySelectorAll("details.code")) {
  code(view);
  scrollToHottest(view);
  view.addEventListener("toggle", () => scrollToHottest(view));
}
addEventListener("beforeprint", () => document.querySelectorAll("details.code").forEach((each) => { each.open = true; }));
