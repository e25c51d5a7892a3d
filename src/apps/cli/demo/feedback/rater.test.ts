// Thumbs from keys, and from a simulated person.
import assert from "node:assert/strict";
import { test } from "node:test";
import { keyRater } from "./key-rater.ts";
import { type RatedAnswer, simulatedRater } from "./rater.ts";

function answers(...texts: readonly string[]): readonly RatedAnswer[] {
  return texts.map((text) => ({ text, question: "?", reward: text === "maybe" ? 1 : 0 }));
}

/** What is said of answers in rounds, by the keys that are pressed; and what the person saw. */
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

test("answers that read alike are judged once, the most frequent first", async () => {
  const round = answers("yes", "maybe", "Maybe ", "no", "maybe");
  const { said, shown } = await press("+-x-", round);
  assert.deepEqual(said, [["down", "up", "up", "down", "up"]]);
  assert.match(shown, /"maybe" × 3 {2}\+\n.*"yes" × 1 {2}-\n.*"no" × 1 {2}-\n/);
});

test("a word holds until another is said, and of what is not shown nothing is said", async () => {
  const many = answers("a", "a", "b", "b", "c", "c", "d", "d", "e", "e", "f", "f", "g");
  const { said } = await press("+   -- + +--", many, many);
  assert.deepEqual(said[0]?.slice(0, 4), ["up", "up", null, null]);
  assert.deepEqual(said[0]?.at(-1), null);
  assert.deepEqual(said[1]?.slice(0, 6), ["up", "up", "up", "up", null, null]);
});

test("Ctrl-C ends it", async () => {
  await assert.rejects(press("\u0003", answers("a")), /was ended/);
});

test("a simulated person likes what is best, errs as often as it is told to, and always alike", async () => {
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
