// Tests commands and servers that find a named pipe in place of a file. They refuse it with an error that contains its
// path. They never open a pipe, because opening would wait for a writer.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { commandProcess } from "../src/apps/cli/testing/command-process.ts";
import { searchedOf } from "../src/base/domain/testing/search.ts";
import { putHoneInto } from "./hone-command.ts";

const options = { skip: process.platform === "win32" ? "Windows has no FIFOs" : false, timeout: 600_000 };
const base = "test/fixtures/goldens/models/qwen3";
const adapter = "test/fixtures/goldens/training/adapter";
const scratch = mkdtempSync(join(tmpdir(), "hone-special-"));
after(() => rmSync(scratch, { recursive: true }));
const hone = join(putHoneInto(join(scratch, "bin")), "hone");
const run = commandProcess();

/** Replaces a file by a named pipe. */
function pipeAt(path: string): string {
  rmSync(path, { force: true });
  execFileSync("mkfifo", [path]);
  return path;
}

/** Returns a copy of the folder with a named pipe in it. */
function withPipe(folder: string, name: string): string {
  const copy = mkdtempSync(join(scratch, "copy-"));
  cpSync(folder, copy, { recursive: true });
  pipeAt(join(copy, name));
  return copy;
}

function newData(): string {
  return mkdtempSync(join(scratch, "data-"));
}

/** Runs a command, and checks that it refuses the pipe. */
async function check(words: readonly string[], pipe: string, environment = {}): Promise<void> {
  const { status, output, errors } = await run(words, {
    environment: { HONE_BUILT_IN_MODEL: "off", ...environment },
  });
  checkRefusal(pipe, status, `${words.join(" ")}: ${output}${errors}`);
}

/** Runs a server, and checks that it exits because of the pipe. */
function checkServer(words: readonly string[], pipe: string, environment: NodeJS.ProcessEnv = {}): void {
  const { status, signal, stdout, stderr } = spawnSync(hone, ["serve", "--port", "0", ...words], {
    encoding: "utf8",
    env: { ...process.env, HONE_BUILT_IN_MODEL: "off", ...environment },
    timeout: 120_000,
    killSignal: "SIGKILL",
  });
  const said = `${words.join(" ")}: ${stdout}${stderr}`;
  assert.equal(signal, null, said);
  checkRefusal(pipe, status, said);
}

function checkRefusal(pipe: string, status: number | null, said: string): void {
  assert.notEqual(status, 0, said);
  assert.match(said, new RegExp(`${pipe}\\S* is a named pipe, where a plain file should be`));
}

test("commands that read models and adapters name the pipe", options, async () => {
  const gguf = pipeAt(join(scratch, "pipe.gguf"));
  const data = newData();
  const ofModel = ["model.safetensors", "config.json", "tokenizer.json", "chat_template.jinja"];
  for (const name of searchedOf(ofModel, 1)) {
    const folder = withPipe(base, name);
    await check(["models", "add", folder, "--name", "m", "--data", data], name);
    await check(["models", "check", folder, "--data", data], name);
  }
  await check(["models", "add", gguf, "--data", data], "pipe.gguf");
  await check(["models", "check", gguf, "--data", data], "pipe.gguf");
  // Nothing listens at this address. The commands check the files before they send anything.
  const nowhere = { HONE_URL: "http://127.0.0.1:1", HONE_API_KEY: "hone-nowhere" };
  for (const name of ["adapter_config.json", "adapter_model.safetensors"])
    await check(["models", "import", withPipe(adapter, name), "--name", "p/m"], name, nowhere);
  await check(["models", "list", "--data", dataWithPipe("admin-key")], "admin-key");
});

function dataWithPipe(name: string): string {
  const data = newData();
  pipeAt(join(data, name));
  return data;
}

interface Server {
  /** Name of the pipe. */
  readonly file: string;
  readonly flags: () => readonly string[];
  /** True if the pipe is in the data folder. */
  readonly inData?: boolean;
  readonly environment?: NodeJS.ProcessEnv;
}

test(
  "a server with a pipe in its settings or its data folder exits with an error that names the pipe",
  options,
  () => {
    const pipe = pipeAt(join(scratch, "secret"));
    const model = ["--model", `tiny=${base}`];
    const vllm = "tiny=vllm+http://127.0.0.1:1";
    const postgres = "postgres://hone@127.0.0.1:1/hone?sslmode=verify-full";
    const servers: readonly Server[] = [
      { file: "served.gguf", flags: () => ["--model", `tiny=${pipeAt(join(scratch, "served.gguf"))}`] },
      { file: "tokenizer.json", flags: () => ["--model", `tiny=${withPipe(base, "tokenizer.json")}`] },
      { file: "config.json", flags: () => ["--model", `${vllm}?files=${withPipe(base, "config.json")}`] },
      ...["hone.json", "admin-key", "audit.jsonl", "artifacts-id", "hone.db"].map((file) => ({
        file,
        inData: true,
        flags: () => model,
      })),
      {
        file: "own.db",
        flags: () => [...model, "--database-url", `file:${pipeAt(join(scratch, "own.db"))}`],
      },
      ...["sslrootcert", "sslkey"].map((name) => ({
        file: "secret",
        flags: () => model,
        environment: { HONE_DATABASE_URL: `${postgres}&${name}=${pipe}` },
      })),
      { file: "secret", flags: () => [...model, "--engine-logits-processors", `own=${pipe}`] },
      {
        file: "secret",
        flags: () => model,
        environment: {
          HONE_TRAINER: "tinker+http://127.0.0.1:1?kind=skyrl-jax",
          HONE_TRAINER_KEY: `file:${pipe}`,
        },
      },
      {
        file: "secret",
        flags: () => ["--model", `${vllm}?files=${base}`],
        environment: { HONE_REMOTE_API_KEY: `file:${pipe}` },
      },
      {
        file: "secret",
        flags: () => model,
        environment: {
          OTEL_EXPORTER_OTLP_ENDPOINT: "https://127.0.0.1:1",
          OTEL_EXPORTER_OTLP_CERTIFICATE: pipe,
        },
      },
      { file: "secret", flags: () => [...model, "--chat-tool-formats", pipe] },
    ];
    for (const { file, flags, inData = false, environment } of searchedOf(servers, 4, "pipes")) {
      const data = inData ? dataWithPipe(file) : newData();
      checkServer(["--data", data, ...flags()], file, environment);
    }
  },
);
