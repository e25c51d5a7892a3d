// Tests when a session without heartbeats ends: early if it trains and others wait for its slot.
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "../../base/domain/testing/fake-clock.ts";
import type { LiveModel } from "./live-model.ts";
import { OpenSessions } from "./open-sessions.ts";
import { sessionSettings } from "./settings.ts";
import { TrainingSlots } from "./training-slots.ts";

test("a silent session with a model in training ends after a minute if other models wait, else after five", async () => {
  const clock = new FakeClock();
  const settings = sessionSettings.with();
  const sessions = new OpenSessions(clock, settings);
  const open = () => sessions.open({ entity: "acme", project: null }, { metadata: null, displayName: null });
  const [training, sampling] = [open(), open()];
  // Safe cast: only the number of models counts.
  training.models.set(0, {} as LiveModel);
  const silentAfter = async (seconds: number, trainingMs: number) => {
    await clock.advance(seconds * 1000);
    return sessions.silent({ trainingMs }).map(({ id }) => id);
  };
  const { sessionMs, awaitedSessionMs } = settings;
  assert.deepEqual(await silentAfter(60, awaitedSessionMs), []);
  assert.deepEqual(await silentAfter(1, awaitedSessionMs), [training.id]);
  assert.deepEqual(await silentAfter(239, sessionMs), []);
  assert.deepEqual(await silentAfter(1, sessionMs), [training.id, sampling.id]);
});

test("slots are awaited while a model waits for one", () => {
  const slots = new TrainingSlots({ modelsMax: 1, waitingPerEntityMax: 1 });
  const first = slots.request("acme");
  assert.equal(slots.isAwaited, false);
  const second = slots.request("other");
  assert.equal(slots.isAwaited, true);
  first.leave();
  assert.equal(slots.isAwaited, false);
  second.leave();
});
