// Contract tests of priorities: requests with a lower number run first. A request that waits or is preempted gets the
// same answer as without competition.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Transcript } from "../testing/run-loop.ts";
import {
  answerOf,
  ask,
  checkSameTokens,
  read,
  sharedEngine,
  type EngineUnderTest,
} from "./engine-under-test.ts";

const seeded = { temperature: 1, seed: 33 };

export function checkPriorities(under: EngineUnderTest): void {
  const { name } = under;
  const shared = sharedEngine(under);

  test(`${name}: of waiting requests the lowest priority runs first, and of equals the oldest`, async () => {
    const engine = await shared();
    const finished: string[] = [];
    const follow = async (id: string, priority: number): Promise<void> => {
      // No engine here computes more than 12 choices at the same time, so other requests have to wait.
      const request = ask({ id, priority, maxTokens: 3, choiceCount: 12 });
      const { failure } = await read(engine.submit(request));
      assert.equal(failure, null);
      finished.push(id);
    };
    const first = engine.submit(ask({ id: "first", priority: -9, maxTokens: 3, choiceCount: 12 }));
    await Promise.all([
      read(first),
      follow("late", 2 ** 40),
      follow("plain", 0),
      follow("early", -3),
      follow("plain too", 0),
    ]);
    assert.deepEqual(finished, ["early", "plain", "plain too", "late"]);
  });

  test(`${name}: a preempted request gives the same answer as undisturbed`, async () => {
    const engine = await shared();
    const worse = ask({
      id: "worse",
      priority: 1,
      maxTokens: 30,
      choiceCount: 12,
      topLogprobCount: 2,
      sampling: seeded,
    });
    const alone = await answerOf(engine, worse);
    const better = ask({ id: "better", maxTokens: 4, choiceCount: 5, sampling: seeded });
    const betterAlone = await answerOf(engine, better);
    const interruptions: Promise<Transcript>[] = [];
    const interrupted = await read(engine.submit(worse), ({ events }) => {
      if (events.length === 40) interruptions.push(answerOf(engine, better));
    });
    const [interruption] = await Promise.all(interruptions);
    for (let choice = 0; choice < 5; choice++) checkSameTokens(engine, interruption, betterAlone, choice);
    assert.equal(interrupted.failure, null);
    for (let choice = 0; choice < 12; choice++) checkSameTokens(engine, interrupted, alone, choice);
    assert.deepEqual(interrupted.finishes().toSorted(), alone.finishes().toSorted());
  });
}
