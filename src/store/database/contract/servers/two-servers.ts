// The contract that every database must pass for servers that start, run jobs, die and return. A server owns its jobs
// while it has a lease; afterwards, another server may take them.
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { seededRandom } from "../../../../base/domain/random.ts";
import type { Stores } from "../../stores.ts";
import {
  firstPage,
  type MakeStorage,
  moment,
  openTwice,
  sampleCounts,
  sampleJob,
  samplePins,
  sampleVersion,
  storeModel,
} from "../storage-under-test.ts";

const leaseSeconds = 60;

/** A simulated server, which uses the stores as a server's job queue does. */
class ServerOnStores {
  readonly id: string;
  readonly #stores: Stores;

  constructor(id: string, stores: Stores) {
    this.id = id;
    this.#stores = stores;
  }

  /**
   * Starts the server.
   *
   * @returns ids of the jobs that it resumes
   */
  async start(second: number): Promise<readonly string[]> {
    await this.#stores.servers.create(this.id, {
      until: moment(second + leaseSeconds),
      baseModels: ["tiny"],
      artifacts: `place of ${this.id}`,
    });
    return this.beat(second);
  }

  /**
   * Renews the server's lease.
   *
   * @returns ids of the jobs that it resumes; none if it has lost its lease
   */
  async beat(second: number): Promise<readonly string[]> {
    const { servers, jobs } = this.#stores;
    await servers.renew(this.id, moment(second + leaseSeconds));
    await servers.deleteExpired({ before: moment(second), after: moment(second + 2 * leaseSeconds) });
    return jobs.rescue({ at: moment(second), notBefore: () => moment(second) });
  }

  async claim(second: number): Promise<string | null> {
    return (await this.#stores.jobs.claim(this.id, moment(second)))?.id ?? null;
  }

  /** Claims every available job, and returns the ids of the claimed jobs. */
  async claimAll(second: number): Promise<readonly string[]> {
    const ids: string[] = [];
    for (let id = await this.claim(second); id !== null; id = await this.claim(second)) ids.push(id);
    return ids;
  }

  async runs(jobId: string): Promise<boolean> {
    return (await this.#stores.jobs.findRunning(jobId, this.id)) !== null;
  }

  async succeed(jobId: string, modelId: string, second: number): Promise<void> {
    const step = (await this.#stores.models.greatestStep(modelId)) + 1;
    const id = `${jobId} by ${this.id}`;
    const version = sampleVersion(modelId, step, { id, jobId });
    const success = { owner: this.id, version, counts: sampleCounts, at: moment(second), data: {} };
    await this.#stores.jobs.succeed(jobId, success);
  }
}

/**
 * Registers the tests that a database must pass to serve several servers. Each seed produces a random history of
 * events.
 */
export function checkTwoServers(makeStorage: MakeStorage, seeds: readonly number[]): void {
  /**
   * Returns two servers that have not started. Their database has a model `m` with the jobs `m1` and `m2`, and a model
   * `n` with the job `n1`.
   */
  const twoServers = async (...[context]: Parameters<MakeStorage>) => {
    const [stores, other] = await openTwice(makeStorage, context);
    for (const model of ["m", "n"]) await storeModel(stores.models, model);
    for (const job of ["m1", "m2", "n1"]) await stores.jobs.create(sampleJob(job, job.charAt(0)), [], null);
    return {
      stores,
      first: new ServerOnStores("first", stores),
      second: new ServerOnStores("second", other),
    };
  };

  test("takes no running jobs of the first server when a second one starts", async (t) => {
    const { first, second } = await twoServers(t);
    await first.start(0);
    assert.equal(await first.claim(1), "m1");
    assert.deepEqual(await second.start(59), []);
    assert.equal(await first.runs("m1"), true);
    assert.equal(await second.runs("m1"), false);
    assert.deepEqual(await second.claimAll(59), ["n1"], "one job of a model at a time, whoever runs it");
    assert.deepEqual(await first.beat(60), []);
    assert.deepEqual(await second.beat(119), []);
    await first.succeed("m1", "m", 119);
    assert.equal(await second.claim(119), "m2");
  });

  test("keeps a version that another server uses until that use or the server's lease ends", async (t) => {
    const { stores, first, second } = await twoServers(t);
    const { models, servers } = stores;
    await first.start(0);
    await second.start(0);
    for (const step of [1, 2, 3, 4])
      await models.addVersion(
        { id: `v${step}`, modelId: "n", metrics: {}, base: null, adapterHash: null, createdAt: moment(step) },
        async () => `adapters/n/${step}`,
      );
    const tidy = (server: string) =>
      models.deleteOlderVersions("n", { keptCount: 1, spared: new Set(), server, now: new Date(0) });
    const version = (step: number) => ({ modelId: "n", step });
    for (const step of [1, 1, 2]) assert.equal(await models.useVersion(version(step), "first"), true);
    assert.equal(await models.useVersion(version(3), "nobody"), true, "one without a lease keeps nothing");
    assert.deepEqual(await tidy("second"), [3]);
    assert.equal(await models.useVersion(version(3), "first"), false);
    await models.endUse(version(2), "first");
    await models.endUse(version(2), "first");
    assert.deepEqual(await tidy("second"), [2]);
    assert.deepEqual(await tidy("second"), []);
    await servers.delete("first");
    assert.deepEqual(await tidy("second"), [1]);
    assert.equal(await models.useVersion({ modelId: "gone", step: 1 }, "second"), false);
  });

  test("lets a server delete a version it uses itself, and deletes a model with its uses", async (t) => {
    const { stores, first } = await twoServers(t);
    const { models } = stores;
    await first.start(0);
    for (const step of [1, 2])
      await models.addVersion(
        { id: `v${step}`, modelId: "n", metrics: {}, base: null, adapterHash: null, createdAt: moment(step) },
        async () => `adapters/n/${step}`,
      );
    for (const step of [1, 2]) await models.useVersion({ modelId: "n", step }, "first");
    const own = { keptCount: 1, spared: new Set<number>(), server: "first", now: new Date(0) };
    assert.deepEqual(await models.deleteOlderVersions("n", own), [1]);
    assert.equal(await models.delete("n"), true);
  });

  test("gives the jobs of a silent server to the other, and refuses everything it still does", async (t) => {
    const { stores, first, second } = await twoServers(t);
    const { jobs, models, servers } = stores;
    await first.start(0);
    await first.claim(1);
    await second.start(30);
    assert.deepEqual(await second.beat(60), []);
    assert.deepEqual(await second.beat(61), ["m1"]);
    assert.equal(await first.runs("m1"), false);
    assert.equal(await first.claim(62), null);
    assert.equal(await servers.renew("first", moment(200)), false);
    assert.deepEqual([await servers.has("first"), await servers.has("second")], [false, true]);
    const serve = (base: string, second: number) => servers.serves(base, moment(second));
    assert.deepEqual([await serve("tiny", 62), await serve("great", 62)], [true, false]);
    assert.equal(await serve("tiny", 500), false, "its lease ran out");
    assert.deepEqual(await second.claimAll(62), ["n1", "m1"]);
    const conflict = { code: "conflict" };
    const event = { type: "gradient_step", data: {} } as const;
    const release = { at: moment(63), notBefore: moment(0), attempt: "lost", waitingFor: null } as const;
    await assert.rejects(first.succeed("m1", "m", 63), conflict);
    await assert.rejects(jobs.end("m1", "failed", "late", moment(63), { owner: "first" }), conflict);
    await assert.rejects(jobs.pin("m1", "first", samplePins), conflict);
    await assert.rejects(jobs.appendEvent("m1", "first", 1, event), conflict);
    assert.equal(await jobs.release("m1", "first", release), false);
    await second.succeed("m1", "m", 64);
    const { items } = await models.listVersions("m", firstPage);
    assert.deepEqual(
      items.map(({ jobId }) => jobId),
      [null, "m1"],
    );
    const again = new ServerOnStores("first again", stores);
    assert.deepEqual(await again.start(65), []);
    assert.deepEqual(await again.claimAll(65), ["m2"]);
  });

  test("shows that a server stores its artifacts elsewhere while its lease lasts", async (t) => {
    const { stores, first, second } = await twoServers(t);
    const isElsewhere = (at: number) => stores.servers.keepsElsewhere("place of first", moment(at));
    await first.start(0);
    assert.equal(await isElsewhere(1), false);
    await second.start(2);
    assert.deepEqual([await isElsewhere(2), await isElsewhere(63)], [true, false]);
    await stores.servers.delete("second");
    assert.equal(await isElsewhere(2), false);
  });

  test("leaves a server's jobs to any other when it returns its lease", async (t) => {
    const { stores, first, second } = await twoServers(t);
    await first.start(0);
    await first.claim(1);
    await stores.servers.delete("first");
    await stores.servers.delete("first");
    assert.deepEqual(await second.start(2), ["m1"]);
    assert.deepEqual(await second.claimAll(2), ["n1", "m1"]);
  });

  test("treats a lease that ends later than any possible one as made by a clock that has stepped back", async (t) => {
    const { first, second } = await twoServers(t);
    await first.start(86_400);
    await first.claim(86_400);
    assert.deepEqual(await second.start(86_340), []);
    assert.deepEqual(await second.beat(86_339), ["m1"]);
  });

  test("queues a job again if its owner reports that it does not run it, and no other's", async (t) => {
    const { stores, first } = await twoServers(t);
    await first.start(0);
    await first.claim(1);
    await first.claim(1);
    const rescue = (owner: string, ...ids: readonly string[]) =>
      stores.jobs.rescue({ at: moment(2), notBefore: () => moment(2), runs: { owner, ids } });
    assert.deepEqual(await rescue("second"), []);
    assert.deepEqual(await rescue("first", "m1", "n1", "m2"), []);
    assert.deepEqual(await rescue("first", "n1"), ["m1"]);
    assert.equal(await first.runs("n1"), true);
    assert.equal((await stores.jobs.find("m1"))?.restartCount, 1);
    assert.deepEqual(await rescue("first"), ["n1"]);
  });

  test("ends waits for a server's machine with its lease, and not before", async (t) => {
    const { stores, first, second } = await twoServers(t);
    await first.start(0);
    await first.claim(1);
    const wait = { at: moment(1), notBefore: moment(1000), attempt: "returned", waitingFor: "room" } as const;
    assert.equal(await stores.jobs.release("m1", "first", wait), true);
    await second.start(2);
    assert.equal((await stores.jobs.find("m1"))?.waitingFor, "room");
    assert.deepEqual(await second.claimAll(2), ["n1"]);
    await stores.servers.delete("first");
    assert.deepEqual(await second.beat(3), []);
    assert.equal((await stores.jobs.find("m1"))?.waitingFor, null);
    assert.equal(await second.claim(3), "m1");
  });

  const history = async (t: TestContext, seed: number): Promise<void> => {
    const random = seededRandom("two servers", seed);
    const sides = await openTwice(makeStorage, t);
    const jobIds = Array.from({ length: 12 }, (_, index) => `${"mno".charAt(index % 3)}${index}`);
    for (const model of ["m", "n", "o"]) await storeModel(sides[0].models, model);
    for (const id of jobIds) await sides[0].jobs.create(sampleJob(id, id.charAt(0)), [], null);
    /** Started servers, including servers that have lost their connection without knowing it. */
    const servers: { readonly server: ServerOnStores; readonly claimed: Set<string>; isHeard: boolean }[] =
      [];
    const done: string[] = [];
    for (let second = 0; done.length < jobIds.length; second += random.index(20)) {
      assert.ok(second < 100_000, "the jobs end at last");
      if (servers.filter(({ isHeard }) => isHeard).length < 2) {
        const server = new ServerOnStores(`server ${servers.length}`, sides[servers.length % 2]);
        await server.start(second);
        servers.push({ server, claimed: new Set(), isHeard: true });
      }
      const one = servers[random.index(servers.length)];
      for (const { server, isHeard } of servers) if (isHeard) await server.beat(second);
      const chance = random.uniform();
      if (chance < 0.1) one.isHeard = false;
      else if (chance < 0.6) {
        const id = await one.server.claim(second);
        if (id !== null) one.claimed.add(id);
      } else
        for (const id of [...one.claimed].slice(0, 1)) {
          one.claimed.delete(id);
          const isDone = await one.server.succeed(id, id.charAt(0), second).then(
            () => true,
            () => false,
          );
          if (isDone) done.push(id);
        }
      for (const id of jobIds) {
        const claimants = servers.filter(({ claimed }) => claimed.has(id));
        const runners = await Promise.all(claimants.map(({ server }) => server.runs(id)));
        assert.ok(runners.filter((isRunning) => isRunning).length <= 1, `${id} has one owner`);
      }
    }
    assert.deepEqual(done.toSorted(), jobIds.toSorted());
    for (const model of ["m", "n", "o"]) {
      const { items } = await sides[0].models.listVersions(model, firstPage);
      assert.deepEqual(
        items.map(({ jobId }) => jobId),
        [null, ...jobIds.filter((id) => id.startsWith(model))],
      );
    }
  };

  for (const seed of seeds)
    test(`runs each job once, and never on two servers, while servers start, die and return (seed ${seed})`, async (t) =>
      history(t, seed));
}
