// Tests commands that write a server's data to a file, and are killed or cut off midway. No file with the requested
// name may exist afterwards, and an interrupted feedback export can be resumed.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { putHoneInto } from "./hone-command.ts";
import { eventually } from "./running-server.ts";

const modelId = "7b0d1c1e-3f0a-4a52-9a53-7a5b2f1f8a11";
const lines = '{"id":"a"}\n{"id":"b"}\n';
const scratch = mkdtempSync(join(tmpdir(), "hone-killed-exports-"));
const hone = join(putHoneInto(join(scratch, "bin")), "hone");
/** Responses of which half has been sent. */
const halfSent: ServerResponse[] = [];
const server = createServer((request, response) => {
  request.resume();
  if (!/export/.test(request.url ?? "")) {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ id: modelId }));
    return;
  }
  response.writeHead(200, { "content-type": "application/jsonl" });
  response.write(lines);
  halfSent.push(response);
});

before(() => once(server.listen(0, "127.0.0.1"), "listening"));
after(() => {
  server.closeAllConnections();
  server.close();
  rmSync(scratch, { recursive: true });
});

const commands: Readonly<Record<string, readonly string[]>> = {
  feedback: ["feedback", "export", "team/games"],
  trajectories: ["models", "trajectories", modelId],
};

/** Starts a command that writes the file `name`. Resolves once the command has received half of the data. */
async function begin(words: readonly string[], folder: string) {
  const { port } = server.address() as AddressInfo;
  const child = spawn(hone, [...words, "--out", join(folder, "all.jsonl")], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, HONE_URL: `http://127.0.0.1:${port}`, HONE_API_KEY: "hone-export-key" },
  });
  let errors = "";
  child.stderr.on("data", (data: Buffer) => (errors += data.toString()));
  const ended = once(child, "close");
  await eventually(`half of it has come: ${errors}`, async () => {
    const [name] = readdirSync(folder);
    return name !== undefined && readFileSync(join(folder, name), "utf8") === lines ? true : null;
  });
  return { child, ended, errors: () => errors };
}

for (const [what, words] of Object.entries(commands)) {
  const newFolder = (): string => mkdtempSync(join(scratch, `${what}-`));

  test(`a killed export of ${what} leaves no file with the requested name`, async () => {
    const folder = newFolder();
    const { child, ended } = await begin(words, folder);
    child.kill("SIGKILL");
    await ended;
    const [left, ...more] = readdirSync(folder);
    assert.match(left ?? "", /^all\.jsonl\.partial-\d+$/);
    assert.deepEqual(more, []);
  });

  test(`an export of ${what} whose connection breaks fails and leaves no file with the requested name`, async () => {
    const folder = newFolder();
    const { child, ended, errors } = await begin(words, folder);
    halfSent.at(-1)?.destroy();
    await ended;
    assert.equal(child.exitCode, 1, errors());
    const left = readdirSync(folder);
    if (what === "feedback") {
      const [partial = ""] = left;
      assert.match(partial, /^all\.jsonl\.partial-\d+$/);
      assert.ok(errors().includes(`${partial} has the records that arrived`), errors());
      assert.match(errors(), /--after <the id of its last record>/);
    } else assert.deepEqual(left, []);
  });

  test(`a completed export of ${what} leaves the complete file and nothing else`, async () => {
    const folder = newFolder();
    const { child, ended, errors } = await begin(words, folder);
    halfSent.at(-1)?.end('{"id":"c"}\n');
    await ended;
    assert.equal(child.exitCode, 0, errors());
    assert.deepEqual(readdirSync(folder), ["all.jsonl"]);
    assert.equal(readFileSync(join(folder, "all.jsonl"), "utf8"), `${lines}{"id":"c"}\n`);
  });
}
