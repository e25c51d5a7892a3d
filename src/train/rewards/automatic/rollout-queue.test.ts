// Tests rules that train a model on its rollouts: when they create a job, why they wait, and that no rollout is
// lost or trained on twice if servers die.
import assert from "node:assert/strict";
import { test } from "node:test";
import { always } from "../../../base/domain/feedback-query/condition.ts";
import { seededRandom } from "../../../base/domain/random.ts";
import type { AutomaticOrder } from "../../../base/domain/rewards/stored-rule.ts";
import { FakeClock } from "../../../base/domain/testing/fake-clock.ts";
import { searchSeeds } from "../../../base/domain/testing/search.ts";
import { silentLogger } from "../../../base/telemetry/testing/silent-logger.ts";
import { sampleCompletion, sampleContent } from "../../../store/database/contract/completion-store.ts";
import { sampleRollout } from "../../../store/database/contract/rollout-store.ts";
import { sampleOrder, sampleRule } from "../../../store/database/contract/rule-store.ts";
import {
  firstPage,
  sampleModel,
  sampleVersion,
} from "../../../store/database/contract/storage-under-test.ts";
import { storesInMemory } from "../../../store/database/testing/stores-in-memory.ts";
import { rolloutSettings } from "../../rollouts/settings.ts";
import { RewardService } from "../reward-service.ts";
import { rewardSettings } from "../settings.ts";
import { AutomaticRules } from "./automatic-rules.ts";

const page = { ...firstPage, limit: 1000 };
const forever = new Date(8.64e15);
const outcome = { reward: 1, metrics: {}, callRewards: {} };

/** A model with a rule on its rollouts. */
async function queueWorld(changes: Partial<AutomaticOrder> = {}) {
  const stores = await storesInMemory();
  const clock = new FakeClock();
  const rollouts = { split: "train", groupSizeMin: 2 };
  const limits = { filter: null, since: null, secondsBetween: 0, groupsMin: 2, groupsMax: 2 };
  const standing = { ...sampleOrder, ...limits, jobsPerDay: 1000, versionAgeMax: null, rollouts, ...changes };
  await stores.models.create(sampleModel("m"), sampleVersion("m", 0));
  await stores.rules.create(sampleRule("r", { rule: { terms: [] }, standing }), { countMax: 9 });
  const dependencies = { ...stores, clock, sequenceLengthMax: 100, settings: rewardSettings.with() };
  const service = new RewardService(dependencies);
  let serverCount = 0;
  let rolloutCount = 0;

  /** Starts a server in place of the last one, and runs one round of its rules. */
  const look = async (dies: () => void = () => undefined) => {
    await stores.servers.delete(`s${serverCount}`);
    const id = `s${++serverCount}`;
    await stores.servers.create(id, { until: forever, baseModels: ["tiny"], artifacts: "shared" });
    const rules = new AutomaticRules({
      ...dependencies,
      queue: { ...stores, clock, settings: rolloutSettings.with() },
      submit: async (job, lines, more) => {
        dies();
        const created = await stores.jobs.create(job, lines, null, more);
        dies();
        return created;
      },
      conditionOf: () => always,
      owner: () => id,
      logger: silentLogger,
    });
    clock.step(1);
    await rules.look(new AbortController().signal);
  };
  const create = async (group: string, split = "train") => {
    const id = `rollout-${++rolloutCount}`;
    const step = (await stores.models.newestVersion("m"))?.step ?? 0;
    const fresh = { group, split, step, createdAt: clock.now(), expiresAt: forever };
    await stores.rollouts.create(sampleRollout(id, fresh), { openMax: 1e6 });
    const content = sampleContent({ choices: sampleContent().choices.slice(0, 1) });
    const projectId = "team/games";
    await stores.completions.add([sampleCompletion(id, { projectId, rolloutId: id, step, content })]);
    return id;
  };
  const finish = (id: string) => stores.rollouts.end(id, { at: clock.now(), outcome });
  const whole = async (group: string, split = "train") => {
    const ids = [await create(group, split), await create(group, split)];
    for (const id of ids) await finish(id);
    return ids;
  };
  const jobs = async () =>
    (await stores.jobs.list({ entity: null, modelId: null, kind: null, state: null }, page)).items;
  /** Ends the queued jobs; those that succeed each make a version. */
  const endJobs = async (state: "succeeded" | "failed") => {
    for (const { id } of (await jobs()).filter((job) => job.state === "queued")) {
      await stores.servers.create("t", { until: forever, baseModels: ["tiny"], artifacts: "shared" });
      assert.equal((await stores.jobs.claim("t", clock.now()))?.id, id);
      if (state === "failed") await stores.jobs.end(id, "failed", "for the test", clock.now());
      else {
        const step = (await stores.models.greatestStep("m")) + 1;
        const count = { groupsSubmitted: 2, groupsTrainable: 2, trajectories: 4, sequences: 4 };
        const counts = { ...count, trainableTokens: 9, skipped: {}, skippedGroups: {} };
        const version = sampleVersion("m", step, { id, jobId: id });
        await stores.jobs.succeed(id, { owner: "t", version, counts, at: clock.now(), data: {} });
      }
      await stores.servers.delete("t");
    }
  };
  const jobOf = async (id: string) => (await stores.rollouts.find(id, clock.now()))?.jobId ?? null;
  const reason = async () => {
    const rule = await stores.rules.find("r");
    return rule && (await service.stateOf(rule))?.reason;
  };
  return { stores, look, create, finish, whole, jobs, endJobs, jobOf, reason };
}

test("creates a job once enough groups are whole, one at a time, while rollouts continue", async () => {
  const { look, create, finish, whole, jobs, endJobs, jobOf, reason } = await queueWorld();
  const first = await whole("a");
  await whole("elsewhere", "val");
  const late = [await create("b"), await create("b")];
  await finish(late[0] ?? "");
  await look();
  assert.match(String(await reason()), /^1 of 2 groups are whole; 1 more have open rollouts/);
  assert.equal((await jobs()).length, 0);
  await finish(late[1] ?? "");
  await look();
  const [job] = await jobs();
  for (const id of [...first, ...late]) assert.equal(await jobOf(id), job?.id);
  await whole("c");
  await whole("d");
  await look();
  assert.match(String(await reason()), /last job has not ended/);
  assert.equal((await jobs()).length, 1);
  await endJobs("succeeded");
  await look();
  assert.equal((await jobs()).length, 2);
});

test("leaves out rollouts of versions that are too old", async () => {
  const { look, whole, jobs, endJobs, jobOf, reason } = await queueWorld({ groupsMin: 1, versionAgeMax: 0 });
  const [used, old] = [await whole("a"), await whole("b"), await whole("c")];
  await look();
  await endJobs("succeeded");
  await look();
  assert.match(String(await reason()), /^0 of 1 groups are whole\.$/);
  assert.deepEqual([(await jobs()).length, await jobOf(used[0] ?? "")], [1, await jobOf(old[0] ?? "")]);
  await whole("d");
  await look();
  assert.equal((await jobs()).length, 2);
});

test("frees the rollouts of a failed job, and pauses after three failures", async () => {
  const { stores, look, whole, jobs, endJobs, jobOf, reason } = await queueWorld({ groupsMin: 1 });
  const [id = ""] = await whole("a");
  for (let attempt = 1; attempt <= 3; attempt++) {
    await look();
    assert.notEqual(await jobOf(id), null);
    await endJobs("failed");
    assert.equal(await jobOf(id), null);
  }
  await look();
  assert.equal((await jobs()).length, 3);
  assert.match(String(await reason()), /paused.*Its last 3 jobs failed/);
  assert.equal((await stores.rules.find("r"))?.isPaused, true);
});

test("refuses a second rule on the rollouts of a model", async () => {
  const { stores } = await queueWorld();
  const standing = { ...sampleOrder, rollouts: { split: null, groupSizeMin: 2 } };
  const second = stores.rules.create(sampleRule("s", { rule: { terms: [] }, standing }), { countMax: 9 });
  await assert.rejects(second, { code: "conflict", message: /trains this model on its rollouts already/ });
  await stores.rules.create(sampleRule("t", { standing: sampleOrder }), { countMax: 9 });
});

for (const seed of searchSeeds(2))
  test(`trains on each rollout exactly once across random deaths (seed ${seed})`, async () => {
    const random = seededRandom("queue", seed);
    const { stores, look, whole, jobs, endJobs, jobOf } = await queueWorld({ groupsMin: 1 });
    const ids: string[] = [];
    for (let turn = 0; turn < 40; turn++) {
      if (random.index(3) === 0) ids.push(...(await whole(`g${random.index(5)}`)));
      if (random.index(3) === 0) await endJobs(random.index(4) === 0 ? "failed" : "succeeded");
      let writesLeft = random.index(4);
      await look(() => {
        if (writesLeft-- <= 0) throw new Error("The server died.");
      });
    }
    await stores.rules.setPaused("r", false, new Date());
    for (let turn = 0; turn < 20; turn++) {
      await look();
      await endJobs("succeeded");
    }
    const counts = await Promise.all(ids.map(async (id) => (await jobOf(id)) !== null));
    assert.ok(counts.every(Boolean), "every rollout is in a job that did not fail");
    const lines = new Map<string, number>();
    for (const { id, state } of await jobs()) {
      if (state !== "succeeded") continue;
      let text = "";
      for await (const line of (await stores.jobs.trajectoryLines(id)) ?? []) text += line;
      for (const [, rolloutId = ""] of text.matchAll(/"rollout_id":"([^"]+)"/g))
        lines.set(rolloutId, (lines.get(rolloutId) ?? 0) + 1);
    }
    assert.deepEqual(
      [...lines.values()],
      ids.map(() => 1),
    );
  });
