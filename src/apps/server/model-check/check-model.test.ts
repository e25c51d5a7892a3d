// Tests the check of a small model: its facts, and the error of its 8-bit and 4-bit weights against float32.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { checkModel } from "./check-model.ts";
import { integerKernels } from "../../../inference/onnx/integer-kernels.ts";

const data = mkdtempSync(join(tmpdir(), "hone-check-"));
after(() => rmSync(data, { recursive: true }));

test("describes a model and the error of its quantized weights against float32", async () => {
  const compared: string[] = [];
  const { model, precisions } = await checkModel("test/fixtures/goldens/models/llama", {
    data,
    threads: 1,
    onCompare: (precision) => compared.push(precision),
  });
  assert.equal(model.family, "LlamaForCausalLM");
  assert.equal(model.name, "llama");
  assert.equal(model.license, null);
  const { fourBits } = await integerKernels(null);
  const rounded = [["8", "int8"], ...(fourBits ? [["4", "int4"]] : [])];
  assert.deepEqual(
    compared,
    rounded.map(([, precision]) => precision),
  );
  const [float, eight, four = eight] = precisions;
  assert.deepEqual(
    precisions.map(({ quantize, precision }) => [quantize, precision]),
    [["off", "float32"], ...rounded],
  );
  assert.equal(float.comparison, null);
  assert.equal(float.weightBytes, 4 * model.parameterCount);
  assert(eight.weightBytes < float.weightBytes / 2 && four.weightBytes < float.weightBytes / 2);
  assert.deepEqual([eight.forms.float32, eight.finer], [0, []]);
  assert.equal(four.finer.includes("model.embed_tokens.weight"), fourBits);
  for (const { comparison } of [eight, four]) {
    assert(comparison !== null && comparison.tokenCount > 1000);
    assert(comparison.divergence.mean > 0 && comparison.sameGreedyShare <= 1);
  }
});

test("checks a model in a GGUF file", async () => {
  const file = "test/fixtures/gguf/qwen2.gguf";
  const { model, precisions } = await checkModel(file, { data, threads: 1 });
  assert.equal(model.name, "qwen2");
  assert.deepEqual([precisions[0]?.precision, precisions[1]?.precision], ["float32", "int8"]);
});

test("refuses a path that is not a model", async () => {
  const check = (named: string) => checkModel(named, { data, threads: 1 });
  await assert.rejects(check("./nothing.gguf"), { code: "not_found" });
  await assert.rejects(check("test/fixtures"), { code: "invalid", message: /is not a model/ });
});
