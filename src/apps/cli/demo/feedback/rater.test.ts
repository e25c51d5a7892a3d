// Tests of the rater that reads keys and of the simulated rater.
import assert from "node:assert/strict";
import { test } from "node:test";
import { keyRater } from "./key-rater.ts";
import { type RatedAnswer, simulatedRater } from "./rater.ts";

function answers(...texts: readonly string[]): readonly RatedAnswer[] {
  return texts.map((text) => ({ text, question: "?", reward: text === "maybe" ? 1 : 0 }));
}

/** Rates rounds of answers with these keys. Returns the ratings, and the text that was shown. */
async function press(keys: string, ...rounds: readonly (readonly RatedAnswer[])[]) {
  const pressed = keys.split("");
  const keyboard = { read: async () => pressed.shift() ?? assert.fail("more keys are asked for") };
  let shown = "";
  const rater = keyRater(keyboard, (text) => void (shown += text));
  const said: (readonly (string | null)[])[] = [];
  for (const round of rounds) said.push(await rater.rate(round));
  assert.deepEqual(pressed, []);
  return { said, shown };
}

test("asks once for equal answers, most frequent first", async () => {
  const round = answers("yes", "maybe", "Maybe ", "no", "maybe");
  const { said, shown } = await press("+-x-", round);
  assert.deepEqual(said, [["down", "up", "up", "down", "up"]]);
  assert.match(shown, /"maybe" × 3 {2}\+\n.*"yes" × 1 {2}-\n.*"no" × 1 {2}-\n/);
});

test("reuses a rating until it is changed, and leaves answers that were not shown unrated", async () => {
  const many = answers("a", "a", "b", "b", "c", "c", "d", "d", "e", "e", "f", "f", "g");
  const { said } = await press("+   -- + +--", many, many);
  assert.deepEqual(said[0]?.slice(0, 4), ["up", "up", null, null]);
  assert.deepEqual(said[0]?.at(-1), null);
  assert.deepEqual(said[1]?.slice(0, 6), ["up", "up", "up", "up", null, null]);
});

test("stops with an error on Ctrl-C", async () => {
  await assert.rejects(press("\u0003", answers("a")), /was interrupted/);
});

test("simulates a person who likes the best answers, errs at the given rate, and is reproducible", async () => {
  const round = Array.from({ length: 2000 }, (_, index) => answers(index % 2 === 0 ? "maybe" : "no")).flat();
  const wrongShare = async (noise: number): Promise<number> => {
    const said = await simulatedRater({ seed: 1, noise }).rate(round);
    assert.deepEqual(await simulatedRater({ seed: 1, noise }).rate(round), said);
    return (
      said.filter((thumb, index) => (thumb === "up") !== (round[index]?.reward === 1)).length / round.length
    );
  };
  assert.equal(await wrongShare(0), 0);
  assert.ok(Math.abs((await wrongShare(0.1)) - 0.1) < 0.03);
});
