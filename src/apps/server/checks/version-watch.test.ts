// A program that is older than its database says so once, and ends where it has to; one that is not looks on.
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

/** A logger that keeps what it is told. */
function listeningLogger(): { readonly said: string[]; readonly logger: typeof silentLogger } {
  const said: string[] = [];
  const warn = (_fields: object, message: string): void => void said.push(message);
  return { said, logger: { ...silentLogger, warn } };
}

test("a newer version of the database is seen within a second and said once, whatever fails meanwhile", async () => {
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
    new RegExp(`to version ${version.version}, and this one knows up to ${newestDatabaseVersion}`),
  );
  await clock.advance(5000);
  assert.deepEqual([reasons.length, clock.sleepingCount], [1, 0]);
  await watch.stop();
});

test("a newer version that only adds is said once, and a later one that does more ends it", async () => {
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
  assert.match(said[0], /goes on beside it/);
  assert.equal(watch.note(), said[0]);
  version = { version: newestDatabaseVersion + 2, servesFrom: newestDatabaseVersion + 2 };
  await clock.advance(1000);
  assert.deepEqual([said.length, reasons.length], [1, 1]);
  await watch.stop();
});

test("a database of one server is looked at once", async () => {
  const clock = new FakeClock();
  const { said, logger } = listeningLogger();
  const watch = createVersionWatch({
    readVersion: async () => ({ ...known, version: newestDatabaseVersion + 1 }),
    isForMany: false,
    onOutdated: () => assert.fail("it goes on"),
    clock,
    logger,
  });
  await watch.start();
  await clock.advance(1000);
  assert.deepEqual([said.length, clock.sleepingCount], [1, 0]);
  await watch.stop();
});

test("a watch that is stopped looks no more", async () => {
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
