// Contract tests of a generation's events: their kinds, their order, and how choices end.
import assert from "node:assert/strict";
import { test } from "node:test";
import { choiceCountOf, type GenerationRequest } from "../../../base/domain/generation.ts";
import { seededRandom } from "../../../base/domain/random.ts";
import { requestOf, type Transcript } from "../testing/run-loop.ts";
import {
  adapter,
  answerOf,
  ask,
  checkSameTokens,
  idle,
  read,
  recorded,
  greedyAnswer,
  sharedEngine,
  type EngineUnderTest,
} from "./engine-under-test.ts";

/** Checks an answer against all rules. The test must not have stopped any choice of the request. */
export function checkAnswer(request: GenerationRequest, { events, failure }: Transcript): void {
  const { maxTokens, stopTokenIds } = request.stopping;
  const { topLogprobCount } = request.outputs;
  assert.equal(failure, null);
  const [first] = events;
  assert.ok(first.kind === "prompt-computed", "the first event says that the prompt is computed");
  assert.equal(events.filter(({ kind }) => kind === "prompt-computed").length, 1);
  assert.ok(first.cachedTokenCount >= 0 && first.cachedTokenCount <= request.prompt.tokenIds.length);
  const cached = events.filter((event) => event.kind === "prompt-cached");
  assert.ok(cached.length <= 1 && cached.every((event) => event !== events.at(-1)));
  for (const { cachedTokenCount: count } of cached)
    assert.ok(count >= 0 && count <= request.prompt.tokenIds.length);
  for (let choice = 0; choice < choiceCountOf(request); choice++) {
    const own = events.filter((event) => "choice" in event && event.choice === choice);
    const tokens = own.flatMap((event) => (event.kind === "tokens" ? event.tokens : []));
    const last = own.at(-1);
    assert.ok(last?.kind === "choice-finished", "a choice ends with its finish");
    assert.equal(own.filter(({ kind }) => kind === "choice-finished").length, 1);
    assert.ok(tokens.length >= 1 && tokens.length <= maxTokens);
    const lastId = tokens[tokens.length - 1].id;
    const isStopped = stopTokenIds.includes(lastId);
    assert.deepEqual(
      [last.reason, last.stopTokenId],
      isStopped ? ["stop", lastId] : ["length", null],
      "the finish gives the reason of the choice's end",
    );
    if (!isStopped) assert.equal(tokens.length, maxTokens);
    for (const token of tokens.slice(0, -1)) assert.ok(!stopTokenIds.includes(token.id));
    for (const { logprob, alternatives } of tokens) {
      assert.equal(Number.isNaN(logprob), topLogprobCount === null);
      assert.equal(alternatives.length, topLogprobCount ?? 0);
    }
  }
}

const randomRequest = (seed: number): GenerationRequest => {
  const random = seededRandom("contract", seed);
  const tokenIds = Array.from({ length: 1 + random.index(40) }, () => random.index(512));
  return requestOf(tokenIds, {
    id: `random ${seed}`,
    adapter: random.index(3) === 0 ? adapter : null,
    sampling: { temperature: random.index(3) / 2, topP: 0.4 + 0.6 * random.uniform(), seed },
    choiceCount: 1 + random.index(3),
    maxTokens: 1 + random.index(12),
    stopTokenIds: Array.from({ length: random.index(3) * 100 }, () => random.index(512)),
    topLogprobCount: [null, 0, 3][random.index(3)],
  });
};

export function checkEvents(under: EngineUnderTest): void {
  const { name, rounding } = under;
  const shared = sharedEngine(under);

  test(`${name}: emits the required events in order for every kind of request, and an exact engine the same in a crowd`, async () => {
    const engine = await shared();
    const requests = Array.from({ length: 24 }, (_, seed) => randomRequest(seed));
    const transcripts = await Promise.all(requests.map((request) => read(engine.submit(request))));
    await idle(engine);
    for (const [index, request] of requests.entries()) {
      checkAnswer(request, transcripts[index]);
      if (!engine.capabilities.isExact) continue;
      const alone = await answerOf(engine, request);
      for (let choice = 0; choice < choiceCountOf(request); choice++) {
        checkSameTokens(engine, transcripts[index], alone, choice);
      }
    }
  });

  test(`${name}: an answer may fill the context`, async () => {
    const engine = await shared();
    const prompt = Array.from({ length: 250 }, (_, index) => (index * 7) % 512);
    const answer = await answerOf(engine, requestOf(prompt, { maxTokens: 6 }));
    assert.equal(answer.ids().length, 6);
  });

  // Skipped for quantized engines, because rounding affects prompts differently from answers.
  if (rounding === undefined)
    test(`${name}: an answer continues as if its beginning were part of the prompt`, async () => {
      const engine = await shared();
      for (const own of [null, adapter]) {
        const whole = await answerOf(engine, ask({ maxTokens: 6, topLogprobCount: 0, adapter: own }));
        for (let count = 1; count < 6; count++) {
          const prompt = [...recorded.prompt, ...whole.ids().slice(0, count)];
          const next = await answerOf(
            engine,
            requestOf(prompt, { maxTokens: 1, topLogprobCount: 0, adapter: own }),
          );
          assert.deepEqual(next.ids(), [whole.ids()[count]]);
          assert.ok(Math.abs(next.logprobs()[0] - whole.logprobs()[count]) < 1e-4);
        }
      }
    });
}

/** Registers a test that the engine answers the recorded prompt as recorded. */
export function checkRecordedAnswers(under: EngineUnderTest): void {
  const { name } = under;
  const expected = greedyAnswer(under);
  const shared = sharedEngine(under);

  test(`${name}: greedy answers equal the recorded ones`, async () => {
    const engine = await shared();
    const request = ask({ maxTokens: expected.length });
    const transcript = await answerOf(engine, request);
    checkAnswer(request, transcript);
    assert.deepEqual(transcript.ids(), expected);
  });

  test(`${name}: an answer ends with its first stop token, or when it is full`, async () => {
    const engine = await shared();
    const stop = expected[6];
    const end = expected.indexOf(stop) + 1;
    const stopped = await answerOf(engine, ask({ maxTokens: 20, stopTokenIds: [511, stop] }));
    assert.deepEqual(stopped.ids(), expected.slice(0, end));
    assert.deepEqual(stopped.finishes(), [`0 stop ${stop}`]);
    const full = await answerOf(engine, ask({ maxTokens: 3 }));
    assert.deepEqual(full.ids(), expected.slice(0, 3));
    assert.deepEqual(full.finishes(), ["0 length null"]);
    const both = await answerOf(engine, ask({ maxTokens: end, stopTokenIds: [stop] }));
    assert.deepEqual(both.finishes(), [`0 stop ${stop}`]);
    const one = await answerOf(engine, ask({ maxTokens: 1, choiceCount: 3 }));
    assert.deepEqual(one.finishes().toSorted(), ["0 length null", "1 length null", "2 length null"]);
  });
}
