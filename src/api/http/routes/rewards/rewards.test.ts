import assert from "node:assert/strict";
import { test } from "node:test";
import { said, thumb } from "../../../../train/rewards/testing/samples.ts";
import { sampleCompletion } from "../../../../store/database/contract/completion-store.ts";
import { keys, playJob } from "../../testing/fake-server.ts";
import { recordingServer, refTo, type Json } from "../../testing/recording-server.ts";

const path = "/v1/preview/reward-rules";
const jobPath = "/v1/preview/training-jobs/from-feedback";

const thumbs = { terms: [{ kind: "reaction", rewards: { "👍": 1, "👎": 0 } }] };

test("stores, reads, lists, changes and deletes a rule, only for its entity", async () => {
  const { server, ask, modelId } = await recordingServer();
  const standing = { model_id: modelId, groups_min: 3, since: "2026-11-21T00:00:00Z" };
  const created = await ask("POST", path, { project: "p", name: "thumbs", ...thumbs, standing });
  assert.equal(created.status, 200, JSON.stringify(created.body));
  const { id, state, ...rule } = created.body;
  assert.deepEqual(rule["terms"], [{ kind: "reaction", weight: 1, rewards: { "👍": 1, "👎": 0 } }]);
  assert.deepEqual([rule["entity"], rule["project"], rule["paused"]], ["acme", "p", false]);
  const { reason, ...rest } = state as Json;
  assert.match(String(reason), /0 of 3 groups/);
  assert.deepEqual(rest, {
    status: "collecting",
    next_job_at: null,
    groups_ready: 0,
    groups_min: 3,
    jobs_last_day: 0,
    tokens_last_day: 0,
    last_job_id: null,
  });
  const one = `${path}/${String(id)}`;
  assert.deepEqual((await ask("GET", one)).body, created.body);
  assert.deepEqual((await ask("GET", `${path}?project=p&model_id=${modelId}`)).body.data, [created.body]);
  assert.deepEqual((await ask("GET", `${path}?project=other`)).body.data, []);
  assert.equal((await ask("POST", path, { project: "p", name: "thumbs", ...thumbs })).status, 409);
  const paused = await ask("POST", `${one}/pause`);
  assert.deepEqual([paused.body["paused"], (paused.body["state"] as Json)["status"]], [true, "paused"]);
  assert.equal((await ask("POST", `${one}/resume`)).body["paused"], false);
  for (const method of ["GET", "DELETE"] as const)
    assert.equal((await ask(method, one, undefined, { key: keys.other })).status, 404);
  assert.equal((await ask("POST", `${one}/pause`, undefined, { key: keys.other })).status, 404);
  const stars = { kind: "number", feedback_type: "stars", path: "a.0.b", range: [1, 5], weight: 2 };
  const changed = await ask("PUT", one, { name: "stars", terms: [stars] });
  const scale = { factor: 0.25, offset: -0.25, clamp: [0, 1] };
  const { range: _, ...written } = stars;
  assert.deepEqual(changed.body["terms"], [{ ...written, ...scale }]);
  assert.deepEqual([changed.body["standing"], changed.body["state"]], [null, null]);
  // A client can send the terms of an answer back in a request.
  assert.deepEqual(
    (await ask("PUT", one, { name: "stars", terms: changed.body["terms"] })).body["terms"],
    changed.body["terms"],
  );
  assert.equal((await ask("POST", `${one}/pause`)).status, 409);
  assert.deepEqual((await ask("DELETE", one)).body, { id, deleted: true });
  assert.equal((await ask("GET", one)).status, 404);
  await server.close();
});

test("reports the faults of a rule with their paths", async () => {
  const { server, ask, modelId } = await recordingServer();
  const refuses = async (
    body: object,
    faults: Readonly<Record<string, RegExp>>,
    status = 422,
  ): Promise<void> => {
    const answer = await ask("POST", path, { project: "p", name: "n", ...thumbs, ...body });
    assert.equal(answer.status, status, JSON.stringify(answer.body));
    const found = Object.fromEntries(answer.body.detail.map(({ loc, msg }) => [loc.slice(1).join("."), msg]));
    assert.deepEqual(Object.keys(found).sort(), Object.keys(faults).sort());
    for (const [place, message] of Object.entries(faults)) assert.match(found[place] ?? "", message);
  };
  const number = { kind: "number", feedback_type: "t", path: "a" };
  await refuses({ terms: [] }, { terms: /at least 1/ });
  await refuses(
    { terms: [{ kind: "reaction" }, { kind: "number", rewards: {} }, { kind: "stars" }] },
    {
      "terms.0.rewards": /required.*reaction/,
      "terms.1.feedback_type": /required/,
      "terms.1.path": /required/,
      "terms.1.rewards": /has no rewards|1 to 1000/,
      "terms.2.kind": /reaction/,
    },
  );
  await refuses({ terms: [{ ...number, range: [2, 2] }] }, { "terms.0.range": /same/ });
  await refuses(
    { terms: [{ ...number, range: [1, 2], factor: 2 }] },
    { "terms.0.range": /leave out factor/ },
  );
  await refuses({ terms: [{ ...number, clamp: [1, 0] }] }, { "terms.0.clamp": /least first/ });
  await refuses({ terms: [{ kind: "preference", prior: 0 }] }, { "terms.0.prior": /greater than or equal/ });
  await refuses({ name: "a b" }, { name: /letters/ });
  await refuses(
    { standing: { model_id: modelId, groups_min: 5, groups_max: 4, filter: { $expr: { $no: [] } } } },
    { "standing.groups_min": /may not be more/ },
  );
  await refuses({ standing: { model_id: modelId, filter: {} } }, { "standing.filter.$expr": /required/i });
  const none = "01890a5d-ac96-774b-bcce-b302099a8057";
  await refuses({ standing: { model_id: none } }, { "standing.model_id": /no model/ }, 404);
  await refuses(
    { project: "other", standing: { model_id: modelId } },
    { "standing.model_id": /no model/ },
    404,
  );
  await refuses({ entity: "rival" }, { entity: /another entity/ }, 403);
  await server.close();
});

test("counts no tokens of an answer whose reward is the mean of its group, as the job does", async () => {
  const { server, ask, modelId, record, say } = await recordingServer();
  for (const id of ["best", "worst", "mean"]) await record(id, 1);
  await say(
    thumb(refTo("best"), "👍"),
    thumb(refTo("worst"), "👎"),
    thumb(refTo("mean"), "👍"),
    thumb(refTo("mean"), "👎", { creator: "Ann" }),
  );
  const answer = await ask("POST", jobPath, { model_id: modelId, rule: thumbs, dry_run: true });
  const { answers, tokens, trained_tokens: trained } = answer.body["counts"] as Json;
  assert.deepEqual([answers, tokens, trained], [3, 60, 32]);
  await server.close();
});

test("previews in a dry run the answers to train on with their rewards, and the answers left out with the reason", async () => {
  const { server, ask, modelId, record, say } = await recordingServer();
  await record("one", 2);
  await record("two", 1, { promptText: "Hi?", answerText: "Ho" });
  await record("alone", 1, { promptHash: "cd".repeat(32) });
  const up = thumb(refTo("one", 0), "👍");
  await say(
    up,
    thumb(refTo("one", 0), "👎", { creator: "Ann" }),
    thumb(refTo("two"), "👎"),
    thumb(refTo("one"), "👍"),
    thumb(refTo("alone"), "👍"),
    thumb(refTo("gone"), "👍"),
    said(refTo("two"), { feedbackType: "other", payload: {} }),
  );
  const body = { model_id: modelId, rule: thumbs, dry_run: true };
  const answer = await ask("POST", jobPath, body);
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  const { id, dry_run: isDry, counts, groups, left_out: leftOut, reasons } = answer.body;
  assert.deepEqual([id, isDry], [null, true]);
  assert.deepEqual(counts, {
    feedback: 6,
    groups: 1,
    answers: 2,
    compared: 0,
    people: 2,
    trained_tokens: 24,
    tokens: 32,
    left_out: { no_choice: 1, no_recording: 1, single_answer: 1 },
  });
  assert.deepEqual(Object.keys(reasons as Json).sort(), ["no_choice", "no_recording", "single_answer"]);
  const [{ answers }] = groups as readonly { readonly answers: readonly Json[] }[];
  assert.deepEqual(
    answers.map(({ call, text, reward, people, use }) => [call, text, reward, people, use]),
    [
      [refTo("one", 0), sampleCompletion("one").answerText.trim(), 0.5, 2, "trained"],
      [refTo("two", 0), "Ho", 0, 1, "trained"],
    ],
  );
  const { terms, feedback_ids: feedbackIds } = answers[0] ?? {};
  assert.deepEqual(terms, [{ value: 0.5, people: 2 }]);
  assert.ok((feedbackIds as readonly string[]).includes(up.id));
  assert.deepEqual(
    (leftOut as readonly Json[]).map(({ reference, reason, feedback }) => [reference, reason, feedback]),
    [
      [refTo("one"), "no_choice", 1],
      [refTo("gone"), "no_recording", 1],
      [refTo("alone", 0), "single_answer", 1],
    ],
  );
  const since = { ...body, since: new Date(up.createdAt.getTime() + 1).toISOString() };
  const later = (await ask("POST", jobPath, since)).body["counts"] as Json;
  assert.deepEqual([later["feedback"], later["groups"]], [5, 0]);
  const byAnn = { $expr: { $eq: [{ $getField: "creator" }, { $literal: "Ann" }] } };
  assert.equal(
    ((await ask("POST", jobPath, { ...body, filter: byAnn })).body["counts"] as Json)["feedback"],
    1,
  );
  assert.deepEqual((await ask("GET", "/v1/preview/training-jobs")).body.data, []);
  await server.close();
});

test("creates only one job from the same feedback, and lists the feedback that the version was trained on", async () => {
  const { server, ask, modelId, record, say } = await recordingServer();
  await record("one", 2);
  await say(thumb(refTo("one", 0), "👍"), thumb(refTo("one", 1), "👎"));
  const { id: ruleId } = (await ask("POST", path, { project: "p", name: "thumbs", ...thumbs })).body;
  const body = {
    model_id: modelId,
    rule_id: ruleId,
    experimental_config: { learning_rate: 0.01, strange: 1 },
  };
  const key = { "idempotency-key": "k" };
  const made = await ask("POST", jobPath, body, key);
  assert.equal(made.status, 200, JSON.stringify(made.body));
  assert.equal((await ask("POST", jobPath, body, key)).body["id"], made.body["id"]);
  assert.equal((await ask("POST", jobPath, { ...body, groups_max: 1 }, key)).status, 409);
  const job = (await ask("GET", `/v1/preview/training-jobs/${String(made.body["id"])}`)).body;
  assert.deepEqual([job["kind"], (job["experimental_config"] as Json)["learning_rate"]], ["rl", 0.01]);
  assert.deepEqual(job["config_not_applied"], ["strange"]);
  const again = await ask("POST", jobPath, body);
  assert.deepEqual(
    [again.body["id"], (again.body["counts"] as Json)["left_out"]],
    [null, { already_trained: 2 }],
  );
  await playJob(server, { step: 1, versionId: "01890a5d-ac96-774b-bcce-b302099a8057" });
  const sources = `/v1/preview/models/${modelId}/checkpoints/1/sources`;
  const first = (await ask("GET", `${sources}?limit=1`)).body;
  const [one = {}] = first.data;
  assert.deepEqual(
    [one["call"], one["reward"], one["people"], one["use"]],
    [refTo("one", 0), 1, 1, "trained"],
  );
  assert.deepEqual(
    (one["feedback"] as readonly Json[]).map((of) => of["is_new"]),
    [true],
  );
  const rest = (await ask("GET", `${sources}?after=${String(first["last_id"])}`)).body;
  assert.deepEqual(
    rest.data.map((of) => of["call"]),
    [refTo("one", 1)],
  );
  assert.deepEqual((await ask("GET", `/v1/preview/models/${modelId}/checkpoints/0/sources`)).body.data, []);
  assert.equal((await ask("GET", `/v1/preview/models/${modelId}/checkpoints/7/sources`)).status, 404);
  await server.close();
});

test("reports the faults of a request for a job with their paths", async () => {
  const { server, ask, modelId } = await recordingServer();
  const refuses = async (
    body: object,
    faults: Readonly<Record<string, RegExp>>,
    status = 422,
  ): Promise<void> => {
    const answer = await ask("POST", jobPath, { model_id: modelId, ...body });
    assert.equal(answer.status, status, JSON.stringify(answer.body));
    const found = Object.fromEntries(answer.body.detail.map(({ loc, msg }) => [loc.slice(1).join("."), msg]));
    assert.deepEqual(Object.keys(found).sort(), Object.keys(faults).sort());
    for (const [place, message] of Object.entries(faults)) assert.match(found[place] ?? "", message);
  };
  await refuses({}, { rule: /required/ });
  const none = "01890a5d-ac96-774b-bcce-b302099a8057";
  await refuses({ rule: thumbs, rule_id: none }, { rule: /one of the two/ });
  await refuses({ rule_id: none }, { rule_id: /reward rule/ }, 404);
  await refuses({ rule: { terms: [{ kind: "reaction" }] } }, { "rule.terms.0.rewards": /required/ });
  await refuses(
    { rule: thumbs, since: "yesterday", groups_max: 0 },
    { since: /date/, groups_max: /greater/ },
  );
  const { id } = (await ask("POST", path, { project: "elsewhere", name: "thumbs", ...thumbs })).body;
  await refuses({ rule_id: id }, { rule_id: /reward rule of acme\/p/ }, 404);
  await server.close();
});

test("stores a rule on rollouts with its own defaults, and refuses fields that only feedback has", async () => {
  const { server, ask, modelId } = await recordingServer();
  const create = (body: object) => ask("POST", path, { project: "p", name: "queue", ...body });
  const param = async (body: object) => ((await create(body)).body["error"] as Json)["param"];
  const queue = { model_id: modelId, rollouts: { split: "train" } };
  assert.equal(await param({ standing: queue, ...thumbs }), "terms");
  assert.equal(await param({ standing: { model_id: modelId } }), "terms");
  assert.equal(await param({ standing: { ...queue, since: "2026-01-01T00:00:00Z" } }), "standing.since");
  const { status, body } = await create({ standing: queue });
  assert.equal(status, 200, JSON.stringify(body));
  const { rollouts, seconds_between: seconds, jobs_per_day: jobs } = body["standing"] as Json;
  assert.deepEqual(
    [body["terms"], rollouts, seconds, jobs],
    [[], { split: "train", group_size_min: 2 }, 0, 10_000],
  );
  assert.match(String((body["state"] as Json)["reason"]), /^0 of 8 groups are whole/);
  const used = await ask("POST", jobPath, { model_id: modelId, rule_id: body["id"] });
  assert.equal((used.body["error"] as Json)["param"], "rule_id");
  assert.equal((await create({ name: "other", standing: queue })).status, 409);
  await server.close();
});
