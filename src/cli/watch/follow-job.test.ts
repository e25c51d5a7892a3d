// A job followed across breaks, from a client that plays a server.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { HoneClient } from "../../client/hone-client.ts";
import type { JobEventResource } from "../../client/resources.ts";
import { HoneApiError } from "../../client/transport.ts";
import type { Clock } from "../../domain/clock.ts";
import { followJob } from "./follow-job.ts";

const step = (id: string, type = "gradient_step"): JobEventResource => ({ id, type, data: {} });
const refused = (status: number): HoneApiError =>
  new HoneApiError({ status, message: `status ${status}`, requestId: null, body: null });

/** What one connection brings: events, and the error that it ends with; not opened at all where that comes first. */
type Connection = readonly (JobEventResource | Error)[];

/** Sleeps in no time. */
function fastClock(): Clock {
  let nowMs = 0;
  return {
    now: () => new Date(nowMs),
    monotonicMs: () => nowMs,
    sleep: async (durationMs) => void (nowMs += durationMs),
  };
}

async function follow(connections: readonly Connection[]) {
  const reported: string[] = [];
  const asked: (string | undefined)[] = [];
  const client: Pick<HoneClient, "watchTrainingJob"> = {
    async *watchTrainingJob(_id, { after, onOpen } = {}) {
      asked.push(after);
      const connection = connections[asked.length - 1] ?? [refused(0)];
      if (connection[0] instanceof HoneApiError) throw connection[0];
      onOpen?.();
      for (const each of connection) {
        if (each instanceof Error) throw each;
        yield each;
      }
    },
  };
  const follower = {
    onEvent: ({ id }: JobEventResource) => void reported.push(id),
    onLost: (reason: string) => void reported.push(`lost: ${reason}`),
    onBack: () => void reported.push("back"),
  };
  const result = await followJob(client, "j", follower, { clock: fastClock(), deadlineMs: 3000 }).then(
    ({ type }) => type,
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );
  return { reported, asked, result };
}

test("follows a job to its end", async () => {
  for (const end of ["training_ended", "training_failed"]) {
    const { reported, asked, result } = await follow([[step("a"), step("b", end), step("c")]]);
    assert.deepEqual([reported, asked, result], [["a", "b"], [undefined], end]);
  }
});

test("a connection that breaks is made again behind the last event, and both is told once", async () => {
  const broken = new TypeError("terminated", { cause: new Error("other side closed") });
  const { reported, asked, result } = await follow([
    [step("a"), broken],
    [refused(0)],
    [refused(503)],
    [step("b")],
    [step("c", "training_ended")],
  ]);
  assert.deepEqual(reported, [
    "a",
    "lost: other side closed",
    "back",
    "b",
    "lost: the server ended the connection",
    "back",
    "c",
  ]);
  assert.deepEqual(asked, [undefined, "a", "a", "a", "b"]);
  assert.equal(result, "training_ended");
});

test("gives up when nobody has answered for the deadline, and says how to go on", async () => {
  const { reported, asked, result } = await follow([[step("a")]]);
  assert.match(result, /^Nobody answered for 3 s \(status 0\)\..*hone jobs watch j$/);
  assert.deepEqual(reported, ["a", "lost: the server ended the connection"]);
  assert.equal(asked.length, 7);
});

test("what the server refuses is not asked again", async () => {
  for (const status of [401, 403, 404, 422]) {
    const { asked, result } = await follow([[refused(status)]]);
    assert.deepEqual([asked.length, result], [1, `status ${status}`]);
  }
});
