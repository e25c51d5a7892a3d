// Tests adding base models by name and by file, as users do. Commands add models while a server runs, the next start
// serves them, jobs train on them, and a command removes them. The hub is a server on the loopback address.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { commandProcess, type Ended } from "../src/apps/cli/testing/command-process.ts";
import { loopbackHub } from "../src/inference/models/library/testing/loopback-hub.ts";
import {
  call,
  eventually,
  newDataFolder,
  removeDataFolder,
  startServer,
  type RunningServer,
} from "./running-server.ts";

const small = "test/fixtures/small-model";
const files = Object.fromEntries(readdirSync(small).map((name) => [name, readFileSync(join(small, name))]));
const data = newDataFolder();
after(() => removeDataFolder(data));
const runOne = commandProcess();
const commandModule = new URL("../src/apps/cli/main.js", import.meta.url).href;

function hone(words: readonly string[], environment: Readonly<Record<string, string>> = {}): Promise<Ended> {
  return runOne([...words, "--data", data], { environment });
}

async function chat(server: RunningServer, model: string): Promise<number> {
  const body = { model, messages: [{ role: "user", content: "hi" }], max_tokens: 2 };
  return (await call(server, "POST", "/v1/chat/completions", { body })).status;
}

test("adds a hub model and a file next to a running server, serves them after a restart, and removes them", async (t) => {
  const hub = await loopbackHub(t, { "someone/Small": { files, card: { license: "apache-2.0" } } });
  let server = await startServer({ dataFolder: data });
  t.after(() => server.terminate());
  const added = await hone(["models", "add", "someone/Small"], { HF_ENDPOINT: hub.endpoint });
  assert.equal(added.errors.includes("Small: 6 files"), true, added.errors);
  assert.match(
    added.output,
    /^added Small \(\d+ kB, apache-2\.0, from someone\/Small\)\.\nThis machine computes it in float32\.\nServers serve it from their next start/,
  );
  const fromFile = await hone(["models", "add", "test/fixtures/gguf/qwen2.gguf", "--name", "file", "--json"]);
  const { name, source, size_bytes: bytes } = JSON.parse(fromFile.output);
  assert.deepEqual([name, bytes], ["file", statSync("test/fixtures/gguf/qwen2.gguf").size]);
  assert.match(source, /qwen2\.gguf$/);
  const described = await hone([
    "models",
    "add",
    "test/fixtures/goldens/models/llama",
    "--name",
    "big",
    "--without-weights",
  ]);
  assert.match(described.output, /^added big without its weights .*\n.*--model big=vllm\+http:/);
  const listed = await hone(["models", "added"]);
  assert.match(listed.output, /\nbig .* without_weights\n/);
  assert.match(listed.output, /^name +size +license +source +state\n?/);
  assert.match(listed.output, /\nSmall +\d+ kB +apache-2\.0 +someone\/Small +whole\n/);
  assert.equal(await chat(server, "Small"), 404, "not before its next start");
  await server.terminate();

  server = await startServer({ dataFolder: data });
  const { body: models } = await call(server, "GET", "/v1/preview/base-models");
  assert.deepEqual(models, ["hone-tiny", "Small", "file"]);
  for (const model of ["Small", "file"]) assert.equal(await chat(server, model), 200, model);
  const { body: card } = await call(server, "GET", "/v1/models/Small");
  assert.deepEqual(card.files, { weight_bytes: files["model.safetensors"]?.length, license: "apache-2.0" });
  const trained = { project: "p", name: "student", base_model: "Small" };
  assert.equal((await call(server, "POST", "/v1/preview/models", { body: trained })).status, 200);
  assert.ok(readdirSync(join(data, "models/file/.cache")).some((one) => one.endsWith(".gguf-model")));
  assert.match(
    (await hone(["models", "remove", "Small"])).errors,
    /A running server serves Small\. Stop it first/,
  );
  await server.terminate();

  const refused = await hone(["models", "remove", "Small"]);
  assert.deepEqual([refused.status, refused.output], [1, ""]);
  assert.match(refused.errors, /Small is the base model of local\/p\/student, .*hone models delete/);
  assert.equal((await hone(["models", "remove", "file"])).output, "removed file\n");
  assert.equal(existsSync(join(data, "models/file")), false);
  server = await startServer({
    dataFolder: data,
    flags: ["--model", "someone/Small", "--built-in-model", "off"],
  });
  const { body: left } = await call(server, "GET", "/v1/preview/base-models");
  assert.deepEqual(left, ["Small"], "the hub's name is its other name");
});

test("resumes an addition that was killed, without waiting for its lock", async (t) => {
  const hub = await loopbackHub(t, { "someone/Killed": { files } });
  hub.fail({ at: /blobs/, twist: { silentAfter: 50_000 } });
  const program = `await (await import(${JSON.stringify(commandModule)})).main(process.argv.slice(1));`;
  const words = ["models", "add", "someone/Killed", "--data", data];
  const environment = { ...process.env, HF_ENDPOINT: hub.endpoint };
  const child = spawn(process.execPath, ["--input-type=module", "-e", program, ...words], {
    env: environment,
    stdio: "ignore",
  });
  const ended = once(child, "exit");
  const partial = join(data, "models/.unfinished/Killed/model.safetensors.partial");
  const there = await eventually("some of the weights are there", async () =>
    existsSync(partial) && statSync(partial).size === 50_000 ? 50_000 : null,
  );
  const beside = await hone(["models", "add", "someone/Killed"], { HF_ENDPOINT: hub.endpoint });
  assert.match(beside.errors, /Another command is adding or removing Killed/);
  const unfinished = await hone(["models", "added"]);
  assert.match(unfinished.output, /\nKilled +- +- +someone\/Killed +unfinished\n/);
  child.kill("SIGKILL");
  await ended;
  hub.requests.store.length = 0;
  assert.equal((await hone(["models", "add", "someone/Killed"], { HF_ENDPOINT: hub.endpoint })).status, 0);
  assert.equal(hub.requests.store.at(-1)?.range, `bytes=${there}-`);
  assert.deepEqual(readFileSync(join(data, "models/Killed/model.safetensors")), files["model.safetensors"]);
  assert.equal((await hone(["models", "remove", "Killed"])).status, 0);
});

test("a refused addition gives the reason and exits with status 1; a server says how to add a model of the hub", async (t) => {
  const hub = await loopbackHub(t, {});
  const environment = { HF_ENDPOINT: hub.endpoint };
  const refused = async (words: readonly string[], message: RegExp): Promise<void> => {
    const { status, output, errors } = await hone(["models", ...words], environment);
    assert.deepEqual([status, output], [1, ""]);
    assert.match(errors, message);
    assert.equal(errors.trimEnd().split("\n").length, 1, "one line");
  };
  await refused(["add", "someone/nothing"], /hone: http:.* shows no someone\/nothing\. Check its spelling/);
  await refused(["add", "./nothing.gguf"], /There is no file or folder \.\/nothing\.gguf\./);
  await refused(["add", "package.json"], /neither a GGUF file nor a folder/);
  await refused(
    ["add", "test/fixtures/gguf/qwen2.gguf", "--name", "hone-tiny"],
    /hone-tiny is the built-in model's name; give this one another with --name/,
  );
  await refused(["remove", "nothing"], /There is no added model "nothing"\./);
  const empty = newDataFolder();
  t.after(() => removeDataFolder(empty));
  await assert.rejects(
    startServer({ dataFolder: empty, flags: ["--model", "someone/nothing", "--built-in-model", "off"] }),
    {
      message: /There is no folder someone\/nothing here\. .*`hone models add someone\/nothing`/,
    },
  );
});
