import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../../../src/base/domain/random.ts";
import { drawChat, drawExercise, drawTask, kinds } from "./chats.ts";
import { type Split, splitOf } from "./held-out.ts";
import { signatureOf } from "./tools/tool.ts";
import { names, words as everydayWords } from "./words.ts";

for (const kind of kinds) {
  test(`${kind.name}: accepts its own answers and refuses others`, () => {
    const random = seededRandom("test", kind.name);
    for (let count = 0; count < 500; count++) {
      const exercise = kind.draw(random);
      assert.equal(exercise.kind, kind.name);
      assert.ok(exercise.accepts(exercise.answer), `${exercise.prompt} -> ${exercise.answer}`);
      assert.ok(!exercise.accepts(""), exercise.prompt);
      // Only the kind "other" accepts any short answer.
      if (kind.name !== "other") assert.ok(!exercise.accepts(`${exercise.answer} so`), exercise.prompt);
      assert.equal(exercise.answer.trim(), exercise.answer);
    }
  });

  test(`${kind.name}: has held-out prompts, and held-out contents where it says so`, () => {
    const random = seededRandom("test", kind.name);
    const drawn = (split: Split): ReadonlySet<string> =>
      new Set(Array.from({ length: 200 }, () => drawExercise(random, kind, split).prompt));
    assert.ok(drawn("wordings").size > 20);
    if (kind.heldOut === null) assert.deepEqual(kind.draw(random).contents, []);
    else assert.ok(drawn("contents").size > 20);
  });
}

const mixture = { factors: new Map(), toolChats: 0.3 };

test("training never contains a held-out prompt, regardless of how it is typed", () => {
  const random = seededRandom("test", "chats");
  const spoken = (prompt: string): string =>
    prompt
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}]+/gu, " ")
      .trim();
  const trained = new Map<string, Set<string>>(kinds.map(({ name }) => [name, new Set()]));
  for (let count = 0; count < 4000; count++) {
    for (const { kind, prompt } of drawChat(random, mixture).turns) trained.get(kind)?.add(spoken(prompt));
  }
  for (const kind of kinds) {
    for (let count = 0; count < 100; count++) {
      const { prompt } = drawExercise(random, kind, "wordings");
      assert.ok(trained.get(kind.name)?.has(spoken(prompt)) === false, `${kind.name}: ${prompt}`);
    }
  }
});

test("training never contains held-out contents: words, pairs of numbers or tools", () => {
  const random = seededRandom("test", "contents");
  const shown = new Set<string>();
  const words = new Set<string>();
  for (let count = 0; count < 4000; count++) {
    const chat = drawChat(random, mixture);
    for (const { contents } of chat.turns) for (const content of contents) shown.add(content);
    const texts = [
      ...chat.tools.map(signatureOf),
      ...chat.turns.flatMap(({ prompt, answer }) => [prompt, answer]),
    ];
    for (const word of texts
      .join(" ")
      .toLowerCase()
      .match(/\p{L}+/gu) ?? [])
      words.add(word);
  }
  assert.ok(shown.size > 2000 && words.size > 2000);
  const unseen = new Set<string>();
  const isUnseen = (content: string): boolean =>
    splitOf({ kind: "test", prompt: "", contents: [content] }) === "contents";
  for (const kind of kinds.filter(({ heldOut }) => heldOut !== null)) {
    for (let count = 0; count < 50; count++)
      for (const content of drawExercise(random, kind, "contents").contents)
        if (isUnseen(content)) unseen.add(content);
  }
  for (let count = 0; count < 50; count++)
    for (const content of drawTask(random, "contents").turns[0]?.contents ?? [])
      if (isUnseen(content)) unseen.add(content);
  assert.ok(unseen.size > 100);
  for (const content of unseen) {
    assert.ok(!shown.has(content), content);
    const everyday = /^word (\p{L}{3,})$/u.exec(content)?.[1];
    if (everyday !== undefined && isEveryday(everyday)) assert.ok(!words.has(everyday), everyday);
  }
});

/**
 * True for everyday words and names. If such a word is held out, it must not occur anywhere in training, not even
 * outside the content of a question.
 */
function isEveryday(word: string): boolean {
  return [...everydayWords, ...names].some((one) => one.toLowerCase() === word);
}

test("each tool result follows a call of an available tool, and the last turn answers the question", () => {
  const random = seededRandom("test", "tools");
  for (let count = 0; count < 500; count++) {
    const { tools, turns } = drawTask(random, "training");
    assert.equal(new Set(tools.map(({ name }) => name)).size, tools.length);
    assert.equal(turns[0]?.role, "user");
    for (const [index, { kind, role, answer, accepts }] of turns.entries()) {
      assert.equal(role, index === 0 ? "user" : "tool");
      assert.ok(accepts(answer) && !accepts(`${answer} so`));
      const call = /^<tool_call>\n(.*)\n<\/tool_call>$/.exec(answer)?.[1];
      assert.equal(call === undefined, kind === "results", answer);
      if (call === undefined) continue;
      const { name, arguments: given } = JSON.parse(call) as { name: string; arguments: object };
      const tool = tools.find((one) => one.name === name);
      assert.deepEqual(
        Object.keys(given),
        tool?.parameters.map((parameter) => parameter.name),
      );
    }
    assert.equal(turns.at(-1)?.kind, "results");
  }
});

test("the demo's prompts are held out in any word order, but similar prompts are not", () => {
  const held = (prompt: string): boolean =>
    splitOf({ kind: "choosing", prompt, contents: [] }) === "wordings";
  assert.ok(held("respond with exactly one of 'yes', 'no', 'maybe'"));
  assert.ok(held("Respond with exactly one of 'maybe', 'yes', 'no'."));
  assert.ok(held("respond with exactly one of yes or no"));
  assert.ok(
    !held("respond with exactly one of 'red', 'blue'") || !held("respond with exactly one of 'red', 'green'"),
  );
});

test("choosing shows no preference among yes, no and maybe, or among their positions", () => {
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
    return Array.from({ length: 50 }, () => drawChat(random, mixture)).map(({ system, turns }) => [
      system,
      turns.map(({ prompt, answer }) => [prompt, answer]),
    ]);
  };
  assert.deepEqual(draw(), draw());
});
