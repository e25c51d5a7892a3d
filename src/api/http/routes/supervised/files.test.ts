import assert from "node:assert/strict";
import { existsSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { FakeClock } from "../../../../base/domain/testing/fake-clock.ts";
import { bearer, fakeServer, keys, registeredModel } from "../../testing/fake-server.ts";

type Server = Awaited<ReturnType<typeof fakeServer>>;
type Refusal = { readonly detail: readonly { readonly loc: readonly string[]; readonly msg: string }[] };

interface Part {
  /** Name of the form part; null for a part without a name. */
  readonly name: string | null;
  readonly value: string;
  readonly filename?: string;
}

const purpose: Part = { name: "purpose", value: "fine-tune" };
const fileOf = (value: string, filename = "a.jsonl"): Part => ({ name: "file", value, filename });

/** Sends a form with these parts, encoded as clients encode it. */
function upload(server: Server, parts: readonly Part[], key: string = keys.member) {
  const written = parts.map(({ name, value, filename }) => {
    const asFile =
      filename === undefined ? "" : `; filename="${filename}"\r\ncontent-type: application/octet-stream`;
    const named = name === null ? "" : `; name="${name}"`;
    return `--xYz\r\ncontent-disposition: form-data${named}${asFile}\r\n\r\n${value}\r\n`;
  });
  return server.ask({
    method: "POST",
    url: "/v1/files",
    headers: { authorization: bearer(key), "content-type": "multipart/form-data; boundary=xYz" },
    payload: `${written.join("")}--xYz--\r\n`,
  });
}

async function uploaded(server: Server, text: string, key?: string): Promise<string> {
  const answer = await upload(server, [purpose, fileOf(text)], key);
  assert.equal(answer.statusCode, 200, answer.body);
  return answer.json<{ id: string }>().id;
}

function ask(server: Server, method: "GET" | "DELETE", url: string, key: string = keys.member) {
  return server.ask({ method, url, headers: { authorization: bearer(key) } });
}

function createJob(
  server: Server,
  modelId: string,
  url: string,
  more: object = {},
  headers: Readonly<Record<string, string>> = {},
) {
  return server.ask({
    method: "POST",
    url: "/v1/preview/sft-training-jobs",
    headers: { authorization: bearer(keys.member), host: "hone.example:8000", ...headers },
    payload: { model_id: modelId, training_data_url: url, ...more },
  });
}

/** Checks the status of a refusal. Returns the path and the message of each fault. */
function faultsIn(
  answer: { readonly statusCode: number; json(): unknown; readonly body: string },
  status: number,
) {
  assert.equal(answer.statusCode, status, answer.body);
  // Safe cast: every error answer has the common error body.
  return (answer.json() as Refusal).detail.map(({ loc, msg }) => `${loc.slice(1).join(".")}: ${msg}`);
}

const onDisk = ({ dataFolder }: Server): readonly string[] => {
  const folders = ["files", "work/server"].map((name) => join(dataFolder, name));
  return folders.flatMap((folder) => (existsSync(folder) ? readdirSync(folder) : []));
};

const exampleOf = (question: string): string =>
  JSON.stringify({
    messages: [
      { role: "user", content: question },
      { role: "assistant", content: "Ho" },
    ],
  });
const example = exampleOf("Hi");

/** Returns a training example with this number of bytes. */
const exampleOfBytes = (count: number): string => exampleOf("x".repeat(count - example.length + 2));

/** Stores a file with any content, even one that an upload would refuse now. Returns the file's id. */
async function kept(server: Server, text: string): Promise<string> {
  const id = await uploaded(server, example);
  writeFileSync(join(server.dataFolder, "files", id), text);
  return id;
}

test("uploads, lists, reads and deletes a file, with the parts of the form in any order", async () => {
  const clock = new FakeClock();
  const server = await fakeServer({ clock });
  const text = `${example}\n${exampleOf("é".repeat(100_000))}`;
  const answer = await upload(server, [fileOf(text, "träin.jsonl"), purpose]);
  assert.equal(answer.statusCode, 200, answer.body);
  const file = answer.json<{ id: string }>();
  assert.deepEqual(file, {
    id: file.id,
    object: "file",
    bytes: Buffer.byteLength(text),
    created_at: clock.now().getTime() / 1000,
    filename: "träin.jsonl",
    purpose: "fine-tune",
    expires_at: null,
    status: "processed",
  });
  assert.deepEqual(onDisk(server), [file.id]);
  assert.deepEqual((await ask(server, "GET", `/v1/files/${file.id}`)).json(), file);
  const content = await ask(server, "GET", `/v1/files/${file.id}/content`);
  assert.deepEqual([content.body, content.headers["content-type"]], [text, "application/octet-stream"]);
  const second = await uploaded(server, example);
  const list = async (query: string) =>
    (await ask(server, "GET", `/v1/files${query}`))
      .json<{ data: readonly { id: string }[] }>()
      .data.map(({ id }) => id);
  assert.deepEqual(await list(""), [second, file.id]);
  assert.deepEqual(await list("?order=asc&limit=1"), [file.id]);
  assert.deepEqual(await list("?purpose=batch"), []);
  const deleted = await ask(server, "DELETE", `/v1/files/${file.id}`);
  assert.deepEqual(deleted.json(), { id: file.id, object: "file", deleted: true });
  assert.deepEqual(onDisk(server), [second]);
  assert.equal((await ask(server, "GET", `/v1/files/${file.id}/content`)).statusCode, 404);
  await server.close();
});

test("deletes a file after the time in `expires_after`, even if it is used", async () => {
  const clock = new FakeClock();
  const server = await fakeServer({ clock });
  const expiry = { "expires_after[anchor]": "created_at", "expires_after[seconds]": "3600" };
  const parts = Object.entries(expiry).map(([name, value]) => ({ name, value }));
  const { id, expires_at: expiresAt } = (await upload(server, [purpose, ...parts, fileOf(example)])).json<{
    readonly id: string;
    readonly expires_at: number;
  }>();
  assert.equal(expiresAt, clock.now().getTime() / 1000 + 3600);
  const other = await uploaded(server, example);
  await clock.advance(3_599_000);
  await server.files.sweep();
  assert.deepEqual(onDisk(server), [id, other].sort());
  await clock.advance(1001);
  await server.files.sweep();
  assert.deepEqual(onDisk(server), [other]);
  assert.equal((await ask(server, "GET", `/v1/files/${id}`)).statusCode, 404);
  await server.close();
});

test("shows a file only to its entity and to administrators", async () => {
  const server = await fakeServer();
  const id = await uploaded(server, example);
  for (const url of [`/v1/files/${id}`, `/v1/files/${id}/content`]) {
    assert.equal((await ask(server, "GET", url, keys.other)).statusCode, 404);
    assert.equal((await ask(server, "GET", url, keys.admin)).statusCode, 200);
  }
  assert.equal((await ask(server, "DELETE", `/v1/files/${id}`, keys.other)).statusCode, 404);
  assert.deepEqual((await ask(server, "GET", "/v1/files", keys.other)).json<{ data: [] }>().data, []);
  await server.close();
});

test("refuses an invalid or incomplete form, and keeps no file", async () => {
  const server = await fakeServer({ fileSettings: { fileBytes: 1024 } });
  const refused = async (parts: readonly Part[], status = 422) =>
    faultsIn(await upload(server, parts), status);
  assert.match((await refused([fileOf("x")]))[0], /^purpose: Field required/);
  assert.match((await refused([purpose]))[0], /^file: Field required/);
  assert.match(
    (await refused([{ ...purpose, value: "vision" }, fileOf("x")]))[0],
    /^purpose: .*got "vision"/,
  );
  assert.match((await refused([purpose, { ...fileOf("x"), name: "other" }]))[0], /^other: /);
  assert.match((await refused([purpose, fileOf("x"), fileOf("y")]))[0], /one file/);
  assert.match((await refused([purpose, { ...fileOf("x"), name: null }]))[0], /^: A part has no name/);
  const anchor = { name: "expires_after[anchor]", value: "created_at" };
  const seconds = (value: string) => ({ name: "expires_after[seconds]", value });
  for (const [parts, expected] of [
    [[seconds("3600")], /^expires_after\[anchor\]: Field required/],
    [[anchor], /^expires_after\[seconds\]: Field required/],
    [[anchor, seconds("3599")], /^expires_after\[seconds\]: .*"3599".*from 3600 to 2592000/],
    [[anchor, seconds("1e4")], /^expires_after\[seconds\]: .*"1e4"/],
    [[{ ...anchor, value: "used_at" }, seconds("3600")], /^expires_after\[anchor\]: .*created_at/],
    [
      [anchor, seconds("3600"), { name: "expires_after[days]", value: "1" }],
      /^expires_after\[days\]: .*leave it out/,
    ],
  ] as const)
    assert.match((await refused([purpose, ...parts, fileOf(example)]))[0], expected);
  assert.match((await refused([purpose, fileOf("x", "n".repeat(256))]))[0], /256 characters; at most 255/);
  assert.match((await refused([purpose, fileOf(example, "")]))[0], /^file: The name of the file is ""/);
  assert.match((await refused([purpose, fileOf(example, "a\u0000")]))[0], /^file: The name of the file is/);
  assert.match(
    (await refused([purpose, fileOf("x".repeat(1025))], 413))[0],
    /more than 1024 bytes, the most that are accepted/,
  );
  const send = (payload: string, type: string) =>
    server.ask({
      method: "POST",
      url: "/v1/files",
      headers: { authorization: bearer(keys.member), "content-type": type },
      payload,
    });
  const broken = await send("--xYz\r\ncontent-disposition: form-da", "multipart/form-data; boundary=xYz");
  assert.match(faultsIn(broken, 422)[0], /The form cannot be read/);
  assert.match(faultsIn(await send("{}", "application/json"), 415)[0], /multipart\/form-data/);
  assert.deepEqual(onDisk(server), []);
  await server.close();
});

test("limits the total size of an entity's files", async () => {
  const server = await fakeServer({ fileSettings: { entityBytes: 2048 } });
  const first = await uploaded(server, exampleOfBytes(1500));
  const refused = await upload(server, [purpose, fileOf(exampleOfBytes(1000))]);
  assert.match(
    faultsIn(refused, 413)[0],
    /have 1500 bytes, and this one has 1000.*2048 \(files.entityBytes\)/,
  );
  assert.deepEqual(onDisk(server), [first]);
  await ask(server, "DELETE", `/v1/files/${first}`);
  await uploaded(server, exampleOfBytes(1000));
  await server.close();
});

test("accepts a file for a job by its id, its scheme or its URL, and stores its content with the job", async () => {
  const server = await fakeServer();
  const modelId = await registeredModel(server);
  const id = await uploaded(server, `\uFEFF${example}\r\n${example}\n\n`);
  for (const url of [id, `hone-file://${id}`, `http://hone.example:8000/v1/files/${id}/content`]) {
    const created = await createJob(server, modelId, url, { config: { learning_rate: [1e-4] } });
    assert.equal(created.statusCode, 200, created.body);
    const lines: unknown[] = [];
    const jobId = created.json<{ id: string }>().id;
    for await (const line of (await server.jobs.trajectoryLines(jobId)) ?? []) lines.push(JSON.parse(line));
    const stored = { ...JSON.parse(example), tools: null, extra: {} };
    assert.deepEqual(lines, [stored, stored]);
  }
  for (const url of [
    `http://elsewhere.example/v1/files/${id}`,
    `http://hone.example:8000/x/${id}`,
    `file:///${id}`,
  ])
    assert.match(
      faultsIn(await createJob(server, modelId, url), 422)[0],
      /^training_data_url: .*not fetched/,
    );
  const foreign = await uploaded(server, example, keys.other);
  for (const other of [foreign, `file-${modelId}`])
    assert.match(
      faultsIn(await createJob(server, modelId, other), 404)[0],
      /^training_data_url: There is no file/,
    );
  await server.close();
});

test("returns the same job for a repeated request even if its file was deleted or has changed", async () => {
  const clock = new FakeClock();
  const server = await fakeServer({ clock, fileSettings: { unusedDays: 2 } });
  const modelId = await registeredModel(server);
  for (const leave of [
    (id: string) => ask(server, "DELETE", `/v1/files/${id}`),
    async () => {
      clock.step(3 * 86_400_000);
      await server.files.sweep();
    },
    async (id: string) => writeFileSync(join(server.dataFolder, "files", id), "other bytes"),
  ]) {
    const id = await uploaded(server, example);
    const key = { "idempotency-key": `for ${id}` };
    const first = await createJob(server, modelId, id, {}, key);
    assert.equal(first.statusCode, 200, first.body);
    await leave(id);
    const again = await createJob(server, modelId, id, {}, key);
    assert.deepEqual([again.statusCode, again.body], [200, first.body]);
    const other = await createJob(server, modelId, id, { config: { epochs: 2 } }, key);
    assert.match(faultsIn(other, 409)[0], /^idempotency-key: /);
    assert.notEqual((await createJob(server, modelId, id)).statusCode, 200);
  }
  await server.close();
});

test("reports faults in a file by line and field, for small and large files", async () => {
  const server = await fakeServer({ settings: { trajectoryGroups: 8 } });
  const modelId = await registeredModel(server);
  for (const padding of ["", "x".repeat(1 << 18)]) {
    const bad = JSON.stringify({ messages: [{ role: "user", content: 1 }], padding });
    const text = [example, "{", bad, "", "[]"].join("\n");
    const atJob = await createJob(server, modelId, await kept(server, text));
    const before = onDisk(server);
    const atUpload = await upload(server, [purpose, fileOf(text)]);
    assert.deepEqual(onDisk(server), before);
    for (const [answer, field] of [
      [atJob, "training_data_url"],
      [atUpload, "file"],
    ] as const) {
      assert.deepEqual(
        faultsIn(answer, 422).map((fault) => fault.split(": ")[0]),
        [
          `${field}.line 2`,
          `${field}.line 3.messages.0.content.str`,
          `${field}.line 3.messages.0.content.list[ContentPart]`,
          `${field}.line 3.messages`,
          `${field}.line 4`,
          `${field}.line 5`,
        ],
      );
    }
  }
  const refusals = async (text: string): Promise<readonly string[]> => [
    faultsIn(await createJob(server, modelId, await kept(server, text)), 422)[0],
    faultsIn(await upload(server, [purpose, fileOf(text)]), 422)[0],
  ];
  for (const text of ["", "\n\n"])
    for (const fault of await refusals(text)) assert.match(fault, /holds no conversation/);
  const long = Array.from({ length: 9 }, () => example).join("\n");
  for (const fault of await refusals(long)) assert.match(fault, /more than 8 lines/);
  const rates = await createJob(server, modelId, await uploaded(server, example), {
    config: { learning_rate: [1, 1] },
  });
  assert.match(faultsIn(rates, 422)[0], /^config.learning_rate: /);
  const binary = await kept(server, Array.from({ length: 8 }, () => "\u0001").join("\n"));
  assert.equal(faultsIn(await createJob(server, modelId, binary), 422).length, 8);
  await server.close();
});

test("deletes unknown files and files unused for long in a sweep, and keeps the others", async () => {
  const clock = new FakeClock();
  const server = await fakeServer({ clock, fileSettings: { unusedDays: 2 } });
  const modelId = await registeredModel(server);
  const [unused, used] = [await uploaded(server, example), await uploaded(server, example)];
  // The first name is that of an unfinished file from an earlier version of Hone. The second belongs to no stored
  // record.
  for (const name of [`${unused}.partial`, "file-of-nobody"]) {
    const file = join(server.dataFolder, "files", name);
    writeFileSync(file, "");
    utimesSync(file, clock.now(), clock.now());
  }
  clock.step(86_400_000);
  assert.equal((await createJob(server, modelId, used)).statusCode, 200);
  await server.files.sweep();
  assert.deepEqual(onDisk(server), [unused, used].sort());
  clock.step(86_400_001);
  await server.files.sweep();
  assert.deepEqual(onDisk(server), [used]);
  assert.equal((await ask(server, "GET", `/v1/files/${unused}`)).statusCode, 404);
  await server.close();
});
