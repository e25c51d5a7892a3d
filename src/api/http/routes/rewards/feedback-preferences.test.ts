// Preference jobs made from feedback over HTTP: pairs of answers, dry runs, the data of the jobs, and refusals.
import assert from "node:assert/strict";
import { test } from "node:test";
import { resolvePreferenceConfig } from "../../../../base/domain/preferences/preference-config.ts";
import { said, thumb } from "../../../../train/rewards/testing/samples.ts";
import { sampleContent, samplePrompt } from "../../../../store/database/contract/completion-store.ts";
import { playJob } from "../../testing/fake-server.ts";
import { type Json, recordingServer, refTo } from "../../testing/recording-server.ts";

const path = "/v1/preview/preference-training-jobs/from-feedback";
const thumbs = { terms: [{ kind: "reaction", rewards: { "👍": 1, "👎": 0 } }] };
const [yes, no] = ["👍", "👎"];

const fix = (requestId: string, correction: string, payload: Json = {}) =>
  said(refTo(requestId), { feedbackType: "fix", payload: { ...payload, correction } });

/**
 * Returns, for both answers of each pair, the reference to the answer, the start of its text, and whether a person
 * wrote it.
 */
const sidesOf = ({ pairs }: Json): readonly unknown[] =>
  (pairs as readonly Record<"chosen" | "rejected", Json | null>[]).map(({ chosen, rejected }) =>
    [chosen, rejected].map((side) => side && [side["call"], side["text"], side["correction"]]),
  );

/** Returns the stored training data of a job. */
async function linesOf(
  { jobs }: Awaited<ReturnType<typeof recordingServer>>["server"],
  id: unknown,
): Promise<readonly Json[]> {
  const lines: Json[] = [];
  for await (const line of (await jobs.trajectoryLines(String(id))) ?? [])
    lines.push(JSON.parse(line) as Json);
  return lines;
}

test("pairs rated answers, shows the pairs in a dry run, and trains on the tokens recorded for them", async () => {
  const { server, ask, modelId, record, say } = await recordingServer();
  await record("one", 2);
  await record("alone", 1, { promptHash: "cd".repeat(32) });
  await say(thumb(refTo("one", 0), no), thumb(refTo("one", 1), yes), thumb(refTo("alone"), yes));
  const body = { model_id: modelId, rule: thumbs, config: { loss: "ipo", strange: 1 } };
  const shown = await ask("POST", path, { ...body, dry_run: true });
  assert.equal(shown.status, 200, JSON.stringify(shown.body));
  assert.deepEqual([shown.body["id"], shown.body["dry_run"]], [null, true]);
  assert.deepEqual(shown.body["counts"], {
    feedback: 3,
    prompts: 1,
    pairs: 1,
    corrections: 0,
    people: 1,
    trained_tokens: 16,
    left_out: { single_answer: 1 },
  });
  assert.deepEqual(sidesOf(shown.body), [
    [
      [refTo("one", 1), "answer 1", false],
      [refTo("one", 0), "answer 0", false],
    ],
  ]);
  assert.deepEqual((await ask("GET", "/v1/preview/training-jobs")).body.data, []);

  const key = { "idempotency-key": "k" };
  const made = await ask("POST", path, body, key);
  assert.deepEqual(sidesOf(made.body), sidesOf(shown.body));
  const { id } = made.body;
  assert.equal((await ask("POST", path, body, key)).body["id"], id);
  assert.equal((await ask("POST", path, { ...body, pairs_max: 1 }, key)).status, 409);
  const job = await server.jobs.find(String(id));
  assert.deepEqual(job?.task, { kind: "preference", config: resolvePreferenceConfig({ loss: "ipo" }) });
  assert.deepEqual(job.configNotApplied, ["strange"]);
  const [line = {}, ...more] = await linesOf(server, id);
  assert.equal(more.length, 0);
  const { promptTokenIds, choices, prompt } = sampleContent();
  assert.deepEqual(line["messages"], prompt.kind === "conversation" ? prompt.messages : []);
  const recorded = { prompt_token_ids: promptTokenIds, token_ids: choices[0].tokenIds };
  for (const side of ["chosen", "rejected"]) {
    const [{ prompt_token_ids, token_ids } = {}] = line[side] as readonly Json[];
    assert.deepEqual({ prompt_token_ids, token_ids }, recorded);
  }

  const again = await ask("POST", path, body);
  assert.deepEqual(
    [again.body["id"], (again.body["counts"] as Json)["left_out"]],
    [null, { already_trained: 2, single_answer: 1 }],
  );
  await playJob(server, { step: 1, versionId: "01890a5d-ac96-774b-bcce-b302099a8057" });
  const sources = (await ask("GET", `/v1/preview/models/${modelId}/checkpoints/1/sources`)).body.data;
  assert.deepEqual(
    sources.map(({ call, reward, use }) => [call, reward, use]),
    [
      [refTo("one", 1), 1, "trained"],
      [refTo("one", 0), 0, "trained"],
    ],
  );
  await server.close();
});

test("renders a correction with the options of its request, and lists the feedback that the version was trained on", async () => {
  const { server, ask, modelId, record, say } = await recordingServer();
  const conversation = { ...samplePrompt("Be brief.", "Hi"), tools: [{ type: "function" }] };
  assert.ok(conversation.kind === "conversation");
  const prompt = { ...conversation, templateArguments: { enable_thinking: false }, reasoningEffort: "low" };
  await record("one", 1, {
    content: sampleContent({ prompt, choices: [{ ...sampleContent().choices[0], text: "Hum" }] }),
  });
  await record("text", 1, {
    promptHash: "cd".repeat(32),
    content: sampleContent({
      prompt: { kind: "text", text: "Once", addSpecialTokens: true, truncation: null, echo: false },
    }),
  });
  await record("same", 1, { promptHash: "ef".repeat(32) });
  await say(fix("one", "Ho"), fix("text", "upon"), fix("same", "answer 0"));
  const body = { model_id: modelId, corrections: {} };
  const made = await ask("POST", path, body);
  assert.deepEqual(sidesOf(made.body), [
    [
      [refTo("one", 0), "Ho", true],
      [refTo("one", 0), "Hum", false],
    ],
  ]);
  assert.deepEqual((made.body["counts"] as Json)["left_out"], { no_conversation: 1, unchanged: 1 });
  const [line = {}] = await linesOf(server, made.body["id"]);
  assert.deepEqual(line["chosen"], [{ role: "assistant", content: "Ho" }]);
  assert.deepEqual(line["tools"], [{ type: "function" }]);
  assert.deepEqual(line["extra"], {
    chat_template_kwargs: { enable_thinking: false },
    reasoning_effort: "low",
  });
  await playJob(server, { step: 1, versionId: "01890a5d-ac96-774b-bcce-b302099a8057" });
  const [source = {}] = (await ask("GET", `/v1/preview/models/${modelId}/checkpoints/1/sources`)).body.data;
  assert.deepEqual([source["call"], source["reward"], source["people"]], [refTo("one", 0), null, 1]);
  assert.equal((await ask("POST", path, body)).body["id"], null);
  await server.close();
});

test("labels answers one by one with kto, by a threshold for their rewards", async () => {
  const { server, ask, modelId, record, say } = await recordingServer();
  await record("one", 2);
  await say(thumb(refTo("one", 0), no), thumb(refTo("one", 1), yes));
  const kto = { loss: "kto" };
  const made = await ask("POST", path, { model_id: modelId, rule: thumbs, config: kto, threshold: 0 });
  assert.deepEqual(sidesOf(made.body), [[[refTo("one", 1), "answer 1", false], null]]);
  assert.deepEqual((made.body["counts"] as Json)["left_out"], { no_verdict: 1 });
  const [line = {}] = await linesOf(server, made.body["id"]);
  assert.equal(line["rejected"], null);
  await server.close();
});

test("limits the number of pairs in a job, and leaves the others to the next job", async () => {
  const { server, ask, modelId, record, say } = await recordingServer();
  await record("one", 4);
  await say(...[no, no, yes, yes].map((emoji, choice) => thumb(refTo("one", choice), emoji)));
  const body = { model_id: modelId, rule: thumbs, pairs_max: 1 };
  const countsOf = async (): Promise<Json> => (await ask("POST", path, body)).body["counts"] as Json;
  const first = await countsOf();
  assert.deepEqual([first["pairs"], first["left_out"]], [1, { later_job: 2 }]);
  const second = await countsOf();
  assert.deepEqual([second["pairs"], second["left_out"]], [1, { already_trained: 2 }]);
  assert.equal((await countsOf())["pairs"], 0);
  await server.close();
});

test("reports the faults of a request with their paths", async () => {
  const { server, ask, modelId } = await recordingServer();
  const refuses = async (
    body: object,
    faults: Readonly<Record<string, RegExp>>,
    status = 422,
  ): Promise<void> => {
    const answer = await ask("POST", path, { model_id: modelId, ...body });
    assert.equal(answer.status, status, JSON.stringify(answer.body));
    const found = Object.fromEntries(answer.body.detail.map(({ loc, msg }) => [loc.slice(1).join("."), msg]));
    assert.deepEqual(Object.keys(found).sort(), Object.keys(faults).sort());
    for (const [place, message] of Object.entries(faults)) assert.match(found[place] ?? "", message);
  };
  const none = "01890a5d-ac96-774b-bcce-b302099a8057";
  await refuses({}, { rule: /required/ });
  await refuses({ rule: thumbs, rule_id: none }, { rule: /one of the two/ });
  await refuses({ rule_id: none }, { rule_id: /reward rule/ }, 404);
  await refuses({ model_id: none, corrections: {} }, { model_id: /model/ }, 404);
  await refuses({ rule: { terms: [{ kind: "reaction" }] } }, { "rule.terms.0.rewards": /required/ });
  await refuses({ corrections: { path: "a.99999999999" } }, { "corrections.path": /index/ });
  await refuses({ rule: thumbs, margin_min: 0.1, config: { loss: "kto" } }, { margin_min: /threshold/ });
  await refuses({ rule: thumbs, threshold: 0.5 }, { threshold: /kto/ });
  await refuses(
    { rule: thumbs, pairs_max: 0, config: { loss: "simpo", reference: "base" } },
    { pairs_max: /greater/, "config.reference": /simpo/ },
  );
  await server.close();
});
