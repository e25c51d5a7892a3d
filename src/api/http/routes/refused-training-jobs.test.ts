// Requests for training jobs that the server must refuse, and the path of each fault.
import assert from "node:assert/strict";
import { once } from "node:events";
import { request, type IncomingMessage } from "node:http";
import { test } from "node:test";
import { bearer, keys } from "../testing/fake-server.ts";
import {
  type Refusal,
  path,
  withModel,
  post,
  get,
  refuses,
  choice,
} from "../testing/training-jobs-under-test.ts";

test("refuses a log-probability outside the number range of training, and invalid prompt options", async () => {
  const { server, modelId } = await withModel();
  const entry = { token: "token_id:5", logprob: -1e308, bytes: [], top_logprobs: [] };
  const least = { ...choice, logprobs: { content: [{ ...entry, logprob: -3.4e38 }], refusal: null } };
  const wrong = { ...choice, logprobs: { content: [entry], refusal: null }, chat_template_kwargs: [] };
  const trajectory = { messages_and_choices: [least, wrong], add_generation_prompt: "yes" };
  const item = "trajectory_groups.0.trajectories.0.messages_and_choices.1";
  await refuses(server, { model_id: modelId, trajectory_groups: [{ trajectories: [trajectory] }] }, [
    [`${item}.logprobs.content.0.logprob`, /greater than or equal to -3\.4028.*e\+38/],
    [`${item}.chat_template_kwargs`, /dict/],
    ["trajectory_groups.0.trajectories.0.add_generation_prompt", /boolean/],
  ]);
  await server.close();
});

/** Returns a Choice with two tokens. It is consistent, except for the given fields. */
function answered(fields: object): object {
  const entries = [5, 6].map((id) => ({
    token: `token_id:${id}`,
    logprob: -0.1,
    bytes: [],
    top_logprobs: [],
  }));
  return {
    ...choice,
    token_ids: [5, 6],
    logprobs: { content: entries, refusal: null },
    ...fields,
  };
}

const entryOf = (token: string, logprob: number | null): object => ({
  token,
  logprob,
  bytes: [],
  top_logprobs: [],
});

/**
 * Inconsistent Choices. Each row has a description, the Choice, the path of the expected fault within the Choice, and
 * its message.
 */
const wrongChoices: readonly (readonly [string, object, string, RegExp])[] = [
  [
    "fewer log-probabilities than token ids",
    answered({ logprobs: { content: [entryOf("token_id:5", -1)] } }),
    "logprobs.content",
    /1 log-probabilities for 2 token_ids/,
  ],
  [
    "log-probabilities of other tokens than token_ids",
    answered({ logprobs: { content: [entryOf("token_id:5", -1), entryOf("token_id:7", -1)] } }),
    "logprobs.content.1.token",
    /name token 7 where token_ids say 6/,
  ],
  [
    "a log-probability above 0",
    answered({ logprobs: { content: [entryOf("a", 3), entryOf("b", null)] } }),
    "logprobs.content.0.logprob",
    /3 is not a log-probability/,
  ],
  [
    "an answer's token id outside the vocabulary",
    answered({ token_ids: [5, 512], logprobs: null }),
    "token_ids.1",
    /token id 512, and this model's ids end at 511/,
  ],
  [
    "a prompt's token id outside the vocabulary",
    answered({ prompt_token_ids: [1, 2, 600] }),
    "prompt_token_ids.2",
    /token id 600/,
  ],
  [
    "a named token outside the vocabulary, without token ids",
    answered({ token_ids: null, logprobs: { content: [entryOf("token_id:999", -1)] } }),
    "logprobs.content.0.token",
    /token id 999/,
  ],
  [
    "a prompt without an answer",
    answered({ token_ids: null, logprobs: null }),
    "token_ids",
    /prompt_token_ids, but neither/,
  ],
  ["a choice without its message", { finish_reason: "stop", token_ids: [5] }, "message", /required/],
];

for (const [name, item, place, message] of wrongChoices) {
  test(`refuses ${name}, naming its group, trajectory and turn`, async () => {
    const { server, modelId } = await withModel();
    const history = { messages_and_choices: [{ role: "user", content: "hi" }, item] };
    const trajectories = [{}, {}, { ...history, additional_histories: [history] }];
    const at = "trajectory_groups.1.trajectories.2";
    await refuses(
      server,
      { model_id: modelId, trajectory_groups: [{ trajectories: [] }, { trajectories }] },
      [
        [`${at}.messages_and_choices.1.${place}`, message],
        [`${at}.additional_histories.0.messages_and_choices.1.${place}`, message],
      ],
    );
    await server.close();
  });
}

test("accepts a choice with only token ids, only log-probabilities, log-probabilities and the prompt's ids, or none of these", async () => {
  const { server, modelId } = await withModel();
  const items = [
    answered({ logprobs: null }),
    answered({ token_ids: null, prompt_token_ids: null }),
    answered({ token_ids: null }),
    answered({ token_ids: [], logprobs: { content: [] } }),
    answered({ token_ids: [0, 511], logprobs: { content: [entryOf("a", -1), entryOf("b", 0.001)] } }),
    { finish_reason: null, message: {} },
  ];
  const body = {
    model_id: modelId,
    trajectory_groups: [{ trajectories: [{ messages_and_choices: items }] }],
  };
  const answer = await post(server, body);
  assert.equal(answer.statusCode, 200, answer.body);
  await server.close();
});

test("reports each contradiction and each value of a wrong type once, and counts the faults beyond a hundred", async () => {
  const { server, modelId } = await withModel();
  const many = Array.from({ length: 60 }, () => answered({ token_ids: [5, 512], logprobs: null }));
  const groups = [{ trajectories: [{ messages_and_choices: many, reward: "high" }] }];
  const answer = await post(server, { model_id: modelId, trajectory_groups: [...groups, ...groups] });
  const { detail } = answer.json<Refusal>();
  assert.equal(detail.length, 101);
  assert.deepEqual(detail[0]?.loc.slice(1), ["trajectory_groups", "0", "trajectories", "0", "reward"]);
  assert.match(detail[100]?.msg ?? "", /^22 more faults/);
  await server.close();
});

test("stops checking a choice once it has too many faults", async () => {
  const { server, modelId } = await withModel();
  const content = Array.from({ length: 30_000 }, () => ({ token: "a", logprob: 3 }));
  const items = [answered({ token_ids: null, logprobs: { content } })];
  const groups = [{ trajectories: [{ messages_and_choices: items }] }];
  const { detail } = (await post(server, { model_id: modelId, trajectory_groups: groups })).json<Refusal>();
  assert.match(detail[100]?.msg ?? "", /^at least 9900 more faults/);
  await server.close();
});

test("refuses a token id beyond the vocabulary before it stores the job, even if the model comes last in the body", async () => {
  const { server, modelId } = await withModel();
  const padding = { role: "user", content: "x".repeat(1 << 17) };
  const send = (id: number) => {
    const items = [
      padding,
      answered({ token_ids: [5, 6] }),
      answered({ token_ids: [5, id], logprobs: null }),
    ];
    return { trajectory_groups: [{ trajectories: [{ messages_and_choices: items }] }], model_id: modelId };
  };
  await refuses(server, send(512), [
    [
      "trajectory_groups.0.trajectories.0.messages_and_choices.2.token_ids.1",
      /token id 512.*model_id before/,
    ],
  ]);
  assert.equal((await post(server, send(511))).statusCode, 200);
  await server.close();
});

test("names each fault of a job in one answer", async () => {
  const { server, modelId } = await withModel();
  const trajectory = {
    messages_and_choices: [
      { content: "x" },
      { role: 5 },
      { message: {}, finish_reason: "stop", token_ids: ["a"] },
    ],
    reward: null,
    exchanges: {},
  };
  await refuses(
    server,
    {
      model_id: modelId,
      trajectory_groups: [{ trajectories: [trajectory] }, {}],
      experimental_config: {
        epsilon: -1,
        epsilon_high: -1,
        advantage_balance: 2,
        learning_rate: 0,
        vendor_k2_tau: -1,
        kimi_k2_tau: 1,
        importance_sampling_level: "word",
        ppo: 1,
        loss_fn: "grpo",
        kl_penalty_coef: -0.1,
        packed_sequence_length: 1,
        truncated_importance_sampling: -1,
      },
    },
    [
      ["experimental_config.epsilon", /greater than or equal to 0/],
      ["experimental_config.epsilon_high", /greater than or equal to 0/],
      ["experimental_config.advantage_balance", /less than or equal to 1/],
      ["experimental_config.learning_rate", /greater than 0/],
      ["experimental_config.vendor_k2_tau", /greater than or equal to 0/],
      [
        "experimental_config.importance_sampling_level",
        /'token', 'sequence', 'average' or 'geometric_average'/,
      ],
      ["experimental_config.ppo", /valid boolean/],
      ["experimental_config.loss_fn", /'cispo' or 'ppo'/],
      ["experimental_config.kl_penalty_coef", /greater than or equal to 0/],
      ["experimental_config.packed_sequence_length", /greater than or equal to 2/],
      ["experimental_config.truncated_importance_sampling", /greater than or equal to 0/],
      ["experimental_config.kimi_k2_tau", /two spellings/],
      ["trajectory_groups.0.trajectories.0.messages_and_choices.1.role", /valid string/],
      ["trajectory_groups.0.trajectories.0.messages_and_choices.2.token_ids.0", /valid integer/],
      ["trajectory_groups.0.trajectories.0.reward", /valid number/],
      ["trajectory_groups.0.trajectories.0.exchanges", /messages_and_choices/],
      ["trajectory_groups.0.trajectories.0.messages_and_choices.0", /a message .* or a Choice/],
      ["trajectory_groups.1.trajectories", /required/],
    ],
  );
  await refuses(server, { model_id: "x" }, [
    ["model_id", /valid UUID/],
    ["trajectory_groups", /required/],
  ]);
  await server.close();
});

test("refuses numbers that are not finite, at any depth", async () => {
  const { server, modelId } = await withModel();
  const body = (trajectory: string): string =>
    `{"model_id": "${modelId}", "trajectory_groups": [{"trajectories": [${trajectory}]}]}`;
  const place = "trajectory_groups.0.trajectories.0";
  await refuses(server, body('{"reward": 1e999}'), [[`${place}.reward`, /finite/]]);
  await refuses(server, body('{"metadata": {"a": [-1e999]}}'), [[`${place}.metadata.a.0`, /finite/]]);
  await refuses(server, body('{"metrics": {"a": 1e999}}'), [[`${place}.metrics.a`, /finite/]]);
  await server.close();
});

test("refuses an unknown model or one of another entity, and names model_id", async () => {
  const { server, modelId } = await withModel();
  const unknown = await post(server, {
    model_id: "00000000-0000-4000-8000-000000000000",
    trajectory_groups: [],
  });
  assert.equal(unknown.statusCode, 404);
  assert.deepEqual(unknown.json<Refusal>().detail[0]?.loc, ["body", "model_id"]);
  const body = { model_id: modelId, trajectory_groups: [] };
  assert.equal((await post(server, body, { authorization: bearer(keys.other) })).statusCode, 403);
  const { id } = (await post(server, body)).json<{ id: string }>();
  const statusFor = async (url: string): Promise<number> =>
    (await get(server, url, { authorization: bearer(keys.other) })).statusCode;
  assert.equal(await statusFor(`${path}?model_id=${modelId}`), 403);
  for (const url of [`${path}/${id}`, `${path}/${id}/events`]) assert.equal(await statusFor(url), 404, url);
  assert.deepEqual(
    (await get(server, path, { authorization: bearer(keys.other) })).json<{ data: [] }>().data,
    [],
  );
  await server.close();
});

test("refuses another entity's job as a cursor, as if the job did not exist", async () => {
  const { server, modelId } = await withModel();
  const { id } = (await post(server, { model_id: modelId, trajectory_groups: [] })).json<{ id: string }>();
  assert.equal((await get(server, `${path}?after=${id}`)).statusCode, 200);
  const refusalOf = async (after: string) => {
    const answer = await get(server, `${path}?after=${after}`, { authorization: bearer(keys.other) });
    return [answer.statusCode, answer.body.replaceAll(after, "<id>")];
  };
  const unknown = await refusalOf(id.replaceAll(/[0-9a-f]/g, "0"));
  assert.equal(unknown[0], 422);
  assert.deepEqual(await refusalOf(id), unknown);
  await server.close();
});

test("refuses a job for an unknown model, or for another entity's model, before the body has arrived", async () => {
  const { server, modelId } = await withModel();
  const origin = await server.app.listen({ host: "127.0.0.1", port: 0 });
  const statusOf = async (id: string, key: string): Promise<number | undefined> => {
    const sending = request(`${origin}${path}`, {
      method: "POST",
      headers: {
        authorization: bearer(key),
        "content-type": "application/json",
        "content-length": 100 << 20,
      },
    });
    sending.on("error", () => undefined);
    sending.write(`{"experimental_config": {"ppo": true}, "model_id": "${id}", "trajectory_groups": [`);
    const answered = once(sending, "response") as Promise<[IncomingMessage]>;
    const [{ statusCode }] = await answered;
    sending.destroy();
    return statusCode;
  };
  assert.equal(await statusOf("00000000-0000-4000-8000-000000000000", keys.member), 404);
  assert.equal(await statusOf(modelId, keys.other), 403);
  await server.close();
});
