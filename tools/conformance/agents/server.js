// A server with a small model whose context is long enough for coding agents.
import { spawn } from "node:child_process";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const contextLength = 131_072;

/**
 * Copies the built-in model and extends its context. As in Mistral's models, each token attends only to the 512 tokens
 * before it. Without this limit, the model would see positions that it never saw in training.
 */
export function makeModel(builtIn, target) {
  cpSync(builtIn, target, { recursive: true, dereference: true });
  const file = join(target, "config.json");
  const { attention_bias: _, mlp_bias: __, ...config } = JSON.parse(readFileSync(file, "utf8"));
  const mistral = { model_type: "mistral", architectures: ["MistralForCausalLM"], sliding_window: 512 };
  writeFileSync(file, JSON.stringify({ ...config, ...mistral, max_position_embeddings: contextLength }));
}

/** Starts this checkout's server on a free port. Resolves once the server is listening. */
export async function startServer(root, folder) {
  const flags = ["--port", "0", "--data", join(folder, "data"), "--model", `agent=${join(folder, "model")}`];
  const lengths = ["--engine-context-length-max", contextLength, "--training-sequence-length-max", 8192];
  const more = [...lengths.map(String), "--auth", "off", "--log-level", "warn"];
  const child = spawn(process.execPath, [join(root, "scripts", "start.js"), ...flags, ...more], {
    cwd: root,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const address = await listening(child);
  const stop = async () => {
    child.kill();
    await new Promise((resolve) => (child.exitCode === null ? child.once("close", resolve) : resolve()));
  };
  return { address, stop };
}

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
