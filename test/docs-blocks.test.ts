// Runs the code blocks of the handwritten pages like a reader. Blocks that cannot run are declared here with a reason.
// `npm run proof` runs all pages. `npm test` runs the pages that the commit or the working tree changes, and some others,
// which depend on the commit.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { after, test } from "node:test";
import { searchedOf } from "../src/base/domain/testing/search.ts";
import { pages, readBlocks, savedAs } from "./docs/page-blocks.ts";
import { PageRunner } from "./docs/page-runner.ts";

const runner = new PageRunner();
after(() => runner.close());

/** Pattern for the output of each page. It shows that the page achieves its purpose. */
const says: Readonly<Record<string, RegExp>> = {
  "README.md": /Paris/,
  "docs/concepts/exactness.md": /"logprobs":/,
  "docs/concepts/security.md": /hone_/,
  "docs/guides/annotation-queues.md": /tone/,
  "docs/guides/anthropic.md": /Paris/,
  "docs/guides/backup.md": /verified|restored|backup/i,
  "docs/guides/checkpoints.md": /adapter/,
  "docs/guides/clients.md": /Paris[\s\S]*Paris[\s\S]*nearest: What is the capital of France/,
  "docs/guides/environments.md": /my-project\/talker[\s\S]*reward \d/,
  "docs/guides/feedback.md": /rating[\s\S]*stars/,
  "docs/guides/fine-tune.md": /^I am the lookup agent\.$/m,
  "docs/guides/keys.md": /^changed reports$[\s\S]*"object":"list"/m,
  "docs/guides/logits-processors.md": /chatcmpl-/,
  "docs/guides/mcp.md": /rounds?: mean reward|Nothing was learned/,
  "docs/guides/model-memory.md": /perplexity/,
  "docs/guides/models.md": /small/,
  "docs/guides/observability.md": /request answered|listening/,
  "docs/guides/ollama.md": /Paris/,
  "docs/guides/openai-fine-tuning.md": /^I am the lookup agent\.$[\s\S]*^reward 1$/m,
  "docs/guides/recorded-chats.md": /Paris/,
  "docs/guides/retention.md": /recordings/,
  "docs/guides/rl-loop.md": /version \d+, as/,
  "docs/guides/structured-outputs.md": /isLarge: (true|false)[\s\S]*person\.json: served exactly/,
  "docs/guides/tools.md": /weather \{\s*"city":/,
  "docs/guides/traces.md": /"content":"Hello!"/,
  "docs/guides/webhooks.md": /whsec_/,
  "docs/reference/client.md": /c-a-t[\s\S]*training_ended[\s\S]*422 invalid temperature/,
  "docs/tutorials/first-hour.md": /Paris/,
  "docs/tutorials/from-feedback-to-a-better-model.md": /👍[\s\S]*^training_ended[\s\S]*^1 +\d{4}-/m,
  "docs/tutorials/teach-your-task.md": /mean reward[\s\S]*version \d+; best/,
};

const gguf = "test/fixtures/gguf/qwen2.gguf";

/** Files that the reader of a page must already have. */
const files: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "docs/tutorials/first-hour.md": { "my-model.gguf": gguf },
  "docs/guides/models.md": { "model.gguf": gguf },
  "docs/guides/model-memory.md": { "model.gguf": gguf },
};

/**
 * Blocks of `console` and `python` that do not run here. Each has its first characters and the reason. The reason names
 * the test that covers the block, if there is one.
 */
const declared: Readonly<Record<string, readonly (readonly [start: string, reason: string])[]>> = {
  "README.md": [
    ["npm run pack", "takes minutes and asks the registry; test/npm.test.ts and test/package.test.ts"],
    ["npx hone demo", "takes long; test/demo.test.ts"],
    ["npx hone models fit", "asks the Hugging Face hub; src/inference/models/library/add-from-hub.test.ts"],
    ["npx hone serve --default-model", "needs an added model; test/added-models.test.ts"],
  ],
  "docs/concepts/jobs.md": [["npx hone jobs list", "needs a job; src/apps/cli/job-commands.test.ts"]],
  "docs/concepts/learning.md": [["node dist/tools/bench", "takes long; test/training-loop.test.ts"]],
  "docs/concepts/load.md": [["node dist/tools/bench", "measures; takes long"]],
  "docs/concepts/performance.md": [["npm run bench", "measures; takes long"]],
  "docs/concepts/simulation.md": [["npm run simulate", "takes long; test/simulation/simulation.test.ts"]],
  "docs/concepts/training.md": [["npx hone jobs show", "needs a job; src/apps/cli/job-commands.test.ts"]],
  "docs/guides/annotation-queues.md": [
    ["npx hone annotate", "needs a terminal; src/apps/cli/annotate/annotate.test.ts"],
  ],
  "docs/guides/anthropic.md": [["hone start claude", "starts another program; test/start-agents.test.ts"]],
  "docs/guides/backup.md": [["npx hone export", "needs PostgreSQL; test/postgres.test.ts"]],
  "docs/guides/checkpoints.md": [
    ["$ llama-server", "starts other programs; src/inference/models/checkpoints/plan-gguf.test.ts"],
  ],
  "docs/guides/dashboard.md": [["npx hone open", "opens a browser"]],
  "docs/guides/deploy.md": [
    ["docker compose up", "needs Docker; test/image.test.ts and test/deploy.test.ts"],
    ["docker compose exec hone hone models add", "needs Docker; test/deploy.test.ts"],
    ["docker build", "needs Docker; test/image.test.ts and test/deploy.test.ts"],
    ["sudo useradd", "needs systemd and root; test/deploy.test.ts"],
    ["sudo -u hone", "needs systemd and root; test/deploy.test.ts"],
  ],
  "docs/guides/distributed.md": [["export POSTGRES_PASSWORD", "needs Docker; test/deploy.test.ts"]],
  "docs/guides/environments.md": [
    ["pip install openenv", "needs the Python package openenv; tools/conformance/openenv/run.py"],
    ["pip install verifiers", "needs the Python package verifiers; tools/conformance/verifiers/run.py"],
    ["import asyncio, json", "needs the Python package verifiers; tools/conformance/verifiers/run.py"],
    ["hone rollout run", "needs the Python package harbor; tools/conformance/harbor/run.py"],
  ],
  "docs/guides/mcp.md": [["claude mcp add", "starts another program; tools/conformance/mcp/run.js"]],
  "docs/guides/model-memory.md": [
    ["npx hone serve --model qwen", "needs large files; test/models-on-demand.test.ts"],
  ],
  "docs/guides/models.md": [
    ["npx hone models fit", "asks the hub; src/apps/server/model-fit/fit-models.test.ts"],
    ["npx hone models add HuggingFaceTB", "asks the hub; src/inference/models/library/add-from-hub.test.ts"],
  ],
  "docs/guides/ollama.md": [["export OLLAMA_HOST", "needs Python; tools/conformance/ollama"]],
  "docs/guides/postgres.md": [["createdb", "needs PostgreSQL; test/postgres.test.ts"]],
  "docs/guides/prefill-and-decode.md": [
    ["HONE_TRANSFER_SECRET", "needs two servers; test/passed-prompts.test.ts"],
    ["node dist/examples/prefill-decode-proxy.js", "needs two servers; test/passed-prompts.test.ts"],
  ],
  "docs/guides/rollouts.md": [
    [
      "hone rollout run -",
      "starts another program; test/rollouts.test.ts and tools/conformance/agents/run.js",
    ],
    ["hone rules add", "needs finished rollouts; src/train/rewards/automatic/rollout-queue.test.ts"],
  ],
  "docs/guides/servers.md": [
    ["export HONE_DATABASE_URL", "needs PostgreSQL; test/many-servers.test.ts"],
    ["export HONE_BLOBS", "needs a bucket; test/bucket-servers.test.ts"],
    ["HONE_ROLES=serve", "needs PostgreSQL; test/trained-fleet.test.ts"],
  ],
  "docs/guides/learning-in-use.md": [
    ["npx hone learning on p/agent", "needs a larger model; test/learning.test.ts"],
    ["npx hone models create me helper", "needs a larger model and an agent; test/start-agents.test.ts"],
  ],
  "docs/guides/tinker.md": [
    ["npx hone serve", "needs a trainer elsewhere; src/train/trainer/tinker/contract.test.ts"],
    ["npx hone models move", "needs a trainer elsewhere; src/apps/cli/migrate/move-command.test.ts"],
  ],
  "docs/guides/tinker-server.md": [
    ["pip install tinker", "needs the Python package tinker; tools/conformance/tinker/run.py"],
    ["import tinker", "needs the Python package tinker; tools/conformance/tinker/run.py"],
  ],
  "docs/guides/traces.md": [["npm install ai", "asks the npm registry; tools/conformance/traces/run.py"]],
  "docs/guides/train-on-feedback.md": [
    ["npx hone rules preview", "docs/tutorials/from-feedback-to-a-better-model.md runs these commands"],
    ["npx hone jobs preference", "needs feedback; test/preference-training.test.ts"],
  ],
  "docs/guides/vllm.md": [
    ["# on a machine with a GPU", "needs a GPU; tools/conformance/vllm/run.py, test/vllm-models.test.ts"],
  ],
  "docs/guides/webhooks.md": [["WEBHOOK_SECRET", "waits for events; test/webhooks.test.ts runs it"]],
  "docs/tutorials/first-hour.md": [["npx hone demo", "takes long; test/demo.test.ts"]],
  "docs/tutorials/two-machines.md": [
    ["export HONE_DATABASE_URL", "needs PostgreSQL; test/many-servers.test.ts"],
    ["export HONE_DATABASE_URL", "needs PostgreSQL; test/many-servers.test.ts"],
    ["export HONE_URL", "needs PostgreSQL and npm; test/trained-fleet.test.ts"],
  ],
};

const running = ["sh", "ts", "js"];
const shown = ["console", "python", "json", "text", "yaml", "nginx", "mermaid"];

const pagesWithCode = pages.filter((page) =>
  readBlocks(page).some(({ language }) => running.includes(language)),
);
const chosen = new Set([
  ...searchedOf(pagesWithCode, 6, git("rev-parse", "HEAD")),
  ...git("diff", "--name-only", "HEAD~1").split("\n"),
]);

/** Returns the output of Git; empty if Git fails, for example because the repository lacks the commit. */
function git(...words: readonly string[]): string {
  const { status, stdout } = spawnSync("git", words, { encoding: "utf8" });
  return status === 0 ? stdout : "";
}

for (const page of pagesWithCode)
  test(`${page}: its code runs`, { skip: chosen.has(page) ? false : "in npm run proof" }, async () => {
    const pattern = says[page] ?? /(?:)/;
    // The model samples its answers, and about one in 300 is wrong. A page fails if it gives a wrong answer twice.
    const output = await runner.run(page, files[page]);
    assert.match(pattern.test(output) ? output : await runner.run(page, files[page]), pattern);
  });

test("each block names a language, which determines whether it runs", () => {
  for (const page of pages)
    for (const { line, language, code } of readBlocks(page)) {
      assert.ok([...running, ...shown].includes(language), `${page}:${line}: ${language}`);
      if (language === "json") JSON.parse(code);
      if (language === "text")
        assert.doesNotMatch(code, /^(?:\$ |npx |hone |curl |npm |import )/m, `${page}:${line}: use console`);
    }
});

test("each block that does not run is declared with a reason", () => {
  for (const page of pages) {
    const left = [...(declared[page] ?? [])];
    for (const { line, language, code } of readBlocks(page)) {
      if (language !== "console" && language !== "python") continue;
      const index = left.findIndex(([start]) => code.startsWith(start));
      assert.ok(index >= 0, `${page}:${line} neither runs nor is declared`);
      left.splice(index, 1);
    }
    assert.deepEqual(left, [], `${page}: declared, but not there`);
  }
  assert.deepEqual(
    Object.keys(declared).filter((page) => !pages.includes(page)),
    [],
  );
});

test("docs/guides/environments.md shows the recipe that the conformance command runs", () => {
  const recipe = readFileSync("tools/conformance/verifiers/recipe.py", "utf8");
  assert.ok(readBlocks("docs/guides/environments.md").some(({ code }) => code.trim() === recipe.trim()));
});

test("each file that a reason names exists", () => {
  for (const [page, blocks] of Object.entries(declared))
    for (const [start, reason] of blocks)
      for (const [name] of reason.matchAll(/\b(?:test|src|docs|tools)\/[\w/.-]+\w/g))
        assert.ok(existsSync(name), `${page}, ${start}: ${name}`);
});

test("each file that a block is saved as is used by another block of its page", () => {
  for (const page of pages)
    for (const block of readBlocks(page)) {
      const name = savedAs(block);
      const others = readBlocks(page).filter(({ line }) => line !== block.line);
      if (name !== null)
        assert.ok(
          others.some(({ code }) => code.includes(name)),
          `${page}: ${name}`,
        );
    }
});

test("each command and flag in a block that does not run occurs in the reference", () => {
  const reference = readFileSync("docs/reference/command-line.md", "utf8");
  const settings = readFileSync("docs/reference/configuration.md", "utf8");
  const sections = new Map(
    reference
      .split(/^### hone /m)
      .slice(1)
      .map((section): [string, string] => [section.split("\n", 1)[0] ?? "", section]),
  );
  for (const page of pages)
    for (const { line, language, code } of readBlocks(page)) {
      if (language !== "console") continue;
      const commands = code.replaceAll("\\\n", " ").matchAll(/(?:^|[\s/])hone ((?:[a-z-]+ ?)+)([^\n|#]*)/g);
      for (const [whole, words = "", rest = ""] of commands) {
        const name = [...sections.keys()]
          .filter((command) => `${words.trim()} `.startsWith(`${command} `))
          .sort((a, b) => b.length - a.length)[0];
        if (name === undefined) continue;
        const known = sections.get(name) + (name === "serve" || name === "doctor" ? settings : "");
        // Flags after ` -- ` belong to the program that the command starts.
        const [own = ""] = `${words}${rest}`.split(" -- ");
        for (const [flag] of own.matchAll(/--[a-z][a-z-]*/g))
          assert.ok(known.includes(flag), `${page}:${line}: ${whole.trim()}: ${flag}`);
      }
    }
});

test("no block contains a placeholder to fill in", () => {
  for (const page of pages)
    for (const { line, language, code } of readBlocks(page))
      if (running.includes(language))
        assert.doesNotMatch(
          code,
          /=<|<[a-z ]+>(?=\s|$)|hone_\.\.\.|…|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-/m,
          `${page}:${line}`,
        );
});

test("no page is longer than 250 lines", () => {
  for (const page of pages)
    assert.ok(readFileSync(page, "utf8").split("\n").length <= 251, `${page} is too long`);
});
