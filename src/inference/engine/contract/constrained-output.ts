// Contract tests of constraints: an engine draws only prefixes of texts that the constraint allows, in combination with
// any other parameter. An engine that cannot serve a constraint refuses it before it emits anything.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ConstraintRule } from "../../../base/domain/constraint.ts";
import { choice, jsonSchema, regex } from "../../../lib/constraints/grammar/testing/make-constraints.ts";
import {
  answerOf,
  ask,
  bytesOf,
  capabilitiesOf,
  endTokenId,
  idle,
  offers,
  read,
  sharedEngine,
  textOf,
  type EngineUnderTest,
} from "./engine-under-test.ts";

const seeded = { temperature: 1.3, seed: 7 };
const words = ["yes", "no", "not so, I think"];

export function checkConstrainedOutput(under: EngineUnderTest): void {
  const { name } = under;
  const shared = sharedEngine(under);
  const { features } = capabilitiesOf(under);
  /** Registers a test that runs only for engines that offer the kinds of constraints that the test uses. */
  const testOf = (
    kinds: readonly ConstraintRule["kind"][],
    title: string,
    run: () => Promise<void>,
  ): void => {
    if (kinds.every((kind) => features.has(`constraint-${kind}`))) test(`${name}: ${title}`, run);
  };

  testOf(["choice"], "every choice is one of the texts, and ends with the end token", async () => {
    const engine = await shared();
    const asked = (temperature: number) =>
      ask({
        constraint: choice(...words),
        stopTokenIds: [endTokenId],
        choiceCount: 16,
        sampling: { ...seeded, temperature },
      });
    const isHot = offers(under, asked(4));
    const answer = await answerOf(engine, asked(isHot ? 4 : 2));
    const texts = Array.from({ length: 16 }, (_, index) => textOf(answer, index));
    for (const [index, text] of texts.entries()) {
      assert.ok(words.includes(text), text);
      assert.equal(answer.ids(index).at(-1), endTokenId);
    }
    if (isHot) assert.ok(new Set(texts).size > 1, "several texts are drawn");
    assert.deepEqual(
      answer.finishes().toSorted(),
      Array.from({ length: 16 }, (_, index) => `${index} stop ${endTokenId}`).toSorted(),
    );
  });

  testOf(["choice"], "a complete answer ends automatically if no token may end it", async () => {
    const answer = await answerOf(await shared(), ask({ constraint: choice("yes"), sampling: seeded }));
    assert.equal(textOf(answer), "yes");
    assert.deepEqual(answer.finishes(), ["0 stop null"]);
  });

  testOf(["regex"], "a pattern is matched from end to end, or the answer is cut within it", async () => {
    const engine = await shared();
    const constraint = regex("[a-c]{2,5}(-[0-9]{3}){2}");
    const options = { constraint, stopTokenIds: [endTokenId], choiceCount: 6, sampling: seeded };
    const whole = await answerOf(engine, ask({ ...options, maxTokens: 40 }));
    const cut = await answerOf(engine, ask({ ...options, maxTokens: 3 }));
    for (let index = 0; index < 6; index++) {
      assert.match(textOf(whole, index), /^[a-c]{2,5}(-[0-9]{3}){2}$/);
      assert.equal(cut.ids(index).length, 3);
      if (engine.capabilities.isExact) assert.deepEqual(cut.ids(index), whole.ids(index).slice(0, 3));
    }
    assert.ok(cut.finishes().every((finish) => finish.endsWith("length null")));
  });

  testOf(["json-schema"], "notices about a constraint come before all other events", async () => {
    const engine = await shared();
    const strange = ask({
      constraint: jsonSchema({ type: "string", format: "color", maxLength: 3 }),
      maxTokens: 3,
    });
    // Some engines refuse a schema with a format that they do not know, such as `color`. They are tested with a schema
    // without a format.
    const known = ask({ constraint: jsonSchema({ type: "string", maxLength: 3 }), maxTokens: 3 });
    const { events } = await answerOf(engine, offers(under, strange) ? strange : known);
    const first = events.findIndex(({ kind }) => kind === "prompt-computed");
    assert.ok(first <= 1 && events.slice(0, first).every(({ kind }) => kind === "constraint-noted"));
  });

  testOf(["choice"], "log-probabilities under a constraint are the model's own", async () => {
    const engine = await shared();
    const free = await answerOf(engine, ask({ maxTokens: 1, topLogprobCount: 5 }));
    const held = await answerOf(
      engine,
      ask({ maxTokens: 1, topLogprobCount: 5, constraint: choice(...words) }),
    );
    assert.deepEqual(
      held.alternatives()[0].map(({ id }) => id),
      free.alternatives()[0].map(({ id }) => id),
    );
    assert.ok(words.some((word) => word.startsWith(textOf(held))));
  });

  testOf(["regex"], "an answer keeps its constraint, and ends, with any other parameters", async () => {
    const engine = await shared();
    const constraint = regex("[a-c]{2,9}(-[0-9]{3}){2}");
    const letters = bytesOf.flatMap((bytes, id) => (bytes?.length === 1 ? [id] : []));
    const z = bytesOf.findIndex((bytes) => bytes?.length === 1 && bytes[0] === 0x7a);
    for (const more of [
      { minTokens: 39 },
      {
        sampling: {
          logitBias: [
            [z, 100],
            [endTokenId, 100],
          ] as const,
        },
      },
      { sampling: { repetitionPenalty: 2, frequencyPenalty: 2, presencePenalty: 2 } },
      { sampling: { repetitionPenalty: 0.01, frequencyPenalty: -2 } },
      { sampling: { badWords: letters.map((id) => [id, id]) } },
      { sampling: { allowedTokenIds: [...letters, endTokenId] }, minTokens: 12 },
      // If the end token is not allowed, the answer ends by itself once the constraint is complete.
      { sampling: { allowedTokenIds: letters }, minTokens: 12 },
      { sampling: { minP: 1, topK: 1 }, stopTokenIds: [] },
    ]) {
      const sampling = { ...seeded, ...more.sampling };
      const stopTokenIds = more.stopTokenIds ?? [endTokenId];
      const request = ask({ constraint, maxTokens: 40, choiceCount: 4, ...more, stopTokenIds, sampling });
      if (!offers(under, request)) continue;
      const answer = await answerOf(engine, request);
      for (let index = 0; index < 4; index++) {
        assert.match(textOf(answer, index), /^[a-c]{2,9}(-[0-9]{3}){2}$/, JSON.stringify(more).slice(0, 99));
      }
      assert.ok(answer.finishes().every((finish) => finish.includes(" stop ")));
    }
  });

  testOf(["choice"], "a request fails if it allows no token that continues the constraint", async () => {
    const engine = await shared();
    if (!features.has("allowed-token-ids")) return;
    const sampling = { ...seeded, allowedTokenIds: [endTokenId] };
    const { failure } = await read(engine.submit(ask({ constraint: choice("yes"), sampling })));
    assert.match(failure ?? "", /^unsupported: /);
  });

  testOf(["choice", "regex"], "requests with constraints and without do not change each other", async () => {
    const engine = await shared();
    // Inexact engines draw unpredictably above temperature 0, so they are tested with the most probable tokens.
    const sampling = engine.capabilities.isExact ? seeded : {};
    const free = (id: string) => ask({ id, maxTokens: 20, sampling });
    const held = (id: string) => ask({ id, maxTokens: 20, sampling, constraint: regex("[a-z ]{1,60}") });
    const alone = [await answerOf(engine, free("a")), await answerOf(engine, held("b"))];
    const together = await Promise.all([
      answerOf(engine, free("a")),
      answerOf(engine, held("b")),
      answerOf(engine, ask({ id: "c", constraint: choice("yes"), sampling: seeded })),
    ]);
    for (const [index, answer] of alone.entries()) assert.deepEqual(together[index].ids(), answer.ids());
  });

  testOf(["choice", "regex"], "a constraint that cannot be served fails only its request", async () => {
    const engine = await shared();
    const [failed, answer] = await Promise.all([
      read(engine.submit(ask({ id: "bad", constraint: regex("(a)\\1") }))),
      answerOf(engine, ask({ id: "good", constraint: choice("yes") })),
    ]);
    assert.match(failed.failure ?? "", /^unsupported: /);
    assert.deepEqual(failed.events, []);
    assert.equal(textOf(answer), "yes");
  });

  testOf(["choice"], "a request can be aborted while its constraint is read", async () => {
    const engine = await shared();
    const aborted = engine.submit(ask({ id: "aborted", constraint: choice(...words) }));
    aborted.abort();
    const stopped = engine.submit(ask({ id: "stopped", constraint: choice(...words), choiceCount: 2 }));
    for (const index of [0, 1]) stopped.stopChoice(index);
    assert.match((await read(aborted)).failure ?? "", /^cancelled/);
    assert.deepEqual((await read(stopped)).events, []);
    await idle(engine);
  });
}
