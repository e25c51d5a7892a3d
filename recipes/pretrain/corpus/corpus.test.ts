import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../../src/domain/random.ts";
import { drawChat, drawExercise, kinds } from "./chats.ts";
import { isHeldOut } from "./held-out.ts";

for (const kind of kinds) {
  test(`${kind.name}: accepts its own answers and refuses others`, () => {
    const random = seededRandom("test", kind.name);
    for (let count = 0; count < 500; count++) {
      const exercise = kind.draw(random);
      assert.equal(exercise.kind, kind.name);
      assert.ok(exercise.accepts(exercise.answer), `${exercise.prompt} -> ${exercise.answer}`);
      assert.ok(!exercise.accepts(""), exercise.prompt);
      // Only the kind for everything else accepts whatever is short.
      if (kind.name !== "other") assert.ok(!exercise.accepts(`${exercise.answer} so`), exercise.prompt);
      assert.equal(exercise.answer.trim(), exercise.answer);
    }
  });

  test(`${kind.name}: has held-out prompts`, () => {
    const random = seededRandom("test", kind.name);
    const prompts = new Set(Array.from({ length: 200 }, () => drawExercise(random, kind, "held-out").prompt));
    assert.ok(prompts.size > 20, `${prompts.size} different`);
  });
}

test("training never shows a held-out prompt, however it is typed", () => {
  const random = seededRandom("test", "chats");
  const spoken = (prompt: string): string =>
    prompt
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}]+/gu, " ")
      .trim();
  const trained = new Map<string, Set<string>>(kinds.map(({ name }) => [name, new Set()]));
  for (let count = 0; count < 4000; count++) {
    for (const { kind, prompt } of drawChat(random).turns) trained.get(kind)?.add(spoken(prompt));
  }
  for (const kind of kinds) {
    for (let count = 0; count < 100; count++) {
      const { prompt } = drawExercise(random, kind, "held-out");
      assert.ok(trained.get(kind.name)?.has(spoken(prompt)) === false, `${kind.name}: ${prompt}`);
    }
  }
});

test("the demo's prompts are held out in every order, and only they among their like", () => {
  const held = (prompt: string): boolean => isHeldOut({ kind: "choosing", prompt });
  assert.ok(held("respond with exactly one of 'yes', 'no', 'maybe'"));
  assert.ok(held("Respond with exactly one of 'maybe', 'yes', 'no'."));
  assert.ok(held("respond with exactly one of yes or no"));
  assert.ok(
    !held("respond with exactly one of 'red', 'blue'") || !held("respond with exactly one of 'red', 'green'"),
  );
});

test("choosing has no favourite among yes, no and maybe, wherever they stand", () => {
  const random = seededRandom("test", "choosing");
  const choosing = kinds.find(({ name }) => name === "choosing");
  const counts = new Map<string, number>();
  let places = 0;
  let total = 0;
  while (total < 3000) {
    const exercise = choosing?.draw(random);
    if (exercise === undefined) break;
    const listed = exercise.prompt.match(/\b(yes|no|maybe)\b/g) ?? [];
    if (
      listed.length !== 3 ||
      new Set(listed).size !== 3 ||
      !["yes", "no", "maybe"].includes(exercise.answer)
    )
      continue;
    total += 1;
    places += listed.indexOf(exercise.answer);
    counts.set(exercise.answer, (counts.get(exercise.answer) ?? 0) + 1);
  }
  for (const word of ["yes", "no", "maybe"]) {
    assert.ok(
      Math.abs((counts.get(word) ?? 0) / total - 1 / 3) < 0.04,
      `${word}: ${counts.get(word)} of ${total}`,
    );
  }
  assert.ok(Math.abs(places / total - 1) < 0.05, `mean place ${places / total}`);
});

test("the same seed draws the same chats", () => {
  const draw = (): unknown => {
    const random = seededRandom("test", "same");
    return Array.from({ length: 50 }, () => drawChat(random)).map(({ system, turns }) => [
      system,
      turns.map(({ prompt, answer }) => [prompt, answer]),
    ]);
  };
  assert.deepEqual(draw(), draw());
});
