// Tests a prompt's log-probabilities over HTTP. They must equal those of the reference implementation, have the form
// that clients expect, and not depend on other fields of the request.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { call, serverOfFile } from "./running-server.ts";
import { goldenModel } from "./served-jobs.ts";

const folder = "test/fixtures/goldens/models/qwen3";

/** A conversation, the ids that the model's template produces for it, and the reference's log-probability for each. */
interface Golden {
  readonly messages: readonly object[];
  readonly rendered_ids: readonly number[];
  readonly rendered_prompt_logprobs: readonly (number | null)[];
}

// Safe cast: the fixture is part of this project.
const golden = JSON.parse(readFileSync(`${folder}/golden.json`, "utf8")) as Golden;

interface Entry {
  readonly logprob: number;
  readonly rank: number;
  readonly decoded_token: string;
}
type PromptLogprobs = readonly (Readonly<Record<string, Entry>> | null)[];

const server = serverOfFile({ flags: goldenModel });

const ask = (body: object) =>
  call(server(), "POST", "/v1/chat/completions", {
    body: { messages: golden.messages, max_tokens: 2, temperature: 0, ...body },
  });

async function promptLogprobs(body: object): Promise<PromptLogprobs> {
  const answer = await ask(body);
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  // Safe cast: the tests check this member.
  return answer.body.prompt_logprobs as PromptLogprobs;
}

/** Checks that each entry contains its own token with the reference's log-probability. */
function checkGolden(tokens: PromptLogprobs): void {
  assert.equal(tokens.length, golden.rendered_ids.length);
  assert.equal(tokens[0], null);
  for (const [index, token] of tokens.entries()) {
    if (token === null) continue;
    const own = token[String(golden.rendered_ids[index])];
    assert.ok(own !== undefined, `entry ${index} holds its token`);
    const expected = golden.rendered_prompt_logprobs[index] ?? NaN;
    assert.ok(Math.abs(own.logprob - expected) < 1e-4, `entry ${index}: ${own.logprob} is not ${expected}`);
  }
}

test("`prompt_logprobs` equal those of the reference implementation", async () => {
  const tokens = await promptLogprobs({ prompt_logprobs: 0 });
  checkGolden(tokens);
  for (const token of tokens.slice(1)) assert.equal(Object.keys(token ?? {}).length, 1);
});

test("alternatives are the most probable tokens by rank, and the prompt's own token comes first", async () => {
  const { url, apiKey } = server();
  const answer = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ messages: golden.messages, max_tokens: 1, prompt_logprobs: 4 }),
  });
  const text = await answer.text();
  assert.match(answer.headers.get("content-type") ?? "", /^application\/json/);
  const tokens = (JSON.parse(text) as { prompt_logprobs: PromptLogprobs }).prompt_logprobs;
  checkGolden(tokens);
  for (const [index, token] of tokens.entries()) {
    if (token === null) continue;
    const own = String(golden.rendered_ids[index]);
    const others = Object.entries(token).filter(([id, { rank }]) => id !== own || rank <= 4);
    assert.deepEqual(
      others.map(([, { rank }]) => rank).toSorted((a, b) => a - b),
      [1, 2, 3, 4],
    );
    for (const { logprob, decoded_token } of Object.values(token)) {
      assert.ok(logprob < 0 && typeof decoded_token === "string");
    }
  }
  // Checks the text, because JSON.parse would sort members whose names are numbers.
  const written = [...text.matchAll(/[[,]\{"(\d+)":\{"logprob"/g)].map(([, id]) => Number(id));
  assert.deepEqual(written, golden.rendered_ids.slice(1));
});

test("prompt log-probabilities do not depend on the request's other fields", async () => {
  const expected = await promptLogprobs({ prompt_logprobs: 1 });
  for (const more of [
    { n: 3, temperature: 1 },
    { logprobs: true, top_logprobs: 3 },
    { structured_outputs: { choice: ["yes", "no"] } },
  ]) {
    const tokens = await promptLogprobs({ prompt_logprobs: 1, ...more });
    assert.deepEqual(tokens, expected, JSON.stringify(more));
  }
});

test("an answer contains prompt log-probabilities only if requested", async () => {
  const answer = await ask({ logprobs: true, top_logprobs: 2 });
  assert.equal(answer.body.prompt_logprobs, null);
});

test("refuses values out of range, and streams", async () => {
  const table: readonly (readonly [object, string, RegExp])[] = [
    [{ prompt_logprobs: 21 }, "prompt_logprobs", /less than or equal to 20/],
    [{ prompt_logprobs: -1 }, "prompt_logprobs", /every token of the vocabulary.* send 0 to 20/],
    [{ prompt_logprobs: true }, "prompt_logprobs", /valid integer/],
    [{ prompt_logprobs: 0, stream: true }, "", /not available when `stream=True`/],
  ];
  for (const [body, place, message] of table) {
    const answer = await ask(body);
    assert.equal(answer.status, 422, JSON.stringify(answer.body));
    const detail = answer.body.detail as readonly { readonly loc: readonly string[]; readonly msg: string }[];
    const found = detail.find(({ msg }) => message.test(msg));
    assert.equal(found?.loc.slice(1).join("."), place, JSON.stringify(answer.body));
  }
});

test("text that `echo` puts before an answer gets log-probabilities like the answer, but not in a stream", async () => {
  checkGolden(await promptLogprobs({ echo: true }));
  const judged = await promptLogprobs({ echo: true, logprobs: true, top_logprobs: 2 });
  assert.deepEqual(judged, await promptLogprobs({ prompt_logprobs: 2 }));
  assert.deepEqual(
    await promptLogprobs({ echo: true, prompt_logprobs: 1 }),
    await promptLogprobs({ prompt_logprobs: 1 }),
  );
  assert.equal(await promptLogprobs({ echo: true, use_beam_search: true }), null);
});
