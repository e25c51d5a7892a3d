// The contract that every FileStore must pass.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { UploadedFile } from "../../../base/domain/uploads/uploaded-file.ts";
import { firstPage, type MakeStorage, moment } from "./storage-under-test.ts";

export function sampleFile(id: string, changes: Partial<UploadedFile> = {}): UploadedFile {
  return {
    id,
    entity: "team",
    name: 'a\0 \ud800 "file".jsonl',
    purpose: "fine-tune",
    byteCount: 10,
    createdAt: moment(1),
    usedAt: moment(1),
    expiresAt: null,
    ...changes,
  };
}

const everything = { entity: null, purpose: null, unusedSince: null, expiresBefore: null };

/** Registers the tests that a file store must pass. */
export function checkFileStore(makeStorage: MakeStorage): void {
  test("returns a file unchanged, also after reopening, until it is deleted", async (t) => {
    const open = await makeStorage(t);
    const first = await open();
    const file = sampleFile("a", { byteCount: 2 ** 40 });
    await first.files.create(file, Infinity);
    await first.close();
    const { files } = await open();
    assert.deepEqual(await files.find("a"), file);
    assert.equal(await files.find("b"), null);
    assert.equal(await files.delete("a"), true);
    assert.equal(await files.delete("a"), false);
    assert.equal(await files.find("a"), null);
  });

  test("limits the files of each entity separately", async (t) => {
    const { files } = await (await makeStorage(t))();
    await files.create(sampleFile("a"), 20);
    await files.create(sampleFile("b", { entity: "other", byteCount: 20 }), 20);
    await assert.rejects(files.create(sampleFile("c", { byteCount: 11 }), 20), { code: "too_large" });
    assert.equal(await files.find("c"), null);
    await files.create(sampleFile("d"), 20);
    await files.delete("a");
    await files.create(sampleFile("e"), 20);
    const together = await Promise.allSettled(["f", "g"].map((id) => files.create(sampleFile(id), 30)));
    assert.deepEqual(together.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
  });

  test("lists files in storage order, filtered and paged", async (t) => {
    const { files } = await (await makeStorage(t))();
    for (const file of [
      sampleFile("c", { expiresAt: moment(7) }),
      sampleFile("a", { entity: "other", expiresAt: moment(4) }),
      sampleFile("b", { purpose: "batch" }),
      sampleFile("d"),
    ])
      await files.create(file, Infinity);
    await files.use("c", moment(9));
    await files.use("nobody", moment(9));
    const idsOf = async (filter: Parameters<typeof files.list>[0], page = firstPage) =>
      (await files.list(filter, page)).items.map(({ id }) => id);
    assert.deepEqual(await idsOf(everything), ["c", "a", "b", "d"]);
    assert.deepEqual(await idsOf({ ...everything, entity: "team" }), ["c", "b", "d"]);
    assert.deepEqual(await idsOf({ ...everything, purpose: "fine-tune" }), ["c", "a", "d"]);
    assert.deepEqual(await idsOf({ ...everything, unusedSince: moment(5) }), ["a", "b", "d"]);
    assert.deepEqual(await idsOf({ ...everything, expiresBefore: moment(5) }), ["a"]);
    assert.deepEqual((await files.find("c"))?.expiresAt, moment(7));
    assert.deepEqual(await idsOf(everything, { ...firstPage, after: "a" }), ["b", "d"]);
    const newest = await files.list(everything, { after: null, limit: 3, order: "desc" });
    assert.deepEqual([newest.items.map(({ id }) => id), newest.hasMore], [["d", "b", "a"], true]);
    const foreign = files.list({ ...everything, entity: "team" }, { ...firstPage, after: "a" });
    await assert.rejects(foreign, { code: "invalid" });
    assert.deepEqual((await files.find("c"))?.usedAt, moment(9));
  });
}
