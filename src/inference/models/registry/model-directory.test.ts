// Tests all ways to name a model, and all reasons why a name is refused.
import assert from "node:assert/strict";
import { test } from "node:test";
import { dataFolderAt } from "../../../store/artifacts/testing/data-folder.ts";
import type { Caller } from "../../../base/domain/access.ts";
import { adapterOfServer, type ModelVersion, type TrainedModel } from "../../../base/domain/model.ts";
import { ServiceError, type ErrorCode } from "../../../base/domain/service-error.ts";
import { readAliases } from "./model-aliases.ts";
import { createModelDirectory } from "./model-directory.ts";
import type { ModelDirectoryDependencies } from "./model-directory.ts";

const createdAt = new Date(0);
const uuid = (last: number): string => `00000000-0000-4000-8000-00000000000${last}`;

const model = (number: number, path: string, baseModel = "tiny"): TrainedModel => {
  const [entity, project, name] = path.split("/");
  return { id: uuid(number), entity, project, name, baseModel, adapter: adapterOfServer, createdAt };
};
const models = [
  model(1, "acme/games/agent"),
  model(2, "acme/games/twin"),
  model(3, "acme/tools/twin"),
  model(4, "other/games/agent"),
  model(5, "other/games/theirs"),
  model(6, "third/games/theirs"),
  model(7, "acme/games/orphan", "gone"),
  ...["a", "b", "c", "d", "e", "f", "g"].map((project) => model(8, `acme/${project}/common`)),
];
/** Steps of each model's versions; step 1 was deleted. */
const steps = [0, 2, 10];

const version = (modelId: string, step: number): ModelVersion => ({
  id: `${modelId}-${step}`,
  modelId,
  step,
  adapterFolder: step === 0 ? null : `adapters/${modelId}/${step}`,
  trainerState: null,
  jobId: null,
  metrics: {},
  isPinned: false,
  base: step === 0 ? null : "weights",
  adapterHash: step === 0 ? null : "hash",
  copiedKind: null,
  createdAt,
});
const store: ModelDirectoryDependencies["store"] = {
  find: (id) => Promise.resolve(models.find((each) => each.id === id) ?? null),
  findByName: (entity, project, name) =>
    Promise.resolve(
      models.find((each) => each.entity === entity && each.project === project && each.name === name) ?? null,
    ),
  findByShortName: (entity, project, name, limit) =>
    Promise.resolve(
      models
        .filter(
          (each) =>
            each.name === name &&
            each.entity === (entity ?? each.entity) &&
            each.project === (project ?? each.project),
        )
        .slice(0, limit),
    ),
  newestVersion: (id) => Promise.resolve(version(id, 10)),
  findVersion: (id, step) => Promise.resolve(steps.includes(step) ? version(id, step) : null),
};
/** Hash of the weights with which each base is served; null if no engine is running. */
let weights: string | null = "weights";
let precision: string | null = null;
const directory = createModelDirectory({
  store,
  bases: ["tiny", "org/big"],
  defaultBase: "tiny",
  weightsOf: () => weights,
  artifacts: dataFolderAt("/data").artifacts,
  useVersion: async () => true,
  precisionOf: () => precision,
  aliases: readAliases(["gpt-*=tiny", "agen*=twin", "tester=agent:step2", "theirs=other/games/agent"]),
  build: "b1",
});

const member: Caller = {
  keyId: "k",
  entity: "acme",
  role: "member",
  owner: "o",
  scopes: null,
  project: null,
};
const admin: Caller = { ...member, role: "admin" };

/** Returns the name of the base, or `<number of the model>:<step>` for a trained model, or the code of the error. */
async function outcome(name: string | null, caller: Caller): Promise<string> {
  try {
    const found = await directory.resolve(name, caller);
    return found.modelId === null ? found.base : `${found.modelId.slice(-1)}:${found.step}`;
  } catch (error) {
    return (error as ServiceError).code;
  }
}

const table: readonly (readonly [name: string | null, member: string, admin?: string])[] = [
  [null, "tiny"],
  ["", "tiny"],
  ["tiny", "tiny"],
  ["tiny:latest", "tiny"],
  ["tiny:step0", "tiny"],
  ["tiny:step1", "not_found"],
  ["org/big", "org/big"],
  ["org/big:latest", "org/big"],
  [uuid(1), "1:10"],
  [`${uuid(1)}:step2`, "1:2"],
  [uuid(1).toUpperCase(), "1:10"],
  [uuid(4), "forbidden", "4:10"],
  [uuid(9), "not_found"],
  ["agent", "1:10"],
  ["agent:latest", "1:10"],
  ["agent:step0", "1:0"],
  ["agent:step2", "1:2"],
  ["agent:step1", "not_found"],
  ["agent:step99", "not_found"],
  ["agent:best", "not_found"],
  ["agent:", "not_found"],
  ["games/agent", "1:10"],
  ["games/agent:step2", "1:2"],
  ["acme/games/agent", "1:10"],
  ["acme/games/agent:step10", "1:10"],
  ["wandb-artifact:///acme/games/agent:step2", "1:2"],
  ["art:///acme/games/agent", "1:10"],
  ["<scheme>:///acme/games/agent", "1:10"],
  ["art://acme/games/agent", "1:10"],
  ["art:///games/agent", "not_found"],
  ["other/games/agent", "forbidden", "4:10"],
  ["art:///other/games/agent:step2", "forbidden", "4:2"],
  ["other/games/nothing", "forbidden", "not_found"],
  ["twin", "invalid"],
  ["tools/twin", "3:10"],
  ["theirs", "forbidden", "invalid"],
  ["common", "invalid"],
  ["nothing", "not_found"],
  ["acme/games/nothing", "not_found"],
  ["a/b/c/d", "not_found"],
  ["/agent", "not_found"],
  ["orphan", "unsupported"],
  ["gpt-4.1-nano-2025-04-14", "tiny"],
  ["tester", "1:2"],
  ["agents", "invalid"],
];
for (const [name, expected, expectedForAdmin = expected] of table) {
  test(`resolves ${JSON.stringify(name)} to ${expected} for a member, ${expectedForAdmin} for an administrator`, async () => {
    assert.equal(await outcome(name, member), expected);
    assert.equal(await outcome(name, admin), expectedForAdmin);
  });
}

test("keeps the name of the request if it is an alias", async () => {
  const { name, fullName } = await directory.resolve("tester", member);
  assert.deepEqual([name, fullName], ["tester", "acme/games/agent"]);
});

test("names base, version, engine build and the adapter's folder", async () => {
  assert.deepEqual(await directory.resolve("agent:step2", member), {
    base: "tiny",
    name: "agent:step2",
    fullName: "acme/games/agent",
    fingerprint: `tiny#weights@${uuid(1)}:step2+b1`,
    adapter: {
      id: `${uuid(1)}:2`,
      folder: `/data/adapters/${uuid(1)}/2`,
      base: "weights",
      hash: "hash",
    },
    isTrained: true,
    modelId: uuid(1),
    step: 2,
    projectId: "acme/games",
  });
  assert.deepEqual(await directory.resolve(null, member), {
    base: "tiny",
    name: "tiny",
    fullName: "tiny",
    fingerprint: "tiny#weights@base+b1",
    adapter: null,
    isTrained: false,
    modelId: null,
    step: null,
    projectId: null,
  });
  assert.equal((await directory.resolve("agent:step0", member)).adapter, null);
});

test("makes a separate build of a precision other than float32", async () => {
  precision = "int8";
  try {
    assert.equal((await directory.resolve(null, member)).fingerprint, "tiny#weights@base+b1-int8");
    const trained = await directory.resolve("agent:step2", member);
    assert.equal(trained.fingerprint, `tiny#weights@${uuid(1)}:step2+b1-int8`);
  } finally {
    precision = null;
  }
});

test("refuses a version trained over other weights by name", async (t) => {
  t.after(() => (weights = "weights"));
  weights = "7257dac0f8b2c2d049e7";
  await assert.rejects(directory.resolve("games/agent:step2", member), (error: ServiceError) => {
    assert.equal(error.code, "conflict");
    assert.match(
      error.message,
      /^Version 2 of the model "games\/agent:step2" was trained over other weights .*\(weights weights\).*\(weights 7257dac0f8b2\).*hone models accept-base/,
    );
    assert.deepEqual(error.faults[0].location, ["model"]);
    return true;
  });
  assert.equal((await directory.find("games/agent:step2", member)).step, 2, "it can be described");
  const zero = await directory.resolve("agent:step0", member);
  assert.equal(zero.fingerprint, `tiny#7257dac0f8b2@${uuid(1)}:step0+b1`);
  weights = null;
  const starting = await directory.resolve("agent:step2", member);
  assert.equal(starting.fingerprint, `tiny@${uuid(1)}:step2+b1`);
  assert.equal(starting.adapter?.base, "weights", "the engine compares once it is up");
});

test("names the version in an engine's refusal of an adapter, and says if it was deleted meanwhile", async () => {
  const found = await directory.resolve("agent:step2", member);
  const refusal = new ServiceError({ code: "conflict", message: "It is damaged.", cause: "why" });
  const deleted = await directory.adapterFault({ ...found, name: "agent", step: 1 }, refusal);
  assert.equal(deleted.code, "not_found");
  assert.match(deleted.message, /^Version 1 of the model "agent" was deleted/);
  assert.deepEqual(deleted.faults[0].location, ["model"]);
  const damaged = await directory.adapterFault(found, refusal);
  assert.deepEqual([damaged.code, damaged.cause], ["conflict", "why"]);
  assert.equal(damaged.message, 'Version 2 of the model "agent:step2" cannot be used. It is damaged.');
  assert.deepEqual(damaged.faults[0].location, ["model"]);
  assert.equal(await directory.adapterFault(await directory.resolve(null, member), refusal), refusal);
});

test("names the model, the cure and the field in a refusal", async () => {
  const check = (name: string, code: ErrorCode, message: RegExp): Promise<void> =>
    assert.rejects(directory.resolve(name, member), (error: ServiceError) => {
      assert.equal(error.code, code);
      assert.match(error.message, message);
      assert.deepEqual(error.faults[0].location, ["model"]);
      return true;
    });
  await check(
    "nothing",
    "not_found",
    /"nothing" does not exist. The base models are tiny, org\/big. GET \/v1\/models/,
  );
  await check("agent:step1", "not_found", /"agent:step1" has no such version; its newest is :step10/);
  await check("twin", "invalid", /matches 2 models \(acme\/games\/twin, acme\/tools\/twin\)/);
  await check(
    "common",
    "invalid",
    /matches more than 5 models \(acme\/a\/common, .*, acme\/e\/common, \.\.\.\)/,
  );
  await check("other/games/agent", "forbidden", /belongs to another entity/);
  await check("x".repeat(5000), "not_found", /^.{0,400}$/);
});
