// Training jobs over HTTP: their settings, idempotency, lists, events and outcomes.
import assert from "node:assert/strict";
import { test } from "node:test";
import { samplePins } from "../../../store/database/contract/storage-under-test.ts";
import type { TrainerProfile } from "../../../base/domain/trainer/profile.ts";
import { embeddedProfile } from "../../../train/trainer/embedded/profile.ts";
import { bearer, keys, playJob } from "../testing/fake-server.ts";
import {
  type Refusal,
  path,
  withModel,
  post,
  get,
  refuses,
  choice,
} from "../testing/training-jobs-under-test.ts";

type Body = Record<string, unknown>;

test("creates a job with its trajectories, and fills in every default", async () => {
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

/**
 * Creates a job with these settings. Returns the effective settings, the settings that are not applied, and the
 * server's warnings about those.
 */
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

test("reads settings: null means the default, aliases are accepted, and unknown keys are listed", async () => {
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
    warnings: ["novel was sent and is not applied: this server has no option with this name."],
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

test("shows the server's values for settings that a job left open, once the job has begun", async () => {
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

test("prefers the option for the loss and normalize_advantages over their aliases", async () => {
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

test("accepts options of other trainers that ask for the server's actual behaviour", async () => {
  // Values that openpipe-art 0.5.23 sends for settings that its user has left at their defaults.
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
    warnings: [
      "truncated_importance_sampling was sent and is not applied: it requires precalculate_logprobs.",
    ],
  });
});

test("refuses known options that ask for unsupported behaviour, naming each option and the alternative", async () => {
  const { server, modelId } = await withModel();
  const asking: Readonly<Record<string, readonly [unknown, RegExp]>> = {
    kl_penalty_step_lag: [1, /with the value 1\. The reference is always the base model/],
    kl_penalty_reference_step: [3, /the value 3/],
    kl_ref_adapter_path: ["adapter", /"adapter"/],
    plot_tensors: [true, /true/],
    scale_learning_rate_by_reward_std_dev: [true, /true/],
    lora_rank: [32, /set lora_rank, lora_alpha and target_modules when you register it/],
    lora_alpha: [32, /set lora_rank, lora_alpha and target_modules when you register it/],
    target_modules: [["q_proj"], /lora_alpha and target_modules when you register it/],
    loss_type: ["dr_grpo", /mean over a step's tokens/],
    lr_scheduler: ["cosine", /rate has no schedule/],
    warmup_steps: [10, /rate has no schedule/],
    adam_params: [{}, /weight_decay/],
    start_step: [0, /newest version/],
    seed: [1, /random choices of a job are derived from its content/],
    mask_truncated_completions: [true, /Leave out their trajectories/],
    entropy_coef: [0.01, /no entropy term/],
    entropy_coeff: [0.01, /no entropy term/],
    delta: [1.5, /Set epsilon and epsilon_high.*max_negative_advantage_importance_sampling_weight/],
    kl_loss_coef: [0.1, /Set kl_penalty_coef/],
    clip_ratio_high: [0.3, /Set epsilon and epsilon_high/],
    target_kl: [0.1, /Set max_kl_update/],
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

test("refuses two aliases of one option with different values, and two ways to set the size of a step", async () => {
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

test("answers a repeated idempotency key with the same job if the body is the same, otherwise with 409", async () => {
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

test("answers 429 with a retry time if the queue is full, and stores nothing", async () => {
  const { server, modelId } = await withModel({ jobSettings: { queuedMax: 1 } });
  const body = { model_id: modelId, trajectory_groups: [] };
  assert.equal((await post(server, body)).statusCode, 200);
  const refused = await post(server, body);
  assert.equal(refused.statusCode, 429);
  assert.equal(refused.headers["retry-after"], "60");
  assert.equal((await get(server, path)).json<{ data: [] }>().data.length, 1);
  await server.close();
});

test("lists jobs by model and state, and cancels a job on a request without a body", async () => {
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

test("shows and filters jobs by model name, with the rewards before and after", async () => {
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

test("lists a job's events in pages, and streams them live to clients that accept events", async () => {
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

test("ends a stream of events with a last event when the job's model is deleted", async () => {
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

test("ends a stream of events with an error when the server closes, unlike at the end of the job", async () => {
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

test("refuses a job that the server's trainer does not support on arrival, with the path and the cure", async () => {
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
  // The fake job creates a version whose training state comes from the embedded trainer. The remote trainer cannot
  // continue from that state.
  await playJob(server, { step: 1 });
  await refuses(server, job, [
    ["model_id", /adapter of which the trainer .* remote, keeps no state.* Train a new model/],
  ]);
  await server.close();
});
