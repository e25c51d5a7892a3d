// Tests which models `hone.model` finds, registers and refuses, against a fake server; every-operation.test.ts tests
// the same calls against real routes.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ModelCreate, ModelObject } from "./api.ts";
import { Hone } from "./hone.ts";
import { routedFetch } from "./testing/fake-fetch.ts";

/** Returns a client of a server with these models, and a list of the registrations that the server receives. */
function serverWith(...models: readonly Partial<ModelObject>[]) {
  const registered: ModelCreate[] = [];
  const fetch = routedFetch({
    "GET /v1/preview/models": () => ({ object: "list", data: models, last_id: "l", has_more: false }),
    "POST /v1/preview/models": (body: ModelCreate) => {
      registered.push(body);
      return models[0] ?? { id: "new", entity: "e", ...body };
    },
  });
  return { hone: new Hone({ baseUrl: "http://host", fetch }), registered };
}

const known = { id: "known", entity: "e", project: "p", name: "m", base_model: "tiny" };

test("registers a model on a base model, or returns the existing one", async () => {
  const { hone, registered } = serverWith();
  const model = await hone.model("p/m", { base: "tiny", lora_rank: 4 });
  assert.deepEqual([model.id, model.name, model.base], ["new", "e/p/m", "tiny"]);
  assert.deepEqual([model.at(), model.at(3)], ["e/p/m", "e/p/m:step3"]);
  await hone.model("acme/p/m", { base: "tiny" });
  const wish = { project: "p", name: "m", base_model: "tiny", return_existing: true };
  assert.deepEqual(registered, [
    { ...wish, lora_rank: 4 },
    { ...wish, entity: "acme" },
  ]);
  assert.equal((await serverWith(known).hone.model("p/m", { base: "tiny" })).id, "known");
});

test("throws not_found if the model does not exist and no base model is given", async () => {
  const { hone, registered } = serverWith(known);
  assert.equal((await hone.model("p/m")).id, "known");
  assert.deepEqual(registered, []);
  await assert.rejects(serverWith().hone.model("p/m"), {
    code: "not_found",
    message: /^There is no model p\/m/,
  });
});

test("refuses an ambiguous name, another base model, and an invalid name, with the remedy", async () => {
  const two = serverWith(known, { ...known, entity: "f" }).hone;
  await assert.rejects(two.model("p/m"), {
    code: "invalid",
    message: /matches 2 models; write entity\/project\/name/,
  });
  await assert.rejects(serverWith(known).hone.model("p/m", { base: "small" }), {
    code: "conflict",
    param: "base",
    message: /has the base model tiny, not small/,
  });
  for (const name of ["m", "", "/m", "p/", "a/b/c/d"])
    await assert.rejects(serverWith().hone.model(name, { base: "tiny" }), { code: "invalid", param: "name" });
});

test("throws an error with the reason if the job that it waits for fails", async () => {
  const fetch = routedFetch({
    "GET /v1/preview/training-jobs/*/events": () => [{ id: "e", type: "training_failed", data: {} }],
    "GET /v1/preview/training-jobs/*": (_, [id]) => ({ id, state: "failed", error_message: "no room" }),
  });
  const hone = new Hone({ baseUrl: "http://host", fetch });
  const seen: string[] = [];
  await assert.rejects(hone.jobs.wait("j", { onEvent: ({ type }) => void seen.push(type) }), {
    name: "HoneError",
    code: "job_failed",
    message: "Training job j failed: no room",
  });
  assert.deepEqual(seen, ["training_failed"]);
});
