// Tests that experts' weights have the same values in every file layout, and that a missing expert is refused.
import assert from "node:assert/strict";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { readFloats } from "../../../lib/model-files/stored-tensor.ts";
import { readStoredTensors } from "../../../lib/model-files/weight-files.ts";
import { writeSafetensors } from "../../../lib/model-files/write-safetensors.ts";
import { readModelConfig } from "../config/read-config.ts";
import { checkWeights, readModelWeights } from "../weights.ts";

const folder = "test/fixtures/goldens/models/qwen3-moe";
const config = readModelConfig(folder);

/** Writes a model folder with these tensors. */
function written(t: TestContext, tensors: Parameters<typeof writeSafetensors>[1]): string {
  const target = mkdtempSync(join(tmpdir(), "hone-experts-"));
  t.after(() => rmSync(target, { recursive: true }));
  copyFileSync(join(folder, "config.json"), join(target, "config.json"));
  writeSafetensors(join(target, "model.safetensors"), tensors, { type: "F32" });
  return target;
}

test("stacks of all experts are read in place, and equal a tensor for each expert", (t) => {
  const stored = readStoredTensors(folder);
  const weights = readModelWeights(folder, config, { cacheFolder: null });
  const { count, intermediateSize } = config.experts!;
  const stacks = [...weights].flatMap(([name, source]) => {
    if (!name.includes(".experts.") || !("data" in source)) return [];
    const isDown = name.endsWith("down_proj");
    const matrix = isDown ? [config.width, intermediateSize] : [2 * intermediateSize, config.width];
    return [{ name, shape: [count, ...matrix], data: source.data }];
  });
  assert.equal(stacks.length, 4);
  const others = [...stored.values()].filter(({ name }) => !name.includes(".experts."));
  const target = written(t, [
    ...others.map((tensor) => ({ ...tensor, data: readFloats(tensor) })),
    ...stacks,
  ]);
  const read = readModelWeights(target, config, { cacheFolder: null });
  const whole = readStoredTensors(target);
  for (const { name, data } of stacks) {
    const { file, offset, ...rest } = whole.get(name)!;
    assert.deepEqual(read.get(name), { file, offset });
    assert.deepEqual(readFloats({ file, offset, ...rest }), data);
  }
});

test("a missing expert is refused", (t) => {
  const missing = "model.layers.0.mlp.experts.5.up_proj.weight";
  const others = [...readStoredTensors(folder).values()].filter(({ name }) => name !== missing);
  const target = written(
    t,
    others.map((tensor) => ({ ...tensor, data: readFloats(tensor) })),
  );
  assert.throws(() => checkWeights(target, config), {
    code: "invalid",
    message: /mlp\.experts\.gate_up_proj is missing/,
  });
});
