// Writes the input for comparing another constraint engine with Hone. The files contain a vocabulary and, for each
// schema of a suite, the instances as token ids with Hone's verdict and processor time. This program measures only
// Hone; tools/conformance/python/masks.py measures the other engine and prints the table.
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { present } from "../../src/base/domain/assert.ts";
import { exactJsonText, isExactObject, parseExactJson } from "../../src/base/domain/text/exact-json.ts";
import type { ExactJson } from "../../src/base/domain/text/exact-json.ts";
import { readLanguage } from "../../src/lib/constraints/grammar/language.ts";
import { CompiledConstraint } from "../../src/lib/constraints/grammar/matcher.ts";
import { jsonSchema } from "../../src/lib/constraints/grammar/testing/make-constraints.ts";
import { byteLevelTokens } from "../../src/lib/constraints/grammar/testing/vocabularies.ts";
import { longestTokens } from "../../src/lib/constraints/grammar/trie/longest-tokens.ts";
import { buildTokenTrie } from "../../src/lib/constraints/grammar/trie/token-trie.ts";
import { ConstraintRefusal, defaultGrammarLimits } from "../../src/lib/constraints/regex/limits.ts";
import { processorMs } from "./grammar-times.ts";
import type { TokenText } from "./grammar-times.ts";

const help = `Usage: node dist/tools/bench/mask-paths.js --schemas <file> --out <folder> [flags]
  --schemas <file>   file with a JSON object per line: {name, schema, tests: [{valid, data}]}
  --out <folder>     output folder for vocabulary.txt and paths.jsonl
  --tokens <count>   size of the vocabulary                                                  (128000)
  --warm-up <count>  number of schemas measured twice; their first measurement is discarded  (150)`;

const { values } = parseArgs({
  options: {
    schemas: { type: "string" },
    out: { type: "string" },
    tokens: { type: "string", default: "128000" },
    "warm-up": { type: "string", default: "150" },
    help: { type: "boolean", default: false },
  },
});
if (values.help || values.schemas === undefined || values.out === undefined) {
  process.stdout.write(`${help}\n`);
  process.exit(values.help ? 0 : 2);
}

const tokens = byteLevelTokens(Number(values.tokens));
const trie = buildTokenTrie({ bytes: tokens });
const encoder = new TextEncoder();
const pathOf = (text: string): TokenText =>
  present(longestTokens(trie, encoder.encode(text)), "a token for a byte");

interface Instance {
  readonly valid: boolean;
  /**
   * Token ids of the instance written in two ways: with properties in the schema's order, and in their original order.
   */
  readonly paths: readonly TokenText[];
  /** True if Hone's masks allowed each token of the first path, and the end of the text after it. */
  readonly accepted: boolean;
  /** Processor time for each token of the first path: accepting the token and computing the next mask. */
  readonly betweenMasksMs: readonly number[];
}

interface Line {
  readonly name: string;
  readonly schema: string;
  /** Processor time to the first mask; null if Hone refuses the schema or its first mask. */
  readonly firstMaskMs: number | null;
  readonly instances: readonly Instance[];
}

function measured(line: string): Line {
  const subject = parseExactJson(line);
  if (!isExactObject(subject)) throw new Error("a line of the suite is no object");
  const { name, schema, tests } = subject;
  const started = processorMs();
  const constraint = served(() => {
    const compiled = new CompiledConstraint(readLanguage(jsonSchema(schema), defaultGrammarLimits), trie);
    compiled.matcher().mask(new Uint32Array(compiled.maskWords));
    return compiled;
  });
  const firstMaskMs = processorMs() - started;
  return {
    name: typeof name === "string" ? name : "",
    schema: exactJsonText(schema),
    firstMaskMs: constraint === null ? null : firstMaskMs,
    // Safe cast: the suite's files have this form.
    instances: (tests as readonly { readonly valid: boolean; readonly data: ExactJson }[]).map(
      ({ valid, data }) => {
        const ordered = constraint?.language.textOf?.(data);
        const texts = [...new Set([...(ordered === undefined ? [] : [ordered]), exactJsonText(data)])];
        const paths = texts.map(pathOf);
        const times: number[] = [];
        const accepted = constraint !== null && served(() => follows(constraint, paths[0], times)) === true;
        return { valid, paths, accepted, betweenMasksMs: times };
      },
    ),
  };
}

/**
 * True if the masks allow each token of the path and the end after it. Appends the milliseconds for each token to
 * `times`.
 */
function follows(constraint: CompiledConstraint, path: TokenText, times: number[]): boolean {
  const mask = new Uint32Array(constraint.maskWords);
  const matcher = constraint.matcher();
  matcher.mask(mask);
  for (const token of path) {
    if (((mask[token >>> 5] >>> (token & 31)) & 1) === 0) return false;
    const before = processorMs();
    if (!matcher.accept(token)) throw new Error(`token ${token} is allowed and not accepted`);
    matcher.mask(mask);
    times.push(processorMs() - before);
  }
  return matcher.mayEnd;
}

/** Returns the result of `run`; null if Hone refuses the constraint. */
function served<T>(run: () => T): T | null {
  try {
    return run();
  } catch (error) {
    if (!(error instanceof ConstraintRefusal)) throw error;
    return null;
  }
}

mkdirSync(values.out, { recursive: true });
writeFileSync(
  join(values.out, "vocabulary.txt"),
  tokens.map((token) => (token === null ? "" : Buffer.from(token).toString("base64"))).join("\n"),
);
const paths = join(values.out, "paths.jsonl");
writeFileSync(paths, "");
const lines = readFileSync(values.schemas, "utf8").trim().split("\n");
for (const line of lines.slice(0, Number(values["warm-up"]))) measured(line);
for (const line of lines) appendFileSync(paths, `${JSON.stringify(measured(line))}\n`);
