import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import type { ServerResponse } from "node:http";
import { test } from "node:test";
import { onceOver } from "./request-life.ts";

test("whoever waits for the end of a response is called once, in order, and at once where it has ended", () => {
  const emitter = new EventEmitter();
  // Of a response it is asked for nothing else.
  const response = Object.assign(emitter, { destroyed: false }) as unknown as ServerResponse;
  const called: number[] = [];
  for (let index = 0; index < 20; index++) onceOver(response, () => called.push(index));
  assert.equal(emitter.listenerCount("close"), 1);
  assert.ok(!called.includes(0));
  Object.assign(emitter, { destroyed: true });
  emitter.emit("close");
  emitter.emit("close");
  assert.deepEqual(
    called,
    Array.from({ length: 20 }, (_, index) => index),
  );
  onceOver(response, () => called.push(20));
  assert.ok(called.includes(20));
});
