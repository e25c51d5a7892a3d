// Tests the built page: how much a browser downloads, and from where.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { brotliDecompressSync, gunzipSync } from "node:zlib";

const folder = join("dist", "dashboard");
const files = ["index.html", ...readdirSync(join(folder, "assets")).map((name) => join("assets", name))];
const originals = files.filter((name) => !/\.(br|gz)$/.test(name));

test("script, style sheet and page together are smaller than 200 KB when compressed", () => {
  assert.equal(originals.length, 3);
  for (const ending of ["br", "gz"]) {
    const sizes = originals.map((name) => readFileSync(join(folder, `${name}.${ending}`)).length);
    const total = sizes.reduce((sum, size) => sum + size, 0);
    assert.ok(total > 10_000 && total < 200_000, `${total} bytes of ${ending}`);
  }
});

test("the compressed copies equal the built files", () => {
  for (const name of originals) {
    const path = join(folder, name);
    assert.deepEqual(brotliDecompressSync(readFileSync(`${path}.br`)), readFileSync(path));
    assert.deepEqual(gunzipSync(readFileSync(`${path}.gz`)), readFileSync(path));
  }
});

test("the page loads only its own files and contains no inline script", () => {
  const page = readFileSync(join(folder, "index.html"), "utf8");
  const named = [...page.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, address]) => address);
  const assets = originals
    .filter((name) => name !== "index.html")
    .map((name) => `/${name.replaceAll("\\", "/")}`);
  assert.deepEqual(named.toSorted(), [...assets, "data:,"].toSorted());
  assert.doesNotMatch(page, /<script[^>]*>[^<]|<style|style=|\son\w+=/);
  const style = readFileSync(join(folder, originals.find((name) => name.endsWith(".css")) ?? ""), "utf8");
  assert.doesNotMatch(style, /url\(|@import/);
});
