import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { nameResolver, UnresolvedName, type ResolveName } from "./resolve-name.ts";
import { serveNames } from "./testing/name-server.ts";

const never = new AbortController().signal;

function filesOf(t: TestContext, { hosts = "", resolver = "" }) {
  const folder = mkdtempSync(join(tmpdir(), "hone-names-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const files = { hostsFile: join(folder, "hosts"), resolverFile: join(folder, "resolv.conf") };
  writeFileSync(files.hostsFile, hosts);
  writeFileSync(files.resolverFile, resolver);
  return files;
}

async function check(resolve: ResolveName, host: string): Promise<readonly string[]> {
  return (await resolve(host, never)).map(({ address, family }) => `${family} ${address}`);
}

test("resolves the addresses of both families", async (t) => {
  const server = await serveNames(t, {
    "both.test": ["10.0.0.1", "10.0.0.2", "fd00:0:0:0:0:0:0:5"],
    "short.test": ["10.0.0.3"],
    "long.test": ["fd00:0:0:0:0:0:0:6"],
    "empty.test": [],
  });
  const resolve = nameResolver({ servers: [server.address], ...filesOf(t, {}) });
  assert.deepEqual(await check(resolve, "both.test"), ["4 10.0.0.1", "4 10.0.0.2", "6 fd00::5"]);
  assert.deepEqual(await check(resolve, "short.test"), ["4 10.0.0.3"]);
  assert.deepEqual(await check(resolve, "long.test"), ["6 fd00::6"]);
  for (const host of ["empty.test", "none.test"])
    await assert.rejects(check(resolve, host), UnresolvedName, host);
});

test("resolves localhost and names in the hosts file without a name server", async (t) => {
  const server = await serveNames(t, {});
  const hosts =
    "# 10.0.0.1 c.test\n127.0.0.1 localhost\n10.0.0.7\tdb  DB.test # the database\nfd00::7 db.test\nx y\n";
  const resolve = nameResolver({ servers: [server.address], ...filesOf(t, { hosts }) });
  assert.deepEqual(await check(resolve, "localhost"), ["4 127.0.0.1", "6 ::1"]);
  assert.deepEqual(await check(resolve, "db.test"), ["4 10.0.0.7", "6 fd00::7"]);
  assert.deepEqual(server.asked, []);
  for (const host of ["c.test", "database", "y"]) await assert.rejects(check(resolve, host), UnresolvedName);
});

test("resolves short names within the search domains of resolv.conf", async (t) => {
  const server = await serveNames(t, { "hooks.team.test": ["10.0.0.1"], "a.b.c.test": ["10.0.0.2"] });
  const resolver = "nameserver 10.0.0.53\nsearch team.test c.test.\n";
  const resolve = nameResolver({ servers: [server.address], ...filesOf(t, { resolver }) });
  assert.deepEqual(await check(resolve, "hooks"), ["4 10.0.0.1"]);
  assert.deepEqual(server.asked, ["hooks.team.test"]);
  assert.deepEqual(await check(resolve, "a.b"), ["4 10.0.0.2"]);
  assert.deepEqual(server.asked.slice(1), ["a.b", "a.b.team.test", "a.b.c.test"]);
  const many = nameResolver({
    servers: [server.address],
    ...filesOf(t, { resolver: `${resolver}options ndots:5\n` }),
  });
  assert.deepEqual(await check(many, "a.b.c.test"), ["4 10.0.0.2"]);
  assert.deepEqual(server.asked.slice(4), ["a.b.c.test.team.test", "a.b.c.test.c.test"]);
});

test("aborts unanswered lookups by their signal, and they do not delay other lookups", async (t) => {
  const server = await serveNames(t, { "stuck.test": "silent", "good.test": ["10.0.0.1"] });
  const resolve = nameResolver({ servers: [server.address], ...filesOf(t, {}) });
  const late = new AbortController();
  // 64 lookups are more than getaddrinfo has threads. With getaddrinfo, they would therefore block all other lookups.
  const stuck = Array.from({ length: 64 }, () => resolve("stuck.test", late.signal));
  const ended = Promise.allSettled(stuck);
  await server.came("stuck.test");
  assert.deepEqual(await check(resolve, "good.test"), ["4 10.0.0.1"]);
  const reason = new Error("too late");
  late.abort(reason);
  for (const result of await ended) assert.deepEqual(result, { status: "rejected", reason });
  await assert.rejects(resolve("good.test", late.signal), reason);
});
