// Runs in the browser: shows the search field, closes the table of contents on small screens, and applies the theme that
// the user has chosen in the dashboard of the same server.
/* global PagefindUI, document, localStorage, matchMedia, addEventListener */
const theme = localStorage.getItem("hone-theme");
if (theme === "dark" || theme === "light") document.documentElement.style.colorScheme = theme;
// The constructor adds the search field to the page.
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
