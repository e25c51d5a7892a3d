// Tests models that learn while they are in use, on running servers with a small model. Covers a promotion, a
// rollback, a refused candidate, users' replies, and a server that is killed between training and evaluation.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import type { SettingsOverrides } from "../src/apps/server/settings.ts";
import { inProof } from "../src/base/domain/testing/search.ts";
import { isHeldOut } from "../src/train/learning/conversation-key.ts";
import { plainConversation } from "../src/base/domain/chat.ts";
import {
  call,
  eventually,
  newDataFolder,
  removeDataFolder,
  type RunningServer,
  serverOfFile,
  startServer,
} from "./running-server.ts";
import { toolModel } from "./served-jobs.ts";

const flags = [...toolModel, "--built-in-model", "off"];
const soon: SettingsOverrides = { learning: { lookMs: 100 } };
/** With these limits, a server looks for new feedback only at its start, and not again during a test. */
const onlyOnce: SettingsOverrides = { learning: { lookMs: 3_600_000 } };

const settings = {
  signals_min: 4,
  prompts_min: 2,
  held_out_share: 0.4,
  seconds_between: 3600,
  rollback_signals_min: 2,
  margin: 0.5,
};

const share = settings.held_out_share;
const isHeld = (content: string): boolean => {
  const prompt = { ...plainConversation, messages: [{ role: "user", content }] };
  const options = { truncation: null, echo: false, template: null, addSpecialTokens: false };
  return isHeldOut({ kind: "conversation", ...prompt, ...options }, "", share);
};

/** Enough questions that at least four are used for training and at least two are held out. */
const questions = "cat dog tree house river sun moon star car boat".split(" ").map((word) => `Say ${word}.`);

interface Answer {
  readonly requestId: string;
  readonly text: string;
  readonly step: string;
}

class Learner {
  readonly server: RunningServer;
  readonly id: string;
  readonly path: string;

  constructor(server: RunningServer, id: string) {
    this.server = server;
    this.id = id;
    this.path = `/v1/preview/models/${id}/learning`;
  }

  async send(
    method: string,
    path: string,
    body?: object,
    scheme: "Basic" | "Bearer" = "Bearer",
  ): Promise<any> {
    const answer = await call(this.server, method, path, { ...(body === undefined ? {} : { body }), scheme });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    return answer.body;
  }

  async ask(messages: readonly object[], model = this.id): Promise<Answer> {
    const chat = { model, messages, max_tokens: 6, temperature: 0 };
    const { id, choices, system_fingerprint: print } = await this.send("POST", "/v1/chat/completions", chat);
    const step = /:(step\d+)/.exec(print)?.[1] ?? "";
    return { requestId: id.replace("chatcmpl-", ""), text: choices[0].message.content, step };
  }

  /** Asks a question and stores feedback on the answer. */
  async judged(content: string, feedback: object): Promise<Answer> {
    const answer = await this.ask([{ role: "user", content }]);
    const place = { project_id: "local/p", weave_ref: `hone:///local/p/call/${answer.requestId}` };
    await this.send("POST", "/feedback/create", { ...place, creator: "Ann", ...feedback }, "Basic");
    return answer;
  }

  async cycles(): Promise<readonly any[]> {
    return (await this.send("GET", `${this.path}/cycles`)).data;
  }

  /** Waits until the newest cycle is in this stage. */
  reaches(stage: string): Promise<any> {
    return eventually(stage, async () => {
      const [cycle] = await this.cycles();
      return cycle?.stage === stage ? cycle : null;
    });
  }

  async newestStep(): Promise<string> {
    return (await this.ask([{ role: "user", content: "Who?" }])).step;
  }
}

const thumb = (emoji: string) => ({ feedback_type: "wandb.reaction.1", payload: { emoji } });
const fixed = { feedback_type: "fix", payload: { correction: "zzz zzz zzz zzz zzz" } };

/** Server of the tests that do not kill their server. */
const shared = serverOfFile({ flags, limits: soon });

async function learner(server = shared()): Promise<Learner> {
  const { body } = await call(server, "POST", "/v1/preview/models", {
    body: { project: "p", name: randomUUID(), base_model: "tiny" },
  });
  return new Learner(server, body.id);
}

/** Like {@link learner}, with a separate server, and a function that kills the server and starts the next one. */
async function mortalLearner(t: TestContext) {
  const dataFolder = newDataFolder();
  let server = await startServer({ dataFolder, flags, limits: soon });
  t.after(async () => {
    await server.kill();
    removeDataFolder(dataFolder);
  });
  const model = await learner(server);
  const restart = async (limits: SettingsOverrides): Promise<Learner> => {
    await server.kill();
    server = await startServer({ dataFolder, flags, limits });
    return new Learner(server, model.id);
  };
  return { model, restart };
}

test("promotes a version that is not worse on held-out prompts, and goes back after bad ratings", async () => {
  const model = await learner();
  await model.send("PUT", model.path, settings);
  const held: string[] = [];
  for (const question of questions) {
    const { requestId } = await model.judged(question, thumb("👍"));
    if (isHeld(question)) held.push(requestId);
  }
  const cycle = await model.reaches("watching");
  assert.deepEqual([cycle.current_version, cycle.candidate_version], [0, 1]);
  assert.equal(cycle.evaluation.method, "logprobs");
  assert.ok(cycle.evaluation.candidate.score >= cycle.evaluation.current.score - settings.margin);
  assert.equal(await model.newestStep(), "step1");
  const sum = cycle.learned.reduce((total: number, one: any) => total + one.count, 0);
  assert.ok(cycle.learned.every((one: any) => one.creator === "Ann" && one.kind === "ratings") && sum >= 4);
  const { data } = await model.send("GET", `/v1/preview/models/${model.id}/checkpoints/1/sources?limit=100`);
  assert.equal(data.length, sum);
  for (const { call: reference } of data)
    assert.ok(!held.some((requestId) => reference.includes(requestId)), "a held-out answer was trained on");

  for (const question of questions.slice(0, 2)) await model.judged(question, thumb("👎"));
  const back = await model.reaches("rolled_back");
  assert.deepEqual([back.rated_before.mean, back.rated_after], [1, { count: 2, mean: 0 }]);
  assert.equal(await model.newestStep(), "step0");
  const explicit = await model.ask([{ role: "user", content: "Who?" }], `${model.id}:step1`);
  assert.equal(explicit.step, "step1");
  const versions = await model.send("GET", `/v1/preview/models/${model.id}/checkpoints`);
  assert.equal(versions.data[1].held.state, "rolled_back");
  assert.match(versions.data[1].held.reason, /mean reward of 2 rated answers is 0/);
  await eventually("the audit log has both decisions", async () => {
    const log = readFileSync(join(model.server.dataFolder, "audit.jsonl"), "utf8");
    const actions = ["watching", "rolled_back"].map((stage) => `learning-${stage} ${model.id}:step1`);
    return actions.every((action) => log.includes(action)) ? true : null;
  });
});

test(
  "evaluates once after kills during and after the job, and serves the old version until then",
  inProof,
  async (t) => {
    const { model, restart } = await mortalLearner(t);
    await model.send("PUT", model.path, settings);
    for (const question of questions) await model.judged(question, thumb("👍"));
    const { job_id: jobId } = await model.reaches("training");
    const training = await restart(onlyOnce);
    await eventually("the job succeeds", async () => {
      const job = await training.send("GET", `/v1/preview/training-jobs/${jobId}`);
      return job.state === "succeeded" ? job : null;
    });
    assert.equal(await training.newestStep(), "step0");
    const { data } = await training.send("GET", `/v1/preview/models/${model.id}/checkpoints`);
    assert.equal(data[1].held.state, "candidate");
    const evaluating = await restart(soon);
    await evaluating.reaches("watching");
    assert.equal(await evaluating.newestStep(), "step1");
    assert.equal((await evaluating.cycles()).length, 1);
    assert.equal(await evaluating.send("DELETE", model.path).then(({ deleted }) => deleted), true);
    assert.equal((await evaluating.cycles())[0].stage, "promoted");
  },
);

test("refuses a candidate that harmful feedback made, and keeps it readable with the reason", async () => {
  const model = await learner();
  const harmful = { margin: 0.02, config: { learning_rate: 0.02, epochs: 3 } };
  await model.send("PUT", model.path, { ...settings, ...harmful });
  // Judges the held-out answers first, because the job starts as soon as there is enough feedback for training.
  const [held, trained] = [questions.filter(isHeld), questions.filter((one) => !isHeld(one))];
  for (const question of held) await model.judged(question, thumb("👍"));
  for (const question of trained) await model.judged(question, fixed);
  const cycle = await model.reaches("refused");
  assert.match(cycle.reason, /^The candidate is worse/);
  assert.equal(cycle.learned[0].kind, "edits");
  assert.equal(await model.newestStep(), "step0");
  const explicit = await model.ask([{ role: "user", content: "Who?" }], `${model.id}:step1`);
  assert.equal(explicit.step, "step1");
});

test("judges the user's next message once, and stores the verdict as feedback of its own type", async () => {
  const model = await learner();
  const judge = { model: "tiny", rubric: "Answers are short and correct." };
  await model.send("PUT", model.path, { ...settings, signals: ["next_message"], judge });
  const question = { role: "user", content: "Say cat." };
  const first = await model.ask([question]);
  const reply = [
    question,
    { role: "assistant", content: first.text },
    { role: "user", content: "No, say dog." },
  ];
  const next = await model.ask(reply);
  await model.ask(reply);
  const query = { project_id: "local/p", fields: ["weave_ref", "feedback_type", "creator", "payload"] };
  const found = await eventually("the verdict is stored", async () => {
    const { result } = await model.send("POST", "/feedback/query", query, "Basic");
    const verdicts = result.filter((one: any) => one.feedback_type === "hone.next_message");
    return verdicts.length > 0 ? verdicts : null;
  });
  assert.equal(found.length, 1);
  const [{ weave_ref: reference, feedback_type: type, payload }] = found;
  assert.deepEqual([reference, type], [`hone:///local/p/call/${first.requestId}`, "hone.next_message"]);
  assert.ok(["accepts", "corrects", "unclear"].includes(payload.verdict));
  assert.deepEqual([payload.judge, payload.next_request_id], ["tiny", next.requestId]);
  const listed = await model.send("GET", `/v1/chat/completions?model=${model.id}&feedback=hone.next_message`);
  assert.equal(listed.data.length, 1);
});
