// Tests Hone when npm starts it in a checkout: npm's output, and that stopping npm also stops the server.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { platform } from "node:os";
import { test } from "node:test";
import { newDataFolder, removeDataFolder } from "./running-server.ts";

/** The environment of a shell that starts npm, without this machine's npm configuration. */
const environment = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name))),
  npm_config_userconfig: ".none-of-the-user",
  npm_config_globalconfig: ".none-of-the-machine",
};

test("npx hone prints no output of npm itself", { skip: platform() === "win32" }, () => {
  const { status, stdout, stderr } = spawnSync("npx", ["hone", "--version"], {
    env: environment,
    encoding: "utf8",
  });
  assert.equal(stderr, "");
  assert.match(stdout, /^\d+\.\d+\.\d+\n$/);
  assert.equal(status, 0);
});

test(
  "a SIGTERM sent only to npm stops the server of npm start cleanly",
  { skip: platform() === "win32", timeout: 120_000 },
  async (t) => {
    const dataFolder = newDataFolder();
    const npm = spawn("npm", ["start", "--", "--port", "0", "--data", dataFolder, "--log-level", "warn"], {
      env: environment,
      stdio: ["ignore", "pipe", "inherit"],
      // Runs in a separate process group, so that the test can kill processes that are left over.
      detached: true,
    });
    const { pid } = npm;
    assert.ok(pid !== undefined);
    t.after(() => {
      endGroup(pid);
      removeDataFolder(dataFolder);
    });
    const closed = new Promise((resolve) => npm.once("close", (code, signal) => resolve({ code, signal })));
    let output = "";
    const listening = new Promise<void>((resolve) => {
      npm.stdout.on("data", (data: Buffer) => {
        output += data.toString();
        if (output.includes("listening on")) resolve();
      });
    });
    await Promise.race([listening, closed]);
    const url = /listening on (http:\S+)/.exec(output)?.[1];
    assert.ok(url !== undefined, output);

    process.kill(pid, "SIGTERM");
    // The output closes only when every process that has it open has ended.
    assert.deepEqual(await closed, { code: 0, signal: null });
    await assert.rejects(fetch(`${url}/health`));
  },
);

/**
 * Signals the process group without the program `kill`: some implementations of it take a group id that begins with 1
 * for "all processes".
 */
function endGroup(id: number): void {
  try {
    process.kill(-id, "SIGKILL");
  } catch {
    // Ignored: the whole group has already ended.
  }
}
