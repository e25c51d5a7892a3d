// The page docs/api.md: that it is what the routes' schemas say, and how it says it.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fakeServer } from "../testing/fake-server.ts";
import { rangeText, typeText, type ApiDocument, type Schema } from "./api-document.ts";
import { apiPage } from "./api-page.ts";

test("docs/api.md says what the routes' schemas say", async () => {
  const server = await fakeServer();
  const document = (await server.ask({ method: "GET", url: "/openapi.json" })).json<ApiDocument>();
  await server.close();
  const page = readFileSync("docs/api.md", "utf8");
  // Two pages side by side would be unreadable.
  assert.ok(page === apiPage(document), "docs/api.md is out of date; `npm run docs` writes it");
});

test("links lead to headings of the page", () => {
  const page = readFileSync("docs/api.md", "utf8");
  const headings = [...page.matchAll(/^#+ (.*)$/gm)].map(([, text = ""]) =>
    text
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, "")
      .replaceAll(" ", "-"),
  );
  const links = [...page.matchAll(/\]\(#([^)]*)\)/g)].map(([, link]) => link);
  assert.ok(links.length > 40);
  assert.deepEqual(
    links.filter((link) => !headings.includes(link ?? "")),
    [],
  );
});

test("says in words what a schema takes", () => {
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
