// Checks docs/guides/structured-outputs.md: its tables agree with the code, and its examples run unchanged.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { FakeClock } from "../src/base/domain/testing/fake-clock.ts";
import type { Constraint, Refusal } from "../src/base/domain/constraint.ts";
import { constraintSettings } from "../src/inference/engine/token-masks/settings.ts";
import { checkConstraint } from "../src/lib/constraints/grammar/check.ts";
import { readLanguage } from "../src/lib/constraints/grammar/language.ts";
import { accepts } from "../src/lib/constraints/grammar/testing/accepts.ts";
import { annotations, formatNames } from "../src/lib/constraints/grammar/schema/keywords/formats.ts";
import { knownKeywords } from "../src/lib/constraints/grammar/schema/keywords/read-keywords.ts";
import { jsonSchema, regex } from "../src/lib/constraints/grammar/testing/make-constraints.ts";
import { vocabularyOf } from "../src/lib/constraints/grammar/testing/vocabularies.ts";
import { defaultGrammarLimits as limits } from "../src/lib/constraints/regex/limits.ts";
import { readConstraint } from "../src/api/wire/chat/chat-constraint.ts";
import { commandProcess } from "../src/apps/cli/testing/command-process.ts";
import { call, serverOfFile } from "./running-server.ts";

const page = readFileSync("docs/guides/structured-outputs.md", "utf8");
const trie = vocabularyOf([]);
const server = serverOfFile();
const run = commandProcess();

/** Returns the rows of the table with this head, with cells as written. */
function tableUnder(head: string): readonly (readonly string[])[] {
  const [, rest] = page.split(`\n| ${head} |\n`);
  assert.ok(rest !== undefined, head);
  const rows = rest.split("\n").slice(1);
  const end = rows.findIndex((row) => !row.startsWith("|"));
  return rows.slice(0, end).map((row) =>
    row
      .slice(2, -2)
      .split(/ (?<!\\)\| /)
      .map((cell) => cell.replaceAll(String.raw`\|`, "|")),
  );
}

const codeIn = (text: string): readonly string[] => [...text.matchAll(/`([^`]+)`/g)].map(([, code]) => code);

/** Returns the code blocks in a language. */
function blocks(language: string): readonly string[] {
  return [...page.matchAll(/^```(\w+)\n([^]*?)^```$/gm)].flatMap(([, name, code]) =>
    name === language ? [code] : [],
  );
}

function constraintOf(outputs: object): Constraint {
  const constraint = readConstraint({ structured_outputs: outputs });
  assert.ok(constraint !== null, JSON.stringify(outputs));
  return constraint;
}

const refusalOf = (constraint: Constraint): Refusal | null =>
  checkConstraint(constraint, [], { limits, trie, clock: new FakeClock() }).refusal;

test("every member in the table allows its valid example and rejects its invalid one", () => {
  const rows = tableUnder("member | for example | valid answer | invalid answer");
  const members = rows.map(([, example, answer, other]) => {
    const [outputs] = codeIn(example).map((text) => JSON.parse(text) as object);
    const language = readLanguage(constraintOf(outputs), limits);
    assert.ok(accepts(language, codeIn(answer)[0]), answer);
    assert.ok(!accepts(language, codeIn(other)[0]), other);
    return Object.keys(outputs)[0];
  });
  const all = ["json", "json_object", "regex", "choice", "grammar", "structural_tag"];
  assert.deepEqual([...new Set(members)], all);
});

test("the table of keywords is complete, and the table of refusals is right", () => {
  const kept = tableUnder("keyword | when Hone enforces it").flatMap(([keywords]) => codeIn(keywords));
  // Not in `knownKeywords`, because they are parsed together with `type` and `contains`.
  const parsedWithOthers = ["nullable", "minContains", "maxContains"];
  assert.deepEqual([...kept].sort(), [...knownKeywords, ...parsedWithOthers].sort());
  for (const [keyword, example] of tableUnder("keyword | example of a refused schema | reason")) {
    const refusal = refusalOf(jsonSchema(JSON.parse(codeIn(example)[0])));
    assert.deepEqual([refusal?.kind, refusal?.subject], ["not-exact", codeIn(keyword)[0]], example);
  }
});

test("the lists of formats and of kinds of tags are complete", () => {
  const [, named = "", others = ""] =
    /Hone enforces these formats: (.*?)\. Each follows .*? The formats (.*?) do not restrict strings/.exec(
      page,
    ) ?? [];
  assert.deepEqual(codeIn(named), formatNames);
  assert.deepEqual(codeIn(others), annotations);
  const unknown = constraintOf({ structural_tag: '{"type": "structural_tag", "format": {"type": "no"}}' });
  const [, kinds = ""] = /must be one of (.*?)\.$/.exec(refusalOf(unknown)?.message ?? "") ?? [];
  const [, listed = ""] = /^`format` is one of (.*?)\. The older/m.exec(page) ?? [];
  assert.deepEqual([...codeIn(listed)].sort(), kinds.split(", ").sort());
});

test("the patterns in the table are refused, and the limits are listed", () => {
  for (const [, example] of tableUnder("refused | for example")) {
    const [pattern] = codeIn(example);
    assert.equal(refusalOf(regex(pattern))?.kind, "not-exact", pattern);
  }
  const [, listed = ""] =
    /These are the limits, with their values:(.*?)\.\n\nIf a constraint exceeds a limit/s.exec(page) ?? [];
  const { strictFormats: _, cacheBytes: __, cachedMaskBytes: ___, ...each } = constraintSettings.with();
  const stated = [...listed.matchAll(/`(\w+)` \(([\d,]+)\)/g)].map(([, name, value]) => [
    name,
    Number(value?.replaceAll(",", "")),
  ]);
  assert.deepEqual(Object.fromEntries(stated), each);
});

interface Asked {
  readonly path: string;
  readonly body: {
    readonly structured_outputs?: object;
    readonly response_format?: object;
    readonly tests?: readonly object[];
  };
}

/** Returns the requests in a curl block. */
function asked(block: string): readonly Asked[] {
  const match = /^curl http:\/\/127\.0\.0\.1:8000(\S+) [^]* -d '([^]*)'\n$/.exec(block);
  return match === null ? [] : [{ path: match[1], body: JSON.parse(match[2]) as Asked["body"] }];
}

test("a response header names an unknown format, with and without streaming", async () => {
  const ask = (format: string, more: object = {}) => {
    const schema = { type: "string", format, maxLength: 3 };
    const messages = [{ role: "user", content: "Say a word." }];
    const body = { messages, max_tokens: 20, structured_outputs: { json: schema }, ...more };
    return call(server(), "POST", "/v1/chat/completions", { body });
  };
  const notice = 'The format "color" at #/format is unknown and has no effect';
  for (const more of [{}, { stream: true }]) {
    const answer = await ask("color", more);
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get("x-hone-notice"), notice);
  }
  assert.equal((await ask("password")).headers.get("x-hone-notice"), null);
});

test("the requests on the page get the answers that it describes", async () => {
  const requests = blocks("sh").flatMap(asked);
  assert.deepEqual(
    requests.map(({ path }) => path),
    ["/v1/chat/completions", "/v1/chat/completions", "/v1/preview/structured-outputs/check"],
  );
  for (const { path, body } of requests) {
    const answer = await call(server(), "POST", path, { body: { max_tokens: 200, seed: 1, ...body } });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    if (body.tests !== undefined) {
      const { served, tests } = answer.body as {
        readonly served: boolean;
        readonly tests: readonly { readonly accepted: boolean }[];
      };
      assert.deepEqual([served, tests.map(({ accepted }) => accepted)], [true, [true, false]]);
      continue;
    }
    const { finish_reason: reason, message } = answer.body.choices[0] as {
      readonly finish_reason: string;
      readonly message: { readonly content: string };
    };
    assert.equal(reason, "stop");
    const constraint = readConstraint(body as Parameters<typeof readConstraint>[0]);
    assert.ok(constraint !== null && accepts(readLanguage(constraint, limits), message.content));
  }
});

/** Runs TypeScript code that is also valid JavaScript; returns its output. */
async function written(lines: string): Promise<string> {
  const script = lines.replace("http://127.0.0.1:8000", server().url);
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    env: { ...process.env, HONE_API_KEY: server().apiKey },
  });
  let text = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (data: Buffer) => (text += data.toString()));
  const status = await new Promise((resolve) => child.once("close", resolve));
  assert.equal(status, 0, text);
  return text;
}

test("the TypeScript examples run unchanged", async () => {
  const answer = await written(blocks("ts").join(""));
  assert.match(answer, /^\{ city: '(Paris|Rome|Madrid)', isLarge: (true|false) \}\n$/);
});

test("the command prints the output that the page shows", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "hone-page-"));
  t.after(() => rmSync(folder, { recursive: true }));
  // The lines before the command write the files that it reads.
  const [, files = "", command = ""] =
    blocks("sh")
      .map((block) => /^((?:echo .*\n)+)npx hone (.*)\n$/.exec(block))
      .find((match) => match !== null) ?? [];
  execFileSync("sh", ["-c", files], { cwd: folder });
  const environment = { HONE_API_KEY: server().apiKey };
  const { output } = await run(command.split(" "), { folder, environment });
  assert.match(output, /^person\.json: served exactly .*\n {2}ann\.json: accepted\n$/);
});
