// What the pages do beyond the theme: boxes that scroll can be reached by the keyboard, and versions can be chosen.
function reachBoxes() {
  for (const box of document.querySelectorAll("pre, .formula, figure.drawn, .scroll, .pst-scrollable-table-container")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
}

function listVersions() {
  const root = document.documentElement.dataset.content_root;
  for (const list of document.querySelectorAll(".versions ul")) {
    list.replaceChildren(...linnetVersions.map(({ version, url }) => {
      const link = Object.assign(document.createElement("a"), { href: root + url, textContent: version });
      link.className = "dropdown-item";
      const item = document.createElement("li");
      item.append(link);
      return item;
    }));
  }
}

function nameToggles() { // of the list of pages at the side
  for (const toggle of document.querySelectorAll("nav summary:not([aria-label])")) {
    toggle.setAttribute("aria-label", `Pages of ${toggle.closest("li").querySelector("a").textContent.trim()}`);
  }
}

addEventListener("DOMContentLoaded", () => {
  nameToggles();
  if (typeof linnetVersions !== "undefined") listVersions();
  reachBoxes();
});
addEventListener("resize", reachBoxes);
addEventListener("load", reachBoxes);
