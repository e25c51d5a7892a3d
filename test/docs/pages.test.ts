// Tests the generated pages of docs/: they are up to date, describe schemas in words, and cover every field of a chat
// request.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { Schema } from "../../src/api/http/testing/api-document.ts";
import { provedFields } from "./chat-fields-page.ts";
import { madePages } from "./pages.ts";
import { rangeText, typeText } from "./schema-words.ts";

test("the generated pages are up to date", async () => {
  const outdated = Object.entries(await madePages()).filter(
    ([name, text]) => readFileSync(name, "utf8") !== text,
  );
  assert.deepEqual(
    outdated.map(([name]) => name),
    [],
    "out of date; `npm run docs` writes them",
  );
});

test("describes in words the values that a schema allows", () => {
  const none = { type: "null" };
  const table: readonly (readonly [Schema, string, string])[] = [
    [{ type: "integer", minimum: 0, maximum: 5 }, "integer", "0 to 5"],
    [{ anyOf: [{ type: "number", exclusiveMinimum: 0 }, none] }, "number or null", "above 0"],
    [{ type: "number", exclusiveMinimum: 0, maximum: 1 }, "number", "above 0, at most 1"],
    [{ type: "string", minLength: 1 }, "string", "at least 1 character"],
    [
      { type: "string", minLength: 1, maxLength: 9, "x-range": "no blanks" },
      "string",
      "1 to 9 characters; no blanks",
    ],
    [{ enum: ["a", "b"] }, "string", "`a`, `b`"],
    [{ type: "array", items: { type: "string" }, maxItems: 3 }, "array of string", "at most 3 items"],
    [{ type: "array", items: { anyOf: [{ type: "string" }, none] } }, "array of (string or null)", ""],
    [
      { anyOf: [{ anyOf: [{ type: "string" }, { type: "integer" }] }, none] },
      "string or integer or null",
      "",
    ],
    [{}, "any JSON", ""],
    [{ title: "Known" }, "[Known]", ""],
  ];
  for (const [schema, type, range] of table) {
    const linkTo = ({ title }: Schema) => (title === undefined ? null : `[${title}]`);
    assert.deepEqual([typeText(schema, linkTo), rangeText(schema)], [type, range], JSON.stringify(schema));
  }
});

test("every field of a chat request is named by a test over HTTP", () => {
  const missing = provedFields().filter(({ tests }) => tests.length === 0);
  const help = `Write a test over HTTP (test/*.test.ts or src/api/http/**/*.test.ts) of what each does, with its name in backquotes in the title.`;
  assert.deepEqual(
    missing.map(({ field }) => field),
    [],
    `No test is named after these fields of a chat request. ${help}`,
  );
});
