import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import type { ServerResponse } from "node:http";
import { test } from "node:test";
import { onResponseEnd } from "./request-lifecycle.ts";

test("calls back once at the end of a response, in order of registration, or immediately if it has ended", () => {
  const emitter = new EventEmitter();
  // Safe cast: the tested function uses only `destroyed` and `once`.
  const response = Object.assign(emitter, { destroyed: false }) as unknown as ServerResponse;
  const called: number[] = [];
  for (let index = 0; index < 20; index++) onResponseEnd(response, () => called.push(index));
  assert.equal(emitter.listenerCount("close"), 1);
  assert.ok(!called.includes(0));
  Object.assign(emitter, { destroyed: true });
  emitter.emit("close");
  emitter.emit("close");
  assert.deepEqual(
    called,
    Array.from({ length: 20 }, (_, index) => index),
  );
  onResponseEnd(response, () => called.push(20));
  assert.ok(called.includes(20));
});
