import assert from "node:assert/strict";
import { test } from "node:test";
import { ServiceError } from "../../domain/service-error.ts";
import { parseJsonBody } from "./json-body.ts";

function refuses(bytes: Buffer | string, type: string, location: readonly string[]): void {
  assert.throws(
    () => parseJsonBody(Buffer.from(bytes), 4),
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
  assert.deepEqual(parseJsonBody(Buffer.from('{"a": [1]}'), 4), { a: [1] });
  assert.equal(parseJsonBody(Buffer.alloc(0), 4), undefined);
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
  assert.deepEqual(parseJsonBody(Buffer.from("[[[[]]]]"), 4), [[[[]]]]);
  assert.equal(parseJsonBody(Buffer.from('"[[[[[[\\"[[["'), 4), '[[[[[["[[[');
  refuses("[".repeat(1_000_000), "json_too_deep", ["body"]);
});
