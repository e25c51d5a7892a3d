// Tests the links between the repository's pages, and the guide that is built from docs/.
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { test } from "node:test";
import { anchorsIn, linksIn, markdownFiles } from "./page-blocks.ts";

function filesIn(folder: string, extension: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => posix.join(folder, name))
    .filter((path) => path.endsWith(extension));
}

/**
 * Excludes the model card. It is a template that is written to models/hone-tiny, and its links are relative to that
 * folder.
 */
const isPage = (path: string): boolean => !path.endsWith("/model-card.md");

test("every link between pages of the repository leads to an existing file and heading", () => {
  const faults: string[] = [];
  let count = 0;
  for (const path of markdownFiles().filter(isPage))
    for (const link of linksIn(path)) {
      count += 1;
      const [file = "", anchor] = link.split("#");
      const target = file === "" ? path : posix.join(posix.dirname(path), file);
      if (!existsSync(target)) faults.push(`${path}: no file ${link}`);
      else if (anchor !== undefined && !anchorsIn(target).has(anchor))
        faults.push(`${path}: no heading ${link}`);
    }
  assert.ok(count > 100);
  assert.deepEqual(faults, []);
});

test("docs/README.md lists every page of the guide", () => {
  const listed = [...readFileSync("docs/README.md", "utf8").matchAll(/\]\(([^):#]+\.md)\)/g)].map(
    ([, path = ""]) => posix.join("docs", path),
  );
  const pages = filesIn("docs", ".md").filter((path) => !/^docs\/(?:README\.md$|decisions\/)/.test(path));
  assert.deepEqual([...new Set(listed)].toSorted(), pages.toSorted());
});

test("every link of the built guide leads to one of its files and headings, under any path prefix", () => {
  const folder = "dist/guide";
  const pages = filesIn("docs", ".md").filter((path) => !path.startsWith("docs/decisions/"));
  const htmlOf = new Map(
    readdirSync(folder, { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".html"))
      .map((name) => [name.replaceAll("\\", "/"), readFileSync(join(folder, name), "utf8")]),
  );
  assert.equal(htmlOf.size, pages.length);
  const faults: string[] = [];
  for (const [name, html] of htmlOf)
    for (const [, link = ""] of html.matchAll(/\s(?:href|src)="((?!data:|https?:)[^"]*)"/g)) {
      const [file = "", anchor] = link.split("#");
      const target = file === "" ? name : posix.join(posix.dirname(name), file);
      const isThere = target.endsWith(".html") ? htmlOf.has(target) : existsSync(join(folder, target));
      const isHeading = anchor === undefined || htmlOf.get(target)?.includes(` id="${anchor}"`) === true;
      if (!isThere || !isHeading || link.startsWith("/")) faults.push(`${name}: ${link}`);
    }
  assert.deepEqual(faults, []);
});

test("the built guide loads nothing from other hosts", () => {
  for (const path of [...filesIn("dist/guide", ".html"), ...filesIn("dist/guide", ".css")])
    assert.doesNotMatch(
      readFileSync(path, "utf8"),
      /<(?:script|link|img|iframe)[^>]*(?:src|href)="(?:https?:)?\/\/|url\(["']?(?:https?:)?\/\//,
      path,
    );
});
