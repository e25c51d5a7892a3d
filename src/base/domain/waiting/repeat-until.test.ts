import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "../testing/fake-clock.ts";
import { repeatUntil } from "./repeat-until.ts";

/** Runs work repeatedly: its first run fails, and its third run stops the repetition. Returns the events in order. */
async function eventsOf(pausesFirst: boolean): Promise<readonly string[]> {
  const [stopping, events] = [new AbortController(), [] as string[]];
  const clock = new FakeClock();
  const sleep: FakeClock["sleep"] = async (pauseMs, options) => {
    if (options?.signal?.aborted === true) throw new Error("aborted");
    events.push(`pause ${pauseMs}`);
  };
  Object.assign(clock, { sleep });
  const onFault = (error: unknown): void => void events.push(String(error));
  let count = 0;
  await repeatUntil(stopping.signal, { clock, pauseMs: 5, onFault, pausesFirst }, async () => {
    events.push("run");
    count += 1;
    if (count === 1) throw new Error("fault");
    if (count === 3) stopping.abort();
  });
  return events;
}

test("repeats work with pauses after faults too, until the signal aborts", async () => {
  const runs = ["run", "Error: fault", "pause 5", "run", "pause 5", "run"];
  assert.deepEqual(await eventsOf(false), runs);
  assert.deepEqual(await eventsOf(true), ["pause 5", ...runs]);
});
