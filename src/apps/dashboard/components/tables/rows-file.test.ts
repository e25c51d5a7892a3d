import assert from "node:assert/strict";
import { test } from "node:test";
import { toCsv, toJsonLines } from "./rows-file.ts";

const rows = [
  { id: "a", prompt: 'He said "hi", twice', usage: { tokens: 2 } },
  { id: "b", prompt: "=SUM(A1)", count: -1, is_whole: true },
];

test("writes one JSON object per line", () => {
  assert.equal(toJsonLines([{ a: "x\ny" }, { a: 1 }]), '{"a":"x\\ny"}\n{"a":1}\n');
});

test("writes CSV with the fields of all rows, quoted as RFC 4180 says, and without formulas", () => {
  assert.equal(
    toCsv(rows),
    'id,prompt,usage,count,is_whole\r\na,"He said ""hi"", twice","{""tokens"":2}",,\r\nb,\'=SUM(A1),,-1,true\r\n',
  );
});
