// Tests uploads in parts with the official OpenAI client: a file made of parts, refusals, limits, expiry and what stays
// on disk.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import OpenAI, { APIError, toFile } from "openai";
import { FakeClock } from "../../../../base/domain/testing/fake-clock.ts";
import { partSettings } from "../../../../train/uploads/settings.ts";
import { fakeServer, keys } from "../../testing/fake-server.ts";

const example = JSON.stringify({
  messages: [
    { role: "user", content: "Hi" },
    { role: "assistant", content: "Ho" },
  ],
});
const pieces = [`${example}\n${example.slice(0, 20)}`, example.slice(20)];
const whole = pieces.join("");
const order = {
  filename: "a.jsonl",
  purpose: "fine-tune",
  bytes: Buffer.byteLength(whole),
  mime_type: "text/jsonl",
} as const;

async function serverWith(t: TestContext, fileSettings = {}) {
  const clock = new FakeClock();
  const server = await fakeServer({ clock, fileSettings });
  t.after(() => server.close());
  await server.app.listen({ host: "127.0.0.1", port: 0 });
  const clientOf = (apiKey: string) =>
    new OpenAI({ apiKey, baseURL: `${server.app.listeningOrigin}/v1`, maxRetries: 0 });
  const addTo = async (id: string, text: string): Promise<string> =>
    (await uploads.parts.create(id, { data: await toFile(Buffer.from(text), "part") })).id;
  const namesIn = (folder: string): readonly string[] => {
    const path = join(server.dataFolder, folder);
    return existsSync(path) ? readdirSync(path) : [];
  };
  const client = clientOf(keys.member);
  const { uploads } = client;
  return { server, clock, client, uploads, others: clientOf(keys.other).uploads, addTo, namesIn };
}

const refused =
  (status: number, message: RegExp) =>
  (error: unknown): boolean => {
    assert.ok(error instanceof APIError);
    assert.equal(error.status, status, error.message);
    assert.match(`${error.param}: ${error.message}`, message);
    return true;
  };

test("joins parts that arrive in any order to a file that training jobs can use", async (t) => {
  const { clock, client, uploads, addTo, namesIn } = await serverWith(t);
  const upload = await uploads.create(order);
  const now = Math.floor(clock.now().getTime() / 1000);
  assert.deepEqual(
    [upload.status, upload.bytes, upload.created_at, upload.expires_at, upload.file],
    ["pending", order.bytes, now, now + 3600, null],
  );
  const [second, first] = await Promise.all([pieces[1], pieces[0]].map((text) => addTo(upload.id, text)));
  const unused = await addTo(upload.id, "not part of the file");
  assert.deepEqual([...namesIn(`uploads/${upload.id}`)].sort(), [first, second, unused].sort());
  const done = await uploads.complete(upload.id, {
    part_ids: [first, second],
    md5: createHash("md5").update(whole).digest("hex"),
  });
  assert.equal(done.status, "completed");
  assert.deepEqual(
    [done.file?.filename, done.file?.bytes, done.file?.status],
    ["a.jsonl", order.bytes, "processed"],
  );
  const id = done.file?.id ?? "";
  assert.equal(await (await client.files.content(id)).text(), whole);
  assert.deepEqual(namesIn("uploads"), []);
  await assert.rejects(uploads.cancel(upload.id), refused(409, /completed/));
  await assert.rejects(addTo(upload.id, "more"), refused(409, /completed/));
  assert.deepEqual([namesIn("files"), namesIn("work/server")], [[id], []]);
});

test("refuses parts that do not make the announced file, and keeps the upload pending", async (t) => {
  const { uploads, addTo, namesIn } = await serverWith(t);
  const upload = await uploads.create(order);
  const ids = [await addTo(upload.id, pieces[0]), await addTo(upload.id, pieces[1])];
  const complete = (part_ids: string[], md5?: string) => uploads.complete(upload.id, { part_ids, md5 });
  await assert.rejects(complete([ids[0]]), refused(422, /part_ids: .*bytes together; .* created with/));
  await assert.rejects(complete([...ids, "part_none"]), refused(422, /part_ids: .*no part "part_none"/));
  await assert.rejects(complete([]), refused(422, /part_ids/));
  await assert.rejects(complete(ids, "0".repeat(32)), refused(422, /md5: .*MD5 hash/));
  await assert.rejects(complete(ids, "short"), refused(422, /md5/));
  await assert.rejects(complete(ids.toReversed()), refused(422, /line 1/));
  assert.deepEqual([namesIn("files"), namesIn(`uploads/${upload.id}`).length], [[], 2]);
  assert.equal((await complete(ids)).status, "completed");
});

test("refuses an upload with a wrong name, size, purpose or option, and parts beyond the limits", async (t) => {
  const { server, uploads, addTo, namesIn } = await serverWith(t, { fileBytes: 200, entityBytes: 1024 });
  const create = (changes: object) => uploads.create({ ...order, bytes: 100, ...changes });
  await assert.rejects(create({ filename: "" }), refused(422, /filename/));
  await assert.rejects(create({ bytes: 201 }), refused(422, /bytes/));
  await assert.rejects(create({ purpose: "vision" }), refused(422, /purpose/));
  const expiry = { anchor: "created_at", seconds: 3600 };
  await assert.rejects(create({ expires_after: expiry }), refused(400, /expires_after is not supported/));
  const { id } = await create({});
  await addTo(id, "x".repeat(150));
  await assert.rejects(addTo(id, "x".repeat(51)), refused(413, /at most 200 bytes together/));
  await assert.rejects(addTo(id, ""), refused(422, /data: .*empty/));
  assert.equal(namesIn(`uploads/${id}`).length, 1);
  const form = new FormData();
  form.set("file", new Blob(["x"]), "x");
  const answer = await fetch(`${server.app.listeningOrigin}/v1/uploads/${id}/parts`, {
    method: "POST",
    headers: { authorization: `Bearer ${keys.member}` },
    body: form,
  });
  assert.deepEqual([answer.status, /the part `data`/.test(await answer.text())], [422, true]);
  for (let count = 1; count < partSettings.pendingMax; count++) await create({});
  await assert.rejects(create({}), refused(429, /100 pending uploads/));
});

test("deletes the parts of an upload that is cancelled or expires", async (t) => {
  const { server, clock, uploads, addTo, namesIn } = await serverWith(t);
  const cancelled = await uploads.create(order);
  await addTo(cancelled.id, pieces[0]);
  assert.equal((await uploads.cancel(cancelled.id)).status, "cancelled");
  assert.deepEqual(namesIn("uploads"), []);
  const expired = await uploads.create(order);
  await addTo(expired.id, pieces[0]);
  await server.files.sweep();
  assert.deepEqual(namesIn("uploads"), [expired.id]);
  clock.step(3_600_000);
  await assert.rejects(addTo(expired.id, pieces[1]), refused(409, /expired/));
  utimesSync(join(server.dataFolder, "uploads", expired.id), 0, 0);
  await server.files.sweep();
  assert.deepEqual(namesIn("uploads"), []);
  clock.step(25 * 3_600_000);
  await server.files.sweep();
  await assert.rejects(uploads.cancel(expired.id), refused(404, /no upload/));
});

test("hides an upload from other entities", async (t) => {
  const { uploads, others, addTo, namesIn } = await serverWith(t);
  const { id } = await uploads.create(order);
  const part = await addTo(id, whole);
  const data = await toFile(Buffer.from("x"), "part");
  await assert.rejects(others.parts.create(id, { data }), refused(404, /no upload/));
  await assert.rejects(others.complete(id, { part_ids: [part] }), refused(404, /no upload/));
  await assert.rejects(others.cancel(id), refused(404, /no upload/));
  assert.deepEqual(namesIn(`uploads/${id}`), [part]);
});
