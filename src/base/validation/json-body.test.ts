import assert from "node:assert/strict";
import { test } from "node:test";
import { ServiceError } from "../domain/service-error.ts";
import { exactJsonText } from "../domain/text/exact-json.ts";
import { parseExactBody, parseJsonBody } from "./json-body.ts";

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

test("gives a body's numbers as doubles, and next to them in their own digits", () => {
  const text = '{"tools":[{"default":1.0,"const":12345678901234567890}],"seed":1}';
  const { value, exact } = parseExactBody(Buffer.from(text), limits);
  assert.deepEqual(value, { tools: [{ default: 1, const: 12345678901234567000 }], seed: 1 });
  assert.equal(exact === undefined ? "" : exactJsonText(exact), text);
  const plain = parseExactBody(Buffer.from('{"a":[1,"2.0"]}'), limits);
  assert.equal(plain.exact, plain.value, "read once where no digits are lost");
  assert.deepEqual(parseExactBody(Buffer.alloc(0), limits), { value: undefined, exact: undefined });
  assert.throws(() => parseExactBody(Buffer.from('{"a":1.0'), limits), { code: "invalid" });
});

test("reports the position of invalid JSON", () => {
  refuses('{"a": }', "json_invalid", ["body", "6"]);
  refuses('{"a": 1', "json_invalid", ["body", "7"]);
  refuses('{"a": NaN}', "json_invalid", ["body", "6"]);
});

test("refuses a body that is not UTF-8", () => {
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
