// Contract tests of beam search: an engine finds the answers that the definition of beam search finds with the engine's
// own next-token probabilities. The answers come whole, ranked, and with the same fields as other answers.
import assert from "node:assert/strict";
import { test } from "node:test";
import { choiceCountMax, type Engine, type GenerationRequest } from "../../../base/domain/generation.ts";
import { choice, regex } from "../../../lib/constraints/grammar/testing/make-constraints.ts";
import { searchPlainly, type PlainAnswer } from "../testing/plain-beams.ts";
import { requestOf, type ShortRequest, type Transcript } from "../testing/run-loop.ts";
import {
  adapter,
  answerOf,
  ask,
  checkSameTokens,
  endTokenId,
  idle,
  limitsOf,
  read,
  recorded,
  refusalOf,
  greedyAnswer,
  sharedEngine,
  textOf,
  type EngineUnderTest,
} from "./engine-under-test.ts";
import { checkAnswer } from "./events.ts";

const vocabularySize = 512;
const seeded = { temperature: 1.2, seed: 9 };

interface BeamCase extends ShortRequest {
  readonly beams: NonNullable<ShortRequest["beams"]>;
  readonly maxTokens: number;
}

/** Runs beam search by its definition: in each step, asks the engine for the next token after each prefix. */
async function searchByAsking(
  engine: Engine,
  { beams, maxTokens, minTokens = 0, stopTokenIds = [], adapter: own = null, sampling = {} }: BeamCase,
): Promise<readonly PlainAnswer[]> {
  return searchPlainly({
    ...beams,
    promptLength: recorded.prompt.length,
    stopping: { maxTokens, stopTokenIds },
    candidatesAfter: async (answer) => {
      const { allowedTokenIds, badWords = [] } = sampling;
      const mayFollow = (id: number): boolean =>
        (allowedTokenIds?.includes(id) ?? true) &&
        !badWords.some((word) => [...answer, id].slice(-word.length).join() === word.join()) &&
        (answer.length >= minTokens || !stopTokenIds.includes(id));
      const prompt = [...recorded.prompt, ...answer];
      const next = { maxTokens: 1, topLogprobCount: vocabularySize, adapter: own };
      const [all] = (await answerOf(engine, requestOf(prompt, next))).alternatives();
      const possible = all.filter(({ id }) => mayFollow(id));
      return { tokens: possible.map((token) => ({ ...token, alternatives: [] })), mayEnd: false };
    },
  });
}

function checkFound(found: Transcript, expected: readonly PlainAnswer[]): void {
  expected.forEach(({ tokens, reason, stopTokenId }, rank) => {
    assert.deepEqual(
      found.ids(rank),
      tokens.map(({ id }) => id),
    );
    assert.equal(found.finishes()[rank], `${rank} ${reason} ${stopTokenId}`);
    found.logprobs(rank).forEach((logprob, place) => {
      assert.ok(Math.abs(logprob - tokens[place].logprob) < 1e-4, `rank ${rank}, token ${place}`);
    });
  });
  assert.equal(found.finishes().length, expected.length);
}

export function checkBeams(under: EngineUnderTest): void {
  const { name, rounding } = under;
  const shared = sharedEngine(under);

  // Skipped for quantized engines. The definition computes prefixes as prompts, and rounding affects prompts
  // differently from answers.
  if (rounding === undefined)
    test(`${name}: finds what the definition of beam search finds`, async () => {
      const engine = await shared();
      const ends = recorded.answer.slice(2, 6);
      const cases: readonly BeamCase[] = [
        { beams: { width: 1, lengthPenalty: 1 }, maxTokens: 8 },
        { beams: { width: 4, lengthPenalty: 1 }, maxTokens: 7 },
        { beams: { width: 3, lengthPenalty: 0 }, maxTokens: 6, stopTokenIds: ends },
        { beams: { width: 5, lengthPenalty: 2.5 }, maxTokens: 5, stopTokenIds: ends },
        { beams: { width: 2, lengthPenalty: -1 }, maxTokens: 6, stopTokenIds: ends },
        { beams: { width: 12, lengthPenalty: 1 }, maxTokens: 3, stopTokenIds: ends, adapter },
        { beams: { width: 3, lengthPenalty: 1 }, maxTokens: 6, minTokens: 5, stopTokenIds: ends },
        {
          beams: { width: 4, lengthPenalty: 1 },
          maxTokens: 5,
          stopTokenIds: ends,
          sampling: {
            allowedTokenIds: [...ends, ...recorded.answer, 7, 8, 9],
            badWords: [[7], ends.slice(0, 2)],
          },
        },
      ];
      for (const one of cases) {
        const request = ask({ ...one, topLogprobCount: 2, sampling: { ...seeded, ...one.sampling } });
        const found = await answerOf(engine, request);
        checkAnswer(request, found);
        checkFound(found, await searchByAsking(engine, one));
      }
    });

  test(`${name}: one beam is greedy with any sampling parameters`, async () => {
    const beams = { width: 1, lengthPenalty: 1 };
    const answer = await answerOf(await shared(), ask({ beams, maxTokens: 12, sampling: seeded }));
    assert.deepEqual(answer.ids(), greedyAnswer(under).slice(0, 12));
    assert.deepEqual(answer.logprobs(), Array(12).fill(NaN));
  });

  test(`${name}: emits every answer whole, in the order of ranks, after the prompt`, async () => {
    const beams = { width: 3, lengthPenalty: 1 };
    const { events } = await answerOf(await shared(), ask({ beams, maxTokens: 5 }));
    assert.deepEqual(
      events.map((event) => ("choice" in event ? `${event.kind} ${event.choice}` : event.kind)),
      ["prompt-computed", ...[0, 1, 2].flatMap((rank) => [`tokens ${rank}`, `choice-finished ${rank}`])],
    );
  });

  test(`${name}: beams keep to a constraint, and find no more answers than it has`, async () => {
    const engine = await shared();
    const held = (more: BeamCase & Pick<ShortRequest, "constraint">): GenerationRequest =>
      ask({ ...more, stopTokenIds: [endTokenId] });
    const texts = await answerOf(
      engine,
      held({ beams: { width: 6, lengthPenalty: 1 }, maxTokens: 30, constraint: regex("[a-c]{2,5}-[0-9]") }),
    );
    const found = Array.from({ length: 6 }, (_, rank) => textOf(texts, rank));
    for (const text of found) assert.match(text, /^[a-c]{2,5}-[0-9]$/);
    assert.equal(new Set(Array.from({ length: 6 }, (_, rank) => texts.ids(rank).join())).size, 6);
    // The constraint allows only two answers, so the search returns fewer answers than it has beams.
    const few = await answerOf(
      engine,
      held({ beams: { width: 5, lengthPenalty: 1 }, maxTokens: 4, constraint: choice("x", "y") }),
    );
    assert.deepEqual(few.finishes(), [`0 stop ${endTokenId}`, `1 stop ${endTokenId}`]);
    assert.deepEqual(few.events[1], { kind: "choices-found", count: 2 });
    const bare = ask({
      beams: { width: 3, lengthPenalty: 1 },
      constraint: choice("x", "y", "z"),
      maxTokens: 9,
    });
    const complete = await answerOf(engine, bare);
    assert.deepEqual(complete.finishes(), ["0 stop null", "1 stop null", "2 stop null"]);
  });

  test(`${name}: answers of a search are the same in a crowd`, async () => {
    const engine = await shared();
    const beams = { width: 4, lengthPenalty: 0.5 };
    const searched = (id: string) => ask({ id, beams, maxTokens: 10, topLogprobCount: 1 });
    const drawn = (id: string) => ask({ id, maxTokens: 12, choiceCount: 3, sampling: seeded });
    const alone = [await answerOf(engine, searched("a")), await answerOf(engine, drawn("b"))];
    const [one, two, three] = await Promise.all([
      answerOf(engine, searched("a")),
      answerOf(engine, drawn("b")),
      answerOf(engine, searched("c")),
    ]);
    for (let rank = 0; rank < 4; rank++) {
      checkSameTokens(engine, one, alone[0], rank);
      checkSameTokens(engine, three, alone[0], rank);
    }
    for (let index = 0; index < 3; index++) checkSameTokens(engine, two, alone[1], index);
  });

  test(`${name}: leaves out unwanted choices of a search, and the others stay`, async () => {
    const engine = await shared();
    const request = ask({ beams: { width: 3, lengthPenalty: 1 }, maxTokens: 30 });
    const whole = await answerOf(engine, request);
    const generation = engine.submit(request);
    generation.stopChoice(0);
    const rest = await read(generation);
    assert.deepEqual(
      [rest.ids(0), rest.ids(1), rest.ids(2), rest.finishes()],
      [[], whole.ids(1), whole.ids(2), whole.finishes().slice(1)],
    );
    const unwanted = engine.submit({ ...request, id: "unwanted" });
    for (let rank = 0; rank < 3; rank++) unwanted.stopChoice(rank);
    assert.equal((await read(unwanted)).failure, null);
    const aborted = engine.submit({ ...request, id: "aborted" });
    aborted.abort();
    assert.match((await read(aborted)).failure ?? "", /^cancelled: /);
    await idle(engine);
  });

  test(`${name}: accepts as many beams as its limits allow, and no more`, async () => {
    const engine = await shared();
    const roomFor = (width: number) => engine.roomFor({ kind: "beam", width, lengthPenalty: 1 });
    const wide = (width: number, maxTokens: number) =>
      requestOf([5], { beams: { width, lengthPenalty: 1 }, maxTokens });
    assert.equal(roomFor(1), engine.roomFor({ kind: "sample", count: 1 }));
    const widths = Array.from({ length: choiceCountMax }, (_, index) => index + 1);
    const most = widths.findLast((width) => roomFor(width) > 0) ?? 0;
    if (most < choiceCountMax) assert.equal(refusalOf(engine, wide(most + 1, 1)), "unsupported");
    if (roomFor(most) < limitsOf(engine).contextLength)
      assert.equal(refusalOf(engine, wide(most, roomFor(most))), "unsupported");
    const widest = await answerOf(engine, wide(Math.min(most, 16), 2));
    assert.equal(widest.finishes().length, Math.min(most, 16));
    await idle(engine);
  });
}
