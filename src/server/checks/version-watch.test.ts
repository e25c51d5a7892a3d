// A program that is older than its database says so once, and one that is not looks on.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ServiceError } from "../../domain/service-error.ts";
import { FakeClock } from "../../domain/testing/fake-clock.ts";
import { newestDatabaseVersion } from "../../storage/migrations/migrations.ts";
import { silentLogger } from "../../telemetry/testing/silent-logger.ts";
import { createVersionWatch } from "./version-watch.ts";

test("a newer version of the database is seen within a second and said once, whatever fails meanwhile", async () => {
  const clock = new FakeClock();
  const reasons: ServiceError[] = [];
  let version: number | Error = newestDatabaseVersion;
  const watch = createVersionWatch({
    readVersion: async () => {
      if (version instanceof Error) throw version;
      return version;
    },
    onOutdated: (reason) => void reasons.push(reason),
    clock,
    logger: silentLogger,
  });
  await watch.start();
  await clock.advance(5000);
  version = new Error("away");
  await clock.advance(5000);
  assert.equal(reasons.length, 0);
  version = newestDatabaseVersion + 2;
  await clock.advance(1000);
  assert.deepEqual(
    reasons.map(({ code }) => code),
    ["unsupported"],
  );
  assert.match(
    reasons[0].message,
    new RegExp(`to version ${version}, and this one knows up to ${newestDatabaseVersion}`),
  );
  await clock.advance(5000);
  assert.deepEqual([reasons.length, clock.sleepingCount], [1, 0]);
  await watch.stop();
});

test("a watch that is stopped looks no more", async () => {
  const clock = new FakeClock();
  let lookCount = 0;
  const watch = createVersionWatch({
    readVersion: async () => ++lookCount,
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
