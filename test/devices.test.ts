// Tests a server that is configured to compute on a GPU, on machines with and without one. It must answer, and report
// which device computes each model.
import assert from "node:assert/strict";
import { test } from "node:test";
import { call, serverOfFile } from "./running-server.ts";
import { tiny } from "./served-jobs.ts";

const server = serverOfFile({ flags: [...tiny, "--device", "webgpu", "--quantize", "8"] });

interface Card {
  readonly id: string;
  readonly exact: boolean;
  readonly device: { readonly value: string; readonly reason: string };
}

test("if webgpu is unavailable, the processor computes, and the model list gives the reason", async () => {
  const { body } = await call(server(), "GET", "/v1/models");
  // Safe cast: the test checks this member.
  const cards = body.data as readonly Card[];
  const ask = async (model: string): Promise<string> => {
    const chat = { model, messages: [{ role: "user", content: "hi" }], max_tokens: 2 };
    const answer = await call(server(), "POST", "/v1/chat/completions", { body: chat });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    return answer.body.system_fingerprint;
  };
  const float32 = cards.find(({ id }) => id === "hone-tiny");
  assert.ok(float32 !== undefined);
  const isOnGpu = float32.device.value === "webgpu";
  assert.equal(float32.exact, !isOnGpu);
  assert.equal((await ask("hone-tiny")).endsWith("-webgpu"), isOnGpu);
  if (!isOnGpu) assert.match(float32.device.reason, /^webgpu cannot be used: /);

  const rounded = cards.find(({ id }) => id === "tiny");
  assert.equal(rounded?.device.value, "cpu");
  assert.match(rounded?.device.reason ?? "", /^(webgpu cannot be used|weights in int8)/);
  assert.equal(rounded?.exact, true);
  assert.match(await ask("tiny"), /-int8/);
});
