// Tests the image of the Dockerfile without building it: its command and environment start a server, its health check
// passes, and it stops on request. If there is a Docker daemon, also builds and runs the image.
import assert from "node:assert/strict";
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { present } from "../src/base/domain/assert.ts";
import { putHoneInto } from "./hone-command.ts";
import { eventually } from "./running-server.ts";

/** Instructions of the Dockerfile, by stage, with continued lines joined. */
const stages = readFileSync("Dockerfile", "utf8")
  .replaceAll(/^#.*\n/gm, "")
  .replaceAll(/\\\n\s*/g, "")
  .split(/^FROM /m)
  .slice(1)
  .map((text) => text.trim().split("\n").slice(1).filter(Boolean));
const buildLines = present(stages[0], "a stage that builds");
const lastLines = present(stages.at(-1), "a last stage");

function wordsAfter(instruction: string, lines = lastLines): readonly (readonly string[])[] {
  return lines
    .filter((line) => line.startsWith(`${instruction} `))
    .map((line) =>
      line
        .slice(instruction.length + 1)
        .trim()
        .split(/\s+/),
    );
}

/**
 * Returns the command of an instruction. It must be in exec form, so that signals reach the program instead of a shell.
 */
function commandOf(instruction: string): readonly string[] {
  const line = present(
    lastLines.find((one) => one.startsWith(`${instruction} `)),
    instruction,
  );
  return JSON.parse(line.slice(line.indexOf("["))) as string[];
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  // Safe cast: the server listens on TCP.
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

function run([program = "", ...words]: readonly string[], env: NodeJS.ProcessEnv): ChildProcess {
  return spawn(program, words, { env, cwd: env["HONE_DATA"], stdio: "ignore" });
}

async function exitOf(child: ChildProcess): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  return child.exitCode;
}

test("the command passes the image's health check and stops cleanly on request", async () => {
  const folder = mkdtempSync(join(tmpdir(), "hone-image-"));
  const data = join(folder, "data");
  mkdirSync(data);
  const set = Object.fromEntries(
    wordsAfter("ENV").map(([pair = ""]) => pair.split("=")) as [string, string][],
  );
  const bin = present(set["PATH"], "a path").split(":")[0] ?? "";
  const env = {
    ...set,
    PATH: `${putHoneInto(join(folder, bin))}:${process.env["PATH"]}`,
    HONE_DATA: data,
    HONE_HOST: "127.0.0.1",
    HONE_PORT: String(await freePort()),
  };
  const server = run([...commandOf("ENTRYPOINT"), ...commandOf("CMD")], env);
  const check = (): Promise<number | null> => exitOf(run(commandOf("HEALTHCHECK"), env));
  try {
    await eventually("the health check passes", async () => {
      assert.equal(server.exitCode, null, "the server runs");
      return (await check()) === 0 || null;
    });
    server.kill(wordsAfter("STOPSIGNAL")[0]?.[0] as NodeJS.Signals);
    assert.equal(await exitOf(server), 0);
    assert.equal(await check(), 1);
  } finally {
    server.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  }
});

test("the image runs as an unprivileged user, stores everything in one place, and contains no build tools", () => {
  assert.deepEqual(wordsAfter("USER"), [["node"]]);
  assert.deepEqual(wordsAfter("VOLUME"), [["/data"]]);
  assert.ok(lastLines.includes("ENV HONE_DATA=/data"));
  assert.ok(lastLines.indexOf("USER node") < lastLines.findIndex((line) => line.startsWith("ENTRYPOINT")));
  assert.deepEqual(wordsAfter("COPY"), [["--from=build", "/app", "/app"]]);
});

test("the build context includes everything that the build needs, and excludes secrets", () => {
  const ignored = readFileSync(".dockerignore", "utf8")
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"));
  assert.deepEqual(wordsAfter("COPY", buildLines), [[".", "."]]);
  const { include } = JSON.parse(readFileSync("tsconfig.json", "utf8")) as {
    readonly include: readonly string[];
  };
  const packed = readFileSync("scripts/pack.js", "utf8").matchAll(/^ {2}"([\w./-]+)",$/gm);
  const needed = [
    ...include,
    ...Array.from(packed, ([, path = ""]) => path.split("/")[0]),
    "package.json",
    "scripts",
  ];
  assert.deepEqual(
    needed.filter((path) => path !== "dist" && ignored.includes(path ?? "")),
    [],
  );
  for (const path of [".git", "node_modules", "dist", ".hone", "*.env"])
    assert.ok(ignored.includes(path), path);
});

const hasDaemon = spawnSync("docker", ["info"], { stdio: "ignore", timeout: 20_000 }).status === 0;

test(
  "the built image runs and is healthy",
  { skip: !hasDaemon && "SKIPPED: no Docker daemon runs here, so this test cannot build the image" },
  async () => {
    const docker = (...words: readonly string[]): string => {
      const { status, stdout, stderr } = spawnSync("docker", words, { encoding: "utf8" });
      assert.equal(status, 0, stderr);
      return stdout.trim();
    };
    docker("build", "--tag", "hone-test", ".");
    const kept = ["--init", "--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL"];
    const id = docker("run", "--detach", ...kept, "hone-test");
    try {
      await eventually("the container is healthy", async () => {
        return docker("inspect", "--format", "{{.State.Health.Status}}", id) === "healthy" || null;
      });
      docker("stop", "--time", "60", id);
      assert.equal(docker("inspect", "--format", "{{.State.ExitCode}}", id), "0");
    } finally {
      docker("rm", "--force", "--volumes", id);
    }
  },
);
