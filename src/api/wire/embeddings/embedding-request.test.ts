import assert from "node:assert/strict";
import { test } from "node:test";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { embeddingPaths, readEmbedding } from "./embedding-request.ts";

function refuses(body: unknown, ...locations: readonly string[]): void {
  assert.throws(
    () => readEmbedding(body),
    (error: unknown) => {
      assert.ok(error instanceof ServiceError && error.code === "invalid", String(error));
      assert.deepEqual(
        error.faults.map(({ location }) => location.join(".")),
        locations,
      );
      return true;
    },
  );
}

test("reads a text, a list of texts, token ids, and a list of lists of token ids", () => {
  const inputsOf = (input: unknown) => {
    const { request, isList } = readEmbedding({ input });
    return [request.inputs, isList];
  };
  const text = (value: string) => ({ kind: "text", text: value });
  const tokens = (...tokenIds: readonly number[]) => ({ kind: "tokens", tokenIds });
  assert.deepEqual(inputsOf("a"), [[text("a")], false]);
  assert.deepEqual(inputsOf(["a", ""]), [[text("a"), text("")], true]);
  assert.deepEqual(inputsOf([1, 2]), [[tokens(1, 2)], false]);
  assert.deepEqual(inputsOf([[1, 2], [3]]), [[tokens(1, 2), tokens(3)], true]);
});

test("treats null as absent, and names unknown fields", () => {
  const plain = readEmbedding({ input: "a" });
  assert.deepEqual(
    [plain.request.model, plain.request.dimensions, plain.encoding, plain.ignored],
    [null, null, "float", []],
  );
  assert.deepEqual(
    readEmbedding({ input: "a", model: null, dimensions: null, encoding_format: null, user: null }),
    plain,
  );
  const asked = readEmbedding({
    input: "a",
    model: "m",
    dimensions: 8,
    encoding_format: "base64",
    user: "u",
    x: 1,
  });
  assert.deepEqual(
    [asked.request.model, asked.request.dimensions, asked.encoding, asked.ignored],
    ["m", 8, "base64", ["x"]],
  );
});

test("refuses invalid inputs and names their path", () => {
  refuses({}, "body.input");
  refuses({ input: [] }, "body.input");
  refuses({ input: [[1], []] }, "body.input.1");
  refuses({ input: ["a", [1]] }, "body.input");
  refuses({ input: "a", dimensions: 0 }, "body.dimensions");
  refuses({ input: "a", encoding_format: "int8" }, "body.encoding_format");
  refuses({ input: Array.from({ length: 2049 }, () => "a") }, "body.input");
  assert.equal(readEmbedding({ input: Array.from({ length: 2049 }, () => 1) }).request.inputs.length, 1);
});

test("locates the fault of an input at its index if the inputs are a list", () => {
  assert.deepEqual(embeddingPaths(true, 3)["prompt.text"], ["body", "input", "3"]);
  assert.deepEqual(embeddingPaths(false, 0)["prompt.tokenIds"], ["body", "input"]);
});
