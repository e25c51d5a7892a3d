// Every field of a chat request has a test over HTTP that says what it does: one whose title names it in backquotes, such as
// "`min_p` leaves out what is improbable", in test/ or beside the routes. One title may name several.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { documentedChatRequest } from "../src/wire/chat/chat-documentation.ts";
import { chatRequestSchema } from "../src/wire/chat/chat-request.ts";

const { structured_outputs: constraint, stream_options: streamOptions } = chatRequestSchema.properties;

/** With those of the objects that the interface lists field by field. */
const fields: readonly string[] = [
  ...Object.keys(chatRequestSchema.properties),
  ...Object.keys(constraint.anyOf[0].properties).map((name) => `structured_outputs.${name}`),
  ...Object.keys(streamOptions.anyOf[0].properties).map((name) => `stream_options.${name}`),
];

/** Titles of the tests over HTTP, with their files. */
function titles(): readonly { readonly file: string; readonly title: string }[] {
  const files = ["test", "src/http"].flatMap((folder) =>
    readdirSync(folder, { recursive: true }).map((name) => `${folder}/${String(name).replaceAll("\\", "/")}`),
  );
  return files
    .filter((file) => file.endsWith(".test.ts"))
    .flatMap((file) =>
      [...readFileSync(file, "utf8").matchAll(/^\s*test\(\s*"((?:[^"\\]|\\.)*)"/gm)].map(
        ([, title = ""]) => ({ file, title }),
      ),
    );
}

test("every field of a chat request is proved by a test over HTTP that names it", () => {
  const named = new Set(
    titles().flatMap(({ title }) => [...title.matchAll(/`([\w.]+)`/g)].map(([, name]) => name)),
  );
  const missing = fields.filter((field) => !named.has(field));
  const help = `Write a test over HTTP (test/*.test.ts or src/http/**/*.test.ts) of what each does, with its name in backquotes in the title.`;
  assert.deepEqual(missing, [], `No test is named after these fields of a chat request. ${help}`);
});

test("every field of a chat request has its row", () => {
  // That each row has a description, a default and an example is a test beside the document.
  assert.deepEqual(Object.keys(documentedChatRequest.properties), Object.keys(chatRequestSchema.properties));
});
