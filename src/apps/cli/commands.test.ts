// Tests of the commands for models, keys and the server, against a server with in-memory stores and a fake chat
// service.
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { bearer, keys, playJob } from "../../api/http/testing/fake-server.ts";
import { openSqlite } from "../../store/database/sqlite/sqlite-dialect.ts";
import { openStores } from "../../store/database/stores.ts";
import type { snapshotFields } from "./top/snapshot-fields.ts";
import { run, listening, submit } from "./testing/commands-under-test.ts";

test("hone models lists base models and trained models, creates a model and deletes it", async (t) => {
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
      ["tiny", "base", "tiny", "-", "-", "-", "loaded, 524 kB + KV cache up to 524 kB", "1 kB", "mit"],
      ["small", "base", "small", "-", "-", "-", "loaded, 524 kB + KV cache up to 524 kB", "1 kB", "mit"],
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

test("hone models lists versions, pins a version, and deletes only versions that are not pinned", async (t) => {
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
  assert.match(errors, /p\/m:step1 is pinned; `hone models unpin p\/m:step1` unpins it/);
  assert.match(errors, /Say which version of m you mean/);
  assert.match(errors, /tiny:step0 is a base model/);
  assert.match(errors, /no such version/);
});

test("hone models writes stored trajectories to a file, and exports a version", async (t) => {
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
    /A Parquet file needs --out/,
    /out exists/,
    /There is no model p\/other; to create it, name its base model/,
    /p\/new has the base model tiny, not small/,
    /adapter_config.json does not exist/,
  ])
    assert.match(errors, message);
});

test("commands that change something print the result as JSON with --json", async (t) => {
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

test("hone top shows the server's load, and shows jobs only to a key that can access them", async (t) => {
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
  const look = JSON.parse(outputs[0].replace("status 0", "")) as ReturnType<typeof snapshotFields>;
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

test("hone serve --print-config prints the effective configuration without keys", async () => {
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

test("hone --version prints the version", async () => {
  const { outputs } = await run([["--version"]], {});
  const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { readonly version: string };
  assert.deepEqual(outputs, [`${version}\nstatus 0`]);
});

test("hone keys creates, lists and revokes keys in the data folder", async (t) => {
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

test("hone keys limits a key, changes its limits and rotates its secret", async (t) => {
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
  assert.match(later.errors, /No key has this name, or an id that begins with "nobody"/);
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
