// Tests over HTTP how a request controls whether its answer is recorded. Feedback on the answer shows whether there is
// a recording.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Hone } from "../src/apps/client/hone.ts";
import { call, serverOfFile } from "./running-server.ts";

const server = serverOfFile();

/**
 * Sends a request with these extra fields, and gives feedback on the answer. Returns the reasons why the feedback is
 * not used for training.
 */
async function reasonsFor(project: string, extra: object): Promise<readonly string[]> {
  const client = new Hone({ baseUrl: server().url, apiKey: server().apiKey });
  const model = await client.models.create({ project, name: "m", base_model: "hone-tiny" });
  const asked = { model: `${project}/m`, messages: [{ role: "user", content: "hello" }], max_tokens: 2 };
  const { id } = await client.chat.create({ ...asked, ...extra });
  const projectId = `${model.entity}/${project}`;
  const reference = `hone:///${projectId}/call/${id.replace("chatcmpl-", "")}`;
  const thumb = { feedback_type: "vendor.reaction.1", payload: { emoji: "👍" } };
  await client.feedback.create({ project_id: projectId, vendor_ref: reference, ...thumb });
  const terms = [{ kind: "reaction", rewards: { "👍": 1 } }] as const;
  const job = await client.jobs.createFromFeedback({ model_id: model.id, rule: { terms }, dry_run: true });
  return Object.keys(job.counts.left_out);
}

test("an answer of a trained model is recorded unless `store` is false", async () => {
  assert.deepEqual(await reasonsFor("answers", {}), ["single_answer"]);
  assert.deepEqual(await reasonsFor("unrecorded-answers", { store: false }), ["no_recording"]);
});

test("`metadata` takes up to sixteen texts, which are recorded with the answer", async () => {
  assert.deepEqual(await reasonsFor("described", { metadata: { topic: "greeting" } }), ["single_answer"]);
  const messages = [{ role: "user", content: "hello" }];
  const many = Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`m${index}`, "x"]));
  for (const metadata of [many, { topic: 1 }, { ["n".repeat(65)]: "x" }]) {
    const { status } = await call(server(), "POST", "/v1/chat/completions", {
      body: { messages, max_tokens: 1, metadata },
    });
    assert.equal(status, 422);
  }
});
