// The pages of the guide. docs/README.md is its first page and its table of contents: the side bar has the pages that
// it links to, in the same order and under the same headings.
import { readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { root } from "../setup.js";

/** Returns a page's path below docs/, from the input path that Eleventy provides. */
export function pagePath(inputPath) {
  return posix.normalize(inputPath).replace(/^docs\//, "");
}

/** Returns the path of a page's HTML in the guide, such as `guides/keys.html`, from its path below docs/. */
export function htmlPath(markdownPath) {
  return markdownPath.replace(/\.md$/, ".html").replace(/(^|\/)README\.html$/, "$1index.html");
}

/** Returns the id of a heading as GitHub generates it, so that links to headings work on GitHub and in the guide. */
export function anchorOf(heading) {
  return heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .replace(/\s/g, "-");
}

/** Returns the sections of the table of contents as `{ title, pages: [{ path, title }] }`, with paths below docs/. */
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

/**
 * Returns the target that a link has in the guide; null if the target is not part of the guide, such as a source file.
 */
export function linkTarget(href, page) {
  if (/^(?:[a-z]+:|#)/i.test(href)) return href;
  const [path, anchor] = href.split("#");
  const target = posix.join(posix.dirname(page), path);
  if (target.startsWith("..") || target.startsWith("decisions/") || !/\.(?:md|png|svg)$/.test(target))
    return null;
  return htmlPath(path) + (anchor === undefined ? "" : `#${anchor}`);
}
