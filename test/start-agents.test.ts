// Tests `hone start` with programs in place of the agents. They have the agents' names, read the agents' settings, and
// send a request to the model in them.
import assert from "node:assert/strict";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { commandProcess } from "../src/apps/cli/testing/command-process.ts";
import { newDataFolder, serverOfFile } from "./running-server.ts";
import { toolModel } from "./served-jobs.ts";

const server = serverOfFile({ flags: toolModel });

/** Code with which each program reads the address, the key and the model from its settings. */
const settingsOf = {
  claude: `const { ANTHROPIC_BASE_URL, ANTHROPIC_AUTH_TOKEN: key, ANTHROPIC_MODEL: model } = process.env;
    const url = ANTHROPIC_BASE_URL + "/v1/messages";
    const body = { model, max_tokens: 4, messages: [{ role: "user", content: words.join(" ") }] };`,
  codex: `const settings = Object.fromEntries(words.flatMap((word, index) => (words[index - 1] === "-c" ? [word.split(/=(.*)/s)] : [])));
    const read = (name) => JSON.parse(settings["model_providers.hone." + name]);
    const url = read("base_url") + "/responses";
    const key = process.env[read("env_key")];
    const model = words[words.indexOf("--model") + 1];
    const body = { model, max_output_tokens: 16, input: words.at(-1) };`,
  opencode: `const config = JSON.parse(process.env.OPENCODE_CONFIG_CONTENT);
    const { baseURL, apiKey: key } = config.provider.hone.options;
    const url = baseURL + "/chat/completions";
    const model = config.model.slice("hone/".length);
    const body = { model, max_tokens: 4, messages: [{ role: "user", content: words.join(" ") }] };`,
} as const;

function putAgents(folder: string): string {
  for (const [name, settings] of Object.entries(settingsOf)) {
    const script = `#!${process.execPath}
    const words = process.argv.slice(2);
    ${settings}
    const headers = { "content-type": "application/json", authorization: "Bearer " + key };
    fetch(url, { method: "POST", headers, body: JSON.stringify(body) }).then(async (answer) => {
      const { model, error: fault } = await answer.json();
      const error = fault ?? undefined;
      console.log(JSON.stringify({ status: answer.status, model, error, last: words.at(-1), key: process.env.ANTHROPIC_API_KEY }));
      process.exitCode = 7;
    });`;
    writeFileSync(join(folder, name), script);
    chmodSync(join(folder, name), 0o755);
  }
  return folder;
}

const run = commandProcess();

function start(path: string, ...words: readonly string[]) {
  const { url, apiKey } = server();
  const environment = { PATH: path, ANTHROPIC_API_KEY: "sk-ant" };
  return run(["start", "--url", url, "--key", apiKey, ...words], { environment });
}

for (const agent of ["claude", "codex", "opencode"] as const) {
  test(`\`hone start ${agent}\` gives the agent the address, the key and the model, and returns its status`, async () => {
    const path = putAgents(newDataFolder());
    const { status, output, errors } = await start(path, agent, "--model", "hone-tiny", "--", "-p", "Hi");
    assert.equal(status, 7, errors);
    const { key, ...answer } = JSON.parse(output);
    assert.deepEqual(answer, { status: 200, model: "hone-tiny", last: "Hi" });
    // Must not be set, because Claude Code would prefer an Anthropic key.
    if (agent === "claude") assert.equal(key, undefined);
    assert.match(errors, /uses hone-tiny \(context \d+\)/);
  });
}

test("`hone start` names the models of the server, and how to install a missing agent", async () => {
  const unknown = await start("/nonexistent", "claude", "--model", "no-such-model");
  assert.deepEqual([unknown.status, unknown.output], [1, ""]);
  assert.match(unknown.errors, /no model "no-such-model".*hone-tiny/s);
  const missing = await start("/nonexistent", "codex", "--model", "hone-tiny");
  assert.equal(missing.status, 1);
  assert.match(missing.errors, /codex was not found.*npm install --global @openai\/codex/s);
});
