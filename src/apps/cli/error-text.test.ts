import assert from "node:assert/strict";
import { test } from "node:test";
import { HoneError } from "../client/hone-error.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import { errorText } from "./error-text.ts";

function check(status: number, message: string, expected: string): void {
  assert.equal(errorText(new HoneError({ status, code: "x", message })), `hone: ${expected}\n`);
}

test("replaces the server's routes and headers with commands and flags", () => {
  check(
    404,
    '404: The model "hone-tyni" does not exist. Did you mean hone-tiny? GET /v1/models lists the models you can use.',
    'The model "hone-tyni" does not exist. Did you mean hone-tiny? `hone models list` lists the models you can use.',
  );
  const cure =
    "Set HONE_API_KEY, pass --key, or run the command in the folder that contains the server's data folder .hone, where the admin key is stored (--data names another).";
  check(
    401,
    "401: There are no credentials. Send Authorization: Bearer <key>, or x-api-key: <key>, with a key of this server.",
    `There are no credentials. ${cure}`,
  );
  check(
    401,
    "401: The key is unknown. Send Authorization: Basic base64(<username>:<key>), with a key of this server.",
    `The key is unknown. ${cure}`,
  );
  check(
    404,
    "404: There is no route /v1/new; GET /openapi.json lists those that exist.",
    "There is no route /v1/new; the server may be older than this command.",
  );
});

test("leaves other messages unchanged, and prints the stack of a bug", () => {
  check(0, "No server answers at http://x.", "No server answers at http://x.");
  assert.equal(errorText(new ServiceError({ code: "invalid", message: "So." })), "hone: So.\n");
  assert.match(errorText(new Error("bug")), /^hone: Error: bug\n +at /);
});
