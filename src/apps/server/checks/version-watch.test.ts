// Tests that a program reports a newer database version once, exits if it does not support that version, and otherwise
// keeps watching.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ServiceError } from "../../../base/domain/service-error.ts";
import { FakeClock } from "../../../base/domain/testing/fake-clock.ts";
import {
  type DatabaseVersion,
  newestDatabaseVersion,
} from "../../../store/database/migrations/migrations.ts";
import { silentLogger } from "../../../base/telemetry/testing/silent-logger.ts";
import { createVersionWatch } from "./version-watch.ts";

const known: DatabaseVersion = { version: newestDatabaseVersion, servesFrom: newestDatabaseVersion };

/** Returns a logger, and the warnings that it has received. */
function listeningLogger(): { readonly said: string[]; readonly logger: typeof silentLogger } {
  const said: string[] = [];
  const warn = (_fields: object, message: string): void => void said.push(message);
  return { said, logger: { ...silentLogger, warn } };
}

test("notices a newer database version within a second and reports it once, despite failed reads", async () => {
  const clock = new FakeClock();
  const reasons: ServiceError[] = [];
  let version: DatabaseVersion | Error = known;
  const watch = createVersionWatch({
    readVersion: async () => {
      if (version instanceof Error) throw version;
      return version;
    },
    isForMany: true,
    onOutdated: (reason) => void reasons.push(reason),
    clock,
    logger: silentLogger,
  });
  await watch.start();
  await clock.advance(5000);
  version = new Error("away");
  await clock.advance(5000);
  assert.equal(reasons.length, 0);
  version = { version: newestDatabaseVersion + 2, servesFrom: newestDatabaseVersion + 1 };
  await clock.advance(1000);
  assert.deepEqual(
    reasons.map(({ code }) => code),
    ["unsupported"],
  );
  assert.match(
    reasons[0].message,
    new RegExp(`to version ${version.version}; this one knows up to ${newestDatabaseVersion}`),
  );
  await clock.advance(5000);
  assert.deepEqual([reasons.length, clock.sleepingCount], [1, 0]);
  await watch.stop();
});

test("continues after a newer version that only adds, and exits at a version that changes more", async () => {
  const clock = new FakeClock();
  const { said, logger } = listeningLogger();
  const reasons: ServiceError[] = [];
  let version = known;
  const watch = createVersionWatch({
    readVersion: async () => version,
    isForMany: true,
    onOutdated: (reason) => void reasons.push(reason),
    clock,
    logger,
  });
  await watch.start();
  await clock.advance(2000);
  assert.deepEqual([watch.note(), said], [null, []]);
  version = { ...known, version: newestDatabaseVersion + 1 };
  await clock.advance(5000);
  assert.deepEqual([said.length, reasons], [1, []]);
  assert.match(said[0], /It continues/);
  assert.equal(watch.note(), said[0]);
  version = { version: newestDatabaseVersion + 2, servesFrom: newestDatabaseVersion + 2 };
  await clock.advance(1000);
  assert.deepEqual([said.length, reasons.length], [1, 1]);
  await watch.stop();
});

test("reads the database version of a single server only once", async () => {
  const clock = new FakeClock();
  const { said, logger } = listeningLogger();
  const watch = createVersionWatch({
    readVersion: async () => ({ ...known, version: newestDatabaseVersion + 1 }),
    isForMany: false,
    onOutdated: () => assert.fail("it continues"),
    clock,
    logger,
  });
  await watch.start();
  await clock.advance(1000);
  assert.deepEqual([said.length, clock.sleepingCount], [1, 0]);
  await watch.stop();
});

test("does not read the database after its stop", async () => {
  const clock = new FakeClock();
  let lookCount = 0;
  const watch = createVersionWatch({
    readVersion: async () => {
      lookCount++;
      return known;
    },
    isForMany: true,
    onOutdated: () => assert.fail("no version is newer"),
    clock,
    logger: silentLogger,
  });
  await watch.start();
  await watch.stop();
  const before = lookCount;
  await clock.advance(5000);
  assert.equal(lookCount, before);
});
