// Runs in the browser: the search field, and a closed table of contents on small screens.
/* global PagefindUI, document, matchMedia, addEventListener */
// The constructor draws the field.
void new PagefindUI({
  element: "#search",
  showImages: false,
  showSubResults: true,
  pageSize: 8,
  resetStyles: false,
  translations: { placeholder: "Search (press /)" },
});
const field = document.querySelector("#search input");
field?.setAttribute("aria-label", "Search the guide");
if (matchMedia("(max-width: 60rem)").matches) document.querySelector("nav details").open = false;
addEventListener("keydown", (event) => {
  if (event.key !== "/" || /^(?:INPUT|TEXTAREA)$/.test(document.activeElement?.tagName ?? "")) return;
  event.preventDefault();
  field?.focus();
});
