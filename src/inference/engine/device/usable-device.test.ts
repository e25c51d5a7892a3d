// Where engines compute: the processor without a trial, and elsewhere what computes the same, or the processor with a reason.
import assert from "node:assert/strict";
import { test } from "node:test";
import { modelFolder } from "../contract/engine-under-test.ts";
import { loopCapabilities } from "../loop-abilities.ts";
import { engineSettings } from "../settings.ts";
import { deviceFault, differenceOf } from "./compare-devices.ts";
import { usableDevice } from "./usable-device.ts";

test("the processor is taken as it is", async () => {
  assert.deepEqual(await usableDevice("cpu", "no such folder"), { device: "cpu", reason: "" });
});

test("a device that cannot be used is told with why, and the processor computes", async () => {
  const choice = await usableDevice("webgpu", modelFolder);
  if (choice.device === "webgpu") assert.equal(choice.reason, "");
  else assert.match(choice.reason, /^webgpu cannot be used: \S/);
});

test("a device passes that computes what the processor does", async () => {
  assert.equal(await deviceFault(modelFolder, "cpu"), null);
});

test("scores that are off, or no numbers, are a fault; other last digits are none", () => {
  const expected = Float32Array.of(1, -10, 4);
  assert.equal(differenceOf(Float32Array.of(1, -10.001, 4), expected), null);
  assert.match(differenceOf(Float32Array.of(1, -10, 4.5), expected) ?? "", /by 0\.50 of 10\.0$/);
  assert.match(differenceOf(Float32Array.of(1, NaN, 4), expected) ?? "", /by NaN of/);
});

test("an engine is exact on the processor alone", () => {
  const isExactOn = (device: "cpu" | "webgpu") => loopCapabilities(engineSettings.with({ device })).isExact;
  assert.deepEqual([isExactOn("cpu"), isExactOn("webgpu")], [true, false]);
});
