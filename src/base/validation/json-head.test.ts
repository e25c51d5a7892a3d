import assert from "node:assert/strict";
import { test } from "node:test";
import { textMemberAtHead } from "./list-body.ts";

test("finds a member's text as soon as it has arrived, at any position in the object", () => {
  for (const head of [
    '{"id":"x",',
    '{ "id" : "x" , "list": [{"a": "b',
    '{"config": {"id": "no", "list": ["id", "y"]}, "other": "id", "id": "x"}',
    '{"a\\"": "\\\\", "id": "x"}',
  ])
    assert.equal(textMemberAtHead(Buffer.from(head), "id"), "x", head);
  assert.equal(textMemberAtHead(Buffer.from('{"id":"\\u0078"}'), "id"), "\\u0078", "as it is written");
});

test("ignores a text inside the member's value", () => {
  assert.equal(textMemberAtHead(Buffer.from('{"id":{"a":"x"},'), "id"), null);
});

test("returns null if the first bytes do not contain the member", () => {
  for (const head of [
    "",
    "{",
    '{"id"',
    '{"id":"x',
    '{"id":5}',
    '{"a":"id"}',
    '{"list":[{"id":"x"}',
    '["id","x"]',
  ])
    assert.equal(textMemberAtHead(Buffer.from(head), "id"), null, head);
});
