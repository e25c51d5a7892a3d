import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { test, type TestContext } from "node:test";
import { fakeServer, keys } from "../../../api/http/testing/fake-server.ts";
import { commandProcess } from "../testing/command-process.ts";

const run = commandProcess();

test("writes a project named after its folder, and overwrites no file", async (t) => {
  const parent = mkdtempSync(join(tmpdir(), "hone-init-"));
  t.after(() => rmSync(parent, { recursive: true }));
  const folder = join(parent, "My Task!");
  const { output, status } = await run(["init", folder, "--json"]);
  assert.equal(status, 0);
  const { files } = JSON.parse(output) as { readonly files: readonly string[] };
  assert.deepEqual(files.toSorted(), readdirSync(folder).toSorted());
  const { name, dependencies } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
    readonly name: string;
    readonly dependencies: Readonly<Record<string, string>>;
  };
  // The tests run in a checkout, which is not in a registry.
  const checkout = `file:${resolve(".").replaceAll("\\", "/")}`;
  assert.deepEqual([name, dependencies], ["my-task", { "hone-server": checkout }]);

  const other = mkdtempSync(join(parent, "other-"));
  writeFileSync(join(other, "task.js"), "mine");
  const refused = await run(["init", other]);
  assert.equal(refused.status, 1);
  assert.match(refused.errors, /already has task\.js; nothing was written\. Name a new folder/);
  assert.deepEqual(readdirSync(other), ["task.js"]);
});

test("reports why the folder cannot be created", async (t) => {
  const plain = join(newFolder(t), "file");
  writeFileSync(plain, "");
  const { status, errors } = await run(["init", join(plain, "task")]);
  assert.equal(status, 1);
  assert.match(
    errors,
    /^hone: The folder .*file cannot be used: it is not a folder\. Name another with `hone init <folder>`/,
  );
});

test("suggests no second server if one answers, and names the server that the training loop will use", async (t) => {
  const server = await fakeServer();
  const url = await server.app.listen({ host: "127.0.0.1", port: 0 });
  t.after(() => server.close());
  const environment = { HONE_URL: url, HONE_API_KEY: keys.member };
  const { output } = await initIn(t, environment);
  assert.ok(output.includes(`The server at ${url} already answers, and the loop will use it:\n`), output);
  assert.match(output, /\n {2}cd task && npm install && npm run learn\n$/);
  assert.doesNotMatch(output, /npm run serve|HONE_API_KEY/);
  const { output: json } = await initIn(t, environment, "--json");
  assert.equal((JSON.parse(json) as { readonly server: unknown }).server, url);

  const refused = await initIn(t, { HONE_URL: url, HONE_API_KEY: "of-another-server" });
  assert.match(refused.output, /rejects the key that the loop would find: set HONE_API_KEY/);
});

test("suggests starting a server if none answers in time, another program uses the address, or the address is invalid", async (t) => {
  const freed = await listening(t, () => undefined);
  await freed.close();
  const foreign = await listening(t, (_request, response) => response.writeHead(404).end("not here"));
  const silent = await listening(t, () => undefined);
  for (const url of [freed.url, foreign.url, silent.url, "no address"]) {
    const { output, status } = await initIn(t, { HONE_URL: url });
    assert.equal(status, 0);
    assert.match(
      output,
      /Start a server there[^]+\n {2}cd task && npm install && npm run serve\n {2}cd task && npm run learn\n$/,
    );
  }
});

test("reports a dependency that is a local path, and omits npm install if the package can be resolved", async (t) => {
  const { output } = await initIn(t, { HONE_URL: "http://127.0.0.1:1" });
  assert.ok(output.includes(`takes hone-server from ${resolve(".")}: a path on this machine.`), output);
  const parent = newFolder(t);
  const installed = join(parent, "node_modules", "hone-server");
  mkdirSync(installed, { recursive: true });
  writeFileSync(join(installed, "package.json"), JSON.stringify({ name: "hone-server" }));
  const found = await run(["init", "task"], {
    folder: parent,
    environment: { HONE_URL: "http://127.0.0.1:1" },
  });
  assert.doesNotMatch(found.output, /npm install/);
});

function newFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "hone-init-"));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

/** Runs `hone init task` in a new folder. */
function initIn(t: TestContext, environment: Readonly<Record<string, string>>, ...flags: readonly string[]) {
  return run(["init", "task", ...flags], { folder: newFolder(t), environment });
}

async function listening(t: TestContext, onRequest: RequestListener) {
  const server = createServer(onRequest);
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  // Safe cast: a server that listens on a port has such an address.
  const { port } = server.address() as AddressInfo;
  const close = (): Promise<void> =>
    new Promise((done) => {
      server.close(() => done());
      server.closeAllConnections();
    });
  t.after(close);
  return { url: `http://127.0.0.1:${port}`, close };
}
