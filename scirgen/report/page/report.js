"use strict";
(() => {
  const rows = [...document.querySelectorAll("article")];
  const text = rows.map((row) => row.textContent.toLowerCase());
  const controls = [...document.querySelectorAll("[data-filter]")];
  const count = document.getElementById("count");
  const show = () => {
    let shown = 0;
    const wanted = controls.map((c) => [c.dataset.filter, c.value]);
    rows.forEach((row, i) => {
      const fits = wanted.every(([name, value]) =>
        !value || (name === "search" ? value.toLowerCase().split(/\s+/).every((w) => text[i].includes(w)) : row.dataset[name] === value));
      row.hidden = !fits;
      shown += fits;
    });
    count.textContent = `${shown} of ${rows.length} rows shown`;
  };
  controls.forEach((c) => c.addEventListener("input", show));
  show();
})();
