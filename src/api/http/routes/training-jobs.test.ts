import assert from "node:assert/strict";
import { once } from "node:events";
import { request, type IncomingMessage } from "node:http";
import { test } from "node:test";
import { samplePins } from "../../../store/storage/contract/storage-under-test.ts";
import type { TrainerProfile } from "../../../base/domain/trainer/profile.ts";
import { embeddedProfile } from "../../../train/training/embedded/profile.ts";
import {
  bearer,
  fakeServer,
  type FakeServerOptions,
  keys,
  playJob,
  registeredModel,
} from "../testing/fake-server.ts";

type Server = Awaited<ReturnType<typeof fakeServer>>;
type Body = Record<string, unknown>;
type Refusal = { readonly detail: readonly { readonly loc: readonly string[]; readonly msg: string }[] };

const path = "/v1/preview/training-jobs";

async function withModel(
  options: FakeServerOptions = {},
): Promise<{ readonly server: Server; readonly modelId: string }> {
  const server = await fakeServer(options);
  return { server, modelId: await registeredModel(server) };
}

function post(server: Server, payload: object | string, headers: Readonly<Record<string, string>> = {}) {
  const base = { authorization: bearer(keys.member), "content-type": "application/json" };
  return server.ask({ method: "POST", url: path, headers: { ...base, ...headers }, payload });
}

function get(server: Server, url: string, headers: Readonly<Record<string, string>> = {}) {
  return server.ask({ method: "GET", url, headers: { authorization: bearer(keys.member), ...headers } });
}

async function refuses(
  server: Server,
  body: object | string,
  faults: readonly (readonly [string, RegExp])[],
) {
  const answer = await post(server, body);
  assert.equal(answer.statusCode, 422, answer.body);
  const { detail } = answer.json<Refusal>();
  assert.deepEqual(
    detail.map(({ loc }) => loc.slice(1).join(".")),
    faults.map(([place]) => place),
  );
  faults.forEach(([, message], index) => assert.match(detail[index]?.msg ?? "", message));
}

const choice = {
  finish_reason: "stop",
  index: 0,
  message: { role: "assistant", content: "no" },
  logprobs: { content: [{ token: "token_id:5", logprob: -0.1, bytes: [], top_logprobs: [] }], refusal: null },
  token_ids: [5],
  prompt_token_ids: [1, 2],
  stop_reason: null,
};

test("creates a job with its trajectories, every default filled in", async () => {
  const { server, modelId } = await withModel();
  const trajectory = {
    messages_and_choices: [{ role: "user", content: "hi" }, choice],
    tools: null,
    additional_histories: [{ messages_and_choices: [{ role: "user", content: null }] }],
    reward: 1,
    metrics: { won: true, score: 0.5 },
    auto_metrics: {},
    start_time: "2026-01-01T00:00:00Z",
    future: 1,
  };
  const groups = [{ trajectories: [trajectory, {}], exceptions: [{ type: "E" }], scenario: "s" }];
  const answer = await post(server, {
    model_id: modelId,
    trajectory_groups: groups,
    experimental_config: null,
  });
  assert.equal(answer.statusCode, 200, answer.body);
  const { id } = answer.json<{ id: string }>();
  assert.deepEqual(answer.json(), { id });
  const stored: unknown[] = [];
  for await (const line of (await server.jobs.trajectoryLines(id)) ?? []) stored.push(JSON.parse(line));
  assert.deepEqual(stored, [
    {
      trajectories: [
        {
          messagesAndChoices: trajectory.messages_and_choices,
          tools: null,
          additionalHistories: [{ messagesAndChoices: [{ role: "user", content: null }], tools: null }],
          reward: 1,
          initialPolicyVersion: null,
          finalPolicyVersion: null,
          metrics: { won: true, score: 0.5 },
          metadata: {},
          logs: [],
          startTime: "2026-01-01T00:00:00Z",
          extra: { auto_metrics: {}, future: 1 },
        },
        {
          messagesAndChoices: [],
          tools: null,
          additionalHistories: [],
          reward: 0,
          initialPolicyVersion: null,
          finalPolicyVersion: null,
          metrics: {},
          metadata: {},
          logs: [],
          startTime: null,
          extra: {},
        },
      ],
      exceptions: [{ type: "E" }],
      metadata: {},
      metrics: {},
      logs: [],
      extra: { scenario: "s" },
    },
  ]);
  await server.close();
});

const resolved = {
  advantage_balance: 0,
  allow_training_without_logprobs: false,
  base_precision: null,
  batch_size: null,
  epsilon: 1,
  epsilon_high: 4,
  importance_sampling_level: "token",
  vendor_k2_tau: 0,
  kl_penalty_coef: 0,
  kl_penalty_source: "current_learner",
  learning_rate: 1e-4,
  mask_prob_ratio: false,
  max_grad_norm: null,
  max_kl_update: null,
  max_negative_advantage_importance_sampling_weight: 0,
  num_trajectories_learning_rate_multiplier_power: 0,
  packed_sequence_length: null,
  passes: 1,
  ppo: false,
  precalculate_logprobs: false,
  scale_rewards: true,
  steps: null,
  truncated_importance_sampling: 0,
  weight_decay: null,
};

/** What a job says of the configuration it was sent with. */
async function configured(config: object): Promise<{
  readonly effective: unknown;
  readonly notApplied: unknown;
  readonly ignored: unknown;
  readonly warnings: unknown;
}> {
  const { server, modelId } = await withModel();
  const answer = await post(server, {
    model_id: modelId,
    trajectory_groups: [],
    experimental_config: config,
  });
  assert.equal(answer.statusCode, 200, answer.body);
  const job = (await get(server, `${path}/${answer.json<{ id: string }>().id}`)).json<Body>();
  assert.equal(job["state"], "queued");
  await server.close();
  return {
    effective: job["experimental_config"],
    notApplied: job["config_not_applied"],
    ignored: answer.headers["x-hone-ignored"],
    warnings: job["warnings"],
  };
}

test("reads the configuration: nulls are defaults, other spellings count, unknown keys are listed", async () => {
  const nulls = Object.fromEntries([...Object.keys(resolved), "loss_fn"].map((key) => [key, null]));
  const nothing = { effective: resolved, notApplied: [], ignored: undefined, warnings: [] };
  assert.deepEqual(await configured(nulls), nothing);
  const given = { epsilon: null, ppo: true, kimi_k2_tau: 0.5, learning_rate: 2e-4, novel: 1 };
  assert.deepEqual(await configured(given), {
    effective: {
      ...resolved,
      ppo: true,
      epsilon: 0.2,
      epsilon_high: 0.2,
      vendor_k2_tau: 0.5,
      learning_rate: 2e-4,
    },
    notApplied: ["novel"],
    ignored: "experimental_config.novel",
    warnings: ["novel was sent and is not applied: no option of this server has this name."],
  });
  const further = {
    kl_penalty_coef: 0.1,
    allow_training_without_logprobs: true,
    base_precision: "int8",
    packed_sequence_length: 512,
    kl_penalty_source: "sample",
    batch_size: 4,
    passes: 3,
    weight_decay: 0,
    max_grad_norm: 1,
    num_trajectories_learning_rate_multiplier_power: 0.5,
  };
  assert.deepEqual((await configured(further)).effective, { ...resolved, ...further });
  const spelled = { grad_accumulation_sequences: 8, num_epochs: 2 };
  assert.deepEqual((await configured(spelled)).effective, { ...resolved, batch_size: 8, passes: 2 });
});

test("of a job that has begun, what the server decides of its options is shown", async () => {
  const { server, modelId } = await withModel();
  const { id } = (await post(server, { model_id: modelId, trajectory_groups: [] })).json<{ id: string }>();
  const settings = {
    batchTokens: 0,
    basePrecision: "int8",
    weightDecay: 0.1,
    gradientNormMax: 0.2,
    klUpdateMax: 3,
  };
  await server.jobs.claim("server", new Date(0));
  await server.jobs.pin(id, "server", { ...samplePins, settings });
  const job = (await get(server, `${path}/${id}`)).json<Body>();
  const decided = {
    base_precision: "int8",
    batch_size: 1,
    weight_decay: 0.1,
    max_grad_norm: 0.2,
    max_kl_update: 3,
  };
  assert.deepEqual(job["experimental_config"], { ...resolved, ...decided });
  await server.close();
});

test("of two spellings of one option the named loss and normalize_advantages win", async () => {
  const ppo = { ...resolved, ppo: true, epsilon: 0.2, epsilon_high: 0.2 };
  assert.deepEqual((await configured({ loss_fn: "ppo" })).effective, ppo);
  assert.deepEqual((await configured({ ppo: false, loss_fn: "ppo" })).effective, ppo);
  assert.deepEqual((await configured({ loss_fn: "cispo", ppo: true })).effective, resolved);
  assert.deepEqual((await configured({ loss_fn: null, ppo: true })).effective, ppo);
  const unscaled = { ...resolved, scale_rewards: false };
  assert.deepEqual((await configured({ normalize_advantages: false })).effective, unscaled);
  assert.deepEqual(
    (await configured({ normalize_advantages: false, scale_rewards: true })).effective,
    unscaled,
  );
  assert.deepEqual(
    (await configured({ normalize_advantages: true, scale_rewards: false })).effective,
    resolved,
  );
});

test("options of other trainers are accepted where what they ask for is done anyway", async () => {
  // As openpipe-art 0.5.23 sends them where nobody set them.
  const unset = {
    kl_penalty_reference_step: null,
    kl_penalty_source: "current_learner",
    kl_penalty_step_lag: null,
    kl_ref_adapter_path: null,
    logprob_calculation_chunk_size: 1024,
    num_trajectories_learning_rate_multiplier_power: 0.0,
    plot_tensors: false,
    scale_learning_rate_by_reward_std_dev: false,
    truncated_importance_sampling: null,
  };
  const nothing = { effective: resolved, notApplied: [], ignored: undefined, warnings: [] };
  assert.deepEqual(await configured(unset), nothing);
  const reference = { kl_penalty_step_lag: 2, kl_penalty_reference_step: 3 };
  assert.deepEqual(await configured(reference), nothing, "there is no penalty to take from elsewhere");
  const neutral = { lr_scheduler_type: "constant", warmup_ratio: 0, lora_dropout: 0, beta: 0, max_steps: -1 };
  assert.deepEqual(await configured(neutral), nothing);
  const off = { mask_truncated_completions: false, entropy_coef: 0, delta: null, use_kl_loss: false };
  assert.deepEqual(await configured(off), nothing);
  assert.deepEqual((await configured({ kl_penalty_coef: 0.1, kl_penalty_reference_step: 0 })).warnings, []);
  const truncated = { truncated_importance_sampling: 2, precalculate_logprobs: true };
  assert.deepEqual(await configured(truncated), { ...nothing, effective: { ...resolved, ...truncated } });
  assert.deepEqual(await configured({ truncated_importance_sampling: 2 }), {
    effective: resolved,
    notApplied: ["truncated_importance_sampling"],
    ignored: "experimental_config.truncated_importance_sampling",
    warnings: ["truncated_importance_sampling was sent and is not applied: it takes precalculate_logprobs."],
  });
});

test("known options that ask for what is not done are refused by name, each with what to do", async () => {
  const { server, modelId } = await withModel();
  const asking: Readonly<Record<string, readonly [unknown, RegExp]>> = {
    kl_penalty_step_lag: [1, /with the value 1\. The base model, step 0/],
    kl_penalty_reference_step: [3, /the value 3/],
    kl_ref_adapter_path: ["adapter", /"adapter"/],
    plot_tensors: [true, /true/],
    scale_learning_rate_by_reward_std_dev: [true, /true/],
    lora_rank: [32, /say lora_rank, lora_alpha and target_modules when it is registered/],
    lora_alpha: [32, /say lora_rank, lora_alpha and target_modules when it is registered/],
    target_modules: [["q_proj"], /lora_alpha and target_modules when it is registered/],
    loss_type: ["dr_grpo", /mean over a step's tokens/],
    lr_scheduler: ["cosine", /stays as it is/],
    warmup_steps: [10, /stays as it is/],
    adam_params: [{}, /weight_decay/],
    start_step: [0, /newest version/],
    seed: [1, /decided by its content/],
    mask_truncated_completions: [true, /leave their trajectories out/],
    entropy_coef: [0.01, /no entropy term/],
    entropy_coeff: [0.01, /no entropy term/],
    delta: [1.5, /Say epsilon and epsilon_high.*max_negative_advantage_importance_sampling_weight/],
    kl_loss_coef: [0.1, /Say kl_penalty_coef/],
    clip_ratio_high: [0.3, /Say epsilon and epsilon_high/],
    target_kl: [0.1, /Say max_kl_update/],
    loss_agg_mode: ["token-mean", /mean over a step's tokens/],
  };
  const config = Object.fromEntries(Object.entries(asking).map(([name, [value]]) => [name, value]));
  await refuses(
    server,
    { model_id: modelId, trajectory_groups: [], experimental_config: { kl_penalty_coef: 0.1, ...config } },
    Object.entries(asking).map(([name, [, message]]) => [`experimental_config.${name}`, message]),
  );
  await server.close();
});

test("refuses two spellings of one option that differ, and two ways to say how large a step is", async () => {
  const { server, modelId } = await withModel();
  const send = (experimental_config: object): object => ({
    model_id: modelId,
    trajectory_groups: [],
    experimental_config,
  });
  await refuses(server, send({ batch_size: 2, grad_accumulation_sequences: 3, passes: 1, num_epochs: 2 }), [
    [
      "experimental_config.grad_accumulation_sequences",
      /batch_size is 2 and .* is 3; they are two spellings/,
    ],
    ["experimental_config.num_epochs", /passes is 1 and num_epochs is 2/],
  ]);
  await refuses(server, send({ steps: 2, batch_size: 3 }), [
    ["experimental_config.steps", /steps and batch_size both say/],
  ]);
  await refuses(
    server,
    send({ steps: 0, passes: 1001, batch_size: 0, weight_decay: -1, max_grad_norm: -1 }),
    [
      ["experimental_config.steps", /greater than or equal to 1/],
      ["experimental_config.passes", /less than or equal to 1000/],
      ["experimental_config.batch_size", /greater than or equal to 1/],
      ["experimental_config.weight_decay", /greater than or equal to 0/],
      ["experimental_config.max_grad_norm", /greater than or equal to 0/],
      ["experimental_config.steps", /both say/],
    ],
  );
  await server.close();
});

test("refuses a log-probability that training's numbers cannot hold, and what a prompt cannot be made with", async () => {
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

/** A Choice of two tokens that agrees with itself, but for the given fields. */
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

/** The fault of one Choice within a job, its place within the Choice. */
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
    /3 is no log-probability/,
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
    "a named token outside the vocabulary, where nothing else says what was answered",
    answered({ token_ids: null, logprobs: { content: [entryOf("token_id:999", -1)] } }),
    "logprobs.content.0.token",
    /token id 999/,
  ],
  [
    "a prompt without an answer",
    answered({ token_ids: null, logprobs: null }),
    "token_ids",
    /prompt_token_ids, and neither/,
  ],
  ["a choice without its message", { finish_reason: "stop", token_ids: [5] }, "message", /required/],
];

for (const [name, item, place, message] of wrongChoices) {
  test(`refuses ${name}, and names group, trajectory and turn`, async () => {
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

test("a choice that says what it can is taken: ids alone, log-probabilities alone, a named prompt, nothing", async () => {
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

test("contradictions are told with faults of type, once each, and beyond a hundred they are counted", async () => {
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

test("a choice of which everything is wrong is looked at until so much is that it is not worth going on", async () => {
  const { server, modelId } = await withModel();
  const content = Array.from({ length: 30_000 }, () => ({ token: "a", logprob: 3 }));
  const items = [answered({ token_ids: null, logprobs: { content } })];
  const groups = [{ trajectories: [{ messages_and_choices: items }] }];
  const { detail } = (await post(server, { model_id: modelId, trajectory_groups: groups })).json<Refusal>();
  assert.match(detail[100]?.msg ?? "", /^at least 9900 more faults/);
  await server.close();
});

test("where the model comes last the greatest token id is still refused before the job is stored", async () => {
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

test("names every fault of a job at once", async () => {
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
    ["trajectory_groups", /required/],
    ["model_id", /valid UUID/],
  ]);
  await server.close();
});

test("refuses numbers that are not finite, wherever they stand", async () => {
  const { server, modelId } = await withModel();
  const body = (trajectory: string): string =>
    `{"model_id": "${modelId}", "trajectory_groups": [{"trajectories": [${trajectory}]}]}`;
  const place = "trajectory_groups.0.trajectories.0";
  await refuses(server, body('{"reward": 1e999}'), [[`${place}.reward`, /finite/]]);
  await refuses(server, body('{"metadata": {"a": [-1e999]}}'), [[`${place}.metadata.a.0`, /finite/]]);
  await refuses(server, body('{"metrics": {"a": 1e999}}'), [[`${place}.metrics.a`, /finite/]]);
  await server.close();
});

test("says which model it does not know or may not reach", async () => {
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

test("a cursor of another entity's job is refused as one of no job", async () => {
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

test("a job for a model that is unknown or another's is refused before its body has come", async () => {
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

test("an idempotency key answers the same body with the same job, and another body with 409", async () => {
  const { server, modelId } = await withModel();
  const body = { model_id: modelId, trajectory_groups: [] };
  const key = { "idempotency-key": "k" };
  const first = (await post(server, body, key)).json<{ id: string }>();
  assert.deepEqual((await post(server, body, key)).json(), first);
  const other = await post(server, { ...body, trajectory_groups: [{ trajectories: [] }] }, key);
  assert.equal(other.statusCode, 409);
  assert.deepEqual(other.json<Refusal>().detail[0]?.loc, ["header", "idempotency-key"]);
  assert.equal((await post(server, body, { "idempotency-key": "x".repeat(257) })).statusCode, 422);
  await server.close();
});

test("a full queue answers 429 and when to try again, and stores nothing", async () => {
  const { server, modelId } = await withModel({ jobSettings: { queuedMax: 1 } });
  const body = { model_id: modelId, trajectory_groups: [] };
  assert.equal((await post(server, body)).statusCode, 200);
  const refused = await post(server, body);
  assert.equal(refused.statusCode, 429);
  assert.equal(refused.headers["retry-after"], "60");
  assert.equal((await get(server, path)).json<{ data: [] }>().data.length, 1);
  await server.close();
});

test("lists jobs by model and state, and cancels one without a body", async () => {
  const { server, modelId } = await withModel();
  const { id } = (await post(server, { model_id: modelId, trajectory_groups: [] })).json<{ id: string }>();
  const headers = { authorization: bearer(keys.member) };
  const cancelled = await server.ask({ method: "POST", url: `${path}/${id}/cancel`, headers });
  assert.equal(cancelled.statusCode, 200, cancelled.body);
  assert.equal(cancelled.json<Body>()["state"], "cancelled");
  assert.equal(cancelled.headers["x-hone-notice"], undefined);
  const again = await server.ask({ method: "POST", url: `${path}/${id}/cancel`, headers });
  assert.deepEqual([again.statusCode, again.body], [200, cancelled.body]);
  assert.match(String(again.headers["x-hone-notice"]), /had ended before \(cancelled\)/);
  const ids = async (query: string): Promise<unknown> =>
    (await get(server, path + query)).json<{ data: Body[] }>().data.map((job) => job["id"]);
  assert.deepEqual(await ids(`?model_id=${modelId}&state=cancelled`), [id]);
  assert.deepEqual(await ids("?state=running"), []);
  assert.equal((await get(server, `${path}?state=odd`)).statusCode, 422);
  await server.close();
});

test("a job names its model, by which jobs are found, and the rewards before and after it", async () => {
  const { server, modelId } = await withModel();
  const body = { model_id: modelId, trajectory_groups: [] };
  const ids: string[] = [];
  for (const [step, reward] of [
    [1, 0.25],
    [2, 0.5],
  ] as const) {
    ids.push((await post(server, body)).json<{ id: string }>().id);
    await playJob(server, { step, metrics: { "data/reward": reward } });
  }
  const { entity } = (await get(server, `/v1/preview/models/${modelId}`)).json<{ entity: string }>();
  const listed = (query: string) => get(server, `${path}?order=asc&${query}`);
  for (const name of ["m", "p/m", `${entity}/p/m`, `hone:///${entity}/p/m`, modelId, "m:step1"]) {
    const jobs = (await listed(`model=${encodeURIComponent(name)}`)).json<{ data: Body[] }>().data;
    assert.deepEqual(
      jobs.map(({ id, model, rewards }) => ({ id, model, rewards })),
      [
        {
          id: ids[0],
          model: `${entity}/p/m`,
          rewards: [{ metric: "data/reward", before: 0.25, after: 0.5 }],
        },
        {
          id: ids[1],
          model: `${entity}/p/m`,
          rewards: [{ metric: "data/reward", before: 0.5, after: null }],
        },
      ],
      name,
    );
  }
  const one = (await get(server, `${path}/${ids[0]}`)).json<Body>();
  assert.deepEqual(one["rewards"], [{ metric: "data/reward", before: 0.25, after: 0.5 }]);
  assert.equal(typeof one["duration_seconds"], "number");
  const waiting = (await post(server, body)).json<{ id: string }>().id;
  assert.equal((await get(server, `${path}/${waiting}`)).json<Body>()["duration_seconds"], null);
  for (const [query, status, fault] of [
    ["model=p/nobody", 404, /p\/nobody/],
    ["model=tiny", 422, /"tiny" is a base model/],
    [`model=m&model_id=${modelId}`, 422, /not by both/],
  ] as const) {
    const refused = await listed(query);
    assert.equal(refused.statusCode, status, refused.body);
    const [{ loc, msg }] = refused.json<Refusal>().detail;
    assert.deepEqual(loc, ["query", "model"]);
    assert.match(msg, fault);
  }
  const foreign = { authorization: bearer(keys.other) };
  assert.equal((await get(server, `${path}?model=${modelId}`, foreign)).statusCode, 403);
  await server.close();
});

test("pages through a job's events, and streams them live to whoever accepts events", async () => {
  const { server, modelId } = await withModel();
  const { id } = (await post(server, { model_id: modelId, trajectory_groups: [] })).json<{ id: string }>();
  await playJob(server, {
    step: 1,
    events: [
      { type: "training_started", data: { num_sequences: 1 } },
      { type: "gradient_step", data: { loss: 0.5 } },
    ],
  });
  const all = (await get(server, `${path}/${id}/events`)).json<{ data: Body[]; first_id: string }>();
  const [, step, ended] = all.data;
  assert.deepEqual(
    [step, ended].map((event) => ({ ...event, id: null })),
    [
      { id: null, type: "gradient_step", data: { loss: 0.5 } },
      { id: null, type: "training_ended", data: {} },
    ],
  );
  const after = encodeURIComponent(all.first_id);
  const page = (await get(server, `${path}/${id}/events?after=${after}&limit=1`)).json<Body>();
  assert.deepEqual(page, {
    object: "list",
    data: [step],
    first_id: step?.["id"],
    last_id: step?.["id"],
    has_more: true,
  });
  const events = { accept: "text/event-stream" };
  const stream = await get(server, `${path}/${id}/events?after=${after}`, events);
  const lineOf = (event: Body | undefined) =>
    `id: ${String(event?.["id"])}\ndata: ${JSON.stringify(event)}\n\n`;
  assert.equal(stream.body, `${lineOf(step)}${lineOf(ended)}data: [DONE]\n\n`);
  const resumed = { ...events, "last-event-id": String(step?.["id"]) };
  const rest = await get(server, `${path}/${id}/events?after=${after}`, resumed);
  assert.equal(rest.body, `${lineOf(ended)}data: [DONE]\n\n`);
  const strange = await get(server, `${path}/${id}/events`, { ...events, "last-event-id": "x" });
  assert.match(strange.body, /"loc":\["header","last-event-id"\]/);
  for (const headers of [{}, events]) {
    const unknown = await get(server, `${path}/${id}/events?after=x`, headers);
    assert.match(unknown.body, /"loc":\["query","after"\]/);
  }
  await server.close();
});

test("a watch ends with a last event when the job's model is deleted", async () => {
  const { server, modelId } = await withModel();
  const { id } = (await post(server, { model_id: modelId, trajectory_groups: [] })).json<{ id: string }>();
  await server.app.listen({ host: "127.0.0.1", port: 0 });
  await playJob(server, { step: null, events: [{ type: "training_started", data: { num_sequences: 1 } }] });
  const headers = { authorization: bearer(keys.member), accept: "text/event-stream" };
  const stream = await fetch(`${server.app.listeningOrigin}${path}/${id}/events`, { headers });
  const url = `/v1/preview/models/${modelId}`;
  const deleted = await server.app.inject({ method: "DELETE", url, headers });
  assert.equal(deleted.statusCode, 200);
  assert.match(await stream.text(), /training_started[^]*"type":"training_failed"[^]*data: \[DONE\]\n\n$/);
  await server.close();
});

test("a watch that the server's closing ends does not look like the end of the job", async () => {
  const { server, modelId } = await withModel();
  const { id } = (await post(server, { model_id: modelId, trajectory_groups: [] })).json<{ id: string }>();
  await server.app.listen({ host: "127.0.0.1", port: 0 });
  await playJob(server, { step: null, events: [{ type: "training_started", data: { num_sequences: 1 } }] });
  const stream = await fetch(`${server.app.listeningOrigin}${path}/${id}/events`, {
    headers: { authorization: bearer(keys.member), accept: "text/event-stream" },
  });
  await server.close();
  const text = await stream.text();
  assert.match(text, /training_started/);
  assert.match(text, /"code":"unavailable"/);
});

test("what the server's trainer cannot do is refused as it comes, where it was asked for, with the cure", async () => {
  const trainer: TrainerProfile = {
    ...embeddedProfile,
    name: "remote",
    hasBasePass: false,
    takesAdapters: false,
    basePrecisions: ["float32"],
  };
  const { server, modelId } = await withModel({ trainer });
  const job = { model_id: modelId, trajectory_groups: [] };
  const penalty =
    /^`?experimental_config\.kl_penalty_coef`? is 0\.2, and the trainer of this server, remote, .*set it to 0/;
  const penalized = { ...job, experimental_config: { kl_penalty_coef: 0.2 } };
  await refuses(server, penalized, [["experimental_config.kl_penalty_coef", penalty]]);
  const precision =
    /base_precision`? is int8, and the trainer .* remote, computes in float32 alone; leave it out/;
  const rounded = { ...job, experimental_config: { base_precision: "int8" } };
  await refuses(server, rounded, [["experimental_config.base_precision", precision]]);
  assert.equal((await post(server, job)).statusCode, 200);
  // Its version has a state of the embedded trainer.
  await playJob(server, { step: 1 });
  await refuses(server, job, [
    ["model_id", /adapter of which the trainer .* remote, keeps no state.* Train a new model/],
  ]);
  await server.close();
});
