import assert from "node:assert/strict";
import { test } from "node:test";
import { isNamePart, parseModelName } from "./model-name.ts";

const id = "0198c3f2-0000-7000-8000-000000000001";

test("splits a name into one to three parts, and a version after a colon in the last one", () => {
  const table: readonly (readonly [string, ReturnType<typeof parseModelName>])[] = [
    ["m", { path: ["m"], version: "newest" }],
    ["p/m", { path: ["p", "m"], version: "newest" }],
    ["e/p/m", { path: ["e", "p", "m"], version: "newest" }],
    ["m:step0", { path: ["m"], version: 0 }],
    ["e/p/m:step12", { path: ["e", "p", "m"], version: 12 }],
    ["m:latest", { path: ["m"], version: "newest" }],
    ["m:v1", { path: ["m"], version: null }],
    ["m:step1234567890", { path: ["m"], version: null }],
    ["m:a:step1", { path: ["m"], version: null }],
    ["s3+x:///e/p/m:step1", { path: ["e", "p", "m"], version: 1 }],
    ["x://e/p/m", { path: ["e", "p", "m"], version: "newest" }],
    ["x://p/m", null],
    [`ft:base:e::${id}`, { path: [id], version: "newest" }],
    [`ft:a/b:c:e:desk:${id}:ckpt-step-3`, { path: [id], version: 3 }],
    [`ft:base:e:desk:${id}:step2`, { path: [id], version: 2 }],
    ["ft:base:e:desk:abc123", { path: ["ft"], version: null }],
    ["a/b/c/d", null],
    ["/m", null],
    ["p/", null],
    ["", null],
    [":step1", null],
    ["p/:step1", null],
  ];
  for (const [text, reference] of table) assert.deepEqual(parseModelName(text), reference, text);
});

test("refuses blanks, slashes, colons and malformed text in a name", () => {
  for (const text of ["a", "ä-1.0_x", "👩🏽‍💻"]) assert.equal(isNamePart(text), true, text);
  for (const text of ["a b", "a/b", "a:b", "a\n", "\u0000", "\u007f", "\ud800"])
    assert.equal(isNamePart(text), false, JSON.stringify(text));
});
