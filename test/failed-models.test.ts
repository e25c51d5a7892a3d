// Tests base models that cannot be loaded, each for a different reason, on a server that also has working models. The
// working models are served, and every request for a broken model gets the reason. The server exits only if no model
// works.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { putHoneInto } from "./hone-command.ts";
import {
  call,
  eventually,
  newDataFolder,
  removeDataFolder,
  serverOfFile,
  startServer,
} from "./running-server.ts";
import { finish, registerModel } from "./served-jobs.ts";

const whole = "test/fixtures/goldens/models/qwen3";
const folder = mkdtempSync(join(tmpdir(), "hone-broken-models-"));
const data = newDataFolder();
after(() => {
  rmSync(folder, { recursive: true });
  removeDataFolder(data);
});

/** Returns a copy of a working model. `change` must break the copy. */
function copyOf(name: string, change: (copy: string) => void): string {
  const copy = join(folder, name);
  cpSync(whole, copy, { recursive: true });
  change(copy);
  return copy;
}

const inConfig = (copy: string, changes: object): void => {
  const file = join(copy, "config.json");
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, "utf8")), ...changes }));
};

/** The broken models by name, each with its path and a pattern for the expected reason. */
const broken: Readonly<Record<string, { readonly path: string; readonly reason: RegExp }>> = {
  missing: { path: join(folder, "no-such.gguf"), reason: /There is no file no-such\.gguf/ },
  gone: { path: join(folder, "no-such-folder"), reason: /no-such-folder is not a model/ },
  unknown: { path: "someone/not-added", reason: /`hone models add someone\/not-added --name unknown`/ },
  corrupt: {
    path: join(folder, "corrupt.gguf"),
    reason: /corrupt\.gguf/,
  },
  strange: {
    path: copyOf("strange", (copy) =>
      inConfig(copy, { architectures: ["MambaForCausalLM"], model_type: "mamba" }),
    ),
    reason: /mamba/i,
  },
  weightless: {
    path: copyOf("weightless", (copy) => rmSync(join(copy, "model.safetensors"))),
    reason: /weight|safetensors/,
  },
  torn: {
    path: copyOf("torn", (copy) => truncateSync(join(copy, "model.safetensors"), 5000)),
    reason: /model\.safetensors/,
  },
  garbled: {
    path: copyOf("garbled", (copy) => writeFileSync(join(copy, "config.json"), "{")),
    reason: /config\.json/,
  },
  speechless: {
    path: copyOf("speechless", (copy) => writeFileSync(join(copy, "tokenizer.json"), "{}")),
    reason: /tokenizer/,
  },
  templated: {
    path: copyOf("templated", (copy) => writeFileSync(join(copy, "chat_template.jinja"), "{% if")),
    reason: /template/,
  },
};
writeFileSync(join(folder, "corrupt.gguf"), "GGUF and nothing that belongs there");

const flags = [
  ...Object.entries(broken).flatMap(([name, { path }]) => ["--model", `${name}=${path}`]),
  "--model",
  `tiny=${whole}`,
];
const server = serverOfFile({ flags });
const chat = (model?: string) => ({ model, messages: [{ role: "user", content: "hello" }], max_tokens: 2 });

test("the other models are served, and the server is healthy", async () => {
  for (const model of ["tiny", "hone-tiny"]) {
    const { status, body } = await call(server(), "POST", "/v1/chat/completions", { body: chat(model) });
    assert.equal(status, 200, JSON.stringify(body));
  }
  const { status, body } = await call(server(), "GET", "/health");
  assert.deepEqual([status, body.status, body.state], [200, "ok", "ready"]);
  assert.match(body.models.tiny, /^(loaded|unloaded)/);
  for (const [name, { reason }] of Object.entries(broken)) {
    assert.match(body.models[name], /^failed: The model \w+ could not be loaded: /);
    assert.match(body.models[name], reason);
    assert.match(body.reason, reason);
  }
});

test("lists each model with its reason, without file paths for clients", async () => {
  const { body } = await call(server(), "GET", "/v1/models");
  for (const [name, { reason }] of Object.entries(broken)) {
    const { status } = body.data.find(({ id }: { id: string }) => id === name);
    assert.equal(status.value, "failed", `${name}: ${status.reason}`);
    assert.match(status.reason, reason);
    const { body: card } = await call(server(), "GET", `/v1/models/${name}`);
    assert.deepEqual(card.status, status);
  }
  assert.doesNotMatch(JSON.stringify(body), new RegExp(tmpdir()));
  const names = (await call(server(), "GET", "/v1/preview/base-models")).body;
  assert.deepEqual(new Set(names), new Set([...Object.keys(broken), "tiny", "hone-tiny"]));
});

test("the system check reports the broken models as failed", async () => {
  const { status, body } = await call(server(), "GET", "/v1/system-check");
  assert.deepEqual([status, body.gpu_queue], [503, "ok"]);
  for (const { reason } of Object.values(broken)) assert.match(body.models, reason);
});

test("the log contains full paths", () => {
  assert.ok(
    server()
      .output()
      .includes(broken["missing"]?.path ?? "?"),
  );
});

test("answers every request for a failed model with 503 and the reason", async () => {
  const asked = {
    "/v1/chat/completions": chat(),
    "/v1/completions": { prompt: "hello" },
    "/v1/embeddings": { input: "hello" },
    "/tokenize": { prompt: "hello" },
  };
  for (const [model, { reason }] of Object.entries(broken))
    for (const [path, body] of Object.entries(asked)) {
      const answer = await call(server(), "POST", path, { body: { ...body, model } });
      assert.equal(answer.status, 503, `${model} ${path}: ${JSON.stringify(answer.body)}`);
      assert.match(answer.body.error.message, reason, path);
      assert.ok(Number(answer.headers.get("retry-after")) > 0);
    }
});

test("a request without a model gets the default model's reason, not another model's answer", async () => {
  const { status, body } = await call(server(), "POST", "/v1/chat/completions", { body: chat() });
  assert.equal(status, 503);
  assert.match(body.error.message, broken["missing"]?.reason ?? /^$/);
});

test("jobs wait while their base model is broken or not served, and the system check names a missing one", async () => {
  const copy = copyOf("base", () => undefined);
  const own = ["--model", `tiny=${copy}`, "--engine-threads", "1", "--training-batch-tokens", "750"];
  const both = [...own, "--model", `second=${whole}`, "--built-in-model", "off"];
  const first = await startServer({ dataFolder: data, flags: both });
  const ids = [await registerModel(first, "learner"), await registerModel(first, "other", "second")];
  await first.terminate();
  rmSync(join(copy, "config.json"));
  const second = await startServer({ dataFolder: data, flags: own });
  const broken = await call(second, "POST", "/v1/chat/completions", { body: chat(ids[0]) });
  assert.equal(broken.status, 503);
  assert.match(broken.body.error.message, /The model tiny could not be loaded: base is not a model/);
  assert.equal((await call(second, "POST", "/v1/chat/completions", { body: chat("p/other") })).status, 400);
  const group = ["a", "b"].map((content, reward) => ({
    messages_and_choices: [
      { role: "user", content: "hello" },
      { role: "assistant", content },
    ],
    reward,
  }));
  const jobs: string[] = [];
  for (const [index, name] of ["tiny", "second"].entries()) {
    const submitted = await call(second, "POST", "/v1/preview/training-jobs", {
      body: { model_id: ids[index], trajectory_groups: [{ trajectories: group }] },
    });
    assert.equal(submitted.status, 200, JSON.stringify(submitted.body));
    const path = `/v1/preview/training-jobs/${submitted.body.id}`;
    const shown = await eventually("the job waits", async () => {
      const { body } = await call(second, "GET", path);
      return body.waiting_for === null ? null : body;
    });
    assert.equal(shown.state, "queued");
    assert.match(shown.waiting_for, new RegExp(`"${name}" is not served now`));
    jobs.push(submitted.body.id);
  }
  const red = await call(second, "GET", "/v1/system-check");
  assert.equal(red.status, 503);
  assert.match(red.body.cpu_queue, /base model "second" is not served/);
  await second.terminate();
  cpSync(join(whole, "config.json"), join(copy, "config.json"));
  const third = await startServer({ dataFolder: data, flags: both });
  for (const job of jobs) await finish(third, job);
  assert.equal((await call(third, "GET", "/v1/system-check")).status, 200);
  await third.terminate();
});

test("a server without a working model exits with one line that lists every reason", () => {
  const own = join(folder, "alone");
  mkdirSync(own);
  const models = ["corrupt", "torn"].flatMap((name) => ["--model", `${name}=${broken[name]?.path}`]);
  const words = ["serve", "--data", own, "--port", "0", "--built-in-model", "off", "--log-level", "silent"];
  const hone = join(putHoneInto(join(folder, "bin")), "hone");
  const { status, stdout, stderr } = spawnSync(hone, [...words, ...models], { encoding: "utf8" });
  assert.deepEqual([status, stdout.includes("listening")], [1, false]);
  const line = stderr.trim();
  assert.match(line, /^hone: No base model is left to serve\. The model .* could not be loaded: /);
  assert.match(line, /The model corrupt could not be loaded: .*corrupt\.gguf/);
  assert.match(line, /The model torn could not be loaded: .*model\.safetensors/);
  assert.equal(line.split("\n").length, 1);
});
