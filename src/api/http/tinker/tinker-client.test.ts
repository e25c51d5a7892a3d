// Plays requests that the Python package tinker 0.38.0 sends, against real training of a tiny model.
import assert from "node:assert/strict";
import { test } from "node:test";
import { tinyConfig, tinyWeights } from "../../../train/trainer/contract/tiny-model.ts";
import { NaiveTrainers } from "../../../train/trainer/testing/naive-trainer.ts";
import { WireMessage } from "../../../train/trainer/tinker/wire/protobuf.ts";
import { fakeServer, keys } from "../testing/fake-server.ts";
import { recorded, recordedData, recordedForward } from "./testing/recorded-bodies.ts";
import { TinkerTestClient } from "./testing/test-client.ts";

/** Tokens of the recorded sequence, and the weights of its targets. */
const tokenIds = Int32Array.of(1, 2, 3, 4, 5, 6);
const weights = [0, 1, 1, -0.5, 2];

test("trains by recorded requests exactly as a naive trainer does, with accumulated gradients", async () => {
  const server = await fakeServer();
  const client = await TinkerTestClient.open(server);
  const model = await client.createModel();
  const first = await client.compute(recordedData("crossEntropy", model, 1));
  await client.compute(recordedData("crossEntropy", model, 2));
  await client.result("optim_step", recorded.optimStep(model, 3));
  const after = await client.compute(recordedForward(model, 4));

  const lora = { rank: 2, alpha: 32 };
  const naive = new NaiveTrainers({
    config: tinyConfig,
    weights: tinyWeights,
    lora,
    dataFolder: "",
    sequenceLengthMax: 10,
  });
  const call = (id: string) => ({ id, signal: new AbortController().signal });
  const trainer = await naive.open({ kind: "new", seed: "7" }, call("open"));
  const sequence = {
    tokenIds,
    mask: Uint8Array.of(0, 1, 1, 1, 1, 1),
    oldLogprobs: new Float32Array(6).fill(NaN),
    advantage: 0,
    weight: 5 + 1e-6,
    tokenWeights: Float32Array.of(0, ...weights),
    group: 0,
  };
  const before = await trainer.forwardBackward([sequence], { kind: "cross-entropy" }, call("one"));
  await trainer.forwardBackward([sequence], { kind: "cross-entropy" }, call("two"));
  const step = {
    learningRate: 0.01,
    beta1: 0.9,
    beta2: 0.95,
    epsilon: 1e-12,
    weightDecay: 0,
    gradientNormMax: 0,
  };
  await trainer.optimStep(step, call("step"));
  const expected = await trainer.forward([sequence], call("after"));
  assertClose(first.logprobs, before.logprobs[0]);
  assertClose(after.logprobs, expected.logprobs[0]);
  const loss = weights.reduce((sum, weight, at) => sum - weight * before.logprobs[0][at], 0);
  assert.ok(Math.abs(first.metrics["loss:sum"] - loss) < 1e-4);
  await server.close();
});

test("saves versions of a trained model, from which training and sampling continue", async () => {
  const server = await fakeServer();
  const client = await TinkerTestClient.open(server);
  const model = await client.createModel();
  await client.compute(recordedData("ppo", model, 1));
  await client.result("optim_step", recorded.optimStep(model, 2));
  const trained = await client.compute(recordedForward(model, 3));
  const { path } = await client.result("save_weights", recorded.saveWeights(model, 4));
  assert.equal(path, `tinker://${model}/weights/first`);
  const taken = await client.result("save_weights", { ...recorded.saveWeights(model, 5), seq_id: 5 });
  assert.match(String(taken["error"]), /first exists/);
  const loaded = await client.result("load_weights", recorded.loadWeights(client.session, path));
  assert.equal(loaded["model_id"], `${client.session}:train:1`);
  const again = await client.compute(recordedForward(loaded["model_id"], 1));
  assert.deepEqual(again.logprobs, trained.logprobs);

  const sampler = await client.result("save_weights_for_sampler", recorded.saveForSampler(model, 6));
  assert.equal(sampler["sampling_session_id"], `${client.session}:sample:0`);
  const sampled = new WireMessage(
    await client.bytes("asample", recorded.sample(sampler["sampling_session_id"])),
  );
  assert.equal(sampled.all(1).length, 2);
  const [{ request }] = server.chat.seen.slice(-1);
  assert.match(request.identity.model ?? "", /^[0-9a-f-]{36}:step2$/);
  assert.deepEqual(request.stopping.stopTokenIds, [9]);

  const { data: models } = await client.json("GET", "/v1/preview/models", null);
  assert.equal((models as readonly unknown[]).length, 2);
  const { checkpoints } = await client.json("GET", `/api/v1/training_runs/${model}/checkpoints`, null);
  assert.deepEqual(
    (checkpoints as readonly { readonly tinker_path: string }[]).map(({ tinker_path: each }) => each),
    [path],
  );
  await client.json("DELETE", `/api/v1/training_runs/${model}/checkpoints/weights/first`, null);
  assert.equal((await client.ask("POST", "/api/v1/weights_info", { tinker_path: path })).statusCode, 404);
  await server.close();
});

test("runs operations in the order of their numbers, and repeats none", async () => {
  const server = await fakeServer();
  const client = await TinkerTestClient.open(server);
  const model = await client.createModel();
  const step = client.result("optim_step", recorded.optimStep(model, 2));
  const body = recordedData("crossEntropy", model, 1);
  const [one, two] = [await client.submitData(body), await client.submitData(body)];
  assert.equal(one, two);
  assert.ok(Number.isFinite((await step)["metrics"]?.["unclipped_grad_l2:mean"]));
  const reused = await client.ask("POST", "/api/v1/optim_step", {
    ...recorded.optimStep(model, 2),
    adam_params: {},
  });
  assert.equal(reused.statusCode, 409);
  await server.close();
});

test("names the base models of the server if a client wants to train another one", async () => {
  const server = await fakeServer();
  const client = await TinkerTestClient.open(server);
  const body = { ...recorded.createModel(client.session, 0), base_model: "none/such" };
  const refused = await client.ask("POST", "/api/v1/create_model", body);
  assert.equal(refused.statusCode, 404);
  assert.match(refused.body, /There is no base model \\"none\/such\\"; this server has tiny/);
  await server.close();
});

test("lists saved weights of all runs, and links their files for programs without a key", async () => {
  const server = await fakeServer();
  const client = await TinkerTestClient.open(server);
  const model = await client.createModel();
  await client.result("save_weights", recorded.saveWeights(model, 1));
  const external = { model_id: model, path: "out", seq_id: 2, type: "save_weights_external" };
  const { path } = await client.result("save_weights_external", external);
  assert.equal(path, `tinker://${model}/external_weights/out`);
  const encrypted = { ...external, seq_id: 3, age_encryption_recipients: ["age1"] };
  assert.equal((await client.ask("POST", "/api/v1/save_weights_external", encrypted)).statusCode, 400);
  const page = await client.json("GET", "/api/v1/checkpoints?limit=1", null);
  const [newest] = page["checkpoints"] as readonly Readonly<Record<string, unknown>>[];
  assert.deepEqual([newest["tinker_path"], newest["checkpoint_type"]], [path, "external"]);
  assert.deepEqual(page["cursor"], { offset: 0, limit: 1, total_count: 2 });
  assert.deepEqual((await client.json("GET", "/api/v1/sessions", null))["sessions"], [client.session]);
  const saved = `/api/v1/training_runs/${model}/checkpoints/external_weights/out`;
  const { urls } = await client.json("GET", `${saved}/external_weights_urls`, null);
  const links = Object.values(urls as Readonly<Record<string, string>>).map((url) => new URL(url).pathname);
  const read = async (url: string) => (await server.ask({ method: "GET", url })).statusCode;
  assert.deepEqual(
    await Promise.all(links.map(read)),
    links.map(() => 200),
  );
  const forged = links[0].replace(/(?<=external_weights\/)./, (first: string) => (first === "_" ? "A" : "_"));
  assert.equal(await read(forged), 401);
  const other = await TinkerTestClient.open(server, keys.other);
  assert.equal((await other.ask("GET", `${saved}/external_weights_urls`, null)).statusCode, 404);
  assert.deepEqual((await other.json("GET", "/api/v1/checkpoints", null))["checkpoints"], []);
  await client.json("DELETE", saved, null);
  assert.deepEqual(await read(links[0]), 404);
  await server.close();
});

test("continues the training after refused requests, whose numbers the client does not use again", async () => {
  const server = await fakeServer();
  const client = await TinkerTestClient.open(server);
  const model = await client.createModel();
  const misnamed = { ...recorded.saveWeights(model, 1), path: "my weights" };
  assert.equal((await client.ask("POST", "/api/v1/save_weights", misnamed)).statusCode, 422);
  const load = { model_id: model, seq_id: 2, path: `tinker://${model}/weights/none`, optimizer: true };
  assert.equal((await client.ask("POST", "/api/v1/load_weights", load)).statusCode, 404);
  const empty = {
    model_id: model,
    seq_id: 3,
    forward_backward_input: { data: [], loss_fn: "cross_entropy" },
  };
  assert.equal((await client.ask("POST", "/api/v1/forward_backward", empty)).statusCode, 422);
  const saved = await client.result("save_weights", recorded.saveWeights(model, 4));
  assert.equal(saved["path"], `tinker://${model}/weights/first`);
  await server.close();
});

test("refuses malformed members of objects with any names, and names ignored fields", async () => {
  const server = await fakeServer();
  const client = await TinkerTestClient.open(server);
  const model = await client.createModel();
  const compute = (inputs: object) =>
    client.ask("POST", "/api/v1/forward", {
      model_id: model,
      seq_id: 0,
      forward_input: {
        data: [{ model_input: { chunks: [{ tokens: [1] }] }, loss_fn_inputs: inputs }],
        loss_fn: "cross_entropy",
      },
      strange: 1,
    });
  for (const tensor of [null, 1, { data: ["x"] }]) {
    const refused = await compute({ target_tokens: tensor });
    assert.deepEqual([refused.statusCode, refused.body.includes("target_tokens")], [422, true], refused.body);
  }
  const one = { data: [1] };
  const accepted = await compute({ target_tokens: one, weights: one });
  assert.deepEqual(
    [accepted.statusCode, accepted.headers["x-hone-ignored"]],
    [200, "strange"],
    accepted.body,
  );
  const save = (metadata: object) =>
    client.ask("POST", "/api/v1/save_weights", {
      ...recorded.saveWeights(model, 0),
      user_metadata: metadata,
    });
  assert.equal((await save({ a: 1 })).statusCode, 422);
  assert.equal((await save({ a: "b" })).headers["x-hone-ignored"], undefined);
  await server.close();
});

test("hides sessions, results, runs and weights from other entities", async () => {
  const server = await fakeServer();
  const client = await TinkerTestClient.open(server);
  const model = await client.createModel();
  const request = await client.submitData(recordedData("crossEntropy", model, 1));
  const { path } = await client.result("save_weights", recorded.saveWeights(model, 2));
  const other = await TinkerTestClient.open(server, keys.other);
  for (const [url, body] of [
    ["session_heartbeat", { session_id: client.session }],
    ["get_info", { model_id: model }],
    ["optim_step", recorded.optimStep(model, 3)],
    ["retrieve_future", { request_id: request }],
    ["weights_info", { tinker_path: path }],
    ["load_weights", recorded.loadWeights(other.session, String(path))],
    ["create_model", recorded.createModel(client.session)],
  ] as const)
    assert.equal((await other.ask("POST", `/api/v1/${url}`, body)).statusCode, 404, url);
  assert.equal((await other.ask("GET", `/api/v1/training_runs/${model}`, null)).statusCode, 404);
  assert.deepEqual((await other.json("GET", "/api/v1/training_runs", null))["training_runs"], []);
  await server.close();
});

function assertClose(actual: ArrayLike<number>, expected: ArrayLike<number>): void {
  assert.equal(actual.length, expected.length);
  for (let at = 0; at < actual.length; at++)
    assert.ok(Math.abs(actual[at] - expected[at]) < 1e-4, `${at}: ${actual[at]} is not ${expected[at]}`);
}
