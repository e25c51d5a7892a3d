// Tests the memory estimate of an engine. The estimate does not depend on the values of the weights.
import assert from "node:assert/strict";
import { test } from "node:test";
import { readStoredTensors } from "../../../lib/model-files/weight-files.ts";
import { engineSettings } from "../settings.ts";
import { engineMemory } from "./memory-need.ts";
import { everyKernel } from "../../../base/domain/kernels/integer-kernels.ts";

const folder = "test/fixtures/goldens/models/qwen3";
/** Dimensions from the model's config.json. */
const model = { layerCount: 3, kvHeadCount: 2, headSize: 32, contextLength: 256 };

test("the estimate grows with the weights in float32, the keys and values of as many tokens as may run, and the context length", () => {
  const needOf = (given: object): number =>
    engineMemory({ folder, quantization: "off", kernels: everyKernel }, engineSettings.with(given)).bytes;
  const weightCount = [...readStoredTensors(folder).values()].reduce(
    (sum, { shape }) => sum + shape.reduce((product, size) => product * size, 1),
    0,
  );
  const rest = needOf({ kvCacheBytesMax: 0 });
  assert.ok(rest > 13 * weightCount * 4, "weights, which each session of a small model copies");
  assert.ok(rest < 13 * weightCount * 4 + 2 ** 28, "and what a process takes");
  const { layerCount, kvHeadCount, headSize, contextLength } = model;
  const whole = 128 * contextLength * layerCount * 2 * kvHeadCount * headSize * 4;
  assert.equal(needOf({ kvCacheBytesMax: 2 ** 40 }) - rest, whole);
  const short = needOf({ kvCacheBytesMax: 0, contextLengthMax: 64 });
  assert.ok(short < rest);
  assert.equal(needOf({ kvCacheBytesMax: 2 ** 40, contextLengthMax: 64 }) - short, whole / 4);
  assert.equal(needOf({ kvCacheBytesMax: 1000 }) - rest, 1000);
  const limited = engineSettings.with({ kvCacheBytesMax: 1000 });
  assert.equal(
    engineMemory({ folder, quantization: "off", kernels: everyKernel }, limited).keyValueBytes,
    1000,
  );
});

test("quantized weights take less, and those of 4 bits also the form that prompts use", () => {
  const settings = engineSettings.with({ kvCacheBytesMax: 0 });
  const [whole, eight, four] = (["off", "8", "4"] as const).map(
    (quantization) => engineMemory({ folder, quantization, kernels: everyKernel }, settings).bytes,
  );
  assert.ok(eight < four && four < whole, `${four} ${eight} ${whole}`);
  // The folder's weights are stored in float types, so `as-stored` gives the same estimate as `off`.
  assert.equal(
    engineMemory({ folder, quantization: "as-stored", kernels: everyKernel }, settings).bytes,
    whole,
  );
});
