// Contract tests of the parameters that restrict tokens or shift their scores. Answers match the definitions, and each
// parameter has an effect.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { present } from "../../../base/domain/assert.ts";
import type { EngineFeature, GenerationRequest } from "../../../base/domain/generation.ts";
import { seededRandom } from "../../../base/domain/random.ts";
import type { SamplingParameters } from "../../../base/domain/sampling.ts";
import { searchedOf } from "../../../base/domain/testing/search.ts";
import { openNaiveModel, type NaiveModel } from "../testing/naive-model.ts";
import { drawPlainly } from "../testing/plain-sampler.ts";
import {
  answerOf,
  ask,
  capabilitiesOf,
  modelFolder,
  offers,
  read,
  greedyAnswer,
  sharedEngine,
  type EngineUnderTest,
} from "./engine-under-test.ts";

const ids = (from: number, count: number): readonly number[] =>
  Array.from({ length: count }, (_, index) => from + index);

/**
 * Returns each parameter separately, then all of them together.
 *
 * @param banned token that would be drawn first
 */
const parametersOf = (banned: number): readonly Partial<SamplingParameters>[] => [
  { minP: 0.3 },
  { topNSigma: 1.5 },
  { repetitionPenalty: 1.6 },
  { repetitionPenalty: 0.7 },
  { frequencyPenalty: 1.2 },
  { presencePenalty: -1.5 },
  { logitBias: ids(0, 60).map((id) => [id, id % 2 === 0 ? 2.5 : -100]) },
  { allowedTokenIds: [...ids(100, 30), 3] },
  { badWords: [[banned], ...ids(0, 200).map((id) => [id + 60, id])] },
  {
    temperature: 0.8,
    topK: 60,
    topP: 0.9,
    topNSigma: 2.5,
    minP: 0.01,
    repetitionPenalty: 1.2,
    frequencyPenalty: 0.3,
    presencePenalty: 0.2,
    logitBias: [[300, 4]],
    allowedTokenIds: ids(50, 400),
    badWords: [[banned], [300, 300], [300]],
  },
];

export function checkRestrictions(under: EngineUnderTest): void {
  const { name, rounding } = under;
  const expected = greedyAnswer(under);
  const [banned] = expected;
  const shared = sharedEngine(under);
  const { features, isExact } = capabilitiesOf(under);
  /** Registers a test for engines that offer all features it needs. */
  const testOf = (needed: readonly EngineFeature[], title: string, run: () => Promise<void>): void => {
    if (needed.every((feature) => features.has(feature))) test(`${name}: ${title}`, run);
  };
  /** Only exact engines draw predictably at a temperature above 0. */
  const temperatures = isExact ? [0, 1] : [0];
  let model: NaiveModel | null = null;
  after(() => model?.close());

  /** Returns the ids that follow from applying the definitions to the naive model's scores. */
  const expectedIds = async (request: GenerationRequest, choice: number): Promise<readonly number[]> => {
    model ??= await openNaiveModel(modelFolder);
    const random = seededRandom(request.sampling.seed, choice);
    const answer: number[] = [];
    while (answer.length < request.stopping.maxTokens) {
      const logits = await model.logitsAfter([...request.prompt.tokenIds, ...answer], null);
      const id = drawPlainly(logits, { request, answer, allowance: null }, () => random.uniform());
      answer.push(present(id, "a token that may come"));
      if (request.stopping.stopTokenIds.includes(answer[answer.length - 1])) break;
    }
    return answer;
  };

  // Skipped for quantized engines, because the definitions use the reference model's scores.
  if (rounding === undefined)
    test(`${name}: draws what the definitions draw, each choice with its own counts`, async () => {
      const engine = await shared();
      for (const [index, given] of parametersOf(banned).entries()) {
        for (const temperature of searchedOf(temperatures, 1, `${name} ${index}`)) {
          const sampling = { ...given, temperature: temperature * (given.temperature ?? 1), seed: 12 };
          const request = ask({ maxTokens: 14, choiceCount: 2, stopTokenIds: [expected[3]], sampling });
          if (!offers(under, request)) continue;
          const answer = await answerOf(engine, request);
          for (const choice of [0, 1]) {
            const context = `${JSON.stringify(sampling).slice(0, 200)}, choice ${choice}`;
            assert.deepEqual(answer.ids(choice), await expectedIds(request, choice), context);
          }
        }
      }
    });

  testOf(["logit-bias", "penalties"], "raw log-probabilities do not change", async () => {
    const engine = await shared();
    const plain = await answerOf(engine, ask({ maxTokens: 1, topLogprobCount: 5 }));
    const sampling = { logitBias: [[banned, -100] as const], repetitionPenalty: 2 };
    const shifted = await answerOf(engine, ask({ maxTokens: 1, topLogprobCount: 5, sampling }));
    for (const [place, { id, logprob }] of plain.alternatives()[0].entries()) {
      const other = shifted.alternatives()[0][place];
      assert.ok(other.id === id && Math.abs(other.logprob - logprob) <= (isExact ? 0 : 1e-4));
    }
    assert.notEqual(shifted.ids()[0], plain.ids()[0]);
  });

  const shifting = ["logit-bias", "allowed-token-ids", "bad-words", "penalties"] as const;
  testOf(shifting, "forces, bans and allows the tokens that it is told to", async () => {
    const engine = await shared();
    const draw = async (sampling: Partial<SamplingParameters>): Promise<readonly number[]> => {
      const request = ask({ maxTokens: 40, sampling: { temperature: 2, seed: 4, ...sampling } });
      return (await answerOf(engine, request)).ids();
    };
    assert.deepEqual(new Set(await draw({ temperature: 0, logitBias: [[77, 100]] })), new Set([77]));
    const allowed = new Set([5, 6, 7]);
    for (const id of await draw({ allowedTokenIds: [...allowed] })) assert.ok(allowed.has(id));
    for (const id of await draw({ badWords: ids(0, 256).map((word) => [word]) })) assert.ok(id >= 256);
    const pair = await draw({
      allowedTokenIds: [8, 9],
      badWords: [
        [8, 8],
        [9, 9],
      ],
    });
    pair.slice(1).forEach((id, index) => assert.notEqual(id, pair[index]));
    const once = await draw({
      allowedTokenIds: ids(0, 50),
      temperature: 0,
      presencePenalty: 2,
      frequencyPenalty: 2,
      logitBias: ids(0, 50).map((id) => [id, 100]),
    });
    assert.ok(new Set(once).size > 20, "repeating costs more and more");
  });

  testOf(["min-tokens", "allowed-token-ids"], "no stop token comes before the minimum length", async () => {
    const engine = await shared();
    const stopTokenIds = ids(0, 250);
    for (const temperature of temperatures) {
      const request = ask({
        maxTokens: 60,
        minTokens: 12,
        choiceCount: 6,
        stopTokenIds,
        sampling: { temperature, seed: 3 },
      });
      const answer = await answerOf(engine, request);
      for (let choice = 0; choice < 6; choice++) {
        if (rounding === undefined) assert.deepEqual(answer.ids(choice), await expectedIds(request, choice));
        assert.ok(
          answer
            .ids(choice)
            .slice(0, 12)
            .every((id) => id >= 250),
        );
      }
    }
    const full = await answerOf(engine, ask({ maxTokens: 5, minTokens: 5, stopTokenIds: ids(0, 511) }));
    assert.deepEqual([full.ids(), full.finishes()], [[511, 511, 511, 511, 511], ["0 length null"]]);
    const only = await answerOf(
      engine,
      ask({ minTokens: 5, stopTokenIds: [7], sampling: { allowedTokenIds: [7] } }),
    );
    assert.deepEqual([only.ids(), only.finishes()], [[7], ["0 stop 7"]]);
  });

  const forbidding = ["allowed-token-ids", "bad-words"] as const;
  testOf(forbidding, "a request without an allowed token fails, and gives the reason", async () => {
    const engine = await shared();
    const sampling = { allowedTokenIds: [4, 5], badWords: [[4], [5]] };
    const failed = await read(engine.submit(ask({ id: "failed", choiceCount: 2, sampling })));
    assert.match(failed.failure ?? "", /^unsupported: /);
    // The first token may still be drawn; the request fails only at the second.
    const later = { allowedTokenIds: [4], badWords: [[4, 4]] };
    const broken = await read(engine.submit(ask({ id: "broken", sampling: later })));
    assert.match(broken.failure ?? "", /^unsupported: /);
    assert.deepEqual(broken.ids(), [4]);
    assert.equal((await answerOf(engine, ask())).ids().length, 16);
  });
}
