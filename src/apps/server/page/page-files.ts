// Reads the built page on its first request, so that servers without a page's users never load it.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { PageFile, PageFiles } from "../../../base/domain/page-files.ts";
import { packageFolder } from "../package.ts";

const contentTypes = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
} as const;

/** @returns a function that returns the page; null if it was not built */
export function pageReader(folder = join(packageFolder(), "dist", "dashboard")): () => PageFiles | null {
  let page: PageFiles | null = null;
  return () => (page ??= existsSync(join(folder, "index.html")) ? readPage(folder) : null);
}

function readPage(folder: string): PageFiles {
  const names = readdirSync(join(folder, "assets")).filter((name) => /\.(js|css)$/.test(name));
  return {
    index: readFile(join(folder, "index.html")),
    assets: new Map(names.map((name) => [name, readFile(join(folder, "assets", name))])),
  };
}

function readFile(path: string): PageFile {
  const [, ending] = /\.(html|js|css)$/.exec(path) ?? [];
  return {
    contentType: contentTypes[ending as keyof typeof contentTypes],
    bytes: { identity: readFileSync(path), gzip: readFileSync(`${path}.gz`), br: readFileSync(`${path}.br`) },
  };
}
