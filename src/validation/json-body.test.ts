import assert from "node:assert/strict";
import { test } from "node:test";
import { ServiceError } from "../domain/service-error.ts";
import { parseJsonBody } from "./json-body.ts";

const limits = { depthMax: 4, valuesMax: 100 };

function refuses(bytes: Buffer | string, type: string, location: readonly string[]): void {
  assert.throws(
    () => parseJsonBody(Buffer.from(bytes), limits),
    (error) => {
      assert.ok(error instanceof ServiceError);
      assert.equal(error.code, "invalid");
      assert.deepEqual(
        error.faults.map((fault) => [fault.type, fault.location]),
        [[type, location]],
      );
      return true;
    },
  );
}

test("parses JSON, and leaves an empty body absent", () => {
  assert.deepEqual(parseJsonBody(Buffer.from('{"a": [1]}'), limits), { a: [1] });
  assert.equal(parseJsonBody(Buffer.alloc(0), limits), undefined);
});

test("says where JSON goes wrong", () => {
  refuses('{"a": }', "json_invalid", ["body", "6"]);
  refuses('{"a": 1', "json_invalid", ["body", "7"]);
  refuses('{"a": NaN}', "json_invalid", ["body", "6"]);
});

test("refuses what is not UTF-8", () => {
  refuses(Buffer.from([0x22, 0xff, 0x22]), "json_invalid", ["body", "0"]);
});

test("refuses JSON nested too deeply, and does not count brackets in texts", () => {
  refuses("[[[[[]]]]]", "json_too_deep", ["body"]);
  assert.deepEqual(parseJsonBody(Buffer.from("[[[[]]]]"), limits), [[[[]]]]);
  assert.equal(parseJsonBody(Buffer.from('"[[[[[[\\"[[["'), limits), '[[[[[["[[[');
  refuses("[".repeat(1_000_000), "json_too_deep", ["body"]);
});

test("refuses JSON of more values than the limit before it builds one, and does not count commas in texts", () => {
  refuses(`[${"0,".repeat(100)}0]`, "json_too_long", ["body"]);
  assert.equal((parseJsonBody(Buffer.from(`[${"0,".repeat(99)}0]`), limits) as unknown[]).length, 100);
  assert.equal(parseJsonBody(Buffer.from(`"${",".repeat(200)}"`), limits), ",".repeat(200));
});
