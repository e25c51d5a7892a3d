// The contract that every UploadStore must pass.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Upload } from "../../../base/domain/uploads/upload.ts";
import { sampleFile } from "./file-store.ts";
import { type MakeStorage, moment } from "./storage-under-test.ts";

function sampleUpload(id: string, changes: Partial<Upload> = {}): Upload {
  return {
    id,
    entity: "team",
    name: 'a\0 "file".jsonl',
    purpose: "fine-tune",
    byteCount: 10,
    state: "pending",
    parts: [],
    createdAt: moment(1),
    expiresAt: moment(50),
    ...changes,
  };
}

const partOf = (id: string, byteCount = 10, at = 2) => ({ id, byteCount, createdAt: moment(at) });
const unlimited = { countMax: 100, bytesMax: Infinity, entityBytesMax: Infinity };

/** Registers the tests that an upload store must pass. */
export function checkUploadStore(makeStorage: MakeStorage): void {
  test("returns an upload with its parts in order, also after reopening", async (t) => {
    const open = await makeStorage(t);
    const first = await open();
    const upload = sampleUpload("u", { byteCount: 2 ** 40 });
    await first.uploads.create(upload, 1);
    const parts = ["b", "a"].map((id) => partOf(id, 2 ** 33));
    for (const part of parts) await first.uploads.addPart("u", part, unlimited);
    await first.close();
    const { uploads } = await open();
    assert.deepEqual(await uploads.find("u"), { ...upload, parts });
    assert.equal(await uploads.find("v"), null);
  });

  test("keeps every part of parts that are added at the same time", async (t) => {
    const { uploads } = await (await makeStorage(t))();
    await uploads.create(sampleUpload("u"), 1);
    const ids = Array.from({ length: 8 }, (_, index) => `part ${index}`);
    await Promise.all(ids.map((id) => uploads.addPart("u", partOf(id, 1), unlimited)));
    assert.deepEqual((await uploads.find("u"))?.parts.map(({ id }) => id).sort(), ids);
  });

  test("limits an upload's parts, an entity's pending uploads, and its parts and files together", async (t) => {
    const { uploads, files } = await (await makeStorage(t))();
    await uploads.create(sampleUpload("u"), 1);
    await assert.rejects(uploads.create(sampleUpload("v"), 1), { code: "overloaded" });
    await uploads.create(sampleUpload("of another", { entity: "other" }), 1);
    await uploads.create(sampleUpload("later", { createdAt: moment(50), expiresAt: moment(90) }), 1);
    const refused = { code: "too_large" };
    await uploads.addPart("u", partOf("a"), unlimited);
    await assert.rejects(uploads.addPart("u", partOf("b"), { ...unlimited, countMax: 1 }), refused);
    await assert.rejects(uploads.addPart("u", partOf("b"), { ...unlimited, bytesMax: 19 }), refused);
    await files.create(sampleFile("f"), 20);
    await assert.rejects(files.create(sampleFile("g", { byteCount: 1 }), 20), refused);
    await assert.rejects(uploads.addPart("u", partOf("b"), { ...unlimited, entityBytesMax: 29 }), refused);
    await uploads.addPart("u", partOf("b"), { ...unlimited, entityBytesMax: 30 });
    await files.create(sampleFile("g", { createdAt: moment(50) }), 20);
  });

  test("completes an upload once, and its parts give their space to the file", async (t) => {
    const { uploads, files } = await (await makeStorage(t))();
    await uploads.create(sampleUpload("u"), 1);
    await uploads.addPart("u", partOf("a"), unlimited);
    await assert.rejects(uploads.complete("u", sampleFile("f"), 9), { code: "too_large" });
    assert.deepEqual([(await uploads.find("u"))?.state, await files.find("f")], ["pending", null]);
    const done = await Promise.allSettled(["f", "g"].map((id) => uploads.complete("u", sampleFile(id), 10)));
    assert.deepEqual(done.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
    assert.equal((await uploads.find("u"))?.state, "completed");
    const kept = await Promise.all(["f", "g"].map((id) => files.find(id)));
    assert.equal(kept.filter((file) => file !== null).length, 1);
  });

  test("changes no upload that has ended or expired, and deletes it later", async (t) => {
    const { uploads, files } = await (await makeStorage(t))();
    await uploads.create(sampleUpload("u"), 2);
    await uploads.cancel("u", moment(2));
    await uploads.create(sampleUpload("v"), 2);
    const refusals = [
      ["u", 3, /cancelled/],
      ["v", 50, /expired/],
      ["w", 3, /deleted/],
    ] as const;
    for (const [id, at, message] of refusals) {
      const refused = { code: "conflict", message };
      await assert.rejects(uploads.addPart(id, partOf("a", 1, at), unlimited), refused);
      await assert.rejects(
        uploads.complete(id, sampleFile("f", { createdAt: moment(at) }), Infinity),
        refused,
      );
      await assert.rejects(uploads.cancel(id, moment(at)), refused);
    }
    assert.equal(await files.find("f"), null);
    await uploads.deleteExpired(moment(50));
    assert.notEqual(await uploads.find("v"), null);
    await uploads.deleteExpired(moment(51));
    assert.deepEqual([await uploads.find("u"), await uploads.find("v")], [null, null]);
  });
}
