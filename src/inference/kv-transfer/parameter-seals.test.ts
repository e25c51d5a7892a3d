import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "../../base/domain/testing/fake-clock.ts";
import { ParameterSeals, sealMember } from "./parameter-seals.ts";

const clock = new FakeClock();
const seals = () => new ParameterSeals({ secret: "a secret that servers share", seconds: 60, clock });
/** Parameters as vLLM's NIXL connector returns them. */
const answered = {
  do_remote_prefill: true,
  do_remote_decode: false,
  remote_block_ids: [[1, 2]],
  remote_engine_id: "e",
  remote_request_id: "r",
  remote_host: "10.0.0.1",
  remote_port: 5600,
  tp_size: 1,
};

test("accepts sealed parameters with their members in any order", () => {
  const own = seals();
  const sealed = own.seal(answered, "acme");
  const { [sealMember]: seal, ...rest } = sealed;
  assert.deepEqual(rest, answered);
  assert.equal(typeof seal, "string");
  const respelled = JSON.parse(JSON.stringify(Object.fromEntries(Object.entries(sealed).toReversed())));
  assert.deepEqual(own.open(respelled, "acme"), answered);
});

test("refuses changed parameters, and those of another entity or server", () => {
  const own = seals();
  const sealed = own.seal(answered, "acme");
  const refusals = [
    own.refusalOf({ ...sealed, remote_block_ids: [[1, 3]] }, "acme"),
    own.refusalOf({ ...sealed, remote_host: "10.0.0.2" }, "acme"),
    own.refusalOf({ ...sealed, more: 1 }, "acme"),
    own.refusalOf(sealed, "other"),
    // A new instance has the same secret but refuses the seal, because it did not make the seal itself.
    seals().refusalOf(sealed, "acme"),
    own.refusalOf({ ...sealed, [sealMember]: 7 }, "acme"),
    own.refusalOf({ ...sealed, [sealMember]: "9".repeat(12) + ".00" }, "acme"),
  ];
  for (const refusal of refusals) assert.match(refusal ?? "", /is not one that this server gave/);
  assert.equal(own.refusalOf(sealed, "acme"), null);
});

test("accepts a seal once, and for a limited time", async () => {
  const own = seals();
  const first = own.seal(answered, "acme");
  const second = own.seal({ ...answered, remote_request_id: "s" }, "acme");
  own.open(first, "acme");
  assert.throws(() => own.open(first, "acme"), {
    code: "unsupported",
    message: /already used, or has expired/,
  });
  await clock.advance(62_000);
  assert.throws(() => own.open(second, "acme"), {
    code: "unsupported",
    message: /already used, or has expired/,
  });
});

test("accepts without a seal only the request to hold a prompt", () => {
  // Parameters as the proxy of vLLM's connector sends them.
  const asked = {
    do_remote_decode: true,
    do_remote_prefill: false,
    remote_engine_id: null,
    remote_block_ids: null,
    remote_host: null,
    remote_port: null,
  };
  assert.deepEqual(seals().open(asked, "acme"), asked);
  const refusalOf = (more: object) => seals().refusalOf({ ...asked, ...more }, "acme") ?? "";
  assert.match(refusalOf({ prompt_token_ids: [1, 2] }), /prompt_token_ids/);
  assert.match(refusalOf({ remote_host: "10.0.0.9" }), /remote_host/);
  assert.match(refusalOf({ do_remote_prefill: true }), /^do_remote_prefill is accepted only in an object/);
});
