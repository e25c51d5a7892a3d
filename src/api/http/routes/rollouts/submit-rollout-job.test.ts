// Tests that a training job selects only complete groups of rollouts, and selects them by the age of their versions.
import assert from "node:assert/strict";
import { test } from "node:test";
import { playJob } from "../../testing/fake-server.ts";
import { rolloutServer } from "../../testing/rollout-server.ts";

async function selectingServer() {
  const { server, base, ask, create, record, modelId } = await rolloutServer();
  const make = async (group: string, isFinished = true): Promise<string> => {
    const { rollout_id: id } = await create({ group });
    await record(`call-${id}`, id);
    if (isFinished) assert.equal((await ask(`${base}/${id}/finish`, { reward: 1 })).status, 200);
    return id;
  };
  const train = (rollouts: object) => ask("/v1/preview/training-jobs", { model_id: modelId, rollouts });
  /** Submits a job that trains on the selected rollouts. Returns the ids of all rollouts that belong to this job. */
  const trainedBy = async (selection: object): Promise<readonly string[]> => {
    const { status, body } = await train(selection);
    assert.equal(status, 200, JSON.stringify(body));
    const { body: listed } = await ask(`${base}?order=asc`, undefined, { method: "GET" });
    const all = listed.data as readonly { readonly rollout_id: string; readonly job_id: string | null }[];
    return all.flatMap(({ rollout_id: id, job_id: jobId }) => (jobId === body.id ? [id] : []));
  };
  return { server, make, train, trainedBy };
}

test("with whole_groups, a job takes only groups of at least two rollouts, none of which is open", async () => {
  const { server, make, train, trainedBy } = await selectingServer();
  const single = await make("single");
  const unended = [await make("unended"), await make("unended")];
  await make("unended", false);
  const whole = [await make("whole"), await make("whole")];
  assert.deepEqual(await trainedBy({ whole_groups: true }), whole);
  const { status, body } = await train({ whole_groups: true });
  assert.deepEqual([status, body.error.param], [409, "rollouts"]);
  assert.deepEqual(await trainedBy({ whole_groups: false }), [single, ...unended]);
  await server.close();
});

test("with version_age_max, a job leaves out rollouts of versions that are too old", async () => {
  const { server, make, train, trainedBy } = await selectingServer();
  const first = await make("a");
  assert.deepEqual(await trainedBy({ version_age_max: 0 }), [first]);
  const old = await make("b");
  await playJob(server, { step: 1 });
  assert.equal((await train({ version_age_max: 0 })).status, 409);
  const current = await make("c");
  assert.deepEqual(await trainedBy({ version_age_max: 0 }), [current]);
  assert.deepEqual(await trainedBy({ version_age_max: 1 }), [old]);
  await server.close();
});

test("refuses faulty selections by field", async () => {
  const { server, train } = await selectingServer();
  for (const [field, value] of [
    ["version_age_max", -1],
    ["version_age_max", 1.5],
    ["version_age_max", 1_000_001],
    ["whole_groups", "yes"],
  ] as const) {
    const { status, body } = await train({ [field]: value });
    assert.deepEqual([status, String(body.error.param).split(".").slice(0, 2)], [422, ["rollouts", field]]);
  }
  await server.close();
});
