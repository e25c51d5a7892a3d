import assert from "node:assert/strict";
import { test } from "node:test";
import { fakeServer } from "./testing/fake-server.ts";

test("the headers of a request have a minute, or the time of the whole request where that is less", async () => {
  for (const [requestSeconds, headersMs] of [
    [300, 60_000],
    [20, 20_000],
  ]) {
    const { app, close } = await fakeServer({ settings: { requestSeconds } });
    assert.deepEqual(
      [app.server.requestTimeout, app.server.headersTimeout],
      [requestSeconds * 1000, headersMs],
    );
    await close();
  }
});
