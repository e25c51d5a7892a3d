import assert from "node:assert/strict";
import { test } from "node:test";
import { savedRows, toCsv, toJsonLines } from "./rows-file.ts";

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

test("saves the values of the shown columns, texts in whole, and no buttons", () => {
  const columns = [
    { name: "prompt", text: () => "the whole prompt", sort: () => "the whole prompt" },
    { name: "state", value: () => "failed", sort: () => 3 },
    { name: "speed", sort: ({ speed }: { readonly speed: number | null }) => speed },
    { name: "record" },
  ];
  assert.deepEqual(savedRows([{ speed: 0.5 }, { speed: null }], columns), [
    { prompt: "the whole prompt", state: "failed", speed: 0.5 },
    { prompt: "the whole prompt", state: "failed", speed: null },
  ]);
});
