// Runs short series of random kills in `npm run proof`. In `npm test`, resilience.test.ts,
// src/train/trainer/lost-processes.test.ts and the simulation test the same promises. tools/bench/kill.ts and
// tools/bench/kill-feedback.ts run long series, and tools/bench/kill-many.ts runs them with several servers.
import assert from "node:assert/strict";
import { test } from "node:test";
import { killAtRandom } from "./kills/kill-at-random.ts";
import { killWhileWriting } from "./kills/kill-while-writing.ts";
import { inProof, searchCount, searchSeed } from "../src/base/domain/testing/search.ts";

test(
  "under random kills and faults, no acknowledged data is lost or duplicated, no job fails, no file is left over, and every version equals that of an undisturbed run",
  { ...inProof, timeout: searchCount(300_000) },
  async () => {
    const { acknowledged, comparedCount, ...report } = await killAtRandom({
      seed: searchSeed,
      until: { count: searchCount(1) },
    });
    const { lost, doubled, failed, leftOver, different } = report;
    const faults = [lost, doubled, failed, leftOver, different].flat();
    assert.deepEqual(faults, []);
    assert.ok(comparedCount > 0);
    assert.ok(
      acknowledged.jobs > 0 && acknowledged.logs > 0 && acknowledged.feedback > 0 && acknowledged.chats > 0,
    );
  },
);

test(
  "whenever the server dies while feedback is written, reported and trained on, acknowledged feedback is stored unchanged, and is reported and trained on exactly once",
  { ...inProof, timeout: searchCount(300_000) },
  async () => {
    const report = await killWhileWriting({ seed: searchSeed, rounds: searchCount(3) });
    assert.deepEqual(report.faults, []);
    assert.ok(report.acknowledged > 0 && report.unanswered > 0 && report.events > 0 && report.trained > 0);
  },
);
