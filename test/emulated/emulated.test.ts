// Uses QEMU's user mode to test kernels for processors other than this machine's: one with AVX2 but without VNNI, and
// one without AVX2. A full run also tests the engine. Without the emulator, these tests are skipped, and
// scripts/test.js says so in its last line.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { inProof, searchedOf } from "../../src/base/domain/testing/search.ts";

const suite = fileURLToPath(new URL("./processor-suite.js", import.meta.url));
const emulator = process.env["EMULATOR"];

for (const [processor, codes, precisions] of [
  ["Haswell", "uint8", inProof.skip ? [] : searchedOf(["off", "8", "4"], 1, "Haswell")],
  ["Nehalem", "int8", inProof.skip ? [] : ["4"]],
] as const) {
  const engine = precisions.length === 0 ? "" : `, and the engine with --quantize ${precisions.join(", ")},`;
  test(`kernels${engine} on an emulated ${processor}`, async (t) => {
    if (!emulator) return t.skip("no qemu-x86_64 here");
    const parameters = [
      "-cpu",
      processor,
      process.execPath,
      "--test-reporter=tap",
      suite,
      codes,
      ...precisions,
    ];
    const child = spawn(emulator, parameters, {
      stdio: ["ignore", "pipe", "pipe"],
      // Removes settings for this machine (preloaded libraries and tunables), and the test context, through which the
      // tests would report to this process.
      env: {
        ...process.env,
        NODE_OPTIONS: "",
        LD_PRELOAD: "",
        GLIBC_TUNABLES: "",
        NODE_TEST_CONTEXT: undefined,
      },
    });
    t.after(() => child.kill("SIGKILL"));
    const closed = once(child, "close");
    const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
    const [code] = await closed;
    const passed = Number(/^# pass (\d+)$/m.exec(output)?.[1] ?? 0);
    const told = errors.replaceAll(/^qemu.*\n/gm, "");
    assert.ok(
      code === 0 && passed === 1 + precisions.length,
      `status ${code}, ${passed} passed\n${output}\n${told}`,
    );
  });
}
