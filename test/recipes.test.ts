// Every block of docs/guides/recipes.md, run in its order as somebody would who copies it, beside a server of its own.
import assert from "node:assert/strict";
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { present } from "../src/base/domain/assert.ts";
import { inProof } from "../src/base/domain/testing/search.ts";
import { putHoneInto } from "./hone-command.ts";
import { call, eventually } from "./running-server.ts";

interface Block {
  readonly language: string;
  readonly code: string;
}

interface Recipe {
  readonly title: string;
  readonly blocks: readonly Block[];
}

/** Of the page, by its headings; what stands before the first recipe is its own. */
const [opening, ...recipes] = readFileSync("docs/guides/recipes.md", "utf8")
  .split(/^#+ (?=.*\n\n)/m)
  .filter((part) => part.trim() !== "")
  .map((part): Recipe => {
    const blocks = [...part.matchAll(/^```(\w+)\n(.*?)^```$/gms)];
    return {
      title: part.split("\n", 1)[0] ?? "",
      blocks: blocks.map(([, language = "", code = ""]) => ({ language, code })),
    };
  });

/** Asks a hub on the internet: of these it is only known that there are such commands. */
const asksHub = "Add a model by name";

/** What each that runs is for is there at its end. */
const says: Readonly<Record<string, RegExp>> = {
  "Serve a GGUF file": /"id":"model"/,
  "Chat from OpenAI's SDK": /Paris/,
  "Chat from the AI SDK": /Paris/,
  "Chat from Anthropic's SDK": /Paris/,
  "Have answers of a certain form": /city: '(Paris|Rome|Madrid)', isLarge: (true|false)/,
  "Find the text that is nearest": /^What is the capital of France\?$/m,
  "Teach it conversations": /^I am the lookup agent\.$/m,
  "Train it by rewards":
    /^version 1 learned .*\nversion 2 .*\nversion 3 .*\nversion 4 learned from a mean reward of 0\.\d+$/m,
  "Compare two versions": /step0 (?!I am the lookup).*\n.*step1 I am the lookup agent\./,
  "Give feedback": /^[0-9a-f-]{36}$/m,
  "Take a trained model with you": /"id":"agent"/,
};

const folder = mkdtempSync(join(tmpdir(), "hone-recipes-"));
const serving = /^hone serve\b(.*)$/m;
const address = "http://127.0.0.1:8000";
/** What an installed package has under its name. */
const client = JSON.stringify(pathToFileURL(resolve("dist/src/apps/client/index.js")).href);
const running = new Set<ChildProcess>();
const environment: NodeJS.ProcessEnv = {
  ...process.env,
  PATH: `${join(folder, "bin")}:${process.env["PATH"]}`,
};
let url = "";

/** Starts what a line says, on a free port, and returns where it listens. */
async function serve(words: string, data: string): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const server = spawn("bash", ["-c", `exec hone serve ${words}`], {
    cwd: folder,
    env: { ...environment, HONE_PORT: "0", HONE_DATA: data, HONE_URL: undefined, HONE_API_KEY: undefined },
    stdio: ["ignore", "pipe", "pipe"],
  });
  running.add(server);
  let output = "";
  for (const stream of [server.stdout, server.stderr]) stream.on("data", (text) => (output += String(text)));
  const found = await eventually("it listens", async () => {
    assert.equal(server.exitCode, null, output);
    return /listening on (http:\S+)/.exec(output)?.[1] ?? null;
  });
  await eventually("it is well", async () => (await fetch(`${found}/health`)).ok || null);
  const stop = async (): Promise<void> => {
    const ended = new Promise((end) => server.once("close", end));
    server.kill("SIGTERM");
    await ended;
    running.delete(server);
  };
  return { url: found, stop };
}

async function run(program: string, words: readonly string[]): Promise<string> {
  const child = spawn(program, words, { cwd: folder, env: environment, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (output += String(text)));
  const status = await new Promise((end) => child.once("close", end));
  assert.equal(status, 0, `${words.join(" ")}:\n${output}`);
  return output;
}

/** @returns what it printed */
async function runBlock({ language, code }: Block): Promise<string> {
  if (language === "sh") {
    const served = serving.exec(code);
    const output = await run("bash", ["-euc", code.replace(serving, "true")]);
    if (served === null) return output;
    const other = await serve(present(served[1], "its words"), join(folder, "other"));
    const { body } = await call({ url: other.url, apiKey: keyIn("other") }, "GET", "/v1/models");
    await other.stop();
    return JSON.stringify(body);
  }
  assert.equal(language, "ts");
  writeFileSync(
    join(folder, "recipe.mjs"),
    code.replaceAll(address, url).replace('"hone-server/client"', client),
  );
  return run(process.execPath, ["recipe.mjs"]);
}

function keyIn(data: string): string {
  return readFileSync(join(folder, data, "admin-key"), "utf8").trim();
}

before(async () => {
  putHoneInto(join(folder, "bin"));
  symlinkSync(resolve("node_modules"), join(folder, "node_modules"));
  copyFileSync("test/fixtures/gguf/qwen2.gguf", join(folder, "model.gguf"));
  const [start, key] = present(opening, "what comes before").blocks;
  assert.match(start.code, serving);
  ({ url } = await serve("", ".hone"));
  environment["HONE_URL"] = url;
  environment["HONE_API_KEY"] = (await run("bash", ["-euc", `${key.code} echo "$HONE_API_KEY"`])).trim();
  assert.equal(environment["HONE_API_KEY"], keyIn(".hone"));
});

after(() => {
  for (const child of running) child.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

/** It trains four versions; test/training-loop does so too. */
const trainsForLong = "Train it by rewards";
assert.ok(recipes.some(({ title }) => title === trainsForLong));

for (const { title, blocks } of recipes) {
  test(`recipe: ${title}`, title === trainsForLong ? inProof : {}, async () => {
    if (title === asksHub) {
      for (const [, words = ""] of blocks.flatMap(({ code }) => [...code.matchAll(/^hone ((?:[a-z]+ )+)/gm)]))
        assert.match(await run("bash", ["-c", `hone ${words} --help`]), /Usage/);
      return;
    }
    const said = [];
    for (const block of blocks) said.push(await runBlock(block));
    assert.match(said.join("\n"), said.length === 0 ? /^$/ : present(says[title], `what ${title} says`));
  });
}

test("links of the page lead somewhere", () => {
  const links = [...readFileSync("docs/guides/recipes.md", "utf8").matchAll(/\]\((?!http|#)([^)#]+)/g)];
  assert.ok(links.length > 8);
  for (const [, link = ""] of links)
    assert.equal(spawnSync("test", ["-e", join("docs", link)]).status, 0, `docs/${link}`);
});
