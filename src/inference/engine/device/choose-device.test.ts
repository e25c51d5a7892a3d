// Tests the choice of a device. The CPU is chosen without a trial. Another device is chosen if its results equal the
// CPU's; otherwise the CPU is chosen, with a reason.
import assert from "node:assert/strict";
import { test } from "node:test";
import { modelFolder } from "../contract/engine-under-test.ts";
import { loopCapabilities } from "../loop-capabilities.ts";
import { engineSettings } from "../settings.ts";
import { deviceFault, differenceOf } from "./compare-devices.ts";
import { chooseDevice } from "./choose-device.ts";

test("uses the processor without a trial", async () => {
  assert.deepEqual(await chooseDevice("cpu", "no such folder"), { device: "cpu", reason: "" });
});

test("falls back to the processor and gives the reason if a device is unusable", async () => {
  const choice = await chooseDevice("webgpu", modelFolder);
  if (choice.device === "webgpu") assert.equal(choice.reason, "");
  else assert.match(choice.reason, /^webgpu cannot be used: \S/);
});

test("accepts a device that computes the same as the processor", async () => {
  assert.equal(await deviceFault(modelFolder, "cpu"), null);
});

test("rejects scores that are off or not finite, and accepts other last digits", () => {
  const expected = Float32Array.of(1, -10, 4);
  assert.equal(differenceOf(Float32Array.of(1, -10.001, 4), expected), null);
  assert.match(differenceOf(Float32Array.of(1, -10, 4.5), expected) ?? "", /by 0\.50 of 10\.0$/);
  assert.match(differenceOf(Float32Array.of(1, NaN, 4), expected) ?? "", /by NaN of/);
});

test("an engine is exact only on the processor", () => {
  const isExactOn = (device: "cpu" | "webgpu") => loopCapabilities(engineSettings.with({ device })).isExact;
  assert.deepEqual([isExactOn("cpu"), isExactOn("webgpu")], [true, false]);
});
