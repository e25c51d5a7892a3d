import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { siteReader } from "./site-files.ts";

const parent = mkdtempSync(join(tmpdir(), "hone-guide-"));
const folder = join(parent, "guide");
mkdirSync(join(folder, "guides"), { recursive: true });
writeFileSync(join(parent, "secret.html"), "secret");
writeFileSync(join(folder, "index.html"), "index");
writeFileSync(join(folder, "guides", "keys.html"), "keys");
writeFileSync(join(folder, "guides", "keys.html.br"), "br keys");
after(() => rmSync(parent, { recursive: true }));

test("reads the folder's files with their content type and their compressed forms", async () => {
  const site = await siteReader(folder)();
  const file = site.get("guides/keys.html");
  assert.equal(file?.contentType, "text/html; charset=utf-8");
  assert.deepEqual(
    Object.entries(file.bytes).map(([name, bytes]) => [name, String(bytes)]),
    [
      ["identity", "keys"],
      ["br", "br keys"],
    ],
  );
  assert.deepEqual([...site.keys()].toSorted(), ["guides/keys.html", "index.html"]);
});

test("finds no folders, no files outside its folder, and nothing if the site was not built", async () => {
  const site = await siteReader(folder)();
  for (const path of ["guides", "guides/", "../secret.html", "guides/../index.html", "/index.html", ""])
    assert.equal(site.get(path), undefined, path);
  assert.equal((await siteReader(join(folder, "none"))()).size, 0);
});

test("finds a site that is built after the first request, and ignores later changes", async () => {
  const later = join(parent, "later");
  const read = siteReader(later);
  assert.equal((await read()).size, 0);
  mkdirSync(later);
  writeFileSync(join(later, "index.html"), "first");
  assert.equal(String((await read()).get("index.html")?.bytes.identity), "first");
  writeFileSync(join(later, "index.html"), "second");
  assert.equal(String((await read()).get("index.html")?.bytes.identity), "first");
});
