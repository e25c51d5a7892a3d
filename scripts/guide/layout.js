// The frame of a page: head, side bar, search field, and links to the previous and the next page.
import { htmlPath, sections } from "./pages.js";

const contents = sections();
const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");

/**
 * Returns the HTML of a whole page.
 *
 * @param path path of the page's Markdown file below docs/
 * @param content HTML of the page's content
 */
export function layOut(path, content) {
  const ordered = contents.flatMap(({ pages }) => pages);
  const index = ordered.findIndex((entry) => entry.path === path);
  const up = "../".repeat(path.split("/").length - 1) || "./";
  const link = ({ path: to, title }) => {
    const current = to === path ? ' aria-current="page"' : "";
    return `<a href="${up}${htmlPath(to)}"${current}>${escaped(title)}</a>`;
  };
  const heading = /<h1[^>]*>(.*?)<\/h1>/s.exec(content)?.[1].replace(/<[^>]+>/g, "") ?? "Hone";
  const neighbour = (entry, name) =>
    entry === undefined ? "<span></span>" : `<span>${name}: ${link(entry)}</span>`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${path === "README.md" ? "Hone" : `${heading} · Hone`}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${up}pagefind/pagefind-ui.css">
<link rel="stylesheet" href="${up}guide.css">
<script src="${up}pagefind/pagefind-ui.js" defer></script>
<script src="${up}guide.js" defer></script>
</head>
<body>
<a class="skip" href="#page">Skip to the page</a>
<header><a class="home" href="${up}index.html">Hone</a><div id="search"></div></header>
<nav aria-label="Pages"><details open><summary>Contents</summary>
${contents.map(({ title, pages }) => `<h2>${escaped(title)}</h2>\n<ul>${pages.map((entry) => `<li>${link(entry)}</li>`).join("\n")}</ul>`).join("\n")}
</details></nav>
<main id="page" data-pagefind-body>
${content}
</main>
<footer>${index < 0 ? "" : `${neighbour(ordered[index - 1], "Previous")}${neighbour(ordered[index + 1], "Next")}`}</footer>
</body>
</html>
`;
}
