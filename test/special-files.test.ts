// Named pipes where commands and servers read files: each is named and never opened, so that nobody waits for a writer.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { putHoneInto } from "./hone-command.ts";

const options = { skip: process.platform === "win32" ? "Windows has no FIFOs" : false };
const base = "test/fixtures/goldens/models/qwen3";
const adapter = "test/fixtures/goldens/training/adapter";
const scratch = mkdtempSync(join(tmpdir(), "hone-special-"));
after(() => rmSync(scratch, { recursive: true }));
const hone = join(putHoneInto(join(scratch, "bin")), "hone");

/** A named pipe, in place of what is there. */
function pipeAt(path: string): string {
  rmSync(path, { force: true });
  execFileSync("mkfifo", [path]);
  return path;
}

/** A copy of a folder with a named pipe in it. */
function withPipe(folder: string, name: string): string {
  const copy = mkdtempSync(join(scratch, "copy-"));
  cpSync(folder, copy, { recursive: true });
  pipeAt(join(copy, name));
  return copy;
}

function newData(): string {
  return mkdtempSync(join(scratch, "data-"));
}

/** Runs a command, which has to refuse the pipe by itself. */
function check(words: readonly string[], pipe: string, environment: NodeJS.ProcessEnv = {}): void {
  const { status, signal, stdout, stderr } = spawnSync(hone, words, {
    encoding: "utf8",
    env: { ...process.env, HONE_BUILT_IN_MODEL: "off", ...environment },
    timeout: 120_000,
    killSignal: "SIGKILL",
  });
  const said = `${words.join(" ")}: ${stdout}${stderr}`;
  assert.equal(signal, null, said);
  assert.notEqual(status, 0, said);
  assert.match(said, new RegExp(`${pipe}\\S* is a named pipe, where a plain file should be`));
}

test("commands that read models and adapters name it", options, () => {
  const gguf = pipeAt(join(scratch, "pipe.gguf"));
  const data = newData();
  for (const name of ["model.safetensors", "config.json", "tokenizer.json", "chat_template.jinja"]) {
    const folder = withPipe(base, name);
    check(["models", "add", folder, "--name", "m", "--data", data], name);
    check(["models", "check", folder, "--data", data], name);
  }
  check(["models", "add", gguf, "--data", data], "pipe.gguf");
  check(["models", "check", gguf, "--data", data], "pipe.gguf");
  // Nothing listens there: the files are looked at before anything is sent.
  const nowhere = { HONE_URL: "http://127.0.0.1:1", HONE_API_KEY: "hone-nowhere" };
  for (const name of ["adapter_config.json", "adapter_model.safetensors"])
    check(["models", "import", withPipe(adapter, name), "--name", "p/m"], name, nowhere);
  check(["models", "list", "--data", dataWithPipe("admin-key")], "admin-key");
});

function dataWithPipe(name: string): string {
  const data = newData();
  pipeAt(join(data, name));
  return data;
}

test("a server with one in its settings or its data folder ends with its name", options, () => {
  const pipe = pipeAt(join(scratch, "secret"));
  const serve = (...flags: readonly string[]) => ["serve", "--port", "0", ...flags];
  const model = ["--model", `tiny=${base}`];
  check(serve("--data", newData(), "--model", `tiny=${pipeAt(join(scratch, "served.gguf"))}`), "served.gguf");
  check(serve("--data", newData(), "--model", `tiny=${withPipe(base, "tokenizer.json")}`), "tokenizer.json");
  const elsewhere = withPipe(base, "config.json");
  check(
    serve("--data", newData(), "--model", `tiny=vllm+http://127.0.0.1:1?files=${elsewhere}`),
    "config.json",
  );
  check(serve("--data", dataWithPipe("hone.json"), ...model), "hone.json");
  for (const name of ["admin-key", "audit.jsonl", "artifacts-id", "hone.db"])
    check(serve("--data", dataWithPipe(name), ...model), name);
  const database = pipeAt(join(scratch, "own.db"));
  check(serve("--data", newData(), ...model, "--database-url", `file:${database}`), "own.db");
  for (const name of ["sslrootcert", "sslkey"])
    check(serve("--data", newData(), ...model), "secret", {
      HONE_DATABASE_URL: `postgres://hone@127.0.0.1:1/hone?sslmode=verify-full&${name}=${pipe}`,
    });
  check(serve("--data", newData(), ...model, "--engine-logits-processors", `own=${pipe}`), "secret");
  check(serve("--data", newData(), ...model), "secret", {
    HONE_TRAINER: "tinker+http://127.0.0.1:1?kind=skyrl-jax",
    HONE_TRAINER_KEY: `file:${pipe}`,
  });
  check(serve("--data", newData(), "--model", `tiny=vllm+http://127.0.0.1:1?files=${base}`), "secret", {
    HONE_REMOTE_API_KEY: `file:${pipe}`,
  });
  check(serve("--data", newData(), ...model), "secret", {
    OTEL_EXPORTER_OTLP_ENDPOINT: "https://127.0.0.1:1",
    OTEL_EXPORTER_OTLP_CERTIFICATE: pipe,
  });
  check(serve("--data", newData(), ...model, "--chat-tool-formats", pipe), "secret");
});
