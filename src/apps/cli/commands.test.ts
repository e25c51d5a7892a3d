// Every command but `demo`, as its users type it: what it asks of the server and what it prints.
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { resolvePreferenceConfig } from "../../base/domain/preferences/preference-config.ts";
import { resolveSupervisedConfig } from "../../base/domain/supervised/supervised-config.ts";
import { bearer, fakeServer, keys, playJob, registeredModel } from "../../api/http/testing/fake-server.ts";
import { openSqlite } from "../../store/storage/sqlite/sqlite-dialect.ts";
import { openStores } from "../../store/storage/stores.ts";
import { commandProcess } from "./testing/command-process.ts";
import type { topFields } from "./top/top-fields.ts";

type Server = Awaited<ReturnType<typeof fakeServer>>;

interface Run {
  /** What each command wrote, and its status at the end. */
  readonly outputs: readonly string[];
  readonly errors: string;
}

const runOne = commandProcess();
/** Of its own, since one input is all that a process has. */
const conversing = commandProcess();

/** Runs command lines one after the other; the last finds the input. */
async function run(
  commands: readonly (readonly string[])[],
  environment: Readonly<Record<string, string>>,
  input?: string,
): Promise<Run> {
  const outputs: string[] = [];
  let allErrors = "";
  for (const [index, words] of commands.entries()) {
    const isLast = index === commands.length - 1;
    const given = isLast && input !== undefined ? { environment, input } : { environment };
    const { output, errors, status } = await runOne(words, given);
    outputs.push(`${output}status ${status}`);
    allErrors += errors;
  }
  return { outputs, errors: allErrors };
}

/** A server that listens, with a model of the member's, and what a command needs to find it. */
async function listening(t: TestContext) {
  const server = await fakeServer();
  const url = await server.app.listen({ host: "127.0.0.1", port: 0 });
  t.after(() => server.close());
  return {
    server,
    modelId: await registeredModel(server),
    member: { HONE_URL: url, HONE_API_KEY: keys.member },
  };
}

async function submit(server: Server, modelId: string, config: object = {}): Promise<string> {
  const answer = await server.ask({
    method: "POST",
    url: "/v1/preview/training-jobs",
    headers: { authorization: bearer(keys.member) },
    payload: { model_id: modelId, trajectory_groups: [], experimental_config: config },
  });
  return answer.json<{ id: string }>().id;
}

test("hone models lists bases and trained models, makes one and deletes one", async (t) => {
  const { server, modelId, member } = await listening(t);
  await submit(server, modelId);
  await playJob(server, { step: 7 });
  const { outputs } = await run(
    [
      ["models"],
      [
        "models",
        "create",
        "p",
        "new",
        "--base-model",
        "small",
        "--target-modules",
        "q_proj,v_proj",
        "--json",
      ],
      ["models"],
      ["models", "delete", modelId],
      ["models", "list", "--json"],
    ],
    member,
  );
  const [table = "", created = "", wishes = "", deleted, list = ""] = outputs;
  assert.deepEqual(
    table.split("\n").map((line) => line.split(/ {2,}/)),
    [
      ["name", "kind", "base_model", "step", "id", "adapters", "memory", "weights", "license"],
      ["tiny", "base", "tiny", "-", "-", "-", "loaded, 524 kB + requests up to 524 kB", "1 kB", "mit"],
      ["small", "base", "small", "-", "-", "-", "loaded, 524 kB + requests up to 524 kB", "1 kB", "mit"],
      ["acme/p/m", "trained", "tiny", "7", modelId, "-", "-", "-", "-"],
      ["status 0"],
    ],
  );
  const [{ id, ...model }] = JSON.parse(created.replace("status 0", "")) as [Record<string, unknown>];
  assert.deepEqual([model["entity"], model["name"], model["base_model"]], ["acme", "new", "small"]);
  assert.deepEqual(model["target_modules"], ["q_proj", "v_proj"]);
  assert.match(wishes, /acme\/p\/new .* on q_proj v_proj +- +- +-\n/);
  assert.equal(deleted, `deleted ${modelId}\nstatus 0`);
  assert.deepEqual(
    (JSON.parse(list.replace("status 0", "")) as readonly { readonly id: unknown }[]).map((row) => row.id),
    [null, null, id],
  );
});

test("hone models lists versions, pins one, and deletes one that is not pinned", async (t) => {
  const { server, modelId, member } = await listening(t);
  for (const step of [1, 2]) {
    await submit(server, modelId);
    await playJob(server, { step });
  }
  const { outputs, errors } = await run(
    [
      ["models", "pin", "p/m:step1"],
      ["models", "delete", "p/m:step1"],
      ["models", "delete", "acme/p/m:step2"],
      ["models", "versions", "m", "--json"],
      ["models", "unpin", "m:step1"],
      ["models", "delete", "m:step1"],
      ["models", "versions", "m"],
      ["models", "pin", "m"],
      ["models", "pin", "tiny:step0"],
      ["models", "delete", "m:step9"],
    ],
    member,
  );
  const [pinned, kept, deleted, json = "", unpinned, gone, table = "", ...refused] = outputs;
  assert.deepEqual([pinned, kept], ["pinned p/m:step1\nstatus 0", "status 1"]);
  assert.deepEqual([deleted, unpinned], ["deleted acme/p/m:step2\nstatus 0", "unpinned m:step1\nstatus 0"]);
  const versions = JSON.parse(json.replace("status 0", "")) as readonly Record<string, unknown>[];
  assert.deepEqual(
    versions.map((version) => [version["step"], version["pinned"]]),
    [
      [0, false],
      [1, true],
    ],
  );
  assert.equal(gone, "deleted m:step1\nstatus 0");
  assert.match(table, /^step +created_at +pinned +job_id\n0 /);
  assert.deepEqual(refused, ["status 1", "status 1", "status 1"]);
  assert.match(errors, /p\/m:step1 is pinned; `hone models unpin p\/m:step1` lets it go/);
  assert.match(errors, /Say which version of m you mean/);
  assert.match(errors, /tiny:step0 is a base model/);
  assert.match(errors, /no such version/);
});

test("hone models writes stored trajectories, and a version as a folder", async (t) => {
  const { server, modelId, member } = await listening(t);
  const folder = mkdtempSync(join(tmpdir(), "hone-commands-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const trajectories = [1, 2, 3].map((reward) => ({ reward, metadata: { scene: reward % 2, kind: "x" } }));
  await server.ask({
    method: "POST",
    url: `/v1/preview/models/${modelId}/log`,
    headers: { authorization: bearer(keys.member) },
    payload: { trajectory_groups: [{ trajectories }] },
  });
  const [jsonl, parquet, out] = ["rows.jsonl", "rows.parquet", "out"].map((name) => join(folder, name));
  writeFileSync(join(folder, "adapter_config.json"), "{}");
  writeFileSync(join(folder, "adapter_model.safetensors"), "");
  const { outputs, errors } = await run(
    [
      ["models", "trajectories", "m", "--reward-min", "2"],
      ["models", "trajectories", "m:step0", "--out", jsonl, "--metadata", "scene=1", "kind=x"],
      ["models", "trajectories", "m", "--out", parquet, "--format", "parquet"],
      ["models", "trajectories", "m", "--out", jsonl],
      ["models", "trajectories", "m", "--format", "parquet"],
      ["models", "import", folder, "--name", "p/new", "--base-model", "tiny"],
      ["models", "import", folder, "--name", "p/new", "--json"],
      ["models", "export", "p/new", "--out", out],
      ["models", "export", "p/new", "--out", out],
      ["models", "import", folder, "--name", "p/other"],
      ["models", "import", folder, "--name", "p/new", "--base-model", "small"],
      ["models", "import", join(folder, "none"), "--name", "p/new"],
      ["models", "trajectories", "m", "--format", "groups"],
    ],
    member,
  );
  const [lines = "", , , , , imported, again = "", exported] = outputs;
  const rewardsIn = (text: string) =>
    text
      .split("\n")
      .filter((line) => line.startsWith("{"))
      .map((line) => (JSON.parse(line) as { reward: number }).reward);
  assert.deepEqual(rewardsIn(lines), [2, 3]);
  assert.deepEqual(rewardsIn(readFileSync(jsonl, "utf8")), [1, 3]);
  assert.equal(readFileSync(parquet).subarray(-4).toString(), "PAR1");
  assert.match(outputs.at(-1) ?? "", /"group_index":0,"trajectory_count":3,"exceptions":\[\]/);
  assert.equal(imported, "imported acme/p/new:step1\nstatus 0");
  assert.match(again, /"name": "acme\/p\/new:step2"/);
  assert.equal(exported, `wrote version 2 of acme/p/new to ${out}\nstatus 0`);
  assert.deepEqual(readdirSync(out), ["peft.json"]);
  assert.deepEqual(
    outputs.map((output) => output.endsWith("status 0")),
    [true, true, true, false, false, true, true, true, false, false, false, false, true],
  );
  for (const message of [
    /rows.jsonl exists/,
    /A Parquet file needs a place/,
    /out exists/,
    /There is no model p\/other; name its base model/,
    /p\/new is over the base model tiny, not small/,
    /adapter_config.json does not exist/,
  ])
    assert.match(errors, message);
});

test("hone jobs lists, watches and cancels jobs; one that failed gives a status", async (t) => {
  const { server, modelId, member } = await listening(t);
  const first = await submit(server, modelId);
  const step = { type: "gradient_step" as const, data: { loss: 0.123456789, step: 1 } };
  await playJob(server, { step: 1, events: [step] });
  const second = await submit(server, modelId);
  const { outputs, errors } = await run(
    [
      ["jobs"],
      ["jobs", "list", "--state", "queued"],
      ["jobs", "list", "--model", modelId, "--state", "failed"],
      ["jobs", "watch", first],
      ["jobs", "cancel", second],
      ["jobs", "watch", second, "--json"],
      ["jobs", "watch", "none"],
      ["jobs", "list", "--model", "p/m"],
      ["jobs", "show", second.slice(0, -1)],
      ["jobs", "show", ""],
    ],
    member,
  );
  const idsOf = (table = ""): readonly string[] =>
    table
      .split("\n")
      .slice(1, -1)
      .map((line) => line.split(" ")[0]);
  assert.deepEqual(idsOf(outputs[0]), [second, first]);
  assert.deepEqual(idsOf(outputs[1]), [second]);
  assert.match(outputs[0], /^id +model +kind .*\n\S+ +p\/m +rl /);
  assert.deepEqual(idsOf(outputs[7]), [second, first]);
  assert.match(outputs[8], new RegExp(`^id +${second}\n`));
  assert.match(errors, /The ids of 2 training jobs begin with ""; give more of the one you mean/);
  assert.equal(outputs[2], "none\nstatus 0");
  assert.match(outputs[3], /^gradient_step {2}step 1 {2}loss 0\.123\ntraining_ended.*\nstatus 0$/);
  assert.equal(outputs[4], `${second} cancelled\nstatus 0`);
  const [event, status] = outputs[5].split("\n");
  assert.equal((JSON.parse(event) as { readonly type: string }).type, "training_failed");
  assert.equal(status, "status 1");
  assert.equal(outputs[6], "status 1");
  assert.match(
    errors,
    /There is no training job whose id begins with "none"\. `hone jobs list` lists them\./,
  );
});

test("commands that change something say as JSON what came of it", async (t) => {
  const { server, modelId, member } = await listening(t);
  await submit(server, modelId);
  await playJob(server, { step: 1 });
  const jobId = await submit(server, modelId);
  const { outputs } = await run(
    [
      ["models", "pin", "m:step1", "--json"],
      ["models", "unpin", "m:step1", "--json"],
      ["jobs", "cancel", jobId, "--json"],
      ["jobs", "retry", jobId, "--json"],
      ["models", "delete", "m:step1", "--json"],
      ["models", "delete", modelId, "--json"],
    ],
    member,
  );
  const [pinned, unpinned, cancelled, retried, version, model] = outputs.map(
    (output) => JSON.parse(output.replace("status 0", "")) as Readonly<Record<string, unknown>>,
  );
  assert.deepEqual([pinned["step"], pinned["pinned"], unpinned["pinned"]], [1, true, false]);
  assert.deepEqual([cancelled["id"], cancelled["state"]], [jobId, "cancelled"]);
  assert.equal(typeof retried["id"], "string");
  assert.deepEqual(version, { deleted: "m:step1", model_id: modelId, step: 1 });
  assert.deepEqual(model, { deleted: modelId, model_id: modelId, step: null });
});

test("hone jobs preference submits the preferences of a file, and leaves no upload behind", async (t) => {
  const { server, modelId, member } = await listening(t);
  const folder = mkdtempSync(join(tmpdir(), "hone-preferences-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "pairs.jsonl");
  writeFileSync(file, `${JSON.stringify({ prompt: "Hi", chosen: "Ho", rejected: "Hum" })}\n`);
  const options = ["--beta", "0.5", "--label-smoothing", "0.1", "--reference", "base", "--epochs", "2"];
  const { outputs, errors } = await run(
    [
      ["jobs", "preference", modelId, file, ...options],
      ["jobs", "preference", modelId, file, "--loss", "ipo", "--gamma", "1"],
    ],
    member,
  );
  const [id, status] = outputs[0].split("\n");
  assert.equal(status, "status 0");
  assert.deepEqual((await server.jobs.find(id))?.task, {
    kind: "preference",
    config: resolvePreferenceConfig({ beta: 0.5, labelSmoothing: 0.1, reference: "base", epochCount: 2 }),
  });
  assert.deepEqual(outputs.slice(1), ["status 1"]);
  assert.match(errors, /^hone: config\.gamma: .*the loss ipo has no such option/);
  assert.deepEqual(readdirSync(join(server.dataFolder, "files")), []);
});

test("hone jobs preference takes feedback in place of a file, and one of the two", async (t) => {
  const { modelId, member } = await listening(t);
  const { outputs, errors } = await run(
    [
      [
        "jobs",
        "preference",
        modelId,
        "--reactions",
        "👍=1,👎=0",
        "--corrections",
        "fix:text",
        "--loss",
        "kto",
      ],
      ["jobs", "preference", modelId, "--corrections", "--dry-run", "--json"],
      ["jobs", "preference", modelId],
      ["jobs", "preference", modelId, "pairs.jsonl", "--preferences"],
    ],
    member,
  );
  assert.match(outputs[0], /^0 pairs of answers to 0 prompts; 0 records.*\n\nNo job was made/);
  const shown = JSON.parse(outputs[1].slice(0, outputs[1].lastIndexOf("\n"))) as Readonly<
    Record<string, unknown>
  >;
  assert.deepEqual([shown["id"], shown["dry_run"]], [null, true]);
  assert.deepEqual(outputs.slice(2), ["status 1", "status 1"]);
  assert.match(errors, /Name a file of preferences, or say which feedback/);
  assert.match(errors, /Preferences come from pairs\.jsonl or from feedback/);
});

test("hone jobs sft submits the conversations of a file, and leaves no upload behind", async (t) => {
  const { server, modelId, member } = await listening(t);
  const folder = mkdtempSync(join(tmpdir(), "hone-conversations-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const example = {
    messages: [
      { role: "user", content: "Hi" },
      { role: "assistant", content: "Ho" },
    ],
  };
  const [good, bad] = ["good.jsonl", "bad.jsonl"].map((name) => join(folder, name));
  writeFileSync(good, `${JSON.stringify(example)}\n`);
  writeFileSync(bad, `${JSON.stringify(example)}\n{}\n`);
  const settings = ["--batch-size", "3", "--learning-rate", "0.002", "--epochs", "4", "--no-shuffle"];
  const { outputs, errors } = await run(
    [
      ["jobs", "sft", modelId, good, ...settings],
      ["jobs", "sft", modelId, bad],
      ["jobs", "sft", modelId, join(folder, "none.jsonl")],
      ["jobs", "list", "--kind", "rl"],
    ],
    member,
  );
  const [id, status] = outputs[0].split("\n");
  assert.equal(status, "status 0");
  assert.deepEqual((await server.jobs.find(id))?.task, {
    kind: "sft",
    config: resolveSupervisedConfig({
      batchSize: 3,
      learningRate: 0.002,
      epochCount: 4,
      isShuffled: false,
    }),
  });
  assert.deepEqual(outputs.slice(1), ["status 1", "status 1", "none\nstatus 0"]);
  assert.match(errors, /^hone: file\.line 2\.messages: Field required/);
  assert.match(errors, /none\.jsonl cannot be read/);
  assert.deepEqual(readdirSync(join(server.dataFolder, "files")), []);
});

test("hone jobs show says of a job what trains and what does not, in groups and in trajectories", async (t) => {
  const { server, modelId, member } = await listening(t);
  const id = await submit(server, modelId, { novel: 1 });
  await server.jobs.addWarning(id, "Something looks odd.");
  const counts = {
    groupsSubmitted: 4,
    groupsTrainable: 2,
    trajectories: 16,
    sequences: 9,
    trainableTokens: 120,
    skipped: { too_long: 3, zero_variance: 8 },
    skippedGroups: { too_long: 1, zero_variance: 2 },
    steps: { count: 9, passCount: 1, sequencesMax: 1 },
  };
  await playJob(server, { step: 1, counts });
  const { outputs } = await run(
    [
      ["jobs", "show", id],
      ["jobs", "show", id, "--json"],
    ],
    member,
  );
  assert.deepEqual(
    outputs[0].split("\n").map((line) => line.split(/ {2,}/)),
    [
      ["id", id],
      ["model", `p/m (${modelId})`],
      ["kind", "rl"],
      ["state", "succeeded"],
      ["result step", "1"],
      [
        "learns by",
        "learning_rate 0.0001, passes 1, epsilon 1, epsilon_high 4, importance_sampling_level token, " +
          "kl_penalty_source current_learner, scale_rewards true",
      ],
      ["is not applied", "novel"],
      ["takes steps", "9 over 9 sequences, up to 1 sequence each"],
      ["groups", "4, 2 train"],
      ["trajectories", "16, 9 sequences train"],
      ["tokens", "120 train"],
      [""],
      ["does not train", "groups", "trajectories"],
      ["too_long", "1", "3"],
      ["zero_variance", "2", "8"],
      [""],
      ["warning: novel was sent and is not applied: no option of this server has this name."],
      [""],
      ["warning: Something looks odd."],
      ["status 0"],
    ],
  );
  const whole = JSON.parse(outputs[1].replace("status 0", "")) as Record<string, Record<string, unknown>>;
  assert.deepEqual(whole["counts"]["skipped"], counts.skipped);
  assert.deepEqual(whole["counts"]["skipped_groups"], counts.skippedGroups);
});

test("hone chat sends its flags, prints the answer, and keeps up a conversation", async (t) => {
  const { server, member } = await listening(t);
  const flags = ["--model", "small", "--system", "Be brief.", "--temperature", "0.5", "--max-tokens", "9"];
  const { outputs } = await run(
    [["chat", "say", "it", ...flags], ["chat", "it", "--json"], ["chat"]],
    member,
    "one\n\ntwo\n",
  );
  assert.equal(outputs[0], "Hello\nstatus 0");
  const whole = JSON.parse(outputs[1].replace("status 0", "")) as {
    readonly choices: readonly { readonly message: { readonly content: string } }[];
  };
  assert.equal(whole.choices[0]?.message.content, "Hello");
  assert.equal(outputs[2], "Hello\nHello\nstatus 0");
  const seen = server.chat.seen.map(({ request }) => request);
  assert.deepEqual(
    seen.map(
      ({ prompt }) =>
        prompt.kind === "conversation" && prompt.messages.map(({ role, content }) => [role, content]),
    ),
    [
      [
        ["system", "Be brief."],
        ["user", "say it"],
      ],
      [["user", "it"]],
      [["user", "one"]],
      [
        ["user", "one"],
        ["assistant", "Hello"],
        ["user", "two"],
      ],
    ],
  );
  assert.deepEqual(
    seen.map(({ identity, sampling, stopping }) => [
      identity.model,
      sampling.temperature,
      stopping.maxTokens,
    ]),
    [["small", 0.5, 9], ...Array.from({ length: 3 }, () => [null, null, null])],
  );
});

/** The requests that a chat had: model, seed, and what was said before. */
function askedOf({ chat }: Server) {
  return chat.seen.map(({ request: { identity, sampling, prompt } }) => ({
    model: identity.model,
    seed: sampling.seed,
    said: prompt.kind === "conversation" ? prompt.messages.map(({ content }) => content) : [],
  }));
}

test("hone chat asks several versions the same with one seed, and each remembers its own answers", async (t) => {
  const { server, member } = await listening(t);
  const { outputs } = await run(
    [
      ["chat", "p/m@1", "p/m:step2", "which", "is", "it?", "--temperature", "0.5"],
      ["chat", "--model", "small", "--model", "p/m@2", "it", "--json", "--seed", "7"],
    ],
    member,
  );
  const conversation = await conversing(["chat", "p/m@1", "p/m@2", "--json"], {
    environment: member,
    input: "one\ntwo\n",
  });
  assert.equal(outputs[0], "== p/m:step1\nHello\n\n== p/m:step2\nHello\nstatus 0");
  const document = JSON.parse(outputs[1].replace("status 0", "")) as Readonly<Record<string, unknown>> & {
    readonly answers: readonly { readonly model: string; readonly error: string | null }[];
  };
  assert.deepEqual([document["question"], document["seed"]], ["it", 7]);
  assert.deepEqual(
    document.answers.map(({ model, error }) => [model, error]),
    [
      ["small", null],
      ["p/m:step2", null],
    ],
  );
  assert.equal(conversation.status, 0);
  assert.deepEqual(
    conversation.output
      .trimEnd()
      .split("\n")
      .map((line) => (JSON.parse(line) as { readonly question: string }).question),
    ["one", "two"],
  );
  const asked = askedOf(server);
  assert.equal(asked.length, 8);
  // The two requests of a question are sent at once and may arrive in either order.
  const pairs = [0, 2, 4, 6].map((index) => asked.slice(index, index + 2));
  const bothSteps = new Set(["p/m:step1", "p/m:step2"]);
  assert.deepEqual(
    pairs.map((pair) => new Set(pair.map(({ model }) => model))),
    [bothSteps, new Set(["small", "p/m:step2"]), bothSteps, bothSteps],
  );
  for (const [first, second] of pairs) {
    assert.equal(typeof first.seed, "number");
    assert.equal(first.seed, second.seed);
  }
  for (const { said } of pairs[3]) assert.deepEqual(said, ["one", "Hello", "two"]);
});

test("hone top shows what a server does, and its jobs to a key that may see them", async (t) => {
  const { server, modelId, member } = await listening(t);
  const jobId = await submit(server, modelId);
  server.state.engine = { state: "restarting", reason: "It broke.", models: { tiny: "failed: It broke." } };
  const once = ["top", "--once", "--interval", "0.2"];
  const { outputs, errors } = await run(
    [
      [...once, "--json"],
      once,
      [...once, "--json", "--key", "hone_nobody"],
      [...once, "--url", "http://127.0.0.1:1"],
    ],
    member,
  );
  const look = JSON.parse(outputs[0].replace("status 0", "")) as ReturnType<typeof topFields>;
  assert.deepEqual([look.state, look.reason], ["restarting", "It broke."]);
  assert.equal(look.rates?.generated_tokens, 0);
  assert.deepEqual(look.base_models[0].name, "tiny");
  assert.deepEqual(look.jobs, [
    {
      id: jobId,
      model: "p/m",
      kind: "rl",
      state: "queued",
      progress: null,
      seconds_left: null,
      waiting_for: null,
    },
  ]);
  assert.match(outputs[1], /restarting: It broke\./);
  assert.match(outputs[1], new RegExp(`^job +${jobId} +p/m +rl +queued$`, "m"));
  assert.equal((JSON.parse(outputs[2].replace("status 0", "")) as { readonly jobs: null }).jobs, null);
  assert.equal(outputs[3], "status 1");
  assert.match(errors, /No answer from http:\/\/127\.0\.0\.1:1/);
});

test("hone serve --print-config shows what is in force, and no key", async () => {
  const secret = "hone_secret_secret_secret";
  const flags = ["--port", "0", "--engine-threads", "3"];
  const { outputs } = await run([["serve", "--print-config", ...flags]], { HONE_API_KEY: secret });
  const text = outputs[0].replace("status 0", "").trim();
  const config = JSON.parse(text) as Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  assert.equal(text, JSON.stringify(config, null, 2));
  assert.ok(!text.includes(secret));
  assert.deepEqual(
    [config["server"]["port"], config["server"]["apiKey"], config["engine"]["threads"]],
    [0, "(set)", 3],
  );
});

test("hone --version says which version this is", async () => {
  const { outputs } = await run([["--version"]], {});
  const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { readonly version: string };
  assert.deepEqual(outputs, [`${version}\nstatus 0`]);
});

test("hone keys makes, lists and revokes keys in the data folder", async (t) => {
  const data = mkdtempSync(join(tmpdir(), "hone-keys-"));
  t.after(() => rmSync(data, { recursive: true }));
  await (await openStores(openSqlite({ file: join(data, "hone.db"), isShared: true }))).close();
  const made = await run(
    [["keys"], ["keys", "create", "--json", "--entity", "acme", "--owner", "ann"], ["keys", "create"]],
    { HONE_DATA: data },
  );
  assert.equal(made.outputs[0], "none\nstatus 0");
  const key = JSON.parse(made.outputs[1].replace("status 0", "")) as Readonly<Record<string, string>>;
  assert.deepEqual([key["entity"], key["owner"], key["role"]], ["acme", "ann", "member"]);
  assert.match(made.outputs[2], /^hone_\S+\nstatus 0$/);
  const { outputs } = await run(
    [
      ["keys", "revoke", key["id"]],
      ["keys", "list"],
    ],
    { HONE_DATA: data },
  );
  assert.equal(outputs[0], `revoked ${key["id"]}\nstatus 0`);
  const rows = outputs[1].split("\n").map((line) => line.split(/ {2,}/));
  assert.deepEqual(rows[0]?.slice(0, 7), ["id", "name", "entity", "owner", "role", "scopes", "project"]);
  assert.deepEqual(rows[0]?.slice(7), ["created_at", "last_used_at", "expires_at", "revoked_at"]);
  const revoked = rows.find(([id]) => id === key["id"]);
  assert.deepEqual(revoked?.slice(1, 7), ["-", "acme", "ann", "member", "-", "-"]);
  assert.match(revoked?.[10] ?? "", /Z$/);
  assert.deepEqual(
    rows.slice(1, -1).map((row) => row[10] === "-"),
    rows.slice(1, -1).map(([id]) => id !== key["id"]),
  );
});

test("hone keys limits a key, changes its limits and gives it another secret", async (t) => {
  const data = mkdtempSync(join(tmpdir(), "hone-keys-"));
  t.after(() => rmSync(data, { recursive: true }));
  await (await openStores(openSqlite({ file: join(data, "hone.db"), isShared: true }))).close();
  const environment = { HONE_DATA: data };
  const words = "keys create --json --name ci --scopes read,chat --project games --expires 30d".split(" ");
  const { outputs } = await run([words], environment);
  const key = JSON.parse(outputs[0].replace("status 0", ""));
  assert.deepEqual([key.name, key.scopes, key.project], ["ci", ["chat", "read"], "games"]);
  const days = (Date.parse(key.expires_at) - Date.parse(key.created_at)) / 86_400_000;
  assert.ok(Math.abs(days - 30) < 0.01, String(days));
  const changes = ["--scopes", "none", "--expires", "none", "--name", "night", "--json"];
  const later = await run(
    [
      ["keys", "change", key.id, ...changes],
      ["keys", "rotate", key.id, "--grace", "12h", "--json"],
      ["keys", "rotate", key.id, "--grace", "soon"],
      ["keys", "change", key.id, "--expires", "2001-01-01"],
      ["keys", "change", key.id, "--scopes", "everything"],
      ["keys", "change", "nobody", "--name", "x"],
      ["keys", "change", key.id, "--requests-per-minute", "60", "--queued-jobs", "2", "--json"],
      ["keys", "change", key.id, "--requests-per-minute", "none", "--json"],
      ["keys", "limit", "acme", "--tokens-per-minute", "1000", "--json"],
      ["keys", "limit", "acme", "--json"],
      ["keys", "limit", "acme", "--queue-percent", "101"],
      ["keys", "create", "--concurrent-requests", "few"],
    ],
    environment,
  );
  const [changed, rotated] = later.outputs
    .slice(0, 2)
    .map((text) => JSON.parse(text.replace("status 0", "")));
  assert.deepEqual([changed.name, changed.scopes, changed.expires_at], ["night", null, null]);
  assert.equal(changed.project, "games");
  assert.match(rotated.key, /^hone_/);
  assert.notEqual(rotated.key, key.key);
  assert.equal(rotated.id, key.id);
  assert.ok(Date.parse(rotated.former_secret_until) > Date.parse(key.created_at));
  assert.match(later.errors, /--grace is "soon"; it must be a number with a unit/);
  assert.match(later.errors, /--expires is 2001-01-01T00:00:00\.000Z, and it is .* now; name a later time/);
  assert.match(later.errors, /--scopes has "everything"; each must be one of chat, train, feedback, read/);
  assert.match(later.errors, /There is no key whose id begins with "nobody"/);
  const [limited, freed, ofEntity, again] = later.outputs
    .slice(6, 10)
    .map((text) => JSON.parse(text.replace("status 0", "")));
  assert.deepEqual([limited.requests_per_minute, limited.queued_jobs], [60, 2]);
  assert.deepEqual([freed.requests_per_minute, freed.queued_jobs], [null, 2]);
  assert.equal(ofEntity[0].tokens_per_minute, 1000);
  assert.deepEqual(again, ofEntity);
  assert.match(later.errors, /--queue-percent is 101; it must be a whole number from 1 to 100/);
  assert.match(later.errors, /--concurrent-requests is "few"; it must be a whole number, or none/);
});
