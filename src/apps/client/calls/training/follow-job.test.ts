// Tests that a job is followed across lost connections, against a fake source of events.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { TrainingEvent } from "../../api.ts";
import { HoneError } from "../../hone-error.ts";
import { fakePlatform } from "../../testing/fake-platform.ts";
import { followJob, type EventSource } from "./follow-job.ts";

const step = (id: string, type: TrainingEvent["type"] = "gradient_step"): TrainingEvent => ({
  id,
  type,
  data: {},
});
const refused = (status: number): HoneError =>
  new HoneError({ status, code: status === 0 ? "connection" : "unknown", message: `status ${status}` });

/**
 * Script of one connection: its events, and the error that ends it. If the error comes first, the connection never
 * opens.
 */
type Connection = readonly (TrainingEvent | HoneError)[];

async function follow(...connections: readonly Connection[]) {
  const reported: string[] = [];
  const asked: (string | undefined)[] = [];
  const source: EventSource = {
    async *watch(_id, { after, onOpen }) {
      asked.push(after);
      const connection = connections[asked.length - 1] ?? [refused(0)];
      if (connection[0] instanceof HoneError) throw connection[0];
      onOpen?.();
      for (const each of connection) {
        if (each instanceof HoneError) throw each;
        yield each;
      }
    },
  };
  const options = {
    deadline: 3000,
    onLost: (reason: string) => void reported.push(`lost: ${reason}`),
    onBack: () => void reported.push("back"),
  };
  let error: string | null = null;
  try {
    for await (const { id } of followJob(source, "j", options, fakePlatform())) reported.push(id);
  } catch (thrown) {
    error = thrown instanceof Error ? thrown.message : String(thrown);
  }
  return { reported, asked, error };
}

test("follows a job to its end", async () => {
  for (const end of ["training_ended", "training_failed"] as const) {
    const { reported, asked, error } = await follow([step("a"), step("b", end), step("c")]);
    assert.deepEqual([reported, asked, error], [["a", "b"], [undefined], null]);
  }
});

test("reconnects after the last event, and reports each lost connection and each recovery once", async () => {
  const cause = new TypeError("terminated", { cause: new Error("other side closed") });
  const broken = new HoneError({ code: "connection", message: "No answer", cause });
  const stopping = new HoneError({ code: "unavailable", status: 200, message: "stopping" });
  const { reported, asked, error } = await follow(
    [step("a"), broken],
    [refused(0)],
    [refused(503)],
    [step("b")],
    [step("c"), stopping],
    [step("d", "training_ended")],
  );
  assert.deepEqual(reported, [
    "a",
    "lost: other side closed",
    "back",
    "b",
    "lost: the server ended the connection",
    "back",
    "c",
    "lost: stopping",
    "back",
    "d",
  ]);
  assert.deepEqual([asked, error], [[undefined, "a", "a", "a", "b", "c"], null]);
});

test("fails if no server answers before the deadline, and says how to watch the job", async () => {
  const { reported, asked, error } = await follow([step("a")]);
  assert.match(error ?? "", /^No server answered for 3 s \(status 0\)\..*hone jobs watch j$/);
  assert.deepEqual(reported, ["a", "lost: the server ended the connection"]);
  assert.equal(asked.length, 7);
});

test("does not retry requests that the server refuses", async () => {
  for (const status of [401, 403, 404, 422]) {
    const { asked, error } = await follow([refused(status)]);
    assert.deepEqual([asked.length, error], [1, `status ${status}`]);
  }
});
