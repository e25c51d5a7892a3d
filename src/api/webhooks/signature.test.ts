import assert from "node:assert/strict";
import { test } from "node:test";
import OpenAI from "openai";
import { isSecret, newSecret, signedHeaders } from "./signature.ts";

test("signs the published example of Standard Webhooks", () => {
  const headers = signedHeaders("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", {
    id: "msg_p5jXN8AQM9LWM0D4loKWxJek",
    at: new Date(1_614_265_330_999),
    body: '{"test": 2432232314}',
  });
  assert.deepEqual(headers, {
    "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "webhook-timestamp": "1614265330",
    "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
  });
});

test("signs with a new secret so that another library verifies the signature", async () => {
  const { webhooks } = new OpenAI({ apiKey: "none" });
  const [secret, body] = [newSecret(), JSON.stringify({ text: "👍🏽 \u2028" })];
  const headers = { ...signedHeaders(secret, { id: "msg_1", at: new Date(), body }) };
  await webhooks.verifySignature(body, headers, secret);
  await assert.rejects(webhooks.verifySignature(`${body} `, headers, secret));
  await assert.rejects(webhooks.verifySignature(body, { ...headers, "webhook-id": "msg_2" }, secret));
  await assert.rejects(webhooks.verifySignature(body, headers, newSecret()));
});

test("accepts whsec_ followed by the base64 of 24 to 64 bytes as a secret", () => {
  const secretOf = (count: number): string => `whsec_${Buffer.alloc(count, 7).toString("base64")}`;
  assert.ok(isSecret(newSecret()) && isSecret(secretOf(24)) && isSecret(secretOf(64)));
  assert.notEqual(newSecret(), newSecret());
  for (const text of [
    "",
    "whsec_",
    secretOf(23),
    secretOf(65),
    secretOf(24).slice(6),
    `${secretOf(24)} `,
    "whsec_!!",
  ])
    assert.equal(isSecret(text), false, text);
});
