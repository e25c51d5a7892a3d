// Tests of keys that are created in a data folder, by a command or by a starting server: access, revocation and refused
// operations.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { hashSecret, type KeyStore } from "../../base/domain/access.ts";
import { systemClock } from "../../base/domain/clock.ts";
import { searchedOf } from "../../base/domain/testing/search.ts";
import { silentLogger } from "../../base/telemetry/testing/silent-logger.ts";
import type { AuditEntry } from "../../base/telemetry/audit-log.ts";
import { openSqlite } from "../../store/database/sqlite/sqlite-dialect.ts";
import { openStores } from "../../store/database/stores.ts";
import { auditedKeys } from "./audit-keys.ts";
import { ensureFirstKey, type FirstKey } from "./first-key.ts";
import { keyOf } from "../../access/keys/key-secret.ts";
import { createKey, listKeys, revokeKey } from "./keys.ts";

interface Place {
  readonly data: string;
  readonly keys: KeyStore;
  readonly warnings: string[];
  readonly start: (apiKey?: string, auth?: "on" | "off") => Promise<FirstKey>;
  readonly isLive: (secret: string | null) => Promise<boolean>;
}

async function place(t: TestContext): Promise<Place> {
  const data = mkdtempSync(join(tmpdir(), "hone-keys-"));
  const database = await openStores(openSqlite({ file: join(data, "hone.db"), isShared: true }));
  t.after(async () => {
    await database.close();
    rmSync(data, { recursive: true });
  });
  const { keys } = database;
  const warnings: string[] = [];
  const logger = { ...silentLogger, warn: (_: object, message: string) => void warnings.push(message) };
  return {
    data,
    keys,
    warnings,
    start: (apiKey, auth = "on") =>
      ensureFirstKey({
        keys,
        settings: { apiKey: apiKey ?? null, auth, data, entity: "local" },
        clock: systemClock,
        logger,
      }),
    isLive: async (secret) => (await keys.findByHash(hashSecret(secret ?? ""))) !== null,
  };
}

test("refuses an entity whose name cannot be part of a model's name", async (t) => {
  const { data, keys } = await place(t);
  const names = ["", " ", "team a", "a/b", "a:b", "a\nb", "a\u0000", ".", "..", "x%2f", "%2E"];
  for (const entity of searchedOf(names, 3))
    await assert.rejects(createKey({ data, entity, role: "member" }), { code: "invalid" }, entity);
  assert.deepEqual(await listKeys({ data }), []);
  const { key } = await createKey({ data, entity: "team-ä_1.0%", role: "member" });
  assert.equal((await keys.findByHash(key.secretHash))?.entity, "team-ä_1.0%");
});

test("refuses a data folder without a database, and does not create the folder", async (t) => {
  const data = join((await place(t)).data, "mistyped");
  await assert.rejects(createKey({ data, role: "member" }), { code: "not_found" });
  await assert.rejects(listKeys({ data }), { code: "not_found" });
  assert.ok(!existsSync(data));
});

test("creates an admin key at a start unless a valid one exists; member keys do not count", async (t) => {
  const { data, keys, start, isLive } = await place(t);
  await createKey({ data, entity: "alpha", role: "member" });
  assert.deepEqual(await start(undefined, "off"), {
    secret: null,
    isNew: false,
    place: "none is needed",
  });
  const first = await start();
  assert.ok(first.isNew && (await isLive(first.secret)));
  assert.deepEqual(await start(), { ...first, isNew: false });
  const key = await keys.findByHash(hashSecret(first.secret ?? ""));
  assert.equal(key?.role, "admin");
  await keys.revoke(key.id, new Date(0));
  const second = await start();
  assert.ok(second.isNew && second.secret !== first.secret && (await isLive(second.secret)));
});

test("revokes the keys of earlier starts when HONE_API_KEY changes, but no other key", async (t) => {
  const { data, warnings, start, isLive } = await place(t);
  const made = await start();
  const own = await createKey({ data, role: "admin" });
  assert.equal((await start("hone_first_of_enough_characters")).secret, "hone_first_of_enough_characters");
  assert.deepEqual(
    [await isLive(made.secret), await isLive("hone_first_of_enough_characters")],
    [false, true],
  );
  assert.ok(!existsSync(join(data, "admin-key")));
  await start("hone_second_of_enough_characters");
  assert.deepEqual(
    [await isLive("hone_first_of_enough_characters"), await isLive("hone_second_of_enough_characters")],
    [false, true],
  );
  assert.ok(await isLive(own.secret));
  const revoked = warnings.filter((message) => message.includes("revoked the admin key"));
  assert.equal(revoked.length, 2);
  const count = warnings.length;
  await start("hone_second_of_enough_characters");
  assert.equal(warnings.length, count);
  await assert.rejects(start("hone_first_of_enough_characters"), { code: "conflict" });
});

test("refuses a HONE_API_KEY that is too short or belongs to a member", async (t) => {
  const { data, start } = await place(t);
  await assert.rejects(start("hone_12"), { code: "invalid" });
  const { secret } = await createKey({ data, entity: "alpha", role: "member" });
  await assert.rejects(start(secret), { code: "conflict", message: /member of "alpha"/ });
});

test("warns of a HONE_API_KEY that is short enough to be guessed", async (t) => {
  const { start, warnings } = await place(t);
  await start("hone_1234");
  assert.match(warnings.join("\n"), /HONE_API_KEY is short enough to be guessed/);
  warnings.length = 0;
  await start("hone_0123456789abcdefghij");
  assert.doesNotMatch(warnings.join("\n"), /guessed/);
});

/** Returns the entries about keys in a data folder's audit log. */
function auditedIn(data: string): readonly string[] {
  const lines = readFileSync(join(data, "audit.jsonl"), "utf8").trim().split("\n");
  return lines.map((line) => {
    const { key_id: id, entity, action, outcome } = JSON.parse(line) as Readonly<Record<string, string>>;
    return [id, entity, action, outcome].join(" ");
  });
}

test("records the creation and revocation of keys in the audit log with their entity, before and after each change", async (t) => {
  const { data } = await place(t);
  const { key, secret } = await createKey({ data, entity: "alpha", role: "member" });
  await revokeKey(key.id, { data });
  await assert.rejects(revokeKey(key.id, { data }), { code: "not_found" });
  assert.ok(!readFileSync(join(data, "audit.jsonl"), "utf8").includes(secret));
  assert.deepEqual(auditedIn(data), [
    `${key.id} alpha key-created begun`,
    `${key.id} alpha key-created done`,
    `${key.id} alpha key-revoked begun`,
    `${key.id} alpha key-revoked done`,
  ]);
});

test("creates and revokes no key while the audit log cannot be written", async (t) => {
  const { data } = await place(t);
  const { key } = await createKey({ data, entity: "alpha", role: "member" });
  renameSync(join(data, "audit.jsonl"), join(data, "before"));
  mkdirSync(join(data, "audit.jsonl"));
  const refusal = { code: "unavailable", message: /^No key was changed: \S+audit.jsonl cannot be written/ };
  await assert.rejects(createKey({ data, entity: "alpha", role: "admin" }), refusal);
  await assert.rejects(revokeKey(key.id, { data }), refusal);
  const listed = await listKeys({ data });
  assert.deepEqual(
    listed.map(({ id, revokedAt }) => [id, revokedAt]),
    [[key.id, null]],
  );
});

test("returns a created key even if its line `done` cannot be written, and records a failed creation", async (t) => {
  const { keys } = await place(t);
  const written: string[] = [];
  let room = 1;
  const record = async ({ action, outcome }: AuditEntry): Promise<void> => {
    if (written.length >= room) throw new Error("the disk is full");
    written.push(`${action} ${outcome}`);
  };
  const audited = auditedKeys(keys, record, systemClock);
  const key = keyOf("hone_secret", { id: "k", entity: "alpha", role: "member", owner: "o" }, systemClock);
  await audited.create(key);
  assert.equal((await keys.findByHash(key.secretHash))?.id, "k");
  room = 3;
  await assert.rejects(audited.create(key), { code: "conflict" });
  assert.deepEqual(written, ["key-created begun", "key-created begun", "key-created failed"]);
});

test("creates no key if writing the line `begun` fails, and records the failed creation", async (t) => {
  const { keys } = await place(t);
  const written: string[] = [];
  const record = async ({ action, outcome }: AuditEntry): Promise<void> => {
    if (outcome === "begun") throw new Error("the disk is late");
    written.push(`${action} ${outcome}`);
  };
  const audited = auditedKeys(keys, record, systemClock);
  const key = keyOf("hone_secret", { id: "k", entity: "alpha", role: "member", owner: "o" }, systemClock);
  await assert.rejects(audited.create(key), /the disk is late/);
  assert.equal(await keys.find("k"), null);
  assert.deepEqual(written, ["key-created failed"]);
});
