// Every field of a chat request has a row in the documentation, and a test over HTTP that says what it does: one whose title
// names it in backquotes, such as "`min_p` leaves out what is improbable", in test/ or beside the routes.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { documentedChatRequest } from "../src/wire/chat/chat-documentation.ts";
import { chatRequestSchema } from "../src/wire/chat/chat-request.ts";
import { provedFields, provedFieldsPage } from "./chat-fields.ts";

test("every field of a chat request is proved by a test over HTTP that names it", () => {
  const missing = provedFields().filter(({ tests }) => tests.length === 0);
  const help = `Write a test over HTTP (test/*.test.ts or src/http/**/*.test.ts) of what each does, with its name in backquotes in the title.`;
  assert.deepEqual(
    missing.map(({ field }) => field),
    [],
    `No test is named after these fields of a chat request. ${help}`,
  );
});

test("docs/chat-fields.md says which tests these are", () => {
  const page = readFileSync("docs/chat-fields.md", "utf8");
  assert.ok(page === provedFieldsPage(), "docs/chat-fields.md is out of date; `npm run docs` writes it");
});

test("every field of a chat request has its row", () => {
  // That each row has a description, a default and an example is a test beside the document.
  assert.deepEqual(Object.keys(documentedChatRequest.properties), Object.keys(chatRequestSchema.properties));
});
