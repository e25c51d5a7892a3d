// Contract tests of logits processors: processors change the tokens of requests that name them, in combination with any
// other parameter. If a processor refuses its arguments, only that request fails. The processors in these tests exist
// in every engine here.
import assert from "node:assert/strict";
import { test } from "node:test";
import { answerOf, ask, read, refusalOf, sharedEngine, type EngineUnderTest } from "./engine-under-test.ts";

const noRepeats = [{ name: "no-repeat-ngram", args: [1], kwargs: {} }];

export function checkProcessors(under: EngineUnderTest): void {
  const { name } = under;
  const shared = sharedEngine(under);

  test(`${name}: a processor changes the drawn tokens of every choice`, async () => {
    const engine = await shared();
    const sampling = { temperature: 0.2, seed: 4 };
    const free = await answerOf(engine, ask({ maxTokens: 40, choiceCount: 3, sampling }));
    const held = await answerOf(
      engine,
      ask({ maxTokens: 40, choiceCount: 3, sampling: { ...sampling, processors: noRepeats } }),
    );
    for (let choice = 0; choice < 3; choice++) {
      assert.ok(new Set(free.ids(choice)).size < 40, "the model repeats itself by itself");
      assert.equal(new Set(held.ids(choice)).size, 40);
    }
  });

  test(`${name}: processors act with any penalties`, async () => {
    const engine = await shared();
    const processors = [{ name: "thinking-budget", args: [0], kwargs: { start: [], end: [7, 8, 9] } }];
    const sampling = { temperature: 0, processors, repetitionPenalty: 1.5, presencePenalty: 2 };
    const answer = await answerOf(engine, ask({ maxTokens: 6, sampling }));
    assert.deepEqual(answer.ids().slice(0, 3), [7, 8, 9]);
    assert.notDeepEqual(answer.ids().slice(3), [7, 8, 9]);
  });

  test(`${name}: log-probabilities with a processor are the model's own`, async () => {
    const engine = await shared();
    const free = await answerOf(engine, ask({ maxTokens: 1, topLogprobCount: 5 }));
    const sampling = { temperature: 0, processors: noRepeats };
    const held = await answerOf(engine, ask({ maxTokens: 1, topLogprobCount: 5, sampling }));
    assert.deepEqual(
      held.alternatives()[0].map(({ id }) => id),
      free.alternatives()[0].map(({ id }) => id),
    );
  });

  test(`${name}: arguments that a processor does not take fail only the request`, async () => {
    const engine = await shared();
    const broken = [{ name: "no-repeat-ngram", args: [], kwargs: { size: "x" } }];
    const [failed, fine] = await Promise.all([
      read(engine.submit(ask({ id: "broken", sampling: { processors: broken } }))),
      answerOf(engine, ask({ id: "fine", maxTokens: 4 })),
    ]);
    assert.match(failed.failure ?? "", /^unsupported: The logits processor "no-repeat-ngram" does not take/);
    assert.deepEqual(failed.events, []);
    assert.equal(fine.ids().length, 4);
  });

  test(`${name}: refuses a processor that it lacks`, async () => {
    const engine = await shared();
    const unknown = ask({ sampling: { processors: [{ name: "nobody's", args: [], kwargs: {} }] } });
    assert.equal(refusalOf(engine, unknown), "unsupported");
  });
}
