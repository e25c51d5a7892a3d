// Tests beam searches in the loop against their definition: with and without other requests, with late constraint
// masks, and when preempted. The fake model's scores depend on the slot's contents, so a wrong copy of a slot changes
// the answer.
import assert from "node:assert/strict";
import { test } from "node:test";
import { buildTokenTrie } from "../../../lib/constraints/grammar/trie/token-trie.ts";
import { choice, regex } from "../../../lib/constraints/grammar/testing/make-constraints.ts";
import { readLanguage } from "../../../lib/constraints/grammar/language.ts";
import { CompiledConstraint } from "../../../lib/constraints/grammar/matcher.ts";
import { defaultGrammarLimits } from "../../../lib/constraints/regex/limits.ts";
import type { GenerationEvent, GenerationRequest } from "../../../base/domain/generation.ts";
import { seededRandom, type Random } from "../../../base/domain/random.ts";
import { drawRulesOf, PromptTokens, TokenHistory } from "../logits/draw-input.ts";
import { Sampler } from "../logits/sampler.ts";
import { fakeLogits, FakeRunner, fakeShape } from "../testing/fake-runner.ts";
import { LateConstraints } from "../testing/late-constraints.ts";
import { searchPlainly, type PlainCandidates } from "../testing/plain-beams.ts";
import { observedLoop, requestOf, smallLimits, type Transcript } from "../testing/run-loop.ts";
import { searchSeeds } from "../../../base/domain/testing/search.ts";

/** Vocabulary of the fake model: a letter for each token, except token 0, which ends texts. */
const trie = buildTokenTrie({
  bytes: Array.from({ length: fakeShape.vocabularySize }, (_, id) =>
    id === 0 ? null : Uint8Array.of(96 + (id % 26) + 1),
  ),
});
const constraints = [regex("[a-f]{3,12}"), regex("(ab|c)*z"), choice("abc", "abd", "xyz")];

/** Returns the possible next tokens of an answer, according to the fake model's scores. */
function candidatesAfter(
  request: GenerationRequest,
  answer: readonly number[],
  sampler: Sampler,
): PlainCandidates {
  const { prompt, constraint, choices } = request;
  const logits = fakeLogits([...prompt.tokenIds, ...answer], prompt.adapter?.id ?? null);
  let mask = null;
  if (constraint !== null) {
    const compiled = new CompiledConstraint(readLanguage(constraint, defaultGrammarLimits), trie);
    const matcher = compiled.matcher();
    for (const id of answer) assert.ok(matcher.accept(id));
    const allowed = new Uint32Array(compiled.maskWords);
    matcher.mask(allowed);
    mask = { allowed, mayEnd: matcher.mayEnd };
  }
  const rules = drawRulesOf(request);
  const history = new TokenHistory(new PromptTokens(prompt.tokenIds), answer);
  const input = { rules, random: seededRandom(1), history, processors: [], mask };
  const tokens = sampler.best(logits, input, choices.kind === "beam" ? 2 * choices.width : 0);
  assert.ok(tokens !== "broken scores");
  return { tokens, mayEnd: mask?.mayEnd === true };
}

/** Returns the events that a beam search must emit, except `prompt-computed`. */
async function expectedEvents(request: GenerationRequest): Promise<readonly GenerationEvent[]> {
  const { choices, prompt, stopping, outputs } = request;
  assert.ok(choices.kind === "beam");
  const sampler = new Sampler(fakeShape.vocabularySize);
  const answers = await searchPlainly({
    ...choices,
    promptLength: prompt.tokenIds.length,
    stopping,
    candidatesAfter: (answer) => Promise.resolve(candidatesAfter(request, answer, sampler)),
  });
  const isFew = answers.length < choices.width;
  return [
    ...(isFew ? [{ kind: "choices-found", count: answers.length } as const] : []),
    ...answers.flatMap(({ tokens, reason, stopTokenId }, rank): readonly GenerationEvent[] => {
      const shown = tokens.map((token) =>
        outputs.topLogprobCount === null ? { ...token, logprob: NaN } : token,
      );
      const finished = { kind: "choice-finished", choice: rank, reason, stopTokenId } as const;
      return shown.length === 0 ? [finished] : [{ kind: "tokens", choice: rank, tokens: shown }, finished];
    }),
  ];
}

function randomSearch(random: Random, more: { readonly widthMax: number }): GenerationRequest {
  const pick = <T>(options: readonly T[]): T => options[random.index(options.length)];
  return requestOf(
    Array.from({ length: 1 + random.index(70) }, () => random.index(fakeShape.vocabularySize)),
    {
      adapter: pick([null, null, { id: "adapter", folder: "" }]),
      beams: { width: 1 + random.index(more.widthMax), lengthPenalty: pick([1, 0, 2, -1]) },
      maxTokens: 1 + random.index(20),
      stopTokenIds: pick([[], [0], [0, 7, 9, 30, 31, 40]]),
      topLogprobCount: pick([null, 2]),
      constraint: pick([null, null, ...constraints]),
      priority: pick([0, 0, 1, 2]),
    },
  );
}

async function check(request: GenerationRequest, transcript: Transcript, context: string): Promise<void> {
  const expected = await expectedEvents(request);
  if (expected.length === 1) {
    assert.match(transcript.failure ?? "", /^unsupported: /, context);
    return;
  }
  assert.equal(transcript.failure, null, context);
  assert.deepEqual(
    transcript.events,
    [{ kind: "prompt-computed", cachedTokenCount: 0 }, ...expected],
    context,
  );
}

test("searches that start at random times find the same as without company, with late masks too", async () => {
  for (const seed of searchSeeds(4)) {
    const random = seededRandom("beams", seed);
    const lateness = (): number => (random.index(3) === 0 ? random.index(9) : 0);
    const late = new LateConstraints({ trie, limits: defaultGrammarLimits, lateness });
    const limits = { ...smallLimits, slotCountMax: 5 + random.index(8), constraints: late };
    const { loop, transcript } = observedLoop(new FakeRunner(), limits);
    const searches = Array.from({ length: 6 }, () => randomSearch(random, { widthMax: 5 }));
    const arrivals = searches.map(() => random.index(30));
    for (let step = 0; step < 30 || loop.hasWork; step++) {
      assert.ok(step < 5000, `seed ${seed}: the searches end`);
      for (const [key, request] of searches.entries()) if (arrivals[key] === step) loop.submit(key, request);
      if (step < 30 && random.index(4) === 0) {
        const beside = { maxTokens: 6, choiceCount: 2, priority: random.index(3) };
        loop.submit(100 + step, requestOf([step], beside));
      }
      // Waits until the loop has prepared the submitted requests.
      await new Promise((resolve) => setImmediate(resolve));
      await loop.step();
    }
    for (const [key, request] of searches.entries()) {
      await check(request, transcript(key), `seed ${seed}, search ${key}`);
    }
    assert.deepEqual([loop.kvCacheBytes, late.openCount, late.preparedCount], [0, 0, 0]);
  }
});
