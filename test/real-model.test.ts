// Tests a pretrained model in four bits (scripts/real-model.js). Its tokens, prompts and greedy answers over HTTP must
// equal those that tools/conformance/smollm2/record.py recorded with Transformers 5.23 and PyTorch 2.15 in float32 from
// the same file. tools/conformance/smollm2/run.py compares more, and needs Python.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { call, eventually, newDataFolder, removeDataFolder, startServer } from "./running-server.ts";

const file = process.env["TEST_MODEL"] ?? "off";
const leftOut =
  file === "off" &&
  "SKIPPED: no file of SmolLM2-135M-Instruct; a full npm test downloads it, or set TEST_MODEL to its path";

interface Recorded {
  readonly texts: readonly { readonly text: string; readonly token_ids: readonly number[] }[];
  readonly chats: readonly {
    readonly messages: readonly object[];
    readonly prompt_token_ids: readonly number[];
    readonly token_ids: readonly number[];
    readonly logprobs: readonly number[];
  }[];
}

test(
  "a real model from a GGUF file gives the same results as the reference implementation",
  { skip: leftOut },
  async () => {
    const recorded = JSON.parse(readFileSync("test/fixtures/real-model/smollm2.json", "utf8")) as Recorded;
    const dataFolder = newDataFolder();
    // Computes in float32, like the reference.
    const flags = ["--built-in-model", "off", "--quantize", "off", "--model", `smollm2=${file}`];
    const server = await startServer({ dataFolder, flags });
    const ask = async (path: string, body: object) =>
      (await call(server, "POST", path, { body: { model: "smollm2", ...body } })).body;
    try {
      for (const { text, token_ids: wanted } of recorded.texts) {
        const { tokens } = await ask("/tokenize", { prompt: text, add_special_tokens: false });
        assert.deepEqual(tokens, wanted, JSON.stringify(text));
      }
      const isReady = async () => (await fetch(`${server.url}/health`)).ok || null;
      await eventually("the model is loaded", isReady);
      for (const { messages, ...wanted } of recorded.chats) {
        const limits = { temperature: 0, max_tokens: wanted.token_ids.length };
        const answer = await ask("/v1/chat/completions", {
          messages,
          ...limits,
          logprobs: true,
          return_token_ids: true,
        });
        const { prompt_token_ids: prompt, choices } = answer;
        const [{ token_ids: ids, logprobs }] = choices;
        assert.deepEqual([prompt, ids], [wanted.prompt_token_ids, wanted.token_ids]);
        for (const [at, { logprob }] of logprobs.content.entries()) {
          const difference = Math.abs(logprob - wanted.logprobs[at]);
          assert.ok(difference < 1e-4, `token ${at} of ${JSON.stringify(messages)} differs by ${difference}`);
        }
      }
    } finally {
      await server.terminate();
      removeDataFolder(dataFolder);
    }
  },
);
