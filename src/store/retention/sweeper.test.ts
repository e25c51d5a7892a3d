// Tests which data the server removes automatically, how it reports that, and that it does not block other work.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { RetentionStore } from "../../base/domain/retention/retention-store.ts";
import { checkService } from "../../base/domain/testing/check-service.ts";
import { FakeClock } from "../../base/domain/testing/fake-clock.ts";
import { sampleCompletion } from "../database/contract/completion-store.ts";
import { storeModel, storeServer } from "../database/contract/storage-under-test.ts";
import { storesInMemory } from "../database/testing/stores-in-memory.ts";
import type { AuditEntry } from "../../base/telemetry/audit-log.ts";
import { createMetrics } from "../../base/telemetry/metrics.ts";
import { silentLogger } from "../../base/telemetry/testing/silent-logger.ts";
import { keepPolicies, retentionSettings, type RetentionSettings } from "./settings.ts";
import { createSweeper } from "./sweeper.ts";

/** A clock with which a sweep does not wait between its steps. */
class UnpausedClock extends FakeClock {
  override async sleep(durationMs: number, options?: { readonly signal?: AbortSignal }): Promise<void> {
    if (durationMs > 0) await super.sleep(durationMs, options);
  }
}

function sweeperOn(
  store: RetentionStore,
  { clock, settings = {} }: { readonly clock: FakeClock; readonly settings?: Partial<RetentionSettings> },
) {
  const audited: AuditEntry[] = [];
  const logged: object[] = [];
  const trimmed: Date[] = [];
  const cleared: Date[] = [];
  const metrics = createMetrics({ processMetrics: false });
  const all = retentionSettings.with({ recordings: ["1d", "20/model"], stepPauseMs: 0, ...settings });
  const sweeper = createSweeper({
    store,
    policies: keepPolicies(all),
    settings: all,
    owner: () => "server",
    clearDead: async () => void cleared.push(clock.now()),
    trimAudit: async (before) => void trimmed.push(before),
    clock,
    audit: { record: (entry) => void audited.push(entry) },
    metrics,
    logger: { ...silentLogger, info: (about) => void logged.push(Object(about)) },
  });
  return { sweeper, audited, logged, trimmed, cleared, metrics };
}

/** Returns stores with the model `m` and forty recorded completions, which are an hour apart. */
async function stored(clock: FakeClock) {
  const { models, completions, retention, servers } = await storesInMemory();
  await storeModel(models, "m");
  for (const id of ["server", "another"]) await storeServer(servers, id);
  const ago = (hours: number): Date => new Date(clock.now().getTime() - hours * 3_600_000);
  await completions.add(
    Array.from({ length: 40 }, (_, index) => sampleCompletion(String(index), { endedAt: ago(40 - index) })),
  );
  return { completions, retention };
}

checkService({
  name: "retention",
  make: async () => {
    const clock = new UnpausedClock();
    const { sweeper } = sweeperOn((await storesInMemory()).retention, { clock });
    const upCount = async (): Promise<number> => {
      for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
      return clock.sleepingCount;
    };
    return { service: sweeper, upCount };
  },
  failing: null,
});

test("removes, logs, counts and audits expired data once a minute", async (t) => {
  const clock = new UnpausedClock();
  const { completions, retention } = await stored(clock);
  const { sweeper, audited, logged, trimmed, metrics } = sweeperOn(retention, {
    clock,
    settings: { auditDays: 2 },
  });
  t.after(() => sweeper.stop());
  await sweeper.start();
  while (trimmed.length === 0) await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(trimmed, [new Date(clock.now().getTime() - 2 * 86_400_000)]);
  assert.equal((await retention.removed("team", 10))[0]?.itemCount, 20);
  const [entry] = audited;
  assert.deepEqual(
    [audited.length, entry.action, entry.entity, entry.count, entry.outcome],
    [1, "retention: recordings", "team", 20, "done"],
  );
  assert.deepEqual(
    logged.map((about) => Object.keys(about)),
    [["kind", "entity", "count", "bytes"]],
  );
  const { text } = await metrics.expose();
  assert.match(text, /hone_retention_removed_total\{kind="recordings"\} 20/);
  assert.match(text, /hone_retention_removed_bytes_total\{kind="recordings"\} [1-9]/);
  const { endedAt: _at, ...late } = sampleCompletion("old");
  await completions.add([{ ...late, endedAt: new Date(0) }]);
  await clock.advance(60_000);
  while (trimmed.length === 1) await new Promise((resolve) => setImmediate(resolve));
  assert.equal((await retention.removed("team", 10))[0]?.itemCount, 21);
});

test("clears the remains of dead servers only on the server that sweeps", async (t) => {
  const clock = new UnpausedClock();
  const { retention } = await stored(clock);
  const { sweeper, trimmed, cleared } = sweeperOn(retention, { clock, settings: { auditDays: 1 } });
  t.after(() => sweeper.stop());
  const startedAt = clock.now();
  assert.equal(await retention.claim("another", clock.now(), new Date(clock.now().getTime() + 90_000)), true);
  await sweeper.start();
  for (let looks = 1; looks <= 3; looks++) {
    while (trimmed.length < looks) await new Promise((resolve) => setImmediate(resolve));
    await clock.advance(60_000);
  }
  assert.deepEqual(cleared.slice(0, 1), [new Date(startedAt.getTime() + 120_000)]);
});

test("removes and reports nothing in a dry sweep, also while another server sweeps", async () => {
  const clock = new UnpausedClock();
  const { retention } = await stored(clock);
  const { sweeper, audited } = sweeperOn(retention, { clock });
  const until = new Date(clock.now().getTime() + 1000);
  assert.equal(await retention.claim("another", clock.now(), until), true);
  const report = await sweeper.sweep({ isDry: true });
  assert.deepEqual(
    [report?.removed.map(({ kind, itemCount }) => [kind, itemCount]), report?.isComplete],
    [[["recordings", 20]], true],
  );
  assert.equal(await sweeper.sweep({ isDry: false }), null, "the other server's turn");
  assert.deepEqual([await retention.removed(null, 10), audited], [[], []]);
});

test("reports that a sweep ran out of time, and continues in the next", async () => {
  const clock = new UnpausedClock();
  let steps = 0;
  const endless: RetentionStore = {
    ...(await storesInMemory()).retention,
    claim: async () => true,
    sweep: async (_kind, _limits, { from }) => {
      steps += 1;
      return {
        removed: [{ entity: "team", itemCount: 1, byteCount: 2 }],
        next: { scope: "age", of: "", after: [Number(from?.after?.[0] ?? 0) + 1], gone: new Map() },
      };
    },
  };
  const { sweeper } = sweeperOn(endless, { clock, settings: { stepPauseMs: 100, kindSeconds: 1 } });
  const looking = sweeper.sweep({ isDry: false });
  let report: Awaited<typeof looking> | undefined;
  void looking.then((found) => (report = found));
  const isOver = (): boolean => report !== undefined;
  while (!isOver()) await clock.advance(100);
  assert.equal(report?.isComplete, false);
  assert.deepEqual(
    report?.removed.map(({ itemCount, byteCount }) => [itemCount, byteCount]),
    [
      [10, 20],
      [10, 20],
      [10, 20],
      [10, 20],
    ],
  );
  assert.equal(steps, 40);
});
