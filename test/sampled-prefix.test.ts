// Tests over HTTP that the prompt of a further turn begins with the exact tokens of the previous answer, even if the
// answer's text could be tokenized differently.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Hone } from "../src/apps/client/hone.ts";
import { startTrajectory } from "../src/apps/client/recording/start-trajectory.ts";
import { serverOfFile } from "./running-server.ts";

let hone: Hone;
serverOfFile({
  onStart: ({ url, apiKey }) => {
    hone = new Hone({ baseUrl: url, apiKey });
  },
});

const question = { role: "user", content: "spell cat" };
const next = { role: "user", content: "spell dog" };

test("a message with token_ids and prompt_token_ids makes the prompt begin with these tokens, unless its text was changed", async () => {
  const { tokens: prompt } = await hone.texts.tokenize({ model: "hone-tiny", messages: [question] });
  const text = "hello there";
  // Tokenizes the answer letter by letter, as a model may sample it at a high temperature.
  const letters = await Promise.all(
    Array.from(text, (letter) =>
      hone.texts.tokenize({ model: "hone-tiny", prompt: letter, add_special_tokens: false }),
    ),
  );
  const own = letters.flatMap(({ tokens }) => tokens);
  const sampled = [...prompt, ...own];
  const promptOf = async (answer: object): Promise<readonly number[]> => {
    const messages = [question, { role: "assistant", content: text, ...answer }, next];
    const { prompt_token_ids: ids } = await hone.chat.create({
      model: "hone-tiny",
      messages,
      max_completion_tokens: 1,
      return_token_ids: true,
    });
    return ids ?? [];
  };
  const plain = await promptOf({});
  assert.notDeepEqual(plain.slice(0, sampled.length), sampled, "the text is tokenized otherwise");
  const exact = await promptOf({ token_ids: own, prompt_token_ids: prompt });
  assert.deepEqual(exact.slice(0, sampled.length), sampled);
  const spelled = async (tokens: readonly number[]) =>
    (await hone.texts.detokenize({ model: "hone-tiny", tokens: [...tokens] })).prompt;
  assert.equal(await spelled(exact), await spelled(plain));
  assert.deepEqual(await promptOf({ token_ids: own.slice(1), prompt_token_ids: prompt }), plain);
  assert.deepEqual(await promptOf({ token_ids: own }), plain);
  await assert.rejects(promptOf({ token_ids: [-1], prompt_token_ids: prompt }), { status: 422 });
});

test("every turn of a recorded trajectory continues the exact tokens of earlier turns, even at a high temperature", async () => {
  const model = await hone.model("prefix/turns", { base: "hone-tiny" });
  for (let seed = 1; seed <= 8; seed++) {
    const trajectory = await startTrajectory(model, { step: 0, seed, request: { temperature: 1.6 } });
    const messages: { role: string; content: string }[] = [question];
    for (let turn = 0; turn < 3; turn++) {
      const { choices } = await trajectory.chat({ messages: [...messages], max_completion_tokens: 12 });
      messages.push({ role: "assistant", content: choices[0]?.message.content ?? "" }, next);
    }
    await trajectory.end();
    assert.equal(trajectory.histories.length, 1);
    const [history] = trajectory.histories;
    const turns = (history?.items ?? []).filter((item) => "message" in item);
    assert.equal(turns.length, 3);
    for (const [index, turn] of turns.slice(1).entries()) {
      const said = [idsIn(turns[index], "prompt_token_ids"), idsIn(turns[index], "token_ids")].flat();
      assert.deepEqual(
        idsIn(turn, "prompt_token_ids").slice(0, said.length),
        said,
        `seed ${seed}, turn ${index + 1}`,
      );
    }
    // The record contains the request as the caller sent it, without token ids.
    assert.ok(history?.items.every((item) => "message" in item || !("token_ids" in item)));
  }
});

function idsIn(turn: Readonly<Record<string, unknown>> | undefined, name: string): readonly number[] {
  const ids = turn?.[name];
  assert.ok(Array.isArray(ids), name);
  return ids as readonly number[];
}
