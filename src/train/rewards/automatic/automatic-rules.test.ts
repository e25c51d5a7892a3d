// Tests automatic training rules with in-memory stores: when they train, and on which feedback. A server may die
// between any two writes.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { always } from "../../../base/domain/feedback-query/condition.ts";
import { type Random, seededRandom } from "../../../base/domain/random.ts";
import type { AutomaticOrder } from "../../../base/domain/rewards/stored-rule.ts";
import { answerId, feedbackMark, type TrainingSource } from "../../../base/domain/rewards/training-source.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { FakeClock } from "../../../base/domain/testing/fake-clock.ts";
import { searchSeeds } from "../../../base/domain/testing/search.ts";
import { resolveTrainingConfig } from "../../../base/domain/training-config.ts";
import { sampleCompletion, sampleContent } from "../../../store/database/contract/completion-store.ts";
import {
  firstPage,
  sampleModel,
  sampleVersion,
} from "../../../store/database/contract/storage-under-test.ts";
import type { Stores } from "../../../store/database/stores.ts";
import { storesInMemory } from "../../../store/database/testing/stores-in-memory.ts";
import { silentLogger } from "../../../base/telemetry/testing/silent-logger.ts";
import { gatherFeedback } from "../gather-feedback.ts";
import { rolloutSettings } from "../../rollouts/settings.ts";
import { rewardSettings } from "../settings.ts";
import { refTo, thumb, thumbs } from "../testing/samples.ts";
import { AutomaticRules } from "./automatic-rules.ts";

const anyJob = { entity: null, modelId: null, kind: null, state: null } as const;
const page = { ...firstPage, limit: 100 };
const turn = { entity: "team", timeMs: 1000 };
const allFeedback = { projectId: "team/games", condition: always, after: null };

/** A model with an automatic rule on thumbs-up and thumbs-down feedback, its stores, and servers that run the rule. */
class World {
  readonly stores: Stores;
  readonly clock = new FakeClock();
  #serverCount = 0;

  constructor(stores: Stores) {
    this.stores = stores;
  }

  async begin(order: Partial<AutomaticOrder> = {}): Promise<void> {
    const { models, rules } = this.stores;
    await models.create(sampleModel("m"), sampleVersion("m", 0));
    const standing: AutomaticOrder = {
      modelId: "m",
      rollouts: null,
      filter: null,
      since: null,
      groupsMin: 1,
      groupsMax: 100,
      secondsBetween: 3600,
      jobsPerDay: 100,
      tokensPerDay: null,
      versionAgeMax: null,
      config: resolveTrainingConfig({}),
      ...order,
    };
    const now = this.clock.now();
    const place = { id: "r", entity: "team", project: "games", name: "thumbs", isPaused: false };
    await rules.create({ ...place, rule: thumbs, standing, createdAt: now, updatedAt: now }, { countMax: 1 });
  }

  /**
   * Starts a server. The previous server has lost its lease.
   *
   * @param dies called before and after each write of the server; throws to let the server die there
   */
  async server(dies: () => void = () => undefined): Promise<AutomaticRules> {
    const { stores, clock } = this;
    await stores.servers.delete(`s${this.#serverCount}`);
    const id = `s${++this.#serverCount}`;
    await stores.servers.create(id, { until: new Date(8.64e15), baseModels: ["tiny"], artifacts: "shared" });
    const mortal =
      <Args extends readonly unknown[], Result>(write: (...args: Args) => Promise<Result>) =>
      async (...args: Args): Promise<Result> => {
        dies();
        const result = await write(...args);
        dies();
        return result;
      };
    const { rules, jobs } = stores;
    return new AutomaticRules({
      ...stores,
      queue: { ...stores, clock, settings: rolloutSettings.with() },
      rules: {
        ...rules,
        claim: mortal((owner) => rules.claim(owner)),
        advance: mortal((hold, advance) => rules.advance(hold, advance)),
        releaseFailed: mortal((hold) => rules.releaseFailed(hold)),
      },
      submit: mortal((job, lines, more) => jobs.create(job, lines, null, more)),
      sequenceLengthMax: 100,
      conditionOf: () => always,
      owner: () => id,
      clock,
      settings: rewardSettings.with(),
      logger: silentLogger,
    });
  }

  /** Records answers to a prompt by the model's newest version. */
  async answer(prompt: string, ...requestIds: readonly string[]): Promise<void> {
    const [choice] = sampleContent().choices;
    await this.stores.completions.add(
      requestIds.map((requestId) =>
        sampleCompletion(requestId, {
          step: 0,
          promptHash: prompt,
          finishReasons: ["stop"],
          usage: { promptTokens: 4, completionTokens: 6, cachedTokens: 0 },
          content: sampleContent({ choices: choice === undefined ? [] : [choice] }),
        }),
      ),
    );
  }

  async thumb(requestId: string, emoji: string, creator: string | null = null): Promise<void> {
    const record = thumb(refTo(requestId, 0), emoji, { creator, createdAt: this.clock.now() });
    await this.stores.feedback.create([record]);
  }

  /** Replaces the content of one random feedback record on an answer. */
  async changeMind(random: Random, requestId: string, emoji: string): Promise<void> {
    const { feedback } = this.stores;
    const { items } = await feedback.scan({ ...allFeedback, limit: 1000 }, turn);
    if (items.length === 0) return;
    const { id, creator } = items[random.index(items.length)];
    const { id: _id, createdAt: _at, ...content } = thumb(refTo(requestId, 0), emoji, { creator });
    await feedback.replace("team/games", id, content, this.clock.now());
  }

  async look(server?: AutomaticRules): Promise<void> {
    await (server ?? (await this.server())).look(new AbortController().signal);
  }

  async jobs() {
    return (await this.stores.jobs.list(anyJob, page)).items;
  }

  /** Returns the training sources of all jobs that neither failed nor were cancelled. */
  async trained(): Promise<readonly TrainingSource[]> {
    const jobs = (await this.jobs()).filter(({ state }) => state !== "failed" && state !== "cancelled");
    const lists = await Promise.all(jobs.map(({ id }) => this.stores.sources.list(id, page)));
    return lists.flatMap(({ items }) => items).filter(({ use }) => use === "trained");
  }

  async endJobs(state: "failed" | "cancelled" = "failed"): Promise<void> {
    for (const job of await this.jobs())
      if (job.state === "queued")
        await this.stores.jobs.end(job.id, state, "as the test wants", this.clock.now());
  }

  async succeedJobs(): Promise<void> {
    const { jobs, servers, models } = this.stores;
    await servers.create("trainer", { until: new Date(8.64e15), baseModels: ["tiny"], artifacts: "shared" });
    for (let job = await jobs.claim("trainer", this.clock.now()); job !== null;) {
      const step = (await models.greatestStep("m")) + 1;
      const version = sampleVersion("m", step, { id: job.id, jobId: job.id });
      const counts = {
        groupsSubmitted: 1,
        groupsTrainable: 1,
        trajectories: 2,
        sequences: 2,
        trainableTokens: 9,
      };
      const ended = {
        version,
        counts: { ...counts, skipped: {}, skippedGroups: {} },
        at: this.clock.now(),
        data: {},
      };
      await jobs.succeed(job.id, { owner: "trainer", ...ended });
      job = await jobs.claim("trainer", this.clock.now());
    }
    await servers.delete("trainer");
  }
}

test("trains on new feedback once there are enough groups, within its rate limit", async () => {
  const world = new World(await storesInMemory());
  await world.begin({ groupsMin: 2 });
  const server = await world.server();
  const look = () => world.look(server);
  for (const prompt of ["p", "q"]) await world.answer(prompt, `${prompt}1`, `${prompt}2`, `${prompt}3`);
  await world.thumb("p1", "👍");
  await world.thumb("p2", "👎");
  await world.thumb("q1", "👍");
  await look();
  assert.deepEqual(await world.jobs(), []);
  assert.equal((await world.stores.rules.progress("r", new Date(0)))?.readyCount, 1);
  await world.thumb("q2", "👎");
  await look();
  const [job, ...more] = await world.jobs();
  assert.deepEqual([job?.task.kind, more], ["rl", []]);
  const rewards = (await world.trained()).map(({ requestId, reward }) => [requestId, reward]);
  assert.deepEqual(rewards, [
    ["p1", 1],
    ["p2", 0],
    ["q1", 1],
    ["q2", 0],
  ]);
  const lines: string[] = [];
  for await (const line of (await world.stores.jobs.trajectoryLines(job.id)) ?? []) lines.push(line);
  const [{ trajectories }] = lines.map(
    (line) => JSON.parse(line) as { readonly trajectories: readonly object[] },
  );
  assert.equal(lines.length, 2);
  const [trajectory] = trajectories as readonly {
    readonly reward: number;
    readonly initialPolicyVersion: number;
    readonly messagesAndChoices: readonly {
      readonly token_ids?: readonly number[];
      readonly prompt_token_ids?: readonly number[];
    }[];
  }[];
  assert.deepEqual([trajectory?.reward, trajectory?.initialPolicyVersion], [1, 0]);
  const choice = trajectory?.messagesAndChoices.at(-1);
  const { promptTokenIds, choices } = sampleContent();
  assert.deepEqual([choice?.prompt_token_ids, choice?.token_ids], [promptTokenIds, choices[0]?.tokenIds]);

  // The new answers belong to known prompts, so the rule compares them with answers it has trained on. The next job
  // must wait until the hour has passed.
  for (const id of ["p3", "q3"]) await world.thumb(id, "👎");
  await look();
  world.clock.step(3_600_000);
  await look();
  assert.equal((await world.jobs()).length, 1);
  await world.succeedJobs();
  await look();
  assert.equal((await world.jobs()).length, 2);
  const second = (await world.stores.sources.list((await world.jobs())[1].id, page)).items;
  assert.deepEqual(
    second.filter(({ use }) => use === "trained").map(({ requestId }) => requestId),
    ["p3", "q3"],
  );
  assert.equal(second.filter(({ use }) => use === "compared").length, 4);
});

test("trains the feedback of a failed job with the next, and pauses the rule after three failures", async () => {
  const world = new World(await storesInMemory());
  await world.begin({ secondsBetween: 0 });
  await world.answer("p", "p1", "p2");
  await world.thumb("p1", "👍");
  await world.thumb("p2", "👎");
  for (let failures = 1; failures <= 3; failures++) {
    await world.look();
    assert.equal((await world.jobs()).length, failures);
    await world.endJobs();
  }
  await world.look();
  assert.equal((await world.jobs()).length, 3);
  assert.equal((await world.stores.rules.find("r"))?.isPaused, true);
  assert.match(
    String((await world.stores.rules.progress("r", new Date(0)))?.fault),
    /last 3 jobs failed: as the test/,
  );
  world.clock.step(1000);
  await world.stores.rules.setPaused("r", false, world.clock.now());
  await world.look();
  assert.equal((await world.trained()).length, 2);
});

test("limits a job to the tokens left for the day", async () => {
  const world = new World(await storesInMemory());
  await world.begin({ secondsBetween: 0, tokensPerDay: 50 });
  for (const prompt of ["p", "q", "s"]) {
    await world.answer(prompt, `${prompt}1`, `${prompt}2`);
    await world.thumb(`${prompt}1`, "👍");
    await world.thumb(`${prompt}2`, "👎");
  }
  await world.look();
  assert.equal((await world.trained()).length, 4, "two groups of twenty tokens each");
  await world.succeedJobs();
  await world.look();
  await world.succeedJobs();
  await world.look();
  assert.equal((await world.trained()).length, 6);
  assert.equal((await world.jobs()).length, 2);
});

class Death extends ServiceError {
  constructor() {
    super({ code: "internal", message: "The server died." });
  }
}

let trainedCount = 0;

after(() => assert.ok(trainedCount > 10, `the histories train on ${trainedCount} records alone`));

for (const seed of searchSeeds(3))
  test(`trains on all feedback exactly once across random deaths (seed ${seed})`, async () => {
    const random = seededRandom("standing", seed);
    const world = new World(await storesInMemory());
    await world.begin({ secondsBetween: 0, groupsMin: 1 + random.index(2), groupsMax: 2 });
    let answerCount = 0;
    const answers: string[] = [];
    for (let turn = 0; turn < 60; turn++) {
      world.clock.step(1000);
      await applyRandomEvent(world, random, answers, () => `a${++answerCount}`);
    }
    // From here on, no server dies. Resumes the rule, in case failed jobs paused it.
    await world.stores.rules.setPaused("r", false, world.clock.now());
    for (let turn = 0; turn < 30; turn++) {
      world.clock.step(1000);
      await world.look();
      await world.succeedJobs();
    }
    const trained = await world.trained();
    const marks = trained.flatMap((source) =>
      source.feedback
        .filter(({ isNew }) => isNew)
        .map((record) => `${answerId(source)} ${feedbackMark(record)}`),
    );
    assert.equal(new Set(marks).size, marks.length, "no feedback on an answer is new twice");
    const left = await leftToTrain(world);
    const { groupsMin } = (await world.stores.rules.find("r"))?.standing ?? { groupsMin: 0 };
    assert.ok(left < groupsMin, `${left} groups were never trained`);
    trainedCount += marks.length;
  });

/** Simulates a random event: answers, feedback, a dying server, or the end of jobs. */
async function applyRandomEvent(
  world: World,
  random: Random,
  answers: string[],
  newId: () => string,
): Promise<void> {
  const any = (): string => answers[random.index(answers.length)] ?? "";
  const chance = random.index(10);
  if (answers.length === 0 || chance === 0) {
    const ids = Array.from({ length: 1 + random.index(3) }, newId);
    answers.push(...ids);
    const record = (): Promise<void> => world.answer(`prompt ${random.index(3)}`, ...ids);
    await record();
  } else if (chance <= 5) {
    const emoji = random.index(2) === 0 ? "👍" : "👎";
    if (chance === 5) await world.changeMind(random, any(), emoji);
    else await world.thumb(any(), emoji, `person ${random.index(3)}`);
  } else if (chance === 6) {
    if (random.index(2) === 0) await world.succeedJobs();
    else await world.endJobs(random.index(2) === 0 ? "failed" : "cancelled");
  } else {
    let writesLeft = random.index(8);
    const server = await world.server(() => {
      if (writesLeft-- <= 0) throw new Death();
    });
    await world.look(server).catch((error: unknown) => assert.ok(error instanceof Death, String(error)));
  }
}

/** Counts the groups of answers that could still be trained on with the existing feedback. */
async function leftToTrain({ stores }: World): Promise<number> {
  const { items: records } = await stores.feedback.scan({ ...allFeedback, limit: 1000 }, turn);
  const model = { id: "m", projectId: "team/games" };
  const gathered = await gatherFeedback(
    { ...stores, sequenceLengthMax: 100 },
    { rule: thumbs, model, records, stepMin: 0 },
  );
  return gathered.plan.groups.length;
}
