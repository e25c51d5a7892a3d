import assert from "node:assert/strict";
import { Socket } from "node:net";
import { test } from "node:test";
import { refuseConnection } from "./refuse-connection.ts";

test("a connection that its client has reset, or that cannot be answered, is given up", () => {
  const reset = new Socket();
  refuseConnection(Object.assign(new Error("reset"), { code: "ECONNRESET" }), reset);
  assert.ok(reset.destroyed);
  const ended = new Socket();
  ended.end();
  refuseConnection(new Error("malformed"), ended);
  assert.ok(ended.destroyed);
});
