// Sends a server archives that are expensive to unpack or too large. The server must refuse each with an error that
// reaches the sender, and keep no part of it.
import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { once } from "node:events";
import { request, type IncomingMessage } from "node:http";
import { join } from "node:path";
import { after, before, test } from "node:test";
import {
  tarEnd,
  tarEntry,
  tarOfMany,
  zippedTarAndMore,
  zippedTarOfOne,
} from "../src/lib/archives/testing/hostile-archives.ts";
import { busyGauges } from "./idle-gauges.ts";
import {
  eventually,
  newDataFolder,
  removeDataFolder,
  startServer,
  type RunningServer,
} from "./running-server.ts";
import { model, registerModel } from "./served-jobs.ts";

const mebibyte = 1 << 20;
const dataFolder = newDataFolder();
let server: RunningServer;
let path: string;

before(async () => {
  const limits = { models: { importBytesMax: 16 * mebibyte } };
  server = await startServer({ dataFolder, flags: model, limits });
  path = `/v1/preview/models/${await registerModel(server, "m")}/checkpoints`;
});

after(async () => {
  await server.terminate();
  removeDataFolder(dataFolder);
});

function beginUpload() {
  const headers = { authorization: `Bearer ${server.apiKey}`, "content-type": "application/x-tar" };
  const upload = request(server.url + path, { method: "POST", headers });
  const answered = once(upload, "response").then(async (values) => {
    // Safe cast: the event has a single argument.
    const [answer] = values as [IncomingMessage];
    let text = "";
    for await (const piece of answer.setEncoding("utf8")) text += String(piece);
    return { status: answer.statusCode ?? 0, text };
  });
  // Ignores errors of the upload. It may fail after the answer if the server did not read all of it.
  upload.on("error", () => undefined);
  answered.catch(() => undefined);
  return { upload, answered };
}

/** Sends the whole archive, or as much as the server accepts before it answers. */
async function send(archive: Iterable<Uint8Array>) {
  const { upload, answered } = beginUpload();
  const isOver = answered.then(
    () => true,
    () => true,
  );
  for (const piece of archive) {
    const taken = new Promise<false>((resolve) => upload.write(piece, () => resolve(false)));
    if (await Promise.race([isOver, taken])) return answered;
  }
  upload.end();
  return answered;
}

const leftOver = (): readonly string[] => {
  const work = join(dataFolder, "work");
  const servers = existsSync(work) ? readdirSync(work) : [];
  return servers.flatMap((server) => readdirSync(join(work, server)));
};

for (const [what, archive, status, message] of [
  ["a large ignored file", zippedTarOfOne("x", 3000), 413, /16777216 bytes together/],
  ["20,000 entries", tarOfMany(20_000, 0), 422, /more than 1000 entries/],
  ["large metadata entries", tarOfMany(10, 900_000, { type: "x" }), 422, /has 900000 bytes/],
  [
    "a large configuration",
    zippedTarOfOne("adapter_config.json", 12),
    422,
    /adapter_config\.json has 12582912 bytes; at most 1048576/,
  ],
  ["100 MiB after the end", zippedTarAndMore(100), 422, /follow its end/],
  ["more than the limit for adapters", tarOfMany(1, 17 * mebibyte), 413, /more than 16777216 bytes/],
] as const) {
  test(`${what}: the sender receives the error, and nothing is left`, async () => {
    const answer = await send(archive);
    assert.equal(answer.status, status, answer.text);
    assert.match(answer.text, message);
    assert.deepEqual(leftOver(), []);
  });
}

test("an unsupported configuration is refused, with the location of its file in the body", async () => {
  const config = JSON.stringify({ peft_type: "LORA", r: 4, lora_alpha: 8, use_dora: true });
  const answer = await send([
    tarEntry("adapter_config.json", config),
    tarEntry("adapter_model.safetensors", "\u0002\0\0\0\0\0\0\0{}"),
    tarEnd,
  ]);
  assert.equal(answer.status, 400, answer.text);
  // Safe cast: errors of the API have this form.
  const { detail } = JSON.parse(answer.text) as { readonly detail: readonly { readonly loc: unknown }[] };
  assert.deepEqual(detail[0]?.loc, ["body", "adapter_config.json"]);
});

/** Number of clients that disconnect: more than the maximum number of concurrent imports. */
const leavingCount = 6;

test("clients that disconnect during an upload leave no folder, no counted bytes and no running import", async () => {
  for (let index = 0; index < leavingCount; index++) {
    const { upload } = beginUpload();
    upload.write(Buffer.alloc(mebibyte));
    await eventually("some of it is there", async () => (leftOver().length > 0 ? true : null));
    upload.destroy();
    await eventually("it is gone", async () => (leftOver().length === 0 ? true : null));
  }
  assert.deepEqual(await busyGauges(server), []);
  const next = await send(tarOfMany(1, 0));
  assert.match(next.text, /adapter_config\.json is missing/);
});
