// Tests the built page: how much a browser downloads, and from where.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { brotliDecompressSync, gunzipSync } from "node:zlib";

const folder = join("dist", "dashboard");
const files = ["index.html", ...readdirSync(join(folder, "assets")).map((name) => join("assets", name))];
const originals = files.filter((name) => !/\.(br|gz)$/.test(name));

test("the files of the first view are smaller than 120 KB when compressed", () => {
  const page = readFileSync(join(folder, "index.html"), "utf8");
  const first = ["index.html", ...namedIn(page).map((address) => address.slice(1))];
  assert.ok(first.length < originals.length, "rarely used views are in other files");
  for (const ending of ["br", "gz"]) {
    const sizes = first.map((name) => readFileSync(join(folder, `${name}.${ending}`)).length);
    const total = sizes.reduce((sum, size) => sum + size, 0);
    assert.ok(total > 10_000 && total < 120_000, `${total} bytes of ${ending}`);
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
  const assets = originals.map((name) => `/${name.replaceAll("\\", "/")}`);
  const named = namedIn(page);
  assert.deepEqual(
    named.filter((address) => !assets.includes(address)),
    [],
  );
  for (const ending of [".css", ".js"]) assert.ok(named.some((address) => address.endsWith(ending)));
  assert.doesNotMatch(page, /<script[^>]*>[^<]|<style|style=|\son\w+=/);
  const style = readFileSync(join(folder, originals.find((name) => name.endsWith(".css")) ?? ""), "utf8");
  assert.doesNotMatch(style, /url\(|@import/);
});

/** Returns the addresses of the scripts and style sheets that a page names. */
function namedIn(page: string): readonly string[] {
  const addresses = [...page.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, address = ""]) => address);
  return addresses.filter((address) => !address.startsWith("data:"));
}
