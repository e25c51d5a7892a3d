// Tests MCP on a real server. A model is trained to use an MCP server's tools, and an MCP client trains a model through
// `hone mcp`.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { resolve } from "node:path";
import { test } from "node:test";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Hone } from "../src/apps/client/hone.ts";
import { mcpTools } from "../src/apps/client/tools/mcp-tools.ts";
import { toolRollout, type ToolAttempt } from "../src/apps/client/tools/tool-rollout.ts";
import { train } from "../src/apps/client/training/train.ts";
import { inProof } from "../src/base/domain/testing/search.ts";
import { putHoneInto } from "./hone-command.ts";
import { serverOfFile } from "./running-server.ts";
import { toolModel } from "./served-jobs.ts";

let hone: Hone;
const server = serverOfFile({
  flags: [...toolModel, "--chat-tool-calls", "hone-tiny=auto"],
  onStart: ({ url, apiKey }) => {
    hone = new Hone({ baseUrl: url, apiKey });
  },
});

const toolServer = {
  command: process.execPath,
  args: [fileURLToPath(new URL("../src/apps/client/testing/mcp-server.js", import.meta.url))],
};
/**
 * Requests one tool call as the first answer, and a short text as the second. The model is too small to decide this
 * itself.
 */
const request = (turn: number) =>
  turn === 0
    ? { tool_choice: "required", parallel_tool_calls: false, max_tokens: 60 }
    : { tool_choice: "none", max_tokens: 8 };

test("a rollout calls tools until it answers, and a job trains only on the model's own tokens", async () => {
  const model = await hone.model("mcp/loop", { base: "hone-tiny" });
  const tools = await mcpTools(toolServer, { include: ["price"] });
  const attempts: ToolAttempt<string>[] = [];
  const { rounds, step } = await train(model, {
    tasks: ["choose a fruit"],
    rollout: toolRollout({
      tools,
      request,
      reward: (attempt) => {
        attempts.push(attempt);
        return { reward: attempts.length, metrics: { right: attempt.calls.length === 1 } };
      },
    }),
    groupSize: 4,
    rounds: 1,
    request: { temperature: 2 },
    display: false,
  });
  await tools.close();
  assert.equal(step, 1);
  for (const { messages, calls, endedBy, turns } of attempts) {
    assert.deepEqual(
      messages.map(({ role }) => role),
      ["user", "assistant", "tool", "assistant"],
    );
    const [call] = calls;
    const { fruit } = JSON.parse(call?.arguments ?? "") as { readonly fruit: string };
    assert.deepEqual([call?.result, call?.isError, turns], [`${fruit} costs ${fruit.length}`, false, 2]);
    assert.ok(["answer", "length"].includes(endedBy));
  }
  const [round] = rounds;
  const metrics = round?.metrics ?? {};
  assert.deepEqual(
    ["turns", "tool_calls", "tool_errors", "right"].map((name) => metrics[`train/${name}`]),
    [2, 1, 0, 1],
  );
  const { counts } = await hone.jobs.get(round?.jobId ?? "");
  const sampled = attempts.reduce((sum, { trajectory }) => sum + trajectory.completionTokens, 0);
  assert.deepEqual([counts?.sequences, counts?.trainable_tokens], [4, sampled]);
});

test("rollouts share the tools' process, or each starts its own", inProof, async () => {
  const model = await hone.model("mcp/processes", { base: "tiny" });
  const counted = async (run: string, tools: Parameters<typeof toolRollout<string>>[0]["tools"]) => {
    const results: string[] = [];
    await train(model, {
      tasks: ["count"],
      rollout: toolRollout({
        tools,
        request,
        turnsMax: 1,
        reward: ({ calls, endedBy, turns }) => {
          assert.deepEqual([endedBy, turns], ["turns", 1]);
          results.push(...calls.map(({ result }) => result));
          return results.length;
        },
      }),
      groupSize: 2,
      rounds: 1,
      run,
      display: false,
    });
    return results.toSorted();
  };
  const open = () => mcpTools(toolServer, { include: ["count"] });
  const shared = await open();
  assert.deepEqual(await counted("shared", shared), ["1", "2"]);
  await shared.close();
  assert.deepEqual(await counted("own", open), ["1", "1"]);
});

test("the built-in model learns which argument of a tool is rewarded", inProof, async () => {
  const model = await hone.model("mcp/learns", { base: "hone-tiny" });
  const tools = await mcpTools(toolServer, { include: ["price"] });
  const { rounds } = await train(model, {
    tasks: ["choose a fruit", "pick a fruit"],
    rollout: toolRollout({
      tools,
      request,
      turnsMax: 2,
      reward: ({ calls }) => (calls.some(({ result }) => result.startsWith("pear")) ? 1 : 0),
    }),
    groupSize: 16,
    rounds: 10,
    request: { temperature: 2 },
    display: false,
  });
  await tools.close();
  const [first, ...others] = rounds.map(({ reward }) => reward ?? 0);
  assert.ok(Math.max(...others.slice(-3)) > (first ?? 1) + 0.3, rounds.map(({ reward }) => reward).join(" "));
});

test("an MCP client improves a model through `hone mcp`: chats, feedback, a job, a new version", async (t) => {
  const { url, apiKey, dataFolder } = server();
  const bin = putHoneInto(resolve(dataFolder, "bin"));
  const client = new Client({ name: "test", version: "1" });
  const flags = ["mcp", "--url", url, "--key", apiKey];
  await client.connect(
    new StdioClientTransport({ command: resolve(bin, "hone"), args: flags, stderr: "ignore" }),
  );
  t.after(() => client.close());
  const ask = async (name: string, input: object) => {
    const { isError, content, structuredContent } = await client.callTool({ name, arguments: { ...input } });
    assert.notEqual(isError, true, JSON.stringify(content));
    return structuredContent as Readonly<Record<string, any>>; // oxlint-disable-line typescript/no-explicit-any
  };
  const model = "mcp/rated";
  await ask("create_model", { name: model, base_model: "tiny" });
  const messages = [{ role: "user", content: "respond with yes or no" }];
  const { request_id: on, answers } = await ask("chat", {
    model,
    messages,
    n: 4,
    temperature: 2,
    max_tokens: 20,
  });
  for (const choice of answers.keys())
    await ask("add_feedback", { on, choice, emoji: choice === 0 ? "👍" : "👎" });
  const { feedback } = await ask("show_chat", { request_id: on });
  assert.equal(feedback.length, 4);
  const reactions = { "👍": 1, "👎": 0 };
  const plan = await ask("train_on_feedback", { model, reactions, dry_run: true });
  assert.deepEqual([plan["job_id"], plan["counts"].answers], [null, 4]);
  const { job_id: job } = await ask("train_on_feedback", { model, reactions });
  const ended = await ask("watch_job", { job, wait_seconds: 60 });
  assert.deepEqual([ended["has_ended"], ended["job"].result_step], [true, 1]);
  const { items } = await ask("list_versions", { model });
  assert.deepEqual(
    items.map(({ step }: { readonly step: number }) => step),
    [1, 0],
  );
  const texts = ["yes", "no"];
  const judged = await ask("judge_answers", {
    task: "answer",
    answers: texts,
    rubric: "short",
    mode: "score",
  });
  assert.equal(judged["scores"].length, 2);
});

test("`hone mcp` writes only messages of the protocol, and ends with its input", async () => {
  const { url, dataFolder } = server();
  const bin = putHoneInto(resolve(dataFolder, "bin"));
  const child = spawn(resolve(bin, "hone"), ["mcp", "--url", url, "--key", "wrong"]);
  let [output, errors] = ["", ""];
  child.stdout.on("data", (data: Buffer) => (output += data.toString()));
  child.stderr.on("data", (data: Buffer) => (errors += data.toString()));
  const ended = once(child, "close");
  const send = (message: object): void =>
    void child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  const clientInfo = { name: "raw", version: "1" };
  child.stdin.write("this is no JSON\n");
  send({
    id: 1,
    method: "initialize",
    params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo },
  });
  send({ method: "notifications/initialized" });
  send({ id: 2, method: "tools/call", params: { name: "list_models", arguments: {} } });
  send({ id: 3, method: "tools/call", params: { name: "no_such_tool", arguments: {} } });
  while (!["1", "2", "3"].every((id) => output.includes(`"id":${id}`))) await once(child.stdout, "data");
  child.stdin.end();
  const [status] = await ended;
  assert.equal(status, 0, errors);
  const answers = new Map(
    output
      .trim()
      .split("\n")
      .map((line) => {
        const answer = JSON.parse(line) as Readonly<Record<string, any>>; // oxlint-disable-line typescript/no-explicit-any
        return [answer["id"], answer] as const;
      }),
  );
  assert.equal(answers.get(1)?.["result"].protocolVersion, "2025-06-18");
  const { isError, content } = answers.get(2)?.["result"] ?? {};
  assert.equal(isError, true);
  assert.match(content[0].text, /Set HONE_API_KEY, pass --key/);
  assert.match(answers.get(3)?.["error"].message, /no_such_tool not found/);
  assert.match(errors, /hone mcp uses the server at http/);
});
