// Tests registering, finding, listing and deleting models, with the SQLite store and folders for adapters.
import assert from "node:assert/strict";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test, type TestContext } from "node:test";
import { dataFolderAt } from "../../../store/artifacts/testing/data-folder.ts";
import { copyAdapter } from "../checkpoints/copy-adapter.ts";
import type { Caller } from "../../../base/domain/access.ts";
import { present } from "../../../base/domain/assert.ts";
import { FakeClock } from "../../../base/domain/testing/fake-clock.ts";
import type { JobStore } from "../../../base/domain/job.ts";
import {
  adapterFolderOf,
  adapterId,
  adapterOfServer,
  type ModelFilter,
  type ModelStore,
} from "../../../base/domain/model.ts";
import { allItems, type PageRequest } from "../../../base/domain/page.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import {
  moment,
  sampleCounts,
  sampleJob,
  samplePins,
  sampleVersion,
  storeServer,
} from "../../../store/database/contract/storage-under-test.ts";
import { storesInMemory } from "../../../store/database/testing/stores-in-memory.ts";
import { adapterFiles, adapterHash } from "../../architectures/hashes/adapter-hash.ts";
import { createModelDirectory } from "./model-directory.ts";
import {
  createOlderVersions,
  type OlderVersions,
  createModelService,
  type ModelService,
} from "./model-service.ts";
import type { Registration } from "./register-model.ts";

const member: Caller = {
  keyId: "k",
  entity: "acme",
  role: "member",
  owner: "o",
  scopes: null,
  project: null,
};
const other: Caller = { ...member, entity: "rival" };
const admin: Caller = { ...member, entity: "local", role: "admin" };
const agent: Registration = {
  entity: "acme",
  project: "games",
  name: "agent",
  baseModel: "tiny",
  adapter: adapterOfServer,
  from: null,
  returnExisting: false,
};

interface Bench {
  readonly dataFolder: string;
  readonly service: ModelService;
  readonly olderVersions: OlderVersions;
  readonly store: ModelStore;
  /** Adds a version whose adapter has a folder. */
  readonly addVersion: (modelId: string, step: number, trainerState?: string) => Promise<string>;
  /** Recorded calls to other parts of the server. */
  readonly log: string[];
  /** Ids of adapters that requests use. */
  readonly inUse: string[];
  readonly jobs: JobStore;
}

/**
 * Opens a service with its stores.
 *
 * @param onDrop called when an adapter is dropped
 */
async function open(
  t: TestContext,
  {
    onDrop = () => undefined,
    checkpointsKept = 0,
  }: { readonly onDrop?: (dataFolder: string) => void; readonly checkpointsKept?: number } = {},
): Promise<Bench> {
  const dataFolder = mkdtempSync(join(tmpdir(), "hone-models-"));
  const { artifacts } = dataFolderAt(dataFolder);
  const database = await storesInMemory();
  t.after(() => rmSync(dataFolder, { recursive: true }));
  const { models: store, jobs } = database;
  await storeServer(database.servers);
  const log: string[] = [];
  const inUse: string[] = [];
  const bases = ["tiny", "small"];
  const directory = createModelDirectory({
    store,
    bases,
    defaultBase: "tiny",
    weightsOf: () => null,
    artifacts,
    useVersion: async () => true,
    build: "test",
  });
  const hashOf = async (folder: string): Promise<string> => adapterHash(folder);
  const dropAdapter = (id: string): void => {
    log.push(`drop ${id}`);
    onDrop(dataFolder);
  };
  const service = createModelService({
    store,
    directory,
    copyAdapter: async (version, modelId) => {
      const source = { ...version, adapterHash: null, adapterFolder: version.adapterFolder ?? "" };
      return copyAdapter({ artifacts, hashOf }, source, modelId);
    },
    trainingKindOf: async () => "sft",
    bases,
    clock: new FakeClock(),
    deleteRecordings: async (modelId) => void log.push(`recordings of ${modelId}`),
    cancelJobs: async (modelId) => void log.push(`cancel ${modelId}`),
    dropAdapter,
    weightsOf: (base) => (base === "tiny" ? "newer weights" : null),
    discardState: async (state) => void log.push(`discard ${state}`),
    artifacts,
  });
  const olderVersions = createOlderVersions({
    store,
    dropAdapter,
    adaptersInUse: () => inUse,
    artifacts,
    server: () => "server",
    clock: new FakeClock(),
    settings: { checkpointsKept },
  });
  const addVersion = async (modelId: string, step: number, trainerState?: string): Promise<string> => {
    const folder = join(dataFolder, adapterFolderOf(modelId, step));
    mkdirSync(folder, { recursive: true });
    const jobId = `job ${step} of ${modelId}`;
    await jobs.create(sampleJob(jobId, modelId), [], null);
    await jobs.claim("server", moment(step));
    const version = sampleVersion(modelId, step, {
      jobId,
      ...(trainerState === undefined ? {} : { trainerState }),
    });
    const at = moment(step);
    await jobs.succeed(jobId, { owner: "server", version, counts: sampleCounts, at, data: {} });
    return folder;
  };
  return { service, olderVersions, store, addVersion, log, inUse, jobs, dataFolder };
}

/** Returns the code of the error with which a promise rejects, and the fields at fault. */
async function refusal(promise: Promise<unknown>): Promise<string> {
  const error: unknown = await promise.then(
    () => assert.fail("nothing was refused"),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof ServiceError, String(error));
  return [error.code, ...error.faults.map(({ location }) => location.join("."))].join(" ");
}

test("registers a model with its version 0, and refuses or returns an existing one", async (t) => {
  const { service, store } = await open(t);
  const model = await service.register(agent, member);
  assert.deepEqual(await store.find(model.id), model);
  assert.equal((await store.newestVersion(model.id))?.step, 0);
  assert.equal(await refusal(service.register(agent, member)), "conflict name");
  assert.deepEqual(await service.register({ ...agent, returnExisting: true }, member), model);
  const large = { rank: 64, alpha: null, targets: null };
  assert.equal(
    await refusal(service.register({ ...agent, adapter: large, returnExisting: true }, member)),
    "conflict adapter.rank",
  );
  const wide = await service.register({ ...agent, name: "wide", adapter: large }, member);
  assert.deepEqual((await store.find(wide.id))?.adapter, large);
  const again = { ...agent, name: "wide", returnExisting: true };
  assert.deepEqual(await service.register(again, member), wide);
  assert.deepEqual(await service.register({ ...again, adapter: large }, member), wide);
  const onTwo = { ...adapterOfServer, targets: ["q_proj", "v_proj"] as const };
  assert.equal(
    await refusal(service.register({ ...again, adapter: onTwo }, member)),
    "conflict adapter.targets",
  );
  const overSmall = { ...agent, baseModel: "small", returnExisting: true };
  assert.equal(await refusal(service.register(overSmall, member)), "conflict baseModel");
});

test("starts a model from any version of another, as an independent copy", async (t) => {
  const { service, store, addVersion, dataFolder } = await open(t);
  const source = await service.register(agent, member);
  const files = { "adapter_config.json": "{}", "adapter_model.safetensors": "1" };
  const folder = await addVersion(source.id, 1);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const from = (model: string, step: number | null = null) => ({
    ...agent,
    name: `from ${model} ${step}`.replaceAll(/[ /:]/g, "-"),
    from: { model, step },
  });
  for (const registration of [
    from("games/agent"),
    from(source.id, 1),
    from("agent:step1"),
    from("agent:step1", 1),
  ]) {
    const fork = await service.register(registration, member);
    const versions = (await service.listVersions(fork, { after: null, limit: 9, order: "asc" })).items;
    const [zero, first] = versions;
    assert.deepEqual([versions.length, zero?.step, zero?.adapterFolder], [2, 0, null]);
    const { step, base, copiedKind, jobId, adapterFolder } = present(first, "version 1");
    assert.deepEqual([step, base, copiedKind, jobId], [1, "weights", "sft", null]);
    const copy = join(dataFolder, adapterFolder ?? "");
    assert.deepEqual(readdirSync(dirname(copy)), ["1"]);
    for (const [name, text] of Object.entries(files))
      assert.equal(readFileSync(join(copy, name), "utf8"), text);
  }
  const bare = await service.register(from("agent", 0), member);
  assert.equal((await store.newestVersion(bare.id))?.step, 0);
  const left = readdirSync(join(dataFolder, "adapters")).length;
  const existing = { ...from("agent"), name: bare.name };
  assert.equal(await refusal(service.register(existing, member)), "conflict name");
  assert.deepEqual(await service.register({ ...existing, returnExisting: true }, member), bare);
  assert.equal(readdirSync(join(dataFolder, "adapters")).length, left);
});

test("copies state stored next to the adapter, and none kept elsewhere", async (t) => {
  const { service, store, addVersion } = await open(t);
  const source = await service.register(agent, member);
  const stateAt = async (step: number, state: string): Promise<string | null> => {
    const folder = await addVersion(source.id, step, state);
    for (const name of [...Object.values(adapterFiles), "state"]) writeFileSync(join(folder, name), "{}");
    const name = `copy-${step}`;
    const { id } = await service.register({ ...agent, name, from: { model: source.id, step } }, member);
    const { trainerState, adapterFolder } = present(await store.findVersion(id, 1), "version 1");
    return trainerState?.replace(adapterFolder ?? "", "…") ?? null;
  };
  const place = (step: number): string => adapterFolderOf(source.id, step);
  assert.equal(await stateAt(1, `${place(1)}/state`), "embedded:…/state");
  assert.equal(await stateAt(2, `naive:${place(2)}/state`), "naive:…/state");
  assert.equal(await stateAt(3, `naive:${place(3)}/another`), null, "of which there is no file");
  assert.equal(await stateAt(4, "remote:remote://model/4"), null);
});

test("refuses an invalid source at its field, and leaves nothing", async (t) => {
  const { service, addVersion, dataFolder } = await open(t);
  const source = await service.register(agent, member);
  await addVersion(source.id, 1);
  const refused = (model: string, step: number | null, changes: object = {}): Promise<string> =>
    refusal(service.register({ ...agent, name: "fork", from: { model, step }, ...changes }, member));
  assert.equal(await refused("tiny", null), "invalid from.model");
  assert.equal(await refused("nobody", null), "not_found from.model");
  assert.equal(await refused("agent:step7", null), "not_found from.model");
  assert.equal(await refused("agent", 7), "not_found from.step");
  assert.equal(await refused("agent:step1", 0), "invalid from.step");
  assert.equal(await refused("agent", null, { baseModel: "small" }), "conflict baseModel");
  const others = { ...member, entity: "others" };
  const foreign = { ...agent, entity: "others", name: "fork", from: { model: source.id, step: null } };
  assert.equal(await refusal(service.register(foreign, others)), "forbidden from.model");
  assert.deepEqual(readdirSync(join(dataFolder, "adapters")), [source.id]);
});

test("lets one of two concurrent forks register a name, and the other leaves no copy", async (t) => {
  const { service, addVersion, dataFolder } = await open(t);
  const source = await service.register(agent, member);
  const folder = await addVersion(source.id, 1);
  for (const name of ["adapter_config.json", "adapter_model.safetensors"])
    writeFileSync(join(folder, name), "{}");
  const fork = { ...agent, name: "fork", from: { model: "agent", step: 1 } };
  const both = await Promise.allSettled([service.register(fork, member), service.register(fork, member)]);
  assert.deepEqual(both.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
  assert.equal(readdirSync(join(dataFolder, "adapters")).length, 2);
});

test("keeps a copy if the database failed while its model was stored, and holds it while unknown", async (t) => {
  const lost = new ServiceError({ code: "unavailable", message: "lost", obstacle: "database-away" });
  let isCommitted = false;
  const { service, store, addVersion, dataFolder } = await open(t);
  const inner = { ...store };
  const create: ModelStore["create"] = async (...given) => {
    if (given.length === 2 || isCommitted) await inner.create(...given);
    if (given.length === 3) throw lost;
  };
  Object.assign(store, { create });
  const source = await service.register(agent, member);
  const folder = await addVersion(source.id, 1);
  for (const name of ["adapter_config.json", "adapter_model.safetensors"])
    writeFileSync(join(folder, name), "{}");
  const copies = () => readdirSync(join(dataFolder, "adapters")).filter((name) => name !== source.id);
  const holds = () => readdirSync(join(dataFolder, "work/server"));
  const fork = (name: string) =>
    service.register({ ...agent, name, from: { model: "agent", step: 1 } }, member);
  await assert.rejects(fork("one"), lost);
  assert.deepEqual([copies().length, holds().length], [1, 1]);
  isCommitted = true;
  const model = await fork("two");
  const version = present(await store.findVersion(model.id, 1), "the copied version");
  assert.ok(existsSync(join(dataFolder, version.adapterFolder ?? "")));
  assert.deepEqual([copies().length, holds().length], [2, 1]);
});

test("removes a deleted model's whole folder, including files of no version", async (t) => {
  const { service, addVersion } = await open(t);
  const model = await service.register(agent, member);
  const folder = dirname(await addVersion(model.id, 1));
  mkdirSync(join(folder, "2"));
  mkdirSync(join(folder, ".3.tmp-job-1"));
  await service.delete(model);
  assert.equal(existsSync(folder), false);
  const untrained = await service.register(agent, member);
  assert.equal(await service.delete(untrained), 1);
});

test("holds the adapters of a model being deleted until they are gone", async (t) => {
  const held: boolean[] = [];
  const holds = (dataFolder: string): readonly string[] => {
    const work = join(dataFolder, "work/server");
    return existsSync(work) ? readdirSync(work) : [];
  };
  const onDrop = (dataFolder: string): void => void held.push(holds(dataFolder).length > 0);
  const { service, addVersion, dataFolder } = await open(t, { onDrop });
  const model = await service.register(agent, member);
  await addVersion(model.id, 1);
  await addVersion(model.id, 2);
  await service.deleteVersions(model, [1]);
  await service.delete(model);
  assert.deepEqual(held, [false, true]);
  assert.deepEqual(holds(dataFolder), []);
});

test("keeps as many newest versions as the settings say, and pinned, used or forked ones", async (t) => {
  const { service, olderVersions, store, addVersion, inUse, jobs, log } = await open(t, {
    checkpointsKept: 2,
  });
  const model = await service.register(agent, member);
  const folders: string[] = [];
  for (let step = 1; step <= 6; step++) folders.push(await addVersion(model.id, step));
  await jobs.create(sampleJob("next", model.id), [], null);
  await jobs.claim("server", moment(9));
  await jobs.pin("next", "server", { ...samplePins, startStep: 1, resultStep: 7 });
  await service.pinVersion(model, 2, true);
  inUse.push(adapterId(model.id, 3), adapterId("another", 4));
  const steps = async () =>
    (await store.listVersions(model.id, { after: null, limit: 100, order: "asc" })).items.map(
      ({ step }) => step,
    );
  const there = () => folders.flatMap((folder, index) => (existsSync(folder) ? [index + 1] : []));
  await olderVersions.deleteOf(model.id);
  assert.deepEqual(
    [await steps(), there()],
    [
      [0, 1, 2, 3, 5, 6],
      [1, 2, 3, 5, 6],
    ],
  );
  assert.deepEqual(log, [`drop ${model.id}:4`]);
  inUse.length = 0;
  await jobs.end("next", "cancelled", "cancelled", moment(10));
  await service.pinVersion(model, 2, false);
  await olderVersions.deleteAll();
  assert.deepEqual(
    [await steps(), there()],
    [
      [0, 5, 6],
      [5, 6],
    ],
  );
});

test("keeps all versions by default", async (t) => {
  const { service, olderVersions, store, addVersion } = await open(t);
  const model = await service.register(agent, member);
  for (const step of [1, 2, 3]) await addVersion(model.id, step);
  await olderVersions.deleteOf(model.id);
  assert.equal((await store.listVersions(model.id, { after: null, limit: 9, order: "asc" })).items.length, 4);
});

test("makes one model of two concurrent registrations", async (t) => {
  const { service } = await open(t);
  const twice = { ...agent, returnExisting: true };
  const [one, another] = await Promise.all([
    service.register(twice, member),
    service.register(twice, member),
  ]);
  assert.deepEqual(one, another);
  const once = { ...agent, name: "once" };
  const settled = await Promise.allSettled([service.register(once, member), service.register(once, member)]);
  assert.deepEqual(settled.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
});

test("refuses unspellable names, other entities and unknown bases", async (t) => {
  const { service } = await open(t);
  const register = (changes: Partial<Registration>, caller = member): Promise<string> =>
    refusal(service.register({ ...agent, ...changes }, caller));
  assert.equal(await register({ project: "a/b", name: "c:d" }), "invalid project name");
  for (const name of ["a b", "a\n", "a\u0000", "a\u007f"])
    assert.equal(await register({ name }), "invalid name");
  assert.equal(await register({ entity: "rival" }), "forbidden entity");
  assert.equal((await service.register({ ...agent, entity: "rival" }, admin)).entity, "rival");
  for (const entity of ["..", "x%2f"])
    assert.equal(await refusal(service.register({ ...agent, entity }, admin)), "invalid entity");
  assert.equal(await register({ baseModel: "huge" }), "not_found baseModel");
});

test("finds and lists only models that the caller may reach", async (t) => {
  const { service } = await open(t);
  const mine = await service.register(agent, member);
  const second = await service.register({ ...agent, project: "chess", name: "second" }, member);
  const theirs = await service.register({ ...agent, entity: "rival" }, other);
  assert.deepEqual(await service.find(mine.id.toUpperCase(), member), mine);
  assert.equal(await refusal(service.find(theirs.id, member)), "forbidden");
  assert.deepEqual(await service.find(theirs.id, admin), theirs);
  assert.equal(await refusal(service.find("none", admin)), "not_found");
  const list = async (caller: Caller, changes: Partial<ModelFilter & PageRequest> = {}) => {
    const { entity = null, project = null, name = null, ...page } = changes;
    const request = { after: null, limit: 10, order: "desc" as const, ...page };
    return (await service.list({ entity, project, name }, request, caller)).items;
  };
  assert.deepEqual(await list(member), [second, mine]);
  assert.deepEqual(await list(admin), [theirs, second, mine]);
  assert.deepEqual(await list(admin, { entity: "rival" }), [theirs]);
  assert.deepEqual(await list(member, { entity: "rival" }), []);
  assert.deepEqual(await list(member, { project: "chess" }), [second]);
  assert.deepEqual(await list(member, { name: "agent" }), [mine]);
  assert.deepEqual(await list(member, { order: "asc", limit: 1 }), [mine]);
  assert.deepEqual(await list(member, { after: second.id }), [mine]);
  assert.equal(await refusal(list(member, { after: theirs.id })), "invalid after");
});

test("lists the names available for chats", async (t) => {
  const { service, addVersion } = await open(t);
  const model = await service.register(agent, member);
  await addVersion(model.id, 1);
  await service.register({ ...agent, entity: "rival" }, other);
  const names = (await service.listServedNames(member)).map(({ name }) => name);
  assert.deepEqual(names, ["acme/games/agent", "acme/games/agent:step0", "acme/games/agent:step1"]);
  const found = async (text: string, limit?: number) =>
    (await service.listServedNames(member, { text, ...(limit !== undefined && { limit }) })).map(
      ({ name }) => name,
    );
  assert.deepEqual(await found(""), ["acme/games/agent"]);
  assert.deepEqual(await found("AMES/ag"), ["acme/games/agent"]);
  assert.deepEqual(await found("rival"), [], "of another entity");
  assert.deepEqual(await found("Agent:"), ["acme/games/agent:step0", "acme/games/agent:step1"]);
  assert.deepEqual(await found("agent:", 1), ["acme/games/agent:step0"]);
  assert.deepEqual(await found("agent:step1"), ["acme/games/agent:step1"]);
  assert.deepEqual(await found("gent:tep"), []);
});

test("lists the names of many models with few statements, in the same order as singly", async (t) => {
  const { service, store, addVersion } = await open(t);
  for (let index = 0; index < 120; index++) {
    const { id } = await service.register({ ...agent, name: `agent-${index}` }, member);
    if (index % 40 === 0) await addVersion(id, 1);
  }
  const expected: string[] = [];
  for await (const { id, name } of allItems(
    (page) => service.list({ entity: null, project: null, name: null }, page, member),
    "desc",
  )) {
    const { items } = await store.listVersions(id, { after: null, limit: 9, order: "asc" });
    expected.push(`acme/games/${name}`, ...items.map(({ step }) => `acme/games/${name}:step${step}`));
  }
  const spies = [t.mock.method(store, "list"), t.mock.method(store, "listVersionTimes")];
  const each = t.mock.method(store, "listVersions");
  const names = (await service.listServedNames(member)).map(({ name }) => name);
  assert.deepEqual(names, expected);
  assert.equal(names.length, 120 * 2 + 3);
  assert.deepEqual(
    [...spies, each].map(({ mock }) => mock.callCount()),
    [2, 2, 0],
  );
});

test("deletes versions with their adapters, but never step 0", async (t) => {
  const { service, store, addVersion, log } = await open(t);
  const model = await service.register(agent, member);
  const folders = [await addVersion(model.id, 1), await addVersion(model.id, 2)];
  const deleted = await service.deleteVersions(model, [0, 1, 1, 7]);
  assert.deepEqual(deleted, { deleted: [0, 1], notFound: [7], pinned: [], inUse: [] });
  assert.deepEqual(folders.map(existsSync), [false, true]);
  assert.deepEqual(log, [`drop ${model.id}:1`]);
  const { items } = await service.listVersions(model, { after: null, limit: 10, order: "asc" });
  assert.deepEqual(
    items.map(({ step }) => step),
    [0, 2],
  );
  assert.equal(await store.greatestStep(model.id), 2);
});

test("deletes a model with its jobs, its versions and their adapters", async (t) => {
  const { service, store, addVersion, log } = await open(t);
  const model = await service.register(agent, member);
  const folders = [await addVersion(model.id, 1), await addVersion(model.id, 2)];
  assert.equal(await service.delete(model), 3);
  assert.equal(await store.find(model.id), null);
  assert.deepEqual(folders.map(existsSync), [false, false]);
  const states = [2, 1].map((step) => `discard state of ${model.id}:${step}`);
  const recordings = `recordings of ${model.id}`;
  assert.deepEqual(log, [
    `cancel ${model.id}`,
    recordings,
    ...states,
    `drop ${model.id}:1`,
    `drop ${model.id}:2`,
  ]);
});
