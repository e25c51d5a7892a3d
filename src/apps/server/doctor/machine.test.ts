import assert from "node:assert/strict";
import { test } from "node:test";
import { memoryFinding, nodeFinding, openFilesFinding, processorFinding, thisProcessor } from "./machine.ts";

const x64 = (...features: readonly string[]) => ({
  name: "Some Processor",
  coreCount: 2,
  architecture: "x64",
  features: new Set(features),
});

test("describes a processor with its cores and relevant instruction sets", () => {
  const { state, message } = processorFinding(x64("sse4_2", "avx2", "avx512f", "avx512_vnni"));
  assert.deepEqual([state, message], ["ok", "Some Processor, 2 cores, AVX2, AVX-512, VNNI"]);
  const arm = { ...x64("asimd", "asimddp"), architecture: "arm64", coreCount: 1 };
  assert.equal(processorFinding(arm).message, "Some Processor, 1 core, NEON, dot products");
});

test("warns of a processor without AVX2, but not of one whose features are unknown", () => {
  assert.equal(processorFinding(x64("sse4_2")).state, "warning");
  assert.equal(processorFinding({ ...x64(), features: null }).message, "Some Processor, 2 cores");
});

test("finds this machine's processor with its name and cores", () => {
  const { name, coreCount } = thisProcessor();
  assert.ok(name.length > 0 && coreCount > 0);
});

test("compares Node.js versions numerically, not as text", () => {
  for (const [version, state] of [
    ["20.19.0", "ok"],
    ["20.9.0", "fault"],
    ["18.20.4", "fault"],
    ["22.1.0", "ok"],
    ["100.0.0", "ok"],
  ])
    assert.equal(nodeFinding(version, ">=20.19").state, state, version);
  assert.match(nodeFinding("18.20.4", ">=20.19").cure ?? "", /Install Node 20\.19 or newer/);
});

test("warns of an open-file limit that allows too few connections, with both numbers", () => {
  assert.equal(openFilesFinding(4096, Infinity).message, "no limit");
  assert.equal(openFilesFinding(100, 1024).state, "ok");
  const { state, message } = openFilesFinding(4096, 1024);
  assert.deepEqual(
    [state, message],
    ["warning", "1024 leaves 896 of the 4096 connections that a server uses"],
  );
});

test("reports that a container limits the memory", () => {
  assert.equal(memoryFinding(8e9, 8e9).message, "8 GB");
  assert.equal(memoryFinding(2e9, 8e9).message, "2 GB, as the container or control group allows");
});
