// Contract tests of early endings: a stopped choice, an aborted request, and a reader that stops reading.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  answerOf,
  ask,
  capabilitiesOf,
  idle,
  read,
  greedyAnswer,
  sharedEngine,
  type EngineUnderTest,
} from "./engine-under-test.ts";

const seeded = { temperature: 1, seed: 21 };
/** A request with an answer so long that it still runs whenever a test looks at it. */
const endless = ask({ id: "endless", maxTokens: 200, choiceCount: 4, sampling: seeded });

export function checkEnding(under: EngineUnderTest): void {
  const { name } = under;
  const shared = sharedEngine(under);
  /** Inexact engines draw unpredictably above temperature 0, so they are tested with the most probable tokens. */
  const sampling = capabilitiesOf(under).isExact ? seeded : {};

  test(`${name}: a stopped choice emits no more, and the others do not change`, async () => {
    const engine = await shared();
    // The answer is long, so that a reader on a busy machine still stops it in time.
    const request = ask({ maxTokens: 100, choiceCount: 3, sampling });
    const whole = await answerOf(engine, request);
    const generation = engine.submit(request);
    const stopped = await read(generation, (transcript) => {
      const isLate = transcript.ids(1).length >= 4 && transcript.events.at(-1)?.kind === "tokens";
      if (!isLate) return;
      for (let time = 0; time < 2; time++) generation.stopChoice(1);
    });
    assert.equal(stopped.failure, null);
    assert.deepEqual(stopped.ids(0), whole.ids(0));
    assert.deepEqual(stopped.ids(2), whole.ids(2));
    assert.ok(stopped.ids(1).length >= 4 && stopped.ids(1).length < 100);
    assert.deepEqual(stopped.ids(1), whole.ids(1).slice(0, stopped.ids(1).length));
    assert.deepEqual(stopped.finishes().toSorted(), ["0 length null", "2 length null"]);
  });

  test(`${name}: choices that are stopped before anything is computed do not affect the rest`, async () => {
    const engine = await shared();
    const request = ask({ maxTokens: 8, choiceCount: 3, sampling });
    const whole = await answerOf(engine, request);
    const generation = engine.submit(request);
    generation.stopChoice(0);
    generation.stopChoice(1);
    const rest = await read(generation);
    assert.deepEqual(rest.ids(2), whole.ids(2));
    assert.deepEqual([rest.ids(0), rest.ids(1), rest.finishes()], [[], [], ["2 length null"]]);
    assert.equal(rest.events[0].kind, "prompt-computed");
  });

  test(`${name}: a generation ends without an error when all its choices are stopped`, async () => {
    const engine = await shared();
    const generation = engine.submit(endless);
    const { failure } = await read(generation, () => {
      for (let choice = 0; choice < 4; choice++) generation.stopChoice(choice);
    });
    assert.equal(failure, null);
    await idle(engine);
  });

  test(`${name}: an abort throws cancelled to the reader, frees the engine, and can be repeated`, async () => {
    const engine = await shared();
    const generation = engine.submit(endless);
    const waiting = engine.submit(ask({ id: "aborted immediately" }));
    waiting.abort();
    const { failure } = await read(generation, () => {
      generation.abort();
      generation.abort();
    });
    assert.match(failure ?? "", /^cancelled: /);
    assert.match((await read(waiting)).failure ?? "", /^cancelled: /);
    generation.stopChoice(0);
    await idle(engine);
    assert.deepEqual((await answerOf(engine, ask({ maxTokens: 5 }))).ids(), greedyAnswer(under).slice(0, 5));
    generation.abort();
  });

  test(`${name}: a reader that leaves early frees the engine`, async () => {
    const engine = await shared();
    for await (const batch of engine.submit(endless).events) {
      if (batch.some(({ kind }) => kind === "tokens")) break;
    }
    await idle(engine);
  });

  test(`${name}: an unread generation finishes, and can be read later`, async () => {
    const engine = await shared();
    const generation = engine.submit(ask({ maxTokens: 6 }));
    await idle(engine);
    assert.deepEqual((await read(generation)).ids(), greedyAnswer(under).slice(0, 6));
  });
}
