// Run by emulated.test.ts on an emulated processor: tests its kernels, and the engine at each precision. The arguments
// are the 8-bit codes that Hone uses on that processor, and the precisions. An emulator is about fifty times
// slower than a processor, so this covers only recorded answers, and bit-equal results in and outside a batch.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { hasExactSums } from "../../src/inference/onnx/integer-kernels.ts";

const cacheFolder = mkdtempSync(join(tmpdir(), "hone-emulated-"));
after(() => rmSync(cacheFolder, { recursive: true }));
const [, , expected, ...precisions] = process.argv;

// Hone uses signed codes if they are exact (`integerKernels`), because they are faster.
test("unsigned 8-bit codes are exact, and signed ones if expected", async () => {
  assert.equal(await hasExactSums("int8"), expected === "int8");
  assert.ok(await hasExactSums("uint8"));
});

for (const quantization of (["off", "8", "4"] as const).filter((each) => precisions.includes(each))) {
  test(`with --quantize ${quantization}, an answer is the same with and without a batch`, async () => {
    // Imported only here, because the emulator takes more than a second to load the engine.
    const [{ answerOf, ask, recorded }, { embeddedEngine }] = await Promise.all([
      import("../../src/inference/engine/contract/engine-under-test.ts"),
      import("../../src/inference/engine/testing/embedded-under-test.ts"),
    ]);
    const engine = embeddedEngine({ cacheFolder, waitingCountMax: 4, quantization });
    await engine.start();
    const requests = [
      ask({ id: "greedy", maxTokens: recorded.answer.length }),
      ask({ id: "drawn", maxTokens: 6, sampling: { temperature: 1, seed: 7 } }),
      ask({ id: "drawn otherwise", maxTokens: 9, sampling: { temperature: 1, seed: 8 } }),
    ];
    const numbersOf = async (some: typeof requests) =>
      (await Promise.all(some.map((request) => answerOf(engine, request)))).map((answer) => [
        answer.ids(),
        answer.logprobs(),
      ]);
    const alone = [];
    for (const request of requests) alone.push(...(await numbersOf([request])));
    assert.deepEqual(await numbersOf(requests), alone);
    if (quantization === "off") assert.deepEqual(alone[0]?.[0], recorded.answer);
    await engine.stop();
  });
}
