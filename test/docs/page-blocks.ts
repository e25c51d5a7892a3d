// Reads the repository's Markdown files: their names, code blocks, headings and links.
import { readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";

export interface Block {
  readonly line: number;
  readonly language: string;
  readonly code: string;
}

/** Handwritten pages for users and contributors: pages at the top level, and pages in docs/ that are not generated. */
export const pages: readonly string[] = [
  "README.md",
  "docs/README.md",
  ...pagesIn("docs/tutorials"),
  ...pagesIn("docs/guides"),
  ...pagesIn("docs/concepts"),
  ...pagesIn("docs/decisions"),
  "docs/reference/client.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
];

function pagesIn(folder: string): readonly string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith(".md"))
    .sort()
    .map((name) => join(folder, name));
}

/** Returns the paths of all Markdown files in the repository, except fixtures and installed packages. */
export function markdownFiles(): readonly string[] {
  const folders = ["docs", "src", "test", "tools", "examples", "models", "deploy"];
  const below = folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => posix.join(folder, name)),
  );
  return [...readdirSync("."), ...below].filter(
    (path) => path.endsWith(".md") && !/(?:^|\/)(?:node_modules|\.venv[^/]*|fixtures)\//.test(path),
  );
}

/** Returns the fenced blocks of a page in order, without the indentation of their fences. */
export function readBlocks(page: string): readonly Block[] {
  const text = readFileSync(page, "utf8");
  return [...text.matchAll(/^( *)```([^\n]*)\n(.*?)^\1```$/gms)].map(
    ({ 1: indent = "", 2: language = "", 3: code = "", index }) => ({
      line: text.slice(0, index).split("\n").length,
      language,
      code: code.replaceAll(new RegExp(`^${indent}`, "gm"), ""),
    }),
  );
}

/** Returns the file name in the block's first line, such as `// learn.mjs`; null if it has none. */
export function savedAs({ code }: Block): string | null {
  return /^\/\/ ([\w-]+\.m?js)\b/.exec(code)?.[1] ?? null;
}

/** Anchors of the pages that were read, by page. */
const readAnchors = new Map<string, ReadonlySet<string>>();

/** Returns the anchors that GitHub generates for the page's headings. */
export function anchorsIn(page: string): ReadonlySet<string> {
  const anchors = readAnchors.get(page) ?? readAnchorsIn(page);
  readAnchors.set(page, anchors);
  return anchors;
}

function readAnchorsIn(page: string): ReadonlySet<string> {
  const prose = readFileSync(page, "utf8").replaceAll(/^( *)```.*?^\1```$/gms, "");
  const anchors = new Set<string>();
  for (const [, heading = ""] of prose.matchAll(/^#+ (.*)$/gm)) {
    const slug = heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-");
    let anchor = slug;
    for (let count = 1; anchors.has(anchor); count++) anchor = `${slug}-${count}`;
    anchors.add(anchor);
  }
  return anchors;
}

/** Returns the page's links to files and headings of this repository. */
export function linksIn(page: string): readonly string[] {
  const prose = readFileSync(page, "utf8").replaceAll(/^( *)```.*?^\1```$/gms, "");
  return [...prose.matchAll(/\]\((?!https?:)([^)\s]+)\)/g)].map(([, target = ""]) => target);
}
