// The contract that every UsageStore must pass. Job stores must pass it too, where usage concerns them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { noUsage, usageId, type UsageFilter, type UsageRow } from "../../../../base/domain/keys/usage.ts";
import {
  firstPage,
  type MakeStorage,
  moment,
  openTwice,
  sampleCounts,
  sampleJob,
  sampleModel,
  sampleVersion,
  storeModel,
  storeServer,
} from "../storage-under-test.ts";

const everything: UsageFilter = { entity: null, keyId: null, model: null, from: null, to: null };

function sampleUsage(changes: Partial<UsageRow> = {}): UsageRow {
  return { ...noUsage, day: "2026-11-21", keyId: "k", entity: "team", model: "tiny", ...changes };
}

/** Registers the tests that a usage store must pass. */
export function checkUsageStore(makeStorage: MakeStorage): void {
  test("sums what is added to a row, beyond 32 bits, also after reopening", async (t) => {
    const open = await makeStorage(t);
    const first = await open();
    const counts = { promptTokens: 3_000_000_000, cachedTokens: 1, completionTokens: 2, trainingTokens: 3 };
    await first.usage.add([
      sampleUsage({ requests: 1, ...counts }),
      sampleUsage({ keyId: "l", requests: 5 }),
    ]);
    await first.usage.add([sampleUsage({ requests: 2, ...counts })]);
    await first.usage.add([]);
    await first.close();
    const { rows, hasMore } = await (await open()).usage.list(everything, firstPage);
    assert.deepEqual(rows, [
      sampleUsage({
        requests: 3,
        promptTokens: 6_000_000_000,
        cachedTokens: 2,
        completionTokens: 4,
        trainingTokens: 6,
      }),
      sampleUsage({ keyId: "l", requests: 5 }),
    ]);
    assert.equal(hasMore, false);
  });

  test("filters rows, and pages them in the order of day, key and model", async (t) => {
    const { usage } = await (await makeStorage(t))();
    const days = ["2026-11-20", "2026-11-21", "2026-11-22"];
    const all = days.flatMap((day) =>
      ["a", "b"].flatMap((keyId) =>
        ["m", "tiny"].map((model) => sampleUsage({ day, keyId, model, entity: `of ${keyId}`, requests: 1 })),
      ),
    );
    await usage.add(all.toReversed());
    for (const order of ["asc", "desc"] as const) {
      const seen: UsageRow[] = [];
      for (let after: string | null = null, hasMore = true; hasMore;) {
        const page: { readonly rows: readonly UsageRow[]; readonly hasMore: boolean } = await usage.list(
          everything,
          { after, limit: 5, order },
        );
        seen.push(...page.rows);
        after = usageId(page.rows.at(-1) ?? sampleUsage());
        hasMore = page.hasMore;
      }
      assert.deepEqual(seen, order === "asc" ? all : all.toReversed());
    }
    const count = async (filter: Partial<UsageFilter>): Promise<number> =>
      (await usage.list({ ...everything, ...filter }, firstPage)).rows.length;
    assert.equal(await count({ entity: "of a" }), 6);
    assert.equal(await count({ keyId: "b", model: "m" }), 3);
    assert.equal(await count({ from: "2026-11-21" }), 8);
    assert.equal(await count({ from: "2026-11-21", to: "2026-11-21" }), 4);
    assert.equal(await count({ entity: "nobody" }), 0);
    await assert.rejects(usage.list(everything, { ...firstPage, after: "x" }), { code: "invalid" });
  });

  test("loses nothing when two servers add concurrently", async (t) => {
    const sides = await openTwice(makeStorage, t);
    const rows = ["a", "b", "c"].map((keyId) => sampleUsage({ keyId, requests: 1 }));
    await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        sides[index % 2 === 0 ? 0 : 1].usage.add(index % 3 === 0 ? rows : rows.toReversed()),
      ),
    );
    assert.deepEqual(
      (await sides[0].usage.list(everything, firstPage)).rows.map(({ requests }) => requests),
      [20, 20, 20],
    );
  });

  test("adds the training usage of a succeeded job to its key, and that of a repeated job too", async (t) => {
    const { jobs, models, servers, usage } = await (await makeStorage(t))();
    await storeModel(models, "m");
    await storeServer(servers);
    const counts = { ...sampleCounts, steps: { count: 2, passCount: 3, sequencesMax: 4 } };
    const succeed = async (id: string, step: number | null): Promise<void> => {
      assert.equal((await jobs.claim("server", moment(10)))?.id, id);
      const version = step === null ? null : sampleVersion("m", step, { id: `${id}:${step}`, jobId: id });
      await jobs.succeed(id, { owner: "server", version, counts, at: moment(20), data: {} });
    };
    await jobs.create(sampleJob("a", "m"), [], null, { keyId: "k" });
    await succeed("a", 1);
    const learned = 3 * sampleCounts.trainableTokens;
    const { entity, project, name } = sampleModel("m");
    const row = sampleUsage({
      day: moment(20).toISOString().slice(0, 10),
      model: `${entity}/${project}/${name}`,
      entity,
      trainingTokens: learned,
    });
    const rows = async (): Promise<readonly UsageRow[]> => (await usage.list(everything, firstPage)).rows;
    assert.deepEqual(await rows(), [row]);
    // A failed job leaves no training usage behind.
    await jobs.create(sampleJob("b", "m"), [], null, { keyId: "k" });
    assert.equal((await jobs.claim("server", moment(10)))?.id, "b");
    await jobs.end("b", "failed", "", moment(20));
    assert.deepEqual(await rows(), [row]);
    await jobs.create(sampleJob("c", "m", { retryOf: "b" }), [], null);
    await succeed("c", 2);
    await jobs.create(sampleJob("d", "m"), [], null);
    await succeed("d", 3);
    assert.deepEqual(await rows(), [
      { ...row, keyId: "" },
      { ...row, trainingTokens: 2 * learned },
    ]);
  });
}
