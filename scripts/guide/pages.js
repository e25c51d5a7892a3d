// The pages of the guide. docs/README.md is its first page and its table of contents: the pages that it links to, in the
// order and under the headings that stand there, make the side bar.
import { readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { root } from "../setup.js";

/** Returns the path below docs/ of a page that Eleventy names by its input path. */
export function pagePath(inputPath) {
  return posix.normalize(inputPath).replace(/^docs\//, "");
}

/** Returns the path of a page's HTML in the guide, such as `guides/keys.html`, for its path below docs/. */
export function htmlPath(markdownPath) {
  return markdownPath.replace(/\.md$/, ".html").replace(/(^|\/)README\.html$/, "$1index.html");
}

/** Returns the id of a heading as GitHub makes it, so that links work in both places. */
export function anchorOf(heading) {
  return heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .replace(/\s/g, "-");
}

/** Returns the sections of the table of contents: `{ title, pages: [{ path, title }] }`, paths below docs/. */
export function sections() {
  const found = [];
  for (const line of readFileSync(join(root, "docs", "README.md"), "utf8").split("\n")) {
    const heading = /^## (.+)$/.exec(line);
    if (heading !== null) found.push({ title: heading[1], pages: [] });
    for (const [, title, path] of line.matchAll(/\[([^\]]+)\]\(([^):#]+\.md)\)/g))
      found.at(-1)?.pages.push({ path: posix.normalize(path), title });
  }
  return found;
}

/** Returns the target of a link on a page of the guide, or null if the guide does not have it, as files of the source. */
export function linkTarget(href, page) {
  if (/^(?:[a-z]+:|#)/i.test(href)) return href;
  const [path, anchor] = href.split("#");
  const target = posix.join(posix.dirname(page), path);
  if (target.startsWith("..") || target.startsWith("decisions/") || !/\.(?:md|png|svg)$/.test(target))
    return null;
  return htmlPath(path) + (anchor === undefined ? "" : `#${anchor}`);
}
