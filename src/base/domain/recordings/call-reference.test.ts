// Tests that references to calls and their choices are written and parsed.
import assert from "node:assert/strict";
import { test } from "node:test";
import { callReference, readCallReference } from "./call-reference.ts";

const key = { projectId: "acme/games", requestId: "0192d3a4-0000-7000-8000-000000000000" };

test("reads back the reference of a completion and of one of its choices", () => {
  assert.equal(callReference(key), `hone:///acme/games/call/${key.requestId}`);
  assert.equal(
    callReference({ ...key, requestId: "a/b c:(é)%" }, 12),
    "hone:///acme/games/call/a%2Fb%20c%3A%28%C3%A9%29%25/attr/choices/index/12",
  );
  for (const requestId of ["r1", "a/b", "'*~!", "100%", "📎", "x".repeat(256)])
    for (const choice of [null, 0, 127])
      assert.deepEqual(readCallReference(callReference({ ...key, requestId }, choice)), {
        ...key,
        requestId,
        choice,
      });
});

test("reads references of any scheme, with a choice after the call", () => {
  for (const reference of [
    "weave:///acme/games/call/r1",
    "<scheme>:///acme/games/call/r1",
    "hone:///acme/games/call/r1/",
    "hone:///acme/games/call/r1/attr/output",
    "hone:///acme/games/call/r1/attr/choices/index/one",
  ])
    assert.deepEqual(readCallReference(reference), { ...key, requestId: "r1", choice: null }, reference);
  assert.equal(readCallReference("hone:///acme/games/call/r1/attr/choices/index/3/attr/message")?.choice, 3);
});

test("returns null for references that name no call", () => {
  for (const reference of [
    "",
    "r1",
    "hone:///acme/games/object/name:digest",
    "hone:///acme/games/call/",
    "hone:///acme/call/r1",
    "hone:///acme/a b/call/r1",
    "hone:///acme/games/call/%zz",
    "hone://acme/games/call/r1",
  ])
    assert.equal(readCallReference(reference), null, reference);
});
