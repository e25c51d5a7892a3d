import assert from "node:assert/strict";
import { test } from "node:test";
import type { InjectOptions } from "fastify";
import { ConfigReader } from "../../../inference/architectures/config/config-reader.ts";
import { samplePins } from "../../../store/database/contract/storage-under-test.ts";
import type { ErrorBody } from "../errors.ts";
import { bearer, fakeServer, keys, playJob, registeredModel } from "../testing/fake-server.ts";

type Server = Awaited<ReturnType<typeof fakeServer>>;
type Body = Record<string, unknown>;

const ask = (
  server: Server,
  method: "GET" | "POST" | "PUT" | "DELETE",
  url: string,
  payload?: object,
  key: string = keys.member,
) =>
  server.ask({
    method,
    url,
    headers: { authorization: bearer(key) },
    ...(payload === undefined ? {} : { payload }),
  } satisfies InjectOptions);

const create = (server: Server, body: object, key: string = keys.member) =>
  ask(server, "POST", "/v1/preview/models", { project: "p", name: "m", base_model: "tiny", ...body }, key);

/** Runs a training job that creates the model's version with this step. Returns the job's id. */
async function addVersion(server: Server, modelId: string, step: number): Promise<string> {
  const body = { model_id: modelId, trajectory_groups: [] };
  const { id } = (await ask(server, "POST", "/v1/preview/training-jobs", body)).json<{ id: string }>();
  await playJob(server, { step });
  return id;
}

test("registers a model in the key's own entity, and returns an existing model if requested", async () => {
  const server = await fakeServer();
  const first = await create(server, { entity: null });
  assert.equal(first.statusCode, 200);
  const { id, created_at: createdAt, ...rest } = first.json<Body>();
  assert.match(String(id), /^[0-9a-f-]{36}$/);
  assert.match(String(createdAt), /Z$/);
  const serverDecides = { lora_rank: null, lora_alpha: null, target_modules: null };
  const expected = { entity: "acme", project: "p", name: "m", base_model: "tiny", run_id: null };
  assert.deepEqual(rest, { ...expected, ...serverDecides });
  assert.equal((await create(server, { return_existing: true })).json<Body>()["id"], id);
  assert.equal((await create(server, {})).statusCode, 409);
  assert.equal((await create(server, { return_existing: true, base_model: "small" })).statusCode, 409);
  await server.close();
});

test("accepts rank and scale of a new model's adapters, and refuses different ones for an existing model", async () => {
  const server = await fakeServer();
  const made = await create(server, { lora_rank: 32, lora_alpha: 64 });
  const { lora_rank: rank, lora_alpha: alpha } = made.json<Body>();
  assert.deepEqual([made.statusCode, rank, alpha], [200, 32, 64]);
  assert.equal((await create(server, { return_existing: true })).statusCode, 200);
  const other = await create(server, { return_existing: true, lora_rank: 8 });
  assert.equal(other.statusCode, 409);
  assert.match(other.body, /"loc":\["body","lora_rank"\].*exists with rank 32, not 8/);
  for (const lora_rank of [0, 257, 1.5])
    assert.equal((await create(server, { name: "n", lora_rank })).statusCode, 422);
  await server.close();
});

test("accepts and shows the target modules of a new model, and refuses different ones for an existing model", async () => {
  const server = await fakeServer();
  const asked = { target_modules: ["v_proj", "q_proj", "v_proj"] };
  const made = (await create(server, asked)).json<Body>();
  assert.deepEqual(made["target_modules"], ["q_proj", "v_proj"]);
  const card = (await ask(server, "GET", "/v1/models/p/m")).json<Body>();
  assert.deepEqual([card["target_modules"], card["lora_rank"]], [["q_proj", "v_proj"], null]);
  const same = await create(server, { return_existing: true, target_modules: ["q_proj", "v_proj"] });
  assert.equal(same.json<Body>()["id"], made["id"]);
  const other = await create(server, { return_existing: true, target_modules: ["down_proj"] });
  assert.equal(other.statusCode, 409);
  assert.match(
    other.body,
    /"loc":\["body","target_modules"\].*exists with targets q_proj, v_proj, not down_proj/,
  );
  for (const target_modules of [[], ["lm_head"], "q_proj", ["q"]])
    assert.equal((await create(server, { name: "n", target_modules })).statusCode, 422);
  await server.close();
});

test("refuses unknown bases, other entities, and names that no chat request could contain", async () => {
  const server = await fakeServer();
  const unknown = await create(server, { base_model: "huge" });
  assert.equal(unknown.statusCode, 404);
  assert.match(unknown.body, /this server has tiny, small/);
  const long = await create(server, { base_model: "h".repeat(1000) });
  assert.ok(long.statusCode === 404 && !long.body.includes("h".repeat(201)), long.body);
  assert.equal((await create(server, { entity: "rival" })).statusCode, 403);
  assert.equal((await create(server, { entity: "rival" }, keys.admin)).statusCode, 200);
  const bad = await create(server, { project: "a/b", name: "c:d", entity: "" });
  assert.equal(bad.statusCode, 422);
  assert.deepEqual(
    bad.json<{ detail: { loc: string[] }[] }>().detail.map(({ loc }) => loc.join(".")),
    ["body.project", "body.name"],
  );
  assert.equal((await create(server, { project: undefined })).statusCode, 422);
  await server.close();
});

test("lists, reads and deletes models of the key's entity, but not those of others", async () => {
  const server = await fakeServer();
  const id = await registeredModel(server);
  await create(server, { name: "m2" });
  await create(server, { name: "x" }, keys.other);
  const names = async (query: string, key: string): Promise<unknown> => {
    const page = (await ask(server, "GET", `/v1/preview/models${query}`, undefined, key)).json<{
      data: Body[];
    }>();
    return page.data.map(({ name }) => name);
  };
  assert.deepEqual(await names("", keys.member), ["m2", "m"]);
  assert.deepEqual(await names("?order=asc", keys.member), ["m", "m2"]);
  assert.deepEqual(await names("?limit=1", keys.member), ["m2"]);
  assert.deepEqual(await names("?name=m", keys.member), ["m"]);
  assert.deepEqual(await names("", keys.admin), ["x", "m2", "m"]);
  assert.deepEqual(await names("?entity=rival", keys.member), []);
  assert.equal((await ask(server, "GET", "/v1/preview/models?after=nope")).statusCode, 422);
  assert.equal((await ask(server, "GET", `/v1/preview/models/${id.toUpperCase()}`)).json<Body>()["id"], id);
  assert.equal((await ask(server, "GET", `/v1/preview/models/${id}`, undefined, keys.other)).statusCode, 403);
  assert.equal(
    (await ask(server, "DELETE", `/v1/preview/models/${id}`, undefined, keys.other)).statusCode,
    403,
  );
  await server.close();
});

test("deletes a model with its jobs and versions, even if the request has a JSON content type and no body", async () => {
  const server = await fakeServer();
  const id = await registeredModel(server);
  await addVersion(server, id, 1);
  const headers = { authorization: bearer(keys.member), "content-type": "application/json" };
  const job = { model_id: id, trajectory_groups: [] };
  const url = "/v1/preview/training-jobs";
  const submitted = await server.ask({ method: "POST", url, headers, payload: job });
  const answer = await server.ask({ method: "DELETE", url: `/v1/preview/models/${id}`, headers });
  assert.equal(answer.statusCode, 200, answer.body);
  assert.deepEqual(answer.json(), { model_id: id, deleted_checkpoints: 2, deleted_run: false });
  assert.equal(await server.jobs.find(submitted.json<{ id: string }>().id), null);
  assert.deepEqual(server.droppedAdapters, [`${id}:1`]);
  assert.equal((await ask(server, "GET", `/v1/preview/models/${id}`)).statusCode, 404);
  await server.close();
});

test("pages through checkpoints", async () => {
  const server = await fakeServer();
  const id = await registeredModel(server);
  const jobIds: string[] = [];
  for (const step of [1, 2]) jobIds.push(await addVersion(server, id, step));
  const get = (query: string) => ask(server, "GET", `/v1/preview/models/${id}/checkpoints${query}`);
  const newest = (await get("?limit=1&order=desc")).json<Body>();
  assert.deepEqual(newest, {
    object: "list",
    data: [
      {
        id: "v2",
        step: 2,
        metrics: { reward: 2 },
        created_at: "1970-01-01T00:00:01.000Z",
        job_id: jobIds[1],
        has_optimizer_state: true,
        pinned: false,
        base_hash: null,
        adapter_hash: null,
        held: null,
      },
    ],
    first_id: "v2",
    last_id: "v2",
    has_more: true,
  });
  const rest = (await get("?after=v1")).json<{ data: Body[]; has_more: boolean }>();
  assert.deepEqual([rest.data.map(({ step }) => step), rest.has_more], [[2], false]);
  const all = (await get("")).json<{ data: Body[] }>();
  assert.deepEqual(
    all.data.map(({ step, has_optimizer_state: hasState }) => [step, hasState]),
    [
      [0, false],
      [1, true],
      [2, true],
    ],
  );
  for (const [query, place] of [
    ["?limit=0", "query,limit"],
    ["?limit=101", "query,limit"],
    ["?limit=x", "query,limit"],
    ["?order=up", "query,order"],
    ["?after=nope", "query,after"],
  ]) {
    const answer = await get(query ?? "");
    assert.equal(answer.statusCode, 422, query);
    assert.equal(answer.json<{ detail: { loc: string[] }[] }>().detail[0]?.loc.join(), place);
  }
  await server.close();
});

test("deletes checkpoints, and counts step 0 as deleted although it can still be served", async () => {
  const server = await fakeServer();
  const id = await registeredModel(server);
  await addVersion(server, id, 1);
  const remove = (payload: object) => ask(server, "DELETE", `/v1/preview/models/${id}/checkpoints`, payload);
  assert.deepEqual((await remove({ steps: [0, 1, 7] })).json(), {
    deleted_count: 2,
    not_found_steps: [7],
    pinned_steps: [],
    in_use_steps: [],
  });
  assert.deepEqual(server.droppedAdapters, [`${id}:1`]);
  assert.equal((await remove({ steps: ["1"] })).statusCode, 422);
  assert.equal((await ask(server, "DELETE", `/v1/preview/models/${id}/checkpoints`)).statusCode, 422);
  await server.close();
});

test("keeps a pinned checkpoint, and reports it as pinned, until it is unpinned", async () => {
  const server = await fakeServer();
  const id = await registeredModel(server);
  for (const step of [1, 2]) await addVersion(server, id, step);
  const url = `/v1/preview/models/${id}/checkpoints`;
  const read = async (step: number) => (await ask(server, "GET", `${url}/${step}`)).json<Body>();
  assert.deepEqual([(await read(2))["step"], (await read(2))["pinned"]], [2, false]);
  assert.equal((await ask(server, "PUT", `${url}/2/pin`)).json<Body>()["pinned"], true);
  assert.equal((await ask(server, "PUT", `${url}/2/pin`)).statusCode, 200);
  assert.equal((await read(2))["pinned"], true);
  const deletion = await ask(server, "DELETE", url, { steps: [1, 2] });
  const { deleted_count: deleted, pinned_steps: pinned } = deletion.json<Body>();
  assert.deepEqual([deleted, pinned], [1, [2]]);
  assert.equal((await ask(server, "DELETE", `${url}/2/pin`)).json<Body>()["pinned"], false);
  assert.equal((await ask(server, "DELETE", url, { steps: [2] })).json<Body>()["deleted_count"], 1);
  for (const [method, path] of [
    ["GET", "2"],
    ["GET", "x"],
    ["PUT", "2/pin"],
    ["DELETE", "-1/pin"],
  ] as const) {
    const answer = await ask(server, method, `${url}/${path}`);
    assert.equal(answer.statusCode, 404, answer.body);
    assert.equal(answer.json<{ detail: { loc: string[] }[] }>().detail[0]?.loc.join(), "path,step");
  }
  assert.equal((await ask(server, "PUT", `${url}/0/pin`, undefined, keys.other)).statusCode, 403);
  await server.close();
});

test("lets callers with access to a model accept other base weights for its versions", async () => {
  const server = await fakeServer();
  const id = await registeredModel(server);
  const draft = { modelId: id, metrics: {}, adapterHash: null, createdAt: new Date(0) };
  for (const base of ["earlier", "weights", "files:earlier"])
    await server.models.addVersion({ ...draft, id: base, base }, async (step) => `adapters/${step}`);
  const url = `/v1/preview/models/${id}/accept-base`;
  assert.equal((await ask(server, "POST", url, undefined, keys.other)).statusCode, 403);
  const answer = await ask(server, "POST", url);
  assert.equal(answer.statusCode, 200, answer.body);
  assert.deepEqual(answer.json(), {
    model_id: id,
    base_model: "tiny",
    base_hash: "weights",
    accepted_steps: [1, 3],
  });
  assert.equal((await server.models.findVersion(id, 3))?.base, "weights");
  await server.close();
});

test("exports a checkpoint's files as a tar archive, and sends the archive's length", async () => {
  const server = await fakeServer();
  const id = await registeredModel(server);
  await addVersion(server, id, 1);
  const url = `/v1/preview/models/${id}/checkpoints`;
  const answer = await ask(server, "GET", `${url}/1/export?format=peft`);
  assert.equal(answer.statusCode, 200, answer.body);
  assert.equal(answer.headers["content-type"], "application/x-tar");
  assert.equal(answer.headers["content-disposition"], 'attachment; filename="m-step1-peft.tar"');
  assert.equal(Number(answer.headers["content-length"]), answer.rawPayload.length);
  assert.match(answer.body, /^peft\.json\0/);
  for (const [path, status, place] of [
    ["1/export", 422, "query,format"],
    ["1/export?format=onnx", 422, "query,format"],
    ["9/export?format=peft", 404, "path,step"],
  ] as const) {
    const refused = await ask(server, "GET", `${url}/${path}`);
    assert.equal(refused.statusCode, status, refused.body);
    assert.equal(refused.json<{ detail: { loc: string[] }[] }>().detail[0]?.loc.join(), place);
  }
  await server.close();
});

test("imports a tar archive as the next checkpoint, and accepts no other body", async () => {
  const server = await fakeServer();
  const id = await registeredModel(server);
  const url = `/v1/preview/models/${id}/checkpoints`;
  const send = (contentType: string, payload: string | Buffer, key: string = keys.member) =>
    server.ask({
      method: "POST",
      url,
      headers: { authorization: bearer(key), "content-type": contentType },
      payload,
    });
  const answer = await send("application/x-tar", Buffer.alloc(100_000));
  assert.equal(answer.statusCode, 200, answer.body);
  assert.equal(answer.headers["x-hone-ignored"], "README.md");
  const { step, job_id: jobId } = answer.json<Body>();
  assert.deepEqual([step, jobId], [1, null]);
  assert.equal((await ask(server, "GET", `${url}/1`)).statusCode, 200);
  assert.equal((await send("application/json", "{}")).statusCode, 415);
  assert.equal((await send("application/x-tar", "x", keys.other)).statusCode, 403);
  const bare = await server.ask({ method: "POST", url, headers: { authorization: bearer(keys.member) } });
  assert.equal(bare.statusCode, 422);
  assert.deepEqual(bare.json<{ detail: { loc: string[] }[] }>().detail[0]?.loc, ["body"]);
  const other = { method: "POST", url: "/v1/preview/models", payload: "x" } as const;
  const headers = { authorization: bearer(keys.member), "content-type": "application/x-tar" };
  assert.equal((await server.ask({ ...other, headers })).statusCode, 415);
  await server.close();
});

test("locates faults of an adapter's configuration in the body, by file", async () => {
  const server = await fakeServer({
    wrap: (dependencies) => {
      const { checkpointFiles } = dependencies;
      const refuse = async (): Promise<never> => {
        const config = new ConfigReader({ use_dora: true }, "adapter_config.json");
        config.refuse("use_dora", "DoRA is not applied");
        throw config.error("The adapter cannot be served.");
      };
      return { ...dependencies, checkpointFiles: { ...checkpointFiles, import: refuse } };
    },
  });
  const id = await registeredModel(server);
  const answer = await server.ask({
    method: "POST",
    url: `/v1/preview/models/${id}/checkpoints`,
    headers: { authorization: bearer(keys.member), "content-type": "application/x-tar" },
    payload: Buffer.alloc(1024),
  });
  assert.equal(answer.statusCode, 400);
  const { detail, error } = answer.json<ErrorBody>();
  assert.deepEqual(detail, [
    {
      loc: ["body", "adapter_config.json"],
      msg: "use_dora is true: DoRA is not applied.",
      type: "unsupported",
    },
  ]);
  assert.equal(error.param, "adapter_config.json");
  await server.close();
});

test("keeps a checkpoint that a job starts from until the job has ended", async () => {
  const server = await fakeServer();
  const id = await registeredModel(server);
  await addVersion(server, id, 1);
  const body = { model_id: id, trajectory_groups: [] };
  const jobId = (await ask(server, "POST", "/v1/preview/training-jobs", body)).json<{ id: string }>().id;
  await server.jobs.claim("server", new Date(0));
  await server.jobs.pin(jobId, "server", { ...samplePins, startStep: 1, resultStep: 2 });
  const remove = async () =>
    (await ask(server, "DELETE", `/v1/preview/models/${id}/checkpoints`, { steps: [1] })).json<Body>();
  const { deleted_count: deleted, in_use_steps: inUse } = await remove();
  assert.deepEqual([deleted, inUse], [0, [1]]);
  await server.jobs.end(jobId, "cancelled", "cancelled", new Date(0));
  assert.equal((await remove())["deleted_count"], 1);
  await server.close();
});

test("lists the models that a key can chat with: the bases, and its entity's models with each version", async () => {
  const server = await fakeServer();
  const id = await registeredModel(server);
  await addVersion(server, id, 1);
  await create(server, { name: "theirs" }, keys.other);
  const list = (await ask(server, "GET", "/v1/models")).json<{ object: string; data: Body[] }>();
  assert.equal(list.object, "list");
  assert.deepEqual(
    list.data.map((card) => card["id"]),
    ["tiny", "small", "acme/p/m", "acme/p/m:step0", "acme/p/m:step1"],
  );
  assert.deepEqual(list.data[4], {
    id: "acme/p/m:step1",
    object: "model",
    created: 1,
    owned_by: "acme",
    root: "acme/p/m",
    parent: "tiny",
    max_model_len: 1024,
    lora_rank: null,
    lora_alpha: null,
    target_modules: null,
    exact: true,
    device: { value: "cpu", reason: "" },
    tool_calls: { format: "off", reason: "it is a fake" },
    thoughts: { read: false, reason: "it is a fake" },
    status: { value: "loaded", reason: "", memory_bytes: 2 ** 20, key_value_bytes: 2 ** 19 },
    prices: null,
    files: { weight_bytes: 1000, license: "mit" },
  });
  assert.deepEqual((await ask(server, "GET", "/v1/preview/base-models")).json(), ["tiny", "small"]);
  for (const [query, found] of [
    ["limit=3", ["tiny", "small", "acme/p/m"]],
    ["limit=1", ["tiny"]],
    ["search=", ["tiny", "small", "acme/p/m"]],
    ["search=M&limit=9", ["small", "acme/p/m"]],
    ["search=P/m:&limit=1", ["acme/p/m:step0"]],
    ["search=theirs", []],
  ] as const) {
    const { data } = (await ask(server, "GET", `/v1/models?${query}`)).json<{ data: Body[] }>();
    assert.deepEqual(
      data.map((card) => card["id"]),
      found,
      query,
    );
  }
  assert.equal((await ask(server, "GET", "/v1/models?limit=0")).statusCode, 422);
  for (const [search, ids] of [
    ["ACME/p", [id]],
    ["theirs", []],
  ] as const) {
    const { data } = (await ask(server, "GET", `/v1/preview/models?search=${search}`)).json<{
      data: Body[];
    }>();
    assert.deepEqual(
      data.map((model) => model["id"]),
      ids,
    );
  }
  await server.close();
});

test("describes any name that a chat request accepts, in any spelling, as the list does", async () => {
  const server = await fakeServer();
  const id = await registeredModel(server);
  await addVersion(server, id, 1);
  const list = (await ask(server, "GET", "/v1/models")).json<{ data: Body[] }>();
  const cards = new Map(list.data.map((card) => [card["id"], card]));
  for (const [name, listed = name] of [
    ["tiny"],
    ["acme/p/m"],
    ["acme/p/m:step1"],
    ["p/m", "acme/p/m"],
    ["m:step0", "acme/p/m:step0"],
    ["m:latest", "acme/p/m"],
    ["any-scheme:///acme/p/m:step1", "acme/p/m:step1"],
    [id, "acme/p/m"],
    ["tiny:step0", "tiny"],
  ]) {
    for (const spelled of [name, encodeURIComponent(name), name.replaceAll("/", "%2F")]) {
      const answer = await ask(server, "GET", `/v1/models/${spelled}`);
      assert.equal(answer.statusCode, 200, answer.body);
      assert.deepEqual(answer.json(), { ...cards.get(listed), id: name }, spelled);
    }
  }
  await server.close();
});

test("refuses an unknown name, or another entity's model, at the path", async () => {
  const server = await fakeServer();
  await registeredModel(server);
  for (const [name, status, key = keys.member] of [
    ["", 404],
    ["none", 404],
    ["a/b/c/d", 404],
    ["m:step7", 404],
    ["tiny:step1", 404],
    ["acme/p/m", 403, keys.other],
    ["m", 404, keys.other],
  ] as const) {
    const answer = await ask(server, "GET", `/v1/models/${name}`, undefined, key);
    assert.equal(answer.statusCode, status, `${name} ${answer.body}`);
    assert.deepEqual(answer.json<{ detail: { loc: string[] }[] }>().detail[0]?.loc, ["path", "model"], name);
  }
  const missing = await ask(server, "GET", "/v1/models/none");
  assert.match(missing.body, /The model \\"none\\" does not exist/);
  await server.close();
});
