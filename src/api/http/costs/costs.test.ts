// Costs in answers over HTTP, on a server with prices and a fake chat service.
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { noUsage } from "../../../base/domain/keys/usage.ts";
import { basic, bearer, fakeServer, keys, playJob, registeredModel } from "../testing/fake-server.ts";
import { costSettings, readPrices } from "./settings.ts";

/** Starts a server with prices for its base models `tiny` and `small`. */
async function priced(t: TestContext, prices: readonly string[]) {
  const list = readPrices(costSettings.with({ prices, currency: "EUR" }), ["tiny", "small"]);
  const server = await fakeServer({ wrap: (dependencies) => ({ ...dependencies, prices: list }) });
  t.after(() => server.close());
  const ask = async (url: string, payload?: object, authorization = bearer(keys.member)) => {
    const method = payload === undefined ? "GET" : "POST";
    const answer = await server.ask({ method, url, headers: { authorization }, ...(payload && { payload }) });
    assert.equal(answer.statusCode, 200, answer.body);
    return answer;
  };
  return { server, ask };
}

test("adds the cost to usage by the price of the row's base model, in pages and in the CSV", async (t) => {
  const { server, ask } = await priced(t, ["prompt=10", "answer=20", "training=30", "small:prompt=1"]);
  await registeredModel(server);
  const million = { promptTokens: 1e6, completionTokens: 1e6, trainingTokens: 1e6 };
  const row = (day: string, model: string) => ({
    ...noUsage,
    ...million,
    day,
    model,
    keyId: "member",
    entity: "acme",
  });
  await server.usage.add([
    row("2026-11-20", "tiny"),
    row("2026-11-21", "small"),
    row("2026-11-22", "acme/p/m"),
    row("2026-11-23", "acme/p/deleted"),
  ]);
  const { data } = (await ask("/v1/preview/usage?order=asc")).json();
  assert.deepEqual(
    data.map(({ model, cost, currency }: Record<string, unknown>) => [model, cost, currency]),
    [
      ["tiny", 60, "EUR"],
      ["small", 51, "EUR"],
      ["acme/p/m", 60, "EUR"],
      ["acme/p/deleted", null, null],
    ],
  );
  const lines = (await ask("/v1/preview/usage/export")).body.split("\r\n");
  assert.match(lines[0] ?? "", /,training_tokens,cost,currency$/);
  assert.deepEqual(
    lines.slice(1, -1).map((line) => line.split(",").slice(-2).join(" ")),
    ["60 EUR", "51 EUR", "60 EUR", " "],
  );
});

test("shows the cost of a job from its trained tokens and passes, and none if it failed", async (t) => {
  const { server, ask } = await priced(t, ["training=100"]);
  const modelId = await registeredModel(server);
  const submit = async (): Promise<string> =>
    (await ask("/v1/preview/training-jobs", { model_id: modelId, trajectory_groups: [] })).json().id;
  const costOfJob = async (id: string) => (await ask(`/v1/preview/training-jobs/${id}`)).json().cost;
  const id = await submit();
  assert.equal(await costOfJob(id), null);
  const counts = {
    groupsSubmitted: 1,
    groupsTrainable: 1,
    trajectories: 2,
    sequences: 2,
    trainableTokens: 500,
    skipped: {},
    skippedGroups: {},
    steps: { count: 2, passCount: 2, sequencesMax: 1 },
  };
  await playJob(server, { step: 1, counts });
  assert.equal(await costOfJob(id), 0.1);
  const cancelled = await submit();
  await ask(`/v1/preview/training-jobs/${cancelled}/cancel`, {});
  assert.equal(await costOfJob(cancelled), null);
});

test("shows the cost of a trajectory if all its answers and prompts have token ids", async (t) => {
  const { server, ask } = await priced(t, ["prompt=1", "answer=10"]);
  const url = `/v1/preview/models/${await registeredModel(server)}`;
  const question = { role: "user", content: "Why?" };
  const message = { role: "assistant", content: "So." };
  const exact = { finish_reason: "stop", message, prompt_token_ids: [1, 2, 3, 4], token_ids: [5, 6] };
  const { prompt_token_ids: _, ...withoutPrompt } = exact;
  const trajectories = [
    { messages_and_choices: [question, exact, question, exact], reward: 1 },
    { messages_and_choices: [question, exact, question, withoutPrompt], reward: 0 },
    { messages_and_choices: [question, message], reward: 0 },
  ];
  await ask(`${url}/log`, { split: "val", trajectory_groups: [{ trajectories }] });
  const { data } = (await ask(`${url}/trajectories/outlines?order=asc`)).json();
  assert.deepEqual(
    data.map(({ cost, currency }: Record<string, unknown>) => [cost, currency]),
    [
      [(2 * 4 * 1 + 2 * 2 * 10) / 1e6, "EUR"],
      [null, null],
      [null, null],
    ],
  );
});

test("describes the prices of a model, and only if there are any", async (t) => {
  const { ask } = await priced(t, ["answer=2", "small:cached=0.5"]);
  const pricesOf = async (name: string) => (await ask(`/v1/models/${name}`)).json().prices;
  const prices = { currency: "EUR", prompt: null, cached: null, answer: 2, training: null };
  assert.deepEqual(await pricesOf("tiny"), prices);
  assert.deepEqual(await pricesOf("small"), { ...prices, cached: 0.5 });
  const free = await priced(t, []);
  assert.equal((await free.ask("/v1/models/tiny")).json().prices, null);
});

test("adds costs to traced calls for models of this server, in the form of Weave's clients", async (t) => {
  const { server, ask } = await priced(t, ["prompt=30", "cached=3", "answer=60"]);
  await registeredModel(server);
  const weave = (url: string, payload: object, key = keys.member) => ask(url, payload, basic(key));
  const used = {
    requests: 2,
    prompt_tokens: 2_000_000,
    completion_tokens: 4_000_000,
    prompt_tokens_details: { cached_tokens: 1_000_000 },
  };
  const call = {
    project_id: "acme/p",
    id: "c",
    op_name: "f",
    started_at: "2026-11-21T12:00:00Z",
    ended_at: "2026-11-21T12:00:01Z",
    attributes: {},
    inputs: {},
    output: null,
    summary: { usage: { "acme/p/m": used, "gpt-4": used, broken: 1 } },
  };
  await weave("/v2/acme/p/calls/complete", { batch: [call] });
  const asked = { project_id: "acme/p", include_costs: true };
  const read = (await weave("/call/read", { ...asked, id: "c" })).json();
  const listed = JSON.parse((await weave("/calls/stream_query", asked)).body);
  for (const { summary } of [read.call, listed]) {
    const { costs } = summary.weave;
    assert.deepEqual(Object.keys(costs), ["acme/p/m"]);
    const {
      prompt_tokens_total_cost: prompt,
      completion_tokens_total_cost: answer,
      ...one
    } = costs["acme/p/m"];
    assert.deepEqual([prompt, answer, one.requests], [33, 240, 2]);
    assert.deepEqual([one.prompt_token_cost, one.completion_token_cost_unit], [3e-5, "EUR"]);
  }
  const plain = (await weave("/call/read", { project_id: "acme/p", id: "c" })).json();
  assert.equal(plain.call.summary.weave.costs, undefined);
});
