// `npm test`: starts this checkout's Hone with a small model whose template supports tools, and runs every client
// against it. Arguments after `--` select the files in clients/ whose names contain one of them.
import { spawn } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
const root = join(here, "..", "..", "..");
const model = "agent";
const folder = join(root, "test", "fixtures", "tool-model");
const data = mkdtempSync(join(tmpdir(), "hone-conformance-"));
const wanted = process.argv.slice(2);
const files = readdirSync(join(here, "clients"))
  .filter((name) => name.endsWith(".test.js"))
  .filter((name) => wanted.length === 0 || wanted.some((part) => name.includes(part)))
  .map((name) => join(here, "clients", name));

const flags = [
  "--port",
  "0",
  "--data",
  data,
  "--model",
  `${model}=${folder}`,
  "--auth",
  "off",
  "--log-level",
  "warn",
];
const server = spawn(process.execPath, [join(root, "scripts", "start.js"), ...flags], {
  cwd: root,
  stdio: ["ignore", "pipe", "inherit"],
});
try {
  const baseURL = `${await listening(server)}/v1`;
  // Installs Hone's client in node_modules, so that it finds its peer libraries as in a user's project.
  const client = join(here, "node_modules", "hone-server");
  cpSync(join(root, "package.json"), join(client, "package.json"));
  cpSync(join(root, "dist", "client"), join(client, "dist", "client"), { recursive: true });
  const env = { ...process.env, BASE_URL: baseURL, API_KEY: "none", MODEL: model };
  const tests = spawn(
    process.execPath,
    ["--test", "--test-concurrency=1", "--test-timeout=120000", ...files],
    {
      cwd: here,
      env,
      stdio: "inherit",
    },
  );
  process.exitCode = await new Promise((resolve) => tests.once("close", (code) => resolve(code ?? 1)));
} finally {
  server.kill();
  await new Promise((resolve) => (server.exitCode === null ? server.once("close", resolve) : resolve()));
  rmSync(data, { recursive: true, force: true });
}

/** Resolves to the server's address once the server reports that it is listening. */
function listening(child) {
  return new Promise((resolve, reject) => {
    let output = "";
    child.stdout.on("data", (chunk) => {
      output += chunk;
      const match = /listening on (http:\S+)/.exec(output);
      if (match !== null) resolve(match[1]);
    });
    child.once("close", () => reject(new Error(`The server ended before it was listening:\n${output}`)));
  });
}
