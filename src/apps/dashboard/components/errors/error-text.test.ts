// Tests of the text of errors on the page.
import assert from "node:assert/strict";
import { test } from "node:test";
import { HoneError } from "../../../client/hone-error.ts";
import { codeParts, messageOf } from "./error-text.ts";

test("shows the server's message without the status, and other messages as they are", () => {
  const options = { status: 422, code: "invalid" };
  assert.equal(
    messageOf(new HoneError({ ...options, message: "422: The name is empty." })),
    "The name is empty.",
  );
  assert.equal(messageOf(new HoneError({ ...options, message: "404: gone" })), "404: gone");
  assert.equal(messageOf(new Error("422: of another kind")), "422: of another kind");
  assert.equal(messageOf("text"), "text");
});

test("says what to do if the server does not answer or refuses the key", () => {
  const textOf = (code: string, status = 0) => messageOf(new HoneError({ code, status, message: "(fetch)" }));
  assert.match(textOf("connection"), /^The server does not answer\. Check that/);
  assert.match(textOf("timeout"), /try again/);
  assert.match(textOf("unauthorized", 401), /sign in again/);
  assert.equal(textOf("invalid", 422), "(fetch)");
});

test("finds the code in a message, and keeps a single backtick", () => {
  assert.deepEqual(codeParts("Use `hone keys`, or `x`."), [
    { text: "Use ", isCode: false },
    { text: "hone keys", isCode: true },
    { text: ", or ", isCode: false },
    { text: "x", isCode: true },
    { text: ".", isCode: false },
  ]);
  assert.deepEqual(codeParts("a ` b"), [{ text: "a ` b", isCode: false }]);
});
