// Tests the package as a user gets it: packed, installed by npm into an empty folder, and used from the command line
// and from code. npm takes dependencies from its cache if possible. If npm cannot install them from cache or registry,
// the tests are skipped.
import assert from "node:assert/strict";
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, test, type TestContext } from "node:test";

/** Off unless requested, since packing and installing take long and depend only on the packed files. */
const isAsked = process.env["TEST_PACKAGE"] === "on";

/** The user's folder. The test creates and deletes it. */
let folder = "";
/** Reason why npm could not install the package in the user's folder; null if it could. */
let leftOut: string | null = null;
const servers: ChildProcess[] = [];
const deadlineMs = 180_000;

/** Matches npm's error if it cannot reach a registry and a package is not in its cache. */
const unreachable =
  /code (ENOTCACHED|ENOTFOUND|EAI_AGAIN|ECONN\w+|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ERR_SOCKET_TIMEOUT|\w*CERT\w*)/;

interface Outcome {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program in the user's folder, or in a folder below it, with a user's environment. */
function run(command: string, parameters: readonly string[], below = "."): Outcome {
  return spawnSync(command, parameters, {
    cwd: resolve(folder, below),
    env: userEnvironment,
    encoding: "utf8",
    timeout: deadlineMs,
    maxBuffer: 64 * 1024 * 1024,
  });
}

/** Runs the command like npx, but without npx's start-up time of one second. */
function hone(...words: readonly string[]): Outcome {
  return run(process.execPath, [join(folder, "node_modules", ".bin", "hone"), ...words]);
}

function done({ status, stdout, stderr }: Outcome): string {
  assert.equal(status, 0, `${stdout}\n${stderr}`);
  return stdout;
}

/** Environment of a user: without variables that npm or this test's set-up have set. */
const userEnvironment = Object.fromEntries(
  Object.entries({ ...process.env, NODE_EXTRA_CA_CERTS: process.env["TEST_CERTIFICATES"] }).filter(
    ([name, value]) => value !== undefined && value !== "" && !/^(npm_|NODE_OPTIONS$|TEST_)/.test(name),
  ),
);

before(() => {
  if (!isAsked) {
    leftOut = "TEST_PACKAGE is not on, as it is in .ci/run";
    return;
  }
  const packed = mkdtempSync(join(tmpdir(), "hone-packed-"));
  after(() => rmSync(packed, { recursive: true, force: true }));
  folder = mkdtempSync(join(tmpdir(), "hone-user-"));
  const packing = [resolve("scripts/pack.js"), "--this-platform", "--to", packed];
  const file = done(run(process.execPath, packing, process.cwd())).trim();
  const installed = run("npm", ["install", "--prefer-offline", "--no-audit", "--fetch-retries=0", file]);
  if (installed.status !== 0 && unreachable.test(installed.stderr)) {
    leftOut = `npm reaches no registry, and its cache does not have every needed package:\n${installed.stderr}`;
    process.stderr.write(`SKIPPED: the tests of the installed package: ${leftOut}\n`);
    return;
  }
  done(installed);
  assert.doesNotMatch(installed.stderr, /npm (error|warn)/, "npm has nothing to say of the package");
});

after(async () => {
  for (const server of servers)
    if (server.exitCode === null) {
      server.kill("SIGKILL");
      await once(server, "close");
    }
  if (folder !== "") rmSync(folder, { recursive: true, force: true });
});

/** Returns true if the package is installed; otherwise skips the test and returns false. */
function isInstalled(t: TestContext): boolean {
  if (leftOut !== null) t.skip(leftOut);
  return leftOut === null;
}

/** Returns the paths of the installed package's files, relative to its folder. */
function installedFiles(): readonly string[] {
  const root = join(folder, "node_modules", "hone-server");
  return readdirSync(root, { recursive: true })
    .map((name) => String(name).replaceAll("\\", "/"))
    .filter((name) => statSync(join(root, name)).isFile());
}

test("the package contains what its users need and nothing else", (t) => {
  if (!isInstalled(t)) return;
  const places =
    /^(package\.json|README\.md|LICENSE|bin\/hone\.js|dist\/(bundle\/[\w-]+\.c?js(\.map)?|bundle\/licences\.txt|client\/.+\.(js|d\.ts)|swagger-ui\/.+|dashboard\/.+|guide\/.+|onnxruntime\/(LICENSE|\w+\/\w+\/.+))|models\/hone-tiny\/[\w.]+|examples\/starter\/[\w.-]+)$/;
  const files = installedFiles();
  assert.deepEqual(
    files.filter((name) => !places.test(name) || /(^|[/.])(test|testing|contract)[/.]/.test(name)),
    [],
  );
  for (const needed of [
    "dist/client/index.js",
    "dist/guide/index.html",
    "dist/client/index.d.ts",
    "models/hone-tiny/model.safetensors",
  ])
    assert.ok(files.includes(needed), needed);
});

test("npm pack in the checkout includes no sources, tests or builds", () => {
  const said = done(run("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], process.cwd()));
  const [{ files }] = JSON.parse(said) as [{ readonly files: readonly { readonly path: string }[] }];
  assert.deepEqual(files.map(({ path }) => path).toSorted(), [
    "LICENSE",
    "README.md",
    "bin/hone.js",
    "package.json",
  ]);
});

test("installing runs no scripts and brings few dependencies", (t) => {
  if (!isInstalled(t)) return;
  const lock = JSON.parse(readFileSync(join(folder, "package-lock.json"), "utf8")) as {
    readonly packages: Readonly<Record<string, { readonly hasInstallScript?: boolean }>>;
  };
  const others = Object.keys(lock.packages).filter((name) => !/^$|@libsql\//.test(name));
  assert.deepEqual(others.map((name) => name.replace("node_modules/", "")).toSorted(), [
    "@neon-rs/load",
    "detect-libc",
    "hone-server",
    "libsql",
  ]);
  assert.deepEqual(
    Object.entries(lock.packages).filter(([, { hasInstallScript = false }]) => hasInstallScript),
    [],
  );
});

test("the client's types pass a strict type check in a user's program", (t) => {
  if (!isInstalled(t)) return;
  mkdirSync(join(folder, "checked"));
  const program = `import { Hone, HoneError } from "hone-server/client";
const hone = new Hone({ baseUrl: "http://127.0.0.1:1", apiKey: null });
export async function answer(question: string): Promise<string | null | undefined> {
  try {
    const { choices } = await hone.chat.create({ messages: [{ role: "user", content: question }] });
    return choices[0]?.message.content;
  } catch (error) {
    if (error instanceof HoneError) return error.code;
    throw error;
  }
}
// @ts-expect-error: a temperature is a number
void hone.chat.create({ messages: [], temperature: "high" });
`;
  writeFileSync(join(folder, "checked", "answer.ts"), program);
  const strict = { strict: true, noEmit: true, skipLibCheck: false, types: [] };
  const places = { target: "ES2022", lib: ["ES2023", "DOM", "DOM.AsyncIterable"], module: "NodeNext" };
  writeFileSync(
    join(folder, "checked", "tsconfig.json"),
    JSON.stringify({ compilerOptions: { ...strict, ...places }, include: ["."] }),
  );
  writeFileSync(join(folder, "checked", "package.json"), JSON.stringify({ type: "module" }));
  done(run(process.execPath, [resolve("node_modules/typescript/bin/tsc"), "-p", "."], "checked"));
});

test("the installed package serves, chats, and learns the task of the starter project", async (t) => {
  if (!isInstalled(t)) return;
  assert.match(done(run("npx", ["hone", "--version"])), /^\d+\.\d+\.\d+\n$/);
  assert.match(done(hone("init", "my-task")), /takes hone-server from .+: a path on this machine/);
  done(checkStarter());
  const again = hone("init", "my-task");
  assert.deepEqual([again.status, /nothing was written/.test(again.stderr)], [1, true]);

  userEnvironment["HONE_URL"] = "http://127.0.0.1:1";
  const alone = run(process.execPath, ["learn.js"], "my-task");
  assert.equal(alone.status, 1);
  assert.match(
    alone.stderr,
    /^No answer from http:\/\/127\.0\.0\.1:1 .+ Is the server running there\? HONE_BASE_URL sets another address\.\n$/,
  );

  const url = await serve();
  const seen = ["--url", url];
  assert.match(done(hone("chat", "What is the capital of France?", "--temperature", "0", ...seen)), /Paris/);
  const page = await fetch(`${url}/docs/static/swagger-ui.css`);
  assert.deepEqual([page.status, (await page.text()).length > 10_000], [200, true]);
  const key = readFileSync(join(folder, ".hone", "admin-key"), "utf8").trim();
  const rated = await fetch(`${url}/feedback/create`, {
    method: "POST",
    headers: {
      authorization: `Basic ${Buffer.from(`api:${key}`).toString("base64")}`,
      "content-type": "application/json",
    },
    body: JSON.stringify({
      project_id: "local/starter",
      vendor_ref: "hone:///local/starter/call/1",
      feedback_type: "vendor.reaction.1",
      payload: { emoji: "👍🏽" },
    }),
  });
  // The names of emoji are data of a library, which must be part of the package.
  assert.match(await rated.text(), /"alias":":thumbs_up_medium_skin_tone:"/);
  userEnvironment["HONE_URL"] = url;
  const learned = done(run("npm", ["run", "learn", "--", "--rounds", "1"], "my-task"));
  assert.match(learned, /round 1 {2}mean reward 0\.\d\d/);
  const models = done(hone("models", "--json", ...seen));
  assert.ok(models.includes("starter/maybe"), models);
});

/** Checks the types of the starter project's files. Its documentation promises that they are correct. */
function checkStarter(): Outcome {
  const flags = ["--allowJs", "--checkJs", "--strict", "--noEmit", "--module", "NodeNext", "--types", "node"];
  const places = ["--target", "ES2023", "--typeRoots", resolve("node_modules/@types"), "learn.js"];
  const compiler = resolve("node_modules/typescript/bin/tsc");
  return run(process.execPath, [compiler, "--ignoreConfig", ...flags, ...places], "my-task");
}

/** Starts `hone serve` in the user's folder; returns its URL. */
async function serve(): Promise<string> {
  const command = join(folder, "node_modules", ".bin", "hone");
  const server = spawn(process.execPath, [command, "serve", "--port", "0", "--log-level", "warn"], {
    cwd: folder,
    env: userEnvironment,
    stdio: ["ignore", "pipe", "inherit"],
  });
  servers.push(server);
  let output = "";
  for await (const data of server.stdout) {
    output += String(data);
    const url = /listening on (http:\S+)/.exec(output)?.[1];
    if (url !== undefined) return url;
  }
  throw new Error(`it ended before it listened: ${output}`);
}
