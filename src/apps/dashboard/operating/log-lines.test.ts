import assert from "node:assert/strict";
import { test } from "node:test";
import { addLine, fieldsText, isWanted, levelIn } from "./log-lines.ts";

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

test("an unknown level stands for info", () => {
  assert.deepEqual([levelIn("warn"), levelIn("loud"), levelIn(undefined)], ["warn", "info", "info"]);
});

test("keeps the 500 newest lines", () => {
  const lines = Array.from({ length: 600 }, (_, index) => line(String(index)));
  const kept = lines.reduce<ReturnType<typeof addLine>>(addLine, []);
  assert.deepEqual([kept.length, kept[0]?.id, kept.at(-1)?.id], [500, "599", "100"]);
});
