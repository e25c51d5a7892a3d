// Runs the contract tests on constraints that threads compute, and on the constraints that other tests use. Also tests
// the threads: costly constraints move to another thread, and threads break down.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { packVocabulary } from "../../../base/domain/vocabulary.ts";
import { choice, regex } from "../../../lib/constraints/grammar/testing/make-constraints.ts";
import { LateConstraints } from "../testing/late-constraints.ts";
import {
  checkConstraintBackend,
  costlyMasks,
  followText,
  nextMask,
  prepare,
  tokens,
  trie,
} from "./contract/check-constraint-backend.ts";
import { constraintSettings, type ConstraintSettings } from "./settings.ts";
import { ThreadedConstraints, type ThreadedConstraintsOptions } from "./threaded-constraints.ts";

const made: ThreadedConstraints[] = [];
// The threads do not keep the process alive, so this timer does until the tests end.
const alive = setInterval(() => undefined, 1000);
after(async () => {
  clearInterval(alive);
  await Promise.all(made.map((constraints) => constraints.close()));
});

function threaded(
  settings: Partial<ConstraintSettings> = {},
  options: Partial<ThreadedConstraintsOptions> = {},
): ThreadedConstraints {
  const constraints = new ThreadedConstraints({
    vocabulary: packVocabulary(tokens),
    settings: constraintSettings.with(settings),
    choiceCountMax: 4,
    onBreakdown: (error) => assert.fail(error),
    ...options,
  });
  made.push(constraints);
  return constraints;
}

checkConstraintBackend({ name: "threads", make: threaded });
checkConstraintBackend({
  name: "constraints of tests",
  make: (settings) => {
    let asked = 0;
    const limits = constraintSettings.with(settings);
    return new LateConstraints({ trie, limits, lateness: () => asked++ % 3 });
  },
});

const idOf = (letter: string): number =>
  tokens.findIndex((token) => token?.length === 1 && token[0] === letter.charCodeAt(0));

test("a choice whose constraint turns out to be costly continues in another thread from the same position", async () => {
  const constraints = threaded({}, { quickSteps: 800 });
  const prepared = await prepare(constraints, costlyMasks);
  const [one, other] = [prepared.open(), prepared.open()];
  for (const cursor of [one, other]) {
    for (const letter of "cabx") {
      const { allowed } = await nextMask(cursor);
      const id = idOf(letter);
      assert.ok(((allowed[id >>> 5] >>> (id & 31)) & 1) === 1, letter);
      cursor.accept(id);
    }
    assert.ok((await nextMask(cursor)).mayEnd);
  }
  // The constraint was compiled once in each of the two threads.
  assert.equal(constraints.kept.misses, 2);
  for (const cursor of [one, other]) cursor.close();
  prepared.release();
});

test("closing a cursor while it moves leaves nothing behind", async () => {
  const constraints = threaded({}, { quickSteps: 800 });
  const moving = await prepare(constraints, costlyMasks);
  const moved = moving.open();
  for (const letter of "ca") {
    await nextMask(moved);
    moved.accept(idOf(letter));
  }
  moved.next();
  moved.close();
  moving.release();
  const texts = choice("abc");
  await followText((await prepare(constraints, texts)).open(), texts, "abc");
});

test("compiles the same constraint once, and counts the cached ones", async () => {
  const constraints = threaded();
  assert.deepEqual(constraints.kept, { hits: 0, misses: 0, bytes: 0 });
  for (const constraint of [choice("a"), choice("b"), choice("a")]) {
    const prepared = await prepare(constraints, constraint);
    await nextMask(prepared.open());
  }
  const { hits, misses, bytes } = constraints.kept;
  assert.deepEqual([hits, misses], [1, 2]);
  assert.ok(bytes > 10_000 && bytes < 1_000_000, `${bytes}`);
});

test("if running constraints need too much memory, refuses the largest", async () => {
  const constraints = threaded({ cacheBytes: 2 ** 20 });
  const small = (await prepare(constraints, choice("ab"))).open();
  const large = (await prepare(constraints, regex(manyTexts(120).join("|")))).open();
  await assert.rejects(nextMask(large), /exceed the limit cacheBytes/);
  await followText(small, choice("ab"), "ab");
});

function manyTexts(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `a text among many, number ${index}`);
}

for (const [name, silenceDeadlineMs, cause] of [
  ["silent", 100, /finished nothing for 100 ms/],
  ["broken", 60_000, /this thread is broken/],
] as const) {
  test(`a ${name} thread fails its pending requests, by name, and is replaced`, async () => {
    const causes: string[] = [];
    const constraints = threaded(
      {},
      {
        module: new URL(`./testing/${name}-thread.js`, import.meta.url),
        silenceDeadlineMs,
        onBreakdown: ({ message }) => causes.push(message),
      },
    );
    for (let life = 1; life <= 2; life++) {
      await assert.rejects(prepare(constraints, choice("a")), (error) => {
        assert.ok(error instanceof ServiceError && error.code === "internal");
        assert.match(error.message, /^The constraint thread broke down/);
        return true;
      });
      assert.equal(causes.length, life);
      assert.match(causes[life - 1], cause);
    }
  });
}
