import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { bearer, fakeServer, keys, registeredModel } from "../../testing/fake-server.ts";

type Server = Awaited<ReturnType<typeof fakeServer>>;
type Refusal = { readonly detail: readonly { readonly loc: readonly string[]; readonly msg: string }[] };
type Job = { readonly id: string } & Readonly<Record<string, unknown>>;

const path = "/v1/preview/preference-training-jobs";
const authorization = bearer(keys.member);

async function withModel(t: TestContext): Promise<{ readonly server: Server; readonly modelId: string }> {
  const server = await fakeServer();
  t.after(() => server.close());
  return { server, modelId: await registeredModel(server) };
}

function post(server: Server, payload: object, headers: Readonly<Record<string, string>> = {}) {
  const base = { authorization, "content-type": "application/json" };
  return server.ask({ method: "POST", url: path, headers: { ...base, ...headers }, payload });
}

/** Creates a job, and reads it back from the API. */
async function created(server: Server, payload: object): Promise<Job> {
  const answer = await post(server, payload);
  assert.equal(answer.statusCode, 200, answer.body);
  const url = `/v1/preview/training-jobs/${answer.json<{ id: string }>().id}`;
  return (await server.ask({ method: "GET", url, headers: { authorization } })).json();
}

async function refuses(server: Server, body: object, faults: Readonly<Record<string, RegExp>>) {
  const answer = await post(server, body);
  assert.equal(answer.statusCode, 422, answer.body);
  const { detail } = answer.json<Refusal>();
  assert.deepEqual(
    detail.map(({ loc }) => loc.slice(1).join(".")),
    Object.keys(faults),
    answer.body,
  );
  Object.values(faults).forEach((message, index) => assert.match(detail[index].msg, message));
}

async function stored(server: Server, id: string): Promise<readonly unknown[]> {
  const lines: unknown[] = [];
  for await (const line of (await server.jobs.trajectoryLines(id)) ?? []) lines.push(JSON.parse(line));
  return lines;
}

function send(server: Server, lines: readonly unknown[]) {
  const text = lines.map((line) => JSON.stringify(line)).join("\n");
  const part = (about: string, value: string): string =>
    `--xYz\r\ncontent-disposition: form-data; ${about}\r\n\r\n${value}\r\n`;
  const payload = `${part('name="purpose"', "fine-tune")}${part('name="file"; filename="a"', text)}--xYz--\r\n`;
  const headers = { authorization, "content-type": "multipart/form-data; boundary=xYz" };
  return server.ask({ method: "POST", url: "/v1/files", headers, payload });
}

async function upload(server: Server, lines: readonly unknown[]): Promise<string> {
  const answer = await send(server, lines);
  assert.equal(answer.statusCode, 200, answer.body);
  return answer.json<{ id: string }>().id;
}

const user = { role: "user", content: "Hi" };
const [good, bad] = ["Ho", "Go"].map((content) => ({ role: "assistant", content }));
const kept = { messages: [user], tools: null, chosen: [good], rejected: [bad], extra: {} };

/** The same preference in the spellings of TRL's files, of OpenAI's files, and of this API. */
const spellings = {
  "texts of TRL": { prompt: "Hi", chosen: "Ho", rejected: "Go" },
  "messages of TRL": { prompt: [user], chosen: [good], rejected: [bad] },
  "conversations of TRL": { chosen: [user, good], rejected: [user, bad] },
  "messages in a field of this API": { messages: [user], chosen: good, rejected: bad },
  "preferences of OpenAI": {
    input: { messages: [user] },
    preferred_output: [good],
    non_preferred_output: [bad],
  },
};

for (const [name, preference] of Object.entries(spellings))
  test(`stores the same pair from the body and from a file, spelled as ${name}`, async (t) => {
    const { server, modelId } = await withModel(t);
    const inline = await created(server, { model_id: modelId, pairs: [preference] });
    assert.deepEqual(await stored(server, inline.id), [kept]);
    const fileId = await upload(server, [preference, preference]);
    const ofFile = await created(server, { model_id: modelId, file_id: fileId });
    assert.deepEqual(await stored(server, ofFile.id), [kept, kept]);
  });

test("accepts single answers and pairs for KTO, and only pairs for other losses", async (t) => {
  const { server, modelId } = await withModel(t);
  const judged = [
    { prompt: "Hi", completion: "Ho", label: true },
    { prompt: [user], completion: [bad], label: false },
    spellings["texts of TRL"],
  ];
  const expected = [{ ...kept, rejected: null }, { ...kept, chosen: null }, kept];
  const config = { loss: "kto" };
  const job = await created(server, { model_id: modelId, pairs: judged, config });
  assert.deepEqual(await stored(server, job.id), expected);
  const fileId = await upload(server, judged);
  assert.deepEqual(
    await stored(server, (await created(server, { model_id: modelId, file_id: fileId, config })).id),
    expected,
  );
  await refuses(
    server,
    { model_id: modelId, file_id: fileId },
    { file_id: /^Line 1 of the file has only one answer, and the loss dpo compares two/ },
  );
  await refuses(
    server,
    { model_id: modelId, pairs: judged },
    { "pairs.0.rejected": /judged one by one train with the loss kto/, "pairs.1.chosen": /compares two/ },
  );
});

test("stores a choice with its tokens, and a choice without tokens as a message", async (t) => {
  const { server, modelId } = await withModel(t);
  const choice = {
    index: 0,
    finish_reason: "length",
    message: good,
    token_ids: [1, 2],
    prompt_token_ids: [3],
  };
  const { token_ids: _ids, ...without } = { ...choice, message: bad, logprobs: null };
  const job = await created(server, {
    model_id: modelId,
    pairs: [{ prompt: "Hi", chosen: choice, rejected: without }],
  });
  assert.deepEqual(await stored(server, job.id), [{ ...kept, chosen: [choice] }]);
  const strange = { ...choice, logprobs: { content: [{ token: "a", logprob: -1 }] } };
  await refuses(
    server,
    { model_id: modelId, pairs: [{ prompt: "Hi", chosen: strange, rejected: "Go" }] },
    { "pairs.0.chosen.logprobs.content": /2|1/ },
  );
  await refuses(
    server,
    { model_id: modelId, pairs: [{ prompt: "Hi", chosen: { ...choice, token_ids: [0.5] }, rejected: "Go" }] },
    { "pairs.0.chosen.token_ids.0": /integer/ },
  );
});

test("keeps tools, template arguments and unknown keys", async (t) => {
  const { server, modelId } = await withModel(t);
  const tools = [{ type: "function", function: { name: "f" } }];
  const more = { chat_template_kwargs: { enable_thinking: false }, future: 1 };
  const pairs = [
    { ...spellings["texts of TRL"], tools, ...more },
    { ...spellings["preferences of OpenAI"], input: { messages: [user], tools } },
  ];
  const job = await created(server, { model_id: modelId, pairs });
  assert.deepEqual(await stored(server, job.id), [
    { ...kept, tools, extra: more },
    { ...kept, tools },
  ]);
});

test("applies settings as sent, with the defaults of their loss", async (t) => {
  const { server, modelId } = await withModel(t);
  const pairs = [spellings["texts of TRL"]];
  const effectiveConfig = async (config: object): Promise<unknown> => {
    const job = await created(server, { model_id: modelId, pairs, config });
    assert.deepEqual([job["kind"], job["config"], job["experimental_config"]], ["preference", null, null]);
    return job["preference_config"];
  };
  const plain = {
    loss: "dpo",
    beta: 0.1,
    label_smoothing: 0,
    gamma: 0,
    length_normalized: false,
    desirable_weight: 1,
    undesirable_weight: 1,
    reference: "start",
    base_precision: null,
    batch_size: 8,
    learning_rate: 5e-5,
    epochs: 1,
    shuffle: true,
    weight_decay: 0,
    max_grad_norm: 1,
  };
  assert.deepEqual(await effectiveConfig({}), plain);
  assert.deepEqual(await effectiveConfig({ loss: "ipo" }), {
    ...plain,
    loss: "ipo",
    length_normalized: true,
  });
  const simpo = { loss: "simpo", beta: 2, gamma: 0.5, length_normalized: true, reference: null };
  assert.deepEqual(await effectiveConfig({ loss: "simpo", batch_size: "auto" }), { ...plain, ...simpo });
  const { num_epochs, ...given } = {
    loss: "dpo",
    beta: 0.5,
    label_smoothing: 0.1,
    length_normalized: true,
    reference: "base",
    batch_size: 2,
    learning_rate: 1e-3,
    num_epochs: 3,
    shuffle: false,
    weight_decay: 0.1,
    max_grad_norm: 0,
  };
  assert.deepEqual(await effectiveConfig({ ...given, num_epochs }), {
    ...plain,
    ...given,
    epochs: num_epochs,
  });
  const kto = { loss: "kto", desirable_weight: 1.3, undesirable_weight: 0.7 };
  assert.deepEqual(await effectiveConfig(kto), { ...plain, ...kto });
});

test("refuses options that the loss does not have, and unsupported options of other trainers, naming each", async (t) => {
  const { server, modelId } = await withModel(t);
  const pairs = [spellings["texts of TRL"]];
  const refusesConfig = (config: object, faults: Readonly<Record<string, RegExp>>) =>
    refuses(server, { model_id: modelId, pairs, config }, faults);
  await refusesConfig(
    { loss: "ipo", label_smoothing: 0.1 },
    { "config.label_smoothing": /goes with dpo, simpo/ },
  );
  await refusesConfig(
    { gamma: 1 },
    { "config.gamma": /the loss dpo has no such option; it goes with simpo/ },
  );
  await refusesConfig({ loss: "simpo", reference: "base" }, { "config.reference": /no such option/ });
  await refusesConfig({ desirable_weight: 2 }, { "config.desirable_weight": /goes with kto/ });
  await refusesConfig({ loss: "kto", batch_size: 1 }, { "config.batch_size": /give at least 2/ });
  await refusesConfig({ label_smoothing: 0.6 }, { "config.label_smoothing": /less than or equal to 0.5/ });
  await refusesConfig({ beta: 0 }, { "config.beta": /greater than 0/ });
  await refusesConfig({ loss_type: "sigmoid" }, { "config.loss_type": /TRL's sigmoid is dpo/ });
  await refusesConfig({ epochs: 1, num_epochs: 2 }, { "config.num_epochs": /two spellings/ });
  // Options of other trainers are accepted if they ask for something that the server does anyway.
  await created(server, {
    model_id: modelId,
    pairs,
    config: { loss: "ipo", label_smoothing: 0, gamma: 0, precompute_ref_log_probs: true, rpo_alpha: null },
  });
});

test("reports faults of a pair at its path", async (t) => {
  const { server, modelId } = await withModel(t);
  const { prompt, chosen, rejected } = spellings["texts of TRL"];
  const faultOf = async (pair: object, faults: Readonly<Record<string, RegExp>>): Promise<void> => {
    const placed = Object.entries(faults).map(([place, fault]) => [`pairs.0.${place}`, fault] as const);
    await refuses(server, { model_id: modelId, pairs: [pair] }, Object.fromEntries(placed));
  };
  await faultOf({ prompt }, { chosen: /a chosen and a rejected answer/ });
  await faultOf({ chosen, rejected }, { prompt: /give the prompt/ });
  await faultOf({ prompt, messages: [user], chosen, rejected }, { messages: /two spellings/ });
  await faultOf(
    { prompt, chosen, preferred_output: [good], rejected },
    { preferred_output: /two spellings/ },
  );
  await faultOf({ prompt, chosen: "", rejected }, { chosen: /needs text/ });
  await faultOf(
    { prompt, chosen: { ...good, content: "" }, rejected },
    { "chosen.content": /needs content/ },
  );
  await faultOf({ prompt, chosen: { content: "Ho" }, rejected }, { "chosen.role": /required/ });
  await faultOf(
    { chosen: [user, { ...good, content: "" }], rejected: [user, bad] },
    { "chosen.1.content": /needs content/ },
  );
  await faultOf({ prompt, chosen: [user], rejected }, { chosen: /ends with a message of the assistant/ });
  await faultOf({ prompt, chosen: [], rejected }, { chosen: /./ });
  await faultOf({ prompt, completion: "Ho" }, { label: /a label, true or false/, chosen: /./ });
  await faultOf(
    { prompt: [{ role: "user", content: [{ type: "image_url" }] }], chosen, rejected },
    { "prompt.0.content.0": /Only text/ },
  );
  await refuses(server, { model_id: modelId, pairs: [] }, { pairs: /at least one pair/ });
  await refuses(server, { model_id: modelId }, { pairs: /or a file of them in file_id/ });
  const both = { model_id: modelId, pairs: [spellings["preferences of OpenAI"]], file_id: "file-1" };
  await refuses(server, both, { pairs: /one of the two/ });
});

test("reports faults of a file by line, and determines the file's kind by its first line", async (t) => {
  const { server } = await withModel(t);
  const failed = async (lines: readonly unknown[]): Promise<readonly string[]> => {
    const answer = await send(server, lines);
    if (answer.statusCode === 200) return [];
    return answer.json<Refusal>().detail.map(({ loc, msg }) => `${loc.slice(1).join(".")}: ${msg}`);
  };
  const pair = spellings["preferences of OpenAI"];
  const conversation = { messages: [user, good] };
  assert.match((await failed([pair, conversation])).join(), /^file\.line 2\.chosen: Field required/);
  assert.match((await failed([conversation, pair])).join(), /^file\.line 2\.messages: Field required/);
  assert.deepEqual(await failed([pair, pair]), []);
});

test("returns the same job for a repeated request, even if its file was deleted", async (t) => {
  const { server, modelId } = await withModel(t);
  const fileId = await upload(server, [spellings["preferences of OpenAI"]]);
  const body = { model_id: modelId, file_id: fileId };
  const once = { "idempotency-key": "once" };
  const first = (await post(server, body, once)).json<Job>();
  await server.ask({ method: "DELETE", url: `/v1/files/${fileId}`, headers: { authorization } });
  assert.deepEqual((await post(server, body, once)).json(), first);
  assert.equal((await post(server, body)).statusCode, 404);
});

test("trains on the stored data of an earlier preference job, and on single answers only with the loss kto", async (t) => {
  const { server, modelId } = await withModel(t);
  const first = await created(server, { model_id: modelId, pairs: [spellings["texts of TRL"]] });
  const body = { model_id: modelId, file_id: `hone-job://${first.id}` };
  for (const config of [{ loss: "ipo" }, { loss: "kto" }])
    assert.deepEqual(await stored(server, (await created(server, { ...body, config })).id), [kept]);
  const single = { prompt: "Hi", completion: "Ho", label: true };
  const judged = await created(server, { model_id: modelId, pairs: [single], config: { loss: "kto" } });
  const more = { ...body, file_id: `hone-job://${judged.id}` };
  await refuses(server, more, { file_id: /trained with the loss kto/ });
  assert.equal((await created(server, { ...more, config: { loss: "kto" } }))["kind"], "preference");
});
