// `npm test`: uses `hone mcp` with unmodified MCP clients, and trains a model to use the tools of MCP's reference
// server. Prints a line per client and server.
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const here = fileURLToPath(new URL(".", import.meta.url));
const root = join(here, "..", "..", "..");
const packages = join(here, "node_modules");
const folder = mkdtempSync(join(tmpdir(), "hone-mcp-"));
const server = await startServer();
const hone = [join(root, "bin", "hone.js"), "mcp", "--url", server.address, "--data", join(folder, "data")];
try {
  inspect();
  await improve();
  addToClaudeCode();
  await learn();
} finally {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
}

/** Lists and calls tools with the command line of the MCP Inspector. */
function inspect() {
  const program = join(packages, "@modelcontextprotocol", "inspector", "cli", "build", "cli.js");
  const ask = (...words) =>
    JSON.parse(run(process.execPath, [program, "--cli", process.execPath, ...hone, ...words]));
  const { tools } = ask("--method", "tools/list");
  const call = ["--method", "tools/call", "--tool-name", "chat", "--tool-arg", "max_tokens=20"];
  const messages = JSON.stringify([{ role: "user", content: "What is the capital of France?" }]);
  const { structuredContent, isError } = ask(...call, "--tool-arg", `messages=${messages}`);
  if (isError === true) throw new Error("The Inspector's call failed.");
  const version = versionOf("@modelcontextprotocol/inspector");
  console.log(
    `Inspector ${version}: ${tools.length} tools; chat answered: ${structuredContent.answers[0].text}`,
  );
}

/** Improves a model through version 1 of the MCP client library: chats, feedback, a job, a new version. */
async function improve() {
  const client = new Client({ name: "conformance", version: "1" });
  await client.connect(new StdioClientTransport({ command: process.execPath, args: hone, stderr: "ignore" }));
  await client.listTools();
  const ask = async (name, input, options) => {
    const result = await client.callTool({ name, arguments: input }, undefined, options);
    if (result.isError === true) throw new Error(`${name}: ${result.content[0].text}`);
    return result.structuredContent;
  };
  const model = "conformance/rated";
  await ask("create_model", { name: model, base_model: "hone-tiny" });
  const messages = [{ role: "user", content: "respond with yes or no" }];
  const { request_id: on } = await ask("chat", { model, messages, n: 4, temperature: 2, max_tokens: 20 });
  for (const choice of [0, 1, 2, 3])
    await ask("add_feedback", { on, choice, emoji: choice % 2 === 0 ? "👍" : "👎" });
  const { job_id: job } = await ask("train_on_feedback", { model, reactions: { "👍": 1, "👎": 0 } });
  const steps = [];
  const onprogress = ({ progress }) => steps.push(progress);
  const { job: ended } = await ask("watch_job", { job }, { onprogress });
  if (ended.result_step !== 1) throw new Error(`The job made no version: ${JSON.stringify(ended)}`);
  await client.close();
  const version = versionOf("@modelcontextprotocol/sdk");
  console.log(
    `sdk ${version}: version ${ended.result_step} from feedback; progress of steps ${steps.join(" ")}`,
  );
}

/** Adds `hone mcp` to Claude Code, which starts it and checks the connection. */
function addToClaudeCode() {
  const program = join(packages, `@anthropic-ai/claude-code-${process.platform}-${process.arch}`, "claude");
  const options = { cwd: folder, env: { ...process.env, HOME: folder } };
  run(program, ["mcp", "add", "hone", "--", process.execPath, ...hone], options);
  const listed = run(program, ["mcp", "list"], options);
  if (!/hone: .*Connected/.test(listed)) throw new Error(`Claude Code is not connected:\n${listed}`);
  console.log(
    `Claude Code ${versionOf("@anthropic-ai/claude-code")}: ${/hone: .*(. Connected)/.exec(listed)[1]}`,
  );
}

/** Trains a model on rollouts that call tools of the reference server: in a process, and with a client of version 1. */
async function learn() {
  const { Hone, mcpTools, toolRollout, train } = await import(join(root, "dist", "client", "index.js"));
  const model = await new Hone({ baseUrl: server.address, apiKey: null }).model("conformance/tools", {
    base: "hone-tiny",
  });
  const reference = {
    command: process.execPath,
    args: [join(packages, "@modelcontextprotocol", "server-everything", "dist", "index.js")],
  };
  const client = new Client({ name: "conformance", version: "1" });
  await client.connect(new StdioClientTransport({ ...reference, stderr: "ignore" }));
  const include = ["echo"];
  for (const source of [reference, client]) {
    const tools = await mcpTools(source, { include });
    const echoed = [];
    const { rounds, step } = await train(model, {
      tasks: ["Say hello."],
      rollout: toolRollout({
        tools,
        turnsMax: 2,
        request: (turn) =>
          turn === 0
            ? { tool_choice: "required", parallel_tool_calls: false, max_tokens: 120 }
            : { tool_choice: "none", max_tokens: 8 },
        reward: ({ calls }) => {
          echoed.push(...calls.filter(({ isError }) => !isError).map(({ result }) => result));
          return calls.filter(({ isError }) => !isError).length + echoed.length;
        },
      }),
      groupSize: 4,
      rounds: 1,
      run: source === client ? "client" : "process",
      display: false,
    });
    await tools.close();
    if (echoed.length === 0 || rounds.length !== 1)
      throw new Error("No call of the reference server succeeded.");
    const what = source === client ? "a client of version 1" : "a process";
    console.log(
      `server-everything ${versionOf("@modelcontextprotocol/server-everything")} by ${what}: version ${step}, ${echoed.length} calls such as ${JSON.stringify(echoed[0])}`,
    );
  }
  await client.close();
}

function versionOf(name) {
  return JSON.parse(readFileSync(join(packages, name, "package.json"), "utf8")).version;
}

/** Runs a program to its end, and returns its output. */
function run(command, words, options = {}) {
  const { status, stdout, stderr, error } = spawnSync(command, words, { encoding: "utf8", ...options });
  if (status !== 0)
    throw error ?? new Error(`${command} ${words.join(" ")} ended with ${status}:\n${stdout}${stderr}`);
  return stdout;
}

/** Starts this checkout's server on a free port. Resolves once the server is listening. */
async function startServer() {
  const flags = ["--port", "0", "--data", join(folder, "data"), "--auth", "off", "--log-level", "warn"];
  const child = spawn(
    process.execPath,
    [join(root, "scripts", "start.js"), ...flags, "--chat-tool-calls", "hone-tiny=auto"],
    { cwd: root, stdio: ["ignore", "pipe", "inherit"] },
  );
  const ended = new Promise((resolve) => child.once("close", resolve));
  const address = await new Promise((resolve, reject) => {
    let output = "";
    child.stdout.on("data", (chunk) => {
      output += chunk;
      const match = /listening on (http:\S+)/.exec(output);
      if (match !== null) resolve(match[1]);
    });
    void ended.then(() => reject(new Error(`The server ended before it was listening:\n${output}`)));
  });
  return {
    address,
    stop: async () => {
      child.kill();
      await ended;
    },
  };
}
