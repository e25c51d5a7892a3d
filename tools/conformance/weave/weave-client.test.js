// Tests Weave's client for Node: logging an evaluation, and the generated API class that the client uses internally.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";
import * as weave from "weave";

const url = process.env.WF_TRACE_SERVER_URL;
const authorization = `Basic ${Buffer.from(`api:${process.env.WANDB_API_KEY}`).toString("base64")}`;

/** The client's internal class, with the API key added to every request. */
const { Api } = createRequire(import.meta.url)("./node_modules/weave/dist/generated/traceServerApi.js");
const api = new Api({ baseUrl: url, baseApiParams: { headers: { authorization } } });

const { viewer } = await fetch(`${url}/graphql`, {
  method: "POST",
  headers: { authorization, "content-type": "application/json" },
  body: JSON.stringify({ query: "query { viewer { defaultEntity { name } } }" }),
})
  .then((response) => response.json())
  .then(({ data }) => data);
const project = `${viewer.defaultEntity.name}/conformance-node`;

const equals = (field, value) => ({ $expr: { $eq: [{ $getField: field }, { $literal: value }] } });

test("logging an evaluation stores its scores as feedback, and its calls", async () => {
  await weave.init(project);
  const logger = new weave.EvaluationLogger({ name: "logged", dataset: "rows" });
  const prediction = logger.logPrediction({ q: "one" }, "yes");
  await prediction.logScore("correct", true);
  await prediction.logScore("length", 3);
  await prediction.finish();
  await logger.logSummary({ average: 1 });
  const { data } = await api.feedback.feedbackQueryFeedbackQueryPost({ project_id: project });
  const scores = data.result.map(({ feedback_type: type, payload }) => [type, payload.output]);
  assert.deepEqual(scores.sort(), [
    ["wandb.runnable.correct", true],
    ["wandb.runnable.length", 3],
  ]);
  const [{ weave_ref: reference }] = data.result;
  const id = reference.split("/").at(-1);
  const read = async () => {
    const { data: answer } = await api.call.callReadCallReadPost({ project_id: project, id });
    return answer.call;
  };
  // Polls, because the client sends calls later and in batches.
  let call = await read();
  for (let tries = 0; (call?.output ?? null) === null && tries < 50; tries++) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    call = await read();
  }
  assert.equal(call.output, "yes");
});

test("the generated class creates, replaces, finds and deletes feedback", async () => {
  const record = {
    project_id: project,
    weave_ref: `weave:///${project}/object/x:abc`,
    feedback_type: "t",
    payload: { a: 1 },
  };
  const created = (await api.feedback.feedbackCreateFeedbackCreatePost(record)).data;
  assert.deepEqual(created.payload, { a: 1 });
  const body = { ...record, payload: { a: 2 }, feedback_id: created.id };
  assert.equal((await api.feedback.feedbackReplaceFeedbackReplacePost(body)).data.id, created.id);
  const query = { project_id: project, query: equals("id", created.id) };
  const found = (await api.feedback.feedbackQueryFeedbackQueryPost(query)).data;
  assert.deepEqual(
    found.result.map(({ payload }) => payload),
    [{ a: 2 }],
  );
  await api.feedback.feedbackPurgeFeedbackPurgePost(query);
  assert.deepEqual((await api.feedback.feedbackQueryFeedbackQueryPost(query)).data.result, []);
});
