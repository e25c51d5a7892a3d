import assert from "node:assert/strict";
import { test } from "node:test";
import { addLine, fieldsText, isOfPage, isWanted, levelIn, lineTexts } from "./log-lines.ts";

const line = (id: string) => ({
  id,
  time: "2026-11-30T00:00:00Z",
  level: "info" as const,
  message: "Request failed",
  fields: { jobId: "J-1" },
});

test("finds a text in the message and in the fields in upper or lower case", () => {
  assert.deepEqual(
    ["request FAILED", "j-1", "", "other"].map((text) => isWanted(line("1"), text)),
    [true, true, true, false],
  );
});

test("shows the fields of a line with their names", () => {
  assert.equal(
    fieldsText({ method: "GET", status: 200, keyId: null, err: { code: 1 } }),
    'method=GET status=200 err={"code":1}',
  );
});

test("shortens long fractions, and shows a request with its status and duration", () => {
  assert.equal(
    fieldsText({ durationMs: 0.7266679999993357, share: 1 / 3 }),
    "durationMs=0.7267 share=0.3333",
  );
  const request = {
    method: "GET",
    route: "/v1/models",
    status: 200,
    durationMs: 0.7266679999993357,
    keyId: "k",
  };
  assert.deepEqual(lineTexts({ ...line("1"), message: "request answered", fields: request }), {
    message: "GET /v1/models 200, 0.727 ms",
    fields: "keyId=k",
  });
  assert.deepEqual(lineTexts(line("1")), { message: "Request failed", fields: "jobId=J-1" });
});

test("recognizes the page's own requests, but not failures, changes and other keys", () => {
  const request = (fields: object) => ({
    ...line("1"),
    message: "request answered",
    fields: { method: "GET", route: "/v1/models", status: 200, keyId: "k", ...fields },
  });
  const of = (fields: object) => isOfPage(request(fields), "k");
  assert.deepEqual(
    [
      {},
      { method: "POST", route: "/feedback/query" },
      { keyId: null, route: "/assets/:name" },
      { keyId: null, route: "/" },
      { status: 304 },
    ].map(of),
    [true, true, true, true, true],
  );
  assert.deepEqual(
    [{ keyId: "other" }, { status: 500 }, { method: "POST" }, { keyId: null, route: "/health" }].map(of),
    [false, false, false, false],
  );
  assert.equal(isOfPage(line("1"), "k"), false);
});

test("an unknown level stands for info", () => {
  assert.deepEqual([levelIn("warn"), levelIn("loud"), levelIn(undefined)], ["warn", "info", "info"]);
});

test("keeps the 500 newest lines", () => {
  const lines = Array.from({ length: 600 }, (_, index) => line(String(index)));
  const kept = lines.reduce<ReturnType<typeof addLine>>(addLine, []);
  assert.deepEqual([kept.length, kept[0]?.id, kept.at(-1)?.id], [500, "599", "100"]);
});
