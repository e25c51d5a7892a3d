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

test("says how to start or reach a server, and names a file's line instead of a field", () => {
  check(
    0,
    "No answer from http://x:1 (connect ECONNREFUSED). Is the server running there? HONE_BASE_URL sets another address.",
    "No answer from http://x:1 (connect ECONNREFUSED). Start the server with `hone serve`, or name another address with --url or HONE_URL.",
  );
  check(
    0,
    "No answer from https://x:1 (80:error:0A:SSL routines:ssl3_get_record:wrong version number:../a.c:350:\n). Is the server running there? HONE_BASE_URL sets another address.",
    "No answer from https://x:1 (the server does not use TLS; write http:// instead of https://). Start the server with `hone serve`, or name another address with --url or HONE_URL.",
  );
  check(
    422,
    "422: file.line 1: JSON decode error at character 7",
    "line 1 of the file: JSON decode error at character 7",
  );
  check(422, '422: project: Value error, project is "a/b"; no slashes.', 'project is "a/b"; no slashes.');
});

test("prints only the message of a system error, such as a missing file", () => {
  const error = Object.assign(new Error("ENOENT: no such file, open 'x'"), {
    syscall: "open",
    code: "ENOENT",
  });
  assert.equal(errorText(error), "hone: ENOENT: no such file, open 'x'\n");
});

test("leaves other messages unchanged, and prints the stack of a bug", () => {
  check(0, "No server answers at http://x.", "No server answers at http://x.");
  assert.equal(errorText(new ServiceError({ code: "invalid", message: "So." })), "hone: So.\n");
  assert.match(errorText(new Error("bug")), /^hone: Error: bug\n +at /);
});
