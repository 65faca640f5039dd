"use strict";
// A filter over the list of changes: words that all must occur, and kinds of change of which one must fit.
(() => {
  const controls = document.getElementById("controls");
  if (!controls) return;
  const changes = [...document.querySelectorAll(".change")];
  const texts = new Map();
  const filter = document.getElementById("filter");
  const chips = [...controls.querySelectorAll("[data-section]")];
  const open = document.getElementById("open");

  // Read when first needed: two thousand changes are much text.
  const textOf = (change) => {
    if (!texts.has(change)) texts.set(change, change.textContent.toLowerCase());
    return texts.get(change);
  };
  const pressed = (chip) => chip.getAttribute("aria-pressed") === "true";

  const show = () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const sections = new Set(chips.filter(pressed).map((chip) => chip.dataset.section));
    let shown = 0;
    for (const change of changes) {
      const fits =
        (sections.size === 0 || sections.has(change.dataset.section)) &&
        words.every((word) => textOf(change).includes(word));
      change.hidden = !fits;
      shown += fits ? 1 : 0;
    }
    document.getElementById("count").textContent = `${shown} of ${changes.length} shown`;
    document.getElementById("none").hidden = shown > 0;
  };

  const reveal = () => {
    const target = location.hash ? document.getElementById(location.hash.slice(1)) : null;
    if (!target || !target.classList.contains("change")) return;
    if (target.hidden) clear();
    target.open = true;
    target.scrollIntoView({ block: "start" });
    target.querySelector("summary").focus({ preventScroll: true });
  };

  const clear = () => {
    filter.value = "";
    for (const chip of chips) chip.setAttribute("aria-pressed", "false");
    show();
  };

  filter.addEventListener("input", show);
  for (const chip of chips) {
    chip.addEventListener("click", () => {
      chip.setAttribute("aria-pressed", pressed(chip) ? "false" : "true");
      show();
    });
  }
  open.addEventListener("click", () => {
    const all = open.textContent === "open all";
    for (const change of changes) if (!change.hidden) change.open = all;
    open.textContent = all ? "close all" : "open all";
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== filter && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      filter.focus();
    } else if (event.key === "Escape") {
      clear();
    }
  });
  addEventListener("hashchange", reveal);
  controls.hidden = false;
  show();
  reveal();
})();
