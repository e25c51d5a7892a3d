// Kills a server during a training session of the Tinker API. Unsaved weights are lost, and the client gets a clear
// error about that. Saved weights remain.
import assert from "node:assert/strict";
import { test } from "node:test";
import { recorded, recordedData, recordedForward } from "../src/api/http/tinker/testing/recorded-bodies.ts";
import { TinkerTestClient, type TinkerTarget } from "../src/api/http/tinker/testing/test-client.ts";
import { newDataFolder, removeDataFolder, type RunningServer, startServer } from "./running-server.ts";
import { toolModel } from "./served-jobs.ts";

const flags = [...toolModel, "--built-in-model", "off"];

/** Sends a test client's requests over HTTP. */
const overHttp = ({ url: base }: RunningServer): TinkerTarget => ({
  ask: async ({ method, url, headers, payload }) => {
    const isJson = payload !== undefined && !Buffer.isBuffer(payload);
    const response = await fetch(`${base}${url}`, {
      method,
      headers: {
        ...(headers as Record<string, string>),
        ...(isJson && { "content-type": "application/json" }),
      },
      ...(payload !== undefined && {
        body: isJson ? JSON.stringify(payload) : new Uint8Array(payload),
      }),
    });
    const rawPayload = Buffer.from(await response.arrayBuffer());
    const body = rawPayload.toString();
    const answered = Object.fromEntries(response.headers);
    return { statusCode: response.status, headers: answered, rawPayload, body, json: () => JSON.parse(body) };
  },
});

test("a killed server loses only unsaved weights, and says that the client should continue from the saved ones", async (t) => {
  const dataFolder = newDataFolder();
  t.after(() => removeDataFolder(dataFolder));
  const first = await startServer({ dataFolder, flags });
  const client = await TinkerTestClient.open(overHttp(first), first.apiKey);
  const model = await client.createModel();
  await client.compute(recordedData("crossEntropy", model, 1));
  await client.result("optim_step", recorded.optimStep(model, 2));
  const saved = await client.compute(recordedForward(model, 3));
  const { path } = await client.result("save_weights", recorded.saveWeights(model, 4));
  await client.result("optim_step", recorded.optimStep(model, 5));
  await first.kill();

  const second = await startServer({ dataFolder, flags });
  t.after(() => second.terminate());
  const before = new TinkerTestClient(overHttp(second), second.apiKey, client.session);
  const lost = await before.ask("POST", "/api/v1/optim_step", recorded.optimStep(model, 6));
  assert.equal(lost.statusCode, 404);
  assert.match(lost.body, /the server was restarted.*training client from the last saved weights/);
  const again = await TinkerTestClient.open(overHttp(second), second.apiKey);
  const { checkpoints } = await again.json("GET", `/api/v1/training_runs/${model}/checkpoints`, null);
  assert.deepEqual(
    (checkpoints as readonly { readonly tinker_path: string }[]).map(({ tinker_path: each }) => each),
    [path],
  );
  const loaded = await again.result("load_weights", recorded.loadWeights(again.session, String(path)));
  const continued = await again.compute(recordedForward(String(loaded["model_id"]), 1));
  assert.deepEqual(continued.logprobs, saved.logprobs);
});
