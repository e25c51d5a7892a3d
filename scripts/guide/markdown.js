// Adapts markdown-it to the guide: ids for headings, links between pages, and tables that scroll.
import { anchorOf, linkTarget, pagePath } from "./pages.js";

/** @param markdown Eleventy's instance of markdown-it */
export function adaptMarkdown(markdown) {
  markdown.set({ html: false });
  markdown.core.ruler.push("heading-ids", addHeadingIds);
  markdown.core.ruler.push("page-links", linkPages);
  // `tabindex` makes a scrolling block reachable by keyboard.
  const { fence } = markdown.renderer.rules;
  markdown.renderer.rules.fence = (...given) => fence(...given).replace("<pre>", '<pre tabindex="0">');
  markdown.renderer.rules.table_open = () => '<div class="table" tabindex="0"><table>\n';
  markdown.renderer.rules.table_close = () => "</table></div>\n";
}

function addHeadingIds({ tokens }) {
  const uses = new Map();
  for (const [index, token] of tokens.entries()) {
    if (token.type !== "heading_open") continue;
    const text = tokens[index + 1].children.map(({ content }) => content).join("");
    const anchor = anchorOf(text);
    const count = uses.get(anchor) ?? 0;
    uses.set(anchor, count + 1);
    token.attrSet("id", count === 0 ? anchor : `${anchor}-${count}`);
  }
}

function linkPages({ tokens, env }) {
  const page = pagePath(env.page.inputPath);
  for (const { children } of tokens) {
    let isDropped = false;
    for (const child of children ?? []) {
      if (child.type === "link_open") {
        const target = linkTarget(child.attrGet("href"), page);
        isDropped = target === null;
        if (!isDropped) child.attrSet("href", target);
      }
      // A link to the project's sources is replaced by its text.
      if (isDropped && child.type.startsWith("link_"))
        Object.assign(child, { type: "text", content: "", tag: "" });
    }
  }
}
