import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { test, type TestContext } from "node:test";
import { pino } from "pino";
import { putHoneInto } from "../../../../test/hone-command.ts";
import { newDataFolder, removeDataFolder } from "../../../../test/running-server.ts";
import { fakeServer, keys } from "../../../api/http/testing/fake-server.ts";
import { RecentLog } from "../../../base/telemetry/recent-log.ts";
import { commandProcess } from "../testing/command-process.ts";

const run = commandProcess();

async function loggingServer(t: TestContext, port = 0) {
  const recentLog = new RecentLog();
  const logger = pino(
    { base: null, timestamp: pino.stdTimeFunctions.isoTime },
    { write: (json: string) => recentLog.add(json) },
  );
  const server = await fakeServer({ recentLog });
  const url = await server.app.listen({ host: "127.0.0.1", port });
  let closed: Promise<unknown> | null = null;
  const close = (): Promise<unknown> => (closed ??= server.close());
  t.after(close);
  const environment = { HONE_URL: url, HONE_API_KEY: keys.admin };
  return {
    logger,
    port: Number(new URL(url).port),
    close,
    environment,
    logs: (...flags: readonly string[]) => run(["logs", ...flags], { environment }),
    asMember: () => run(["logs"], { environment: { ...environment, HONE_API_KEY: keys.member } }),
  };
}

/** Creates an executable `hone` command and returns its path. */
function honeIn(t: TestContext): string {
  const folder = newDataFolder();
  t.after(() => removeDataFolder(folder));
  return `${putHoneInto(folder)}/hone`;
}

test("hone logs prints the newest lines, oldest first", async (t) => {
  const { logger, logs, asMember } = await loggingServer(t);
  assert.equal((await logs()).output, "The server has logged no lines since its start.\n");
  for (let number = 0; number < 250; number++) logger.info({ number }, "counted");
  logger.warn("slow");
  const { output } = await logs("--lines", "3");
  assert.match(output, /^\S+ \S+ {2}info {3}counted {2}number=248\n.+number=249\n\S+ \S+ {2}warn {3}slow\n$/);
  assert.equal((await logs()).output.split("\n").length, 101);
  assert.equal((await logs("--lines", "220")).output.split("\n").length, 221);
  assert.equal((await logs("--lines", "0")).output, "");
  assert.match((await logs("--level", "warn")).output, /^\S+ \S+ {2}warn {3}slow\n$/);
  assert.equal(
    (await logs("--level", "error")).output,
    "The server has logged no lines of level error or above since its start.\n",
  );
  const { output: json } = await logs("--json", "--lines", "2");
  assert.deepEqual(
    json
      .trimEnd()
      .split("\n")
      .map((line) => (JSON.parse(line) as { readonly message: string }).message),
    ["counted", "slow"],
  );
  const refused = await asMember();
  assert.deepEqual([refused.status, refused.output], [1, ""]);
  assert.match(refused.errors, /The log is for administrators/);
});

test("hone logs refuses invalid counts and levels, and lists the valid ones", (t) => {
  const hone = honeIn(t);
  for (const [flags, message] of [
    [["--lines", "1001"], /whole number from 0 to 1000/],
    [["--level", "loud"], /Allowed choices are debug, info, warn, error/],
  ] as const) {
    const { status, stderr } = spawnSync(hone, ["logs", ...flags], { encoding: "utf8" });
    assert.equal(status, 1);
    assert.match(stderr, message);
  }
});

test("hone logs --follow prints new lines immediately, and resumes after a server restart", async (t) => {
  const { logger, environment, port, close } = await loggingServer(t);
  logger.info("before");
  const hone = spawn(honeIn(t), ["logs", "--follow", "--level", "info"], {
    env: { ...process.env, ...environment },
    stdio: ["ignore", "pipe", "ignore"],
  });
  t.after(() => hone.kill());
  let output = "";
  const readUntil = async (part: string): Promise<void> => {
    while (!output.includes(part)) {
      const [data] = await once(hone.stdout, "data");
      output += String(data);
    }
  };
  await readUntil("before");
  assert.doesNotMatch(output, /written later/);
  logger.error({ jobId: "j" }, "written later");
  await readUntil("error  written later  jobId=j\n");
  await close();
  const again = await loggingServer(t, port);
  again.logger.warn("started again");
  await readUntil("warn   started again\n");
});
