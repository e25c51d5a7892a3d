// Tests beam search with tiny models whose possible answers can all be listed. With a beam for each hypothesis, the
// search must find the best answers of that list; with fewer beams, it must match the definition of beam search.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { GeneratedToken } from "../../../base/domain/generation.ts";
import { seededRandom } from "../../../base/domain/random.ts";
import {
  searchPlainly,
  type PlainAnswer,
  type PlainSearch,
  type PlainCandidates,
} from "../testing/plain-beams.ts";
import { BeamSearch, tokensOf, type Candidates } from "./beam-search.ts";
import { searchCount, searchSeeds } from "../../../base/domain/testing/search.ts";

/** Returns the possible next tokens of a hypothesis with their probabilities. */
type TinyModel = (answer: readonly number[]) => PlainCandidates;

interface Case extends Omit<PlainSearch, "candidatesAfter"> {
  readonly model: TinyModel;
}

const tokenOf = (id: number, logprob: number): GeneratedToken => ({ id, logprob, alternatives: [] });

/**
 * Creates a model with random probabilities. With `allows` = "some", some hypotheses have few next tokens, and some
 * have none. Hypotheses without next tokens are complete answers or dead ends.
 */
function tinyModel(seed: number, vocabularySize: number, allows: "all" | "some"): TinyModel {
  return (answer) => {
    const random = seededRandom("tiny model", seed, ...answer);
    const weights = Array.from({ length: vocabularySize }, () => random.uniform() ** 3 + 1e-6);
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    const isAllowed = (): boolean => allows === "all" || random.uniform() < 0.6;
    const tokens = weights.flatMap((weight, id) =>
      isAllowed() ? [tokenOf(id, Math.log(weight / total))] : [],
    );
    tokens.sort((one, other) => other.logprob - one.logprob);
    return { tokens, mayEnd: random.uniform() < 0.5 };
  };
}

/** Runs a beam search; returns its answers and the number of its steps. */
function search({ model, width, lengthPenalty, promptLength, stopping }: Case) {
  const { maxTokens } = stopping;
  const stopTokenIds = new Set(stopping.stopTokenIds);
  const beams = new BeamSearch({ width, lengthPenalty, promptLength, maxTokens, stopTokenIds });
  let stepCount = 0;
  for (; beams.live.length > 0; stepCount++) {
    assert.ok(beams.live.length <= width);
    const before = beams.live;
    const survivors = beams.advance((hypothesis): Candidates => {
      const { tokens, mayEnd } = model(tokensOf(hypothesis).map(({ id }) => id));
      return { tokens, isComplete: tokens.length === 0 && mayEnd };
    });
    assert.deepEqual(
      survivors.map(({ hypothesis }) => hypothesis),
      beams.live,
    );
    for (const { parent, hypothesis } of survivors) {
      assert.ok(before.includes(parent) && hypothesis.before === parent);
    }
  }
  const answers = beams.answers.map(({ hypothesis, reason, stopTokenId, score }) => ({
    tokens: tokensOf(hypothesis),
    reason,
    stopTokenId,
    score,
  }));
  return { answers, stepCount };
}

/** Returns all possible answers, the best first. */
function listAll({ model, lengthPenalty, promptLength, stopping }: Case): readonly PlainAnswer[] {
  const { maxTokens, stopTokenIds } = stopping;
  const answers: PlainAnswer[] = [];
  const follow = (tokens: readonly GeneratedToken[], sum: number): void => {
    const scored = (length: number): number => sum / (promptLength + length) ** lengthPenalty;
    const last = tokens.at(-1)?.id ?? -1;
    if (stopTokenIds.includes(last)) {
      answers.push({ tokens, reason: "stop", stopTokenId: last, score: scored(tokens.length - 1) });
    } else if (tokens.length === maxTokens) {
      answers.push({ tokens, reason: "length", stopTokenId: null, score: scored(tokens.length) });
    } else {
      const candidates = model(tokens.map(({ id }) => id));
      if (candidates.tokens.length === 0 && candidates.mayEnd)
        answers.push({ tokens, reason: "stop", stopTokenId: null, score: scored(tokens.length) });
      for (const token of candidates.tokens) follow([...tokens, token], sum + token.logprob);
    }
  };
  follow([], 0);
  return answers.toSorted((one, other) => other.score - one.score);
}

const penalties = [1, 0, 0.5, 2, -1, -0.3, 7];

function checkSame(actual: readonly PlainAnswer[], expected: readonly PlainAnswer[], context: string): void {
  const shown = ({ tokens, reason, stopTokenId }: PlainAnswer): string =>
    `${tokens.map(({ id }) => id).join(" ")} ${reason} ${stopTokenId}`;
  assert.deepEqual(actual.map(shown), expected.map(shown), context);
  actual.forEach(({ score }, place) => {
    const difference = Math.abs(score - expected[place].score);
    assert.ok(difference <= 1e-12 * Math.abs(score), `${context}: ${score} is not ${expected[place].score}`);
  });
}

test("with a beam for every hypothesis it finds the best of all answers", () => {
  for (const seed of searchSeeds(20)) {
    const random = seededRandom("exhaustive", seed);
    const maxTokens = 1 + random.index(4);
    const every = {
      model: tinyModel(seed, 4, seed % 2 === 0 ? "all" : "some"),
      lengthPenalty: penalties[random.index(penalties.length)],
      promptLength: 1 + random.index(9),
      stopping: { maxTokens, stopTokenIds: [[0], [], [0, 3]][random.index(3)] },
    };
    const width = 4 ** maxTokens;
    const expected = listAll({ ...every, width }).slice(0, width);
    checkSame(search({ ...every, width }).answers, expected, `seed ${seed}`);
  }
});

test("with fewer beams it finds what its definition finds, though it may end earlier", async () => {
  let endedEarlier = 0;
  for (const seed of searchSeeds(100)) {
    const random = seededRandom("definition", seed);
    const one: Case = {
      model: tinyModel(seed, 3 + random.index(6), seed % 3 === 0 ? "some" : "all"),
      width: 1 + random.index(5),
      lengthPenalty: penalties[random.index(penalties.length)],
      promptLength: 1 + random.index(20),
      stopping: { maxTokens: 1 + random.index(9), stopTokenIds: [[0], [], [0, 1, 2]][random.index(3)] },
    };
    const { answers, stepCount } = search(one);
    const candidatesAfter = (answer: readonly number[]) => Promise.resolve(one.model(answer));
    checkSame(answers, await searchPlainly({ ...one, candidatesAfter }), `seed ${seed}`);
    if (stepCount < one.stopping.maxTokens && answers.length === one.width) endedEarlier += 1;
  }
  assert.ok(endedEarlier > searchCount(10), `only ${endedEarlier} ended earlier`);
});

test("waits for a longer answer if the penalty can make it the best", () => {
  // At first the end token is likely. If the answer continues instead, each further token has probability 1, so the
  // mean log-probability rises with each token.
  const model: TinyModel = (answer) => ({
    tokens: answer.length === 0 ? [tokenOf(0, Math.log(0.7)), tokenOf(1, Math.log(0.3))] : [tokenOf(1, 0)],
    mayEnd: false,
  });
  const one = { model, width: 1, promptLength: 1, stopping: { maxTokens: 8, stopTokenIds: [0] } };
  const idsOf = (lengthPenalty: number) => {
    const { answers, stepCount } = search({ ...one, lengthPenalty });
    return [answers[0].tokens.map(({ id }) => id).join(""), stepCount];
  };
  assert.deepEqual(idsOf(0), ["0", 1]);
  assert.deepEqual(idsOf(0.1), ["0", 1]);
  assert.deepEqual(idsOf(1), ["11111111", 8]);
  assert.deepEqual(idsOf(-1), ["0", 1]);
});

test("extreme penalties leave the decision to the sums", async () => {
  for (const lengthPenalty of [400, -400, 1e300]) {
    const one = { model: tinyModel(3, 4, "all"), width: 3, lengthPenalty, promptLength: 9 };
    const whole: Case = { ...one, stopping: { maxTokens: 5, stopTokenIds: [0] } };
    const candidatesAfter = (answer: readonly number[]) => Promise.resolve(whole.model(answer));
    const sums = (answers: readonly PlainAnswer[]) =>
      answers.map(({ tokens }) => tokens.map(({ id }) => id).join());
    assert.deepEqual(sums(search(whole).answers), sums(await searchPlainly({ ...whole, candidatesAfter })));
  }
});
