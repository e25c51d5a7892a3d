// Compares feedback queries in SQL with a naive filter, sort and slice. The naive version follows the request format,
// and shares no code with the parsing, storage or execution of queries.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { systemClock } from "../../../base/domain/clock.ts";
import type { FeedbackRecord } from "../../../base/domain/feedback.ts";
import { seededRandom } from "../../../base/domain/random.ts";
import { searchCount, searchSeed } from "../../../base/domain/testing/search.ts";
import { feedbackQueryForm, toFeedbackQuery } from "../../../api/wire/feedback/feedback-queries.ts";
import { readForm } from "../../../api/wire/body.ts";
import type { Connection } from "../dialect.ts";
import { openPostgres } from "../postgres/postgres-dialect.ts";
import { openSqlite } from "../sqlite/sqlite-dialect.ts";
import { createOutbox } from "../webhooks/outbox.ts";
import { openStores } from "../stores.ts";
import { authorOf, batchOf } from "../contract/storage-under-test.ts";
import { createFeedbackStore } from "./feedback-store.ts";
import { plainAnswer } from "../testing/feedback-queries/plain-answer.ts";
import { randomRecord } from "../testing/feedback-queries/random-feedback.ts";
import { randomQuery } from "../testing/feedback-queries/random-queries.ts";
import { createPostgres, withoutPostgres } from "../testing/postgres-databases.ts";

const limits = { depthMax: 32, operandsMax: 900, literalBytesMax: 1 << 20, timeMs: 60_000 };
const turn = { entity: "team", timeMs: limits.timeMs };
const project = "team/games";

function sqliteFile(t: TestContext): Connection {
  const folder = mkdtempSync(join(tmpdir(), "hone-queries-"));
  t.after(() => rmSync(folder, { recursive: true }));
  return openSqlite({ file: join(folder, "hone.db"), isShared: true });
}

async function checkQueries(connection: Connection, queryCount: number): Promise<void> {
  const stores = await openStores(connection);
  // A store that treats ten records as many, so that tests reach the strategies for many records.
  const cautious = createFeedbackStore(connection, createOutbox(connection, systemClock), 10);
  const random = seededRandom("feedback queries", searchSeed);
  const drawn = Array.from({ length: 1000 }, (_, index) => randomRecord(random, index));
  const records: FeedbackRecord[] = [];
  for (let start = 0; start < drawn.length; start += 250) {
    const chunk = drawn.slice(start, start + 250);
    const [author] = chunk;
    // Every second chunk is stored as a batch. All records of a batch have the same author.
    const written = start % 500 === 0 ? chunk : chunk.map((record) => ({ ...record, ...authorOf(author) }));
    if (start % 500 === 0) await stores.feedback.create(written);
    else assert.ok(await stores.feedback.createBatch(batchOf(stores.feedback, written), authorOf(author)));
    records.push(...written);
  }
  // Replaces one record and deletes another. Neither may leave entries in an index.
  const { id: _id, createdAt: _at, ...content } = randomRecord(random, 5000);
  const old = records.findIndex(({ projectId }) => projectId === project);
  const replaced = await stores.feedback.replace(
    project,
    records[old].id,
    { ...content, projectId: project },
    new Date(0),
  );
  assert.ok(replaced !== null);
  records[old] = replaced;
  await stores.feedback.delete(project, [records[7].id]);
  const kept = records.filter((record, index) => index !== 7 || record.projectId !== project);
  let foundCount = 0;
  for (let index = 0; index < queryCount; index++) {
    const sent = randomQuery(random);
    const { value: body } = readForm(feedbackQueryForm(limits), { project_id: project, ...sent });
    const query = { ...toFeedbackQuery(body, limits), bytesMax: 1 << 30 };
    const { items, totalCount } = await (index % 2 === 0 ? stores.feedback : cautious).query(query, turn);
    const expected = plainAnswer(kept, project, sent);
    assert.deepEqual(
      { ids: items.map(({ id }) => id), totalCount },
      expected,
      `seed ${searchSeed}, query ${index}: ${JSON.stringify(sent)}`,
    );
    if (expected.totalCount > 0 && expected.totalCount < 750) foundCount += 1;
    if (index % 10 === 0) {
      for (const record of items)
        assert.deepEqual(
          record,
          kept.find(({ id }) => id === record.id),
        );
    }
  }
  await stores.close();
  assert.ok(foundCount > queryCount / 3, `${foundCount} of ${queryCount} queries found some`);
}

test("returns the same results as a naive filter for random queries over 1000 records on SQLite", async (t) => {
  await checkQueries(sqliteFile(t), searchCount(30));
});

test(
  "returns the same results as a naive filter for random queries on PostgreSQL",
  { skip: withoutPostgres },
  async (t) => {
    const { url, drop } = await createPostgres();
    t.after(drop);
    await checkQueries(openPostgres({ url, connections: 4 }), searchCount(15));
  },
);
