import assert from "node:assert/strict";
import { test } from "node:test";
import { requireSupportedAdapter } from "./supported-adapter.ts";
import { remoteBaseName, readTrainerAddress } from "./trainer-address.ts";

test("parses the server, its kind and its names of base models from an address", () => {
  const address = readTrainerAddress(
    "tinker+https://there/v/?kind=tuft&base=Qwen/Qwen3-8B&base.small=/models/small",
  );
  assert.deepEqual(address, {
    url: "https://there/v",
    kind: "tuft",
    bases: { "*": "Qwen/Qwen3-8B", small: "/models/small" },
    adapters: null,
  });
  assert.deepEqual(
    ["small", "big"].map((name) => remoteBaseName(address, name)),
    ["/models/small", "Qwen/Qwen3-8B"],
  );
  assert.equal(remoteBaseName(readTrainerAddress("tinker+http://there:8000?kind=skyrl-jax"), "big"), "big");
  const megatron = readTrainerAddress("tinker+http://there:8000?kind=skyrl-megatron&adapters=/shared/lora");
  assert.equal(megatron.adapters, "/shared/lora");
});

test("refuses an invalid address, says how to correct it, and never shows a password", () => {
  const faults: readonly (readonly [string, RegExp])[] = [
    ["http://there", /is not a trainer address; write it as tinker\+http/],
    ["tinker+http://", /is not a trainer address/],
    ["tinker+http://there", /names no kind of server; one of skyrl-jax, /],
    ["tinker+http://there?kind=slime", /the kind of server "slime" is unknown/],
    ["tinker+http://there?kind=tuft&bse=x", /contains "bse=x"/],
    ["tinker+http://there?kind=tuft&adapters=/x", /send adapters; leave adapters out/],
    ["tinker+http://there?kind=skyrl-fsdp", /leave adapters in a folder; name it/],
    ["tinker+http://me:hidden@there?kind=tuft", /a user or a password/],
  ];
  for (const [text, expected] of faults)
    assert.throws(
      () => readTrainerAddress(text),
      (error: Error) => expected.test(error.message) && !error.message.includes("hidden"),
      text,
    );
});

test("refuses a model that asks for a scale or for projections that the server does not support", () => {
  const jax = { kind: "skyrl-jax" } as const;
  requireSupportedAdapter(jax, { rank: null, alpha: null, targets: null }, 8);
  requireSupportedAdapter(jax, { rank: 16, alpha: 32, targets: null }, 8);
  assert.throws(
    () => requireSupportedAdapter(jax, { rank: 8, alpha: 16, targets: null }, 8),
    /uses 32 for this rank/,
  );
  assert.throws(
    () => requireSupportedAdapter(jax, { rank: null, alpha: null, targets: ["q_proj"] }, 8),
    /lora_targets/,
  );
  assert.throws(
    () => requireSupportedAdapter({ kind: "open-rl" }, { rank: 8, alpha: 16, targets: null }, 8),
    /by its own configuration/,
  );
});
