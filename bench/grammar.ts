// What a constraint costs: the time to the first mask (compiling included) and the time of every further one, while valid
// texts are written token by token. Needs neither a model nor a server. Times are the processor's, one thread.
//
//   node dist/bench/grammar.js [--schemas <file>] [--json]
//
// The file has a JSON object in each line: {name, schema, tests: [{valid, data}]}. Without it a few schemas of the kinds
// that people send are measured.
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { readLanguage } from "../src/grammar/language.ts";
import { ConstraintRefusal, defaultGrammarLimits } from "../src/regex/limits.ts";
import { CompiledConstraint } from "../src/grammar/matcher.ts";
import { tokensOfFile } from "../src/grammar/testing/vocabularies.ts";
import { buildTokenTrie } from "../src/grammar/trie/token-trie.ts";
import type { TokenTrie } from "../src/grammar/trie/token-trie.ts";
import { subjects } from "./grammar-subjects.ts";
import type { Subject } from "./grammar-subjects.ts";

interface Report {
  readonly name: string;
  readonly tokens: number;
  readonly schemas: number;
  readonly refused: number;
  readonly firstMaskMs: Quantiles;
  readonly laterMasksMs: Quantiles;
  readonly acceptMs: Quantiles;
}

interface Quantiles {
  readonly mean: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly max: number;
}

const tinyTokenizer = "models/hone-tiny/tokenizer.json";
const largeSize = 128_000;

function main(): void {
  const { values } = parseArgs({
    options: { schemas: { type: "string" }, json: { type: "boolean" } },
  });
  const measured =
    values.schemas === undefined
      ? subjects
      : readFileSync(values.schemas, "utf8")
          .trim()
          .split("\n")
          .map((line) => JSON.parse(line) as Subject);
  const tiny = tokensOfFile(tinyTokenizer);
  const reports = [
    measure("hone-tiny", buildTokenTrie({ bytes: tiny }), measured),
    measure("128k, made up", buildTokenTrie({ bytes: largeVocabulary(tiny) }), measured),
  ];
  process.stdout.write(
    values.json ? `${JSON.stringify(reports, null, 2)}\n` : reports.map(textOf).join("\n"),
  );
}

function measure(name: string, trie: TokenTrie, measured: readonly Subject[]): Report {
  const [first, later, accepting]: number[][] = [[], [], []];
  let refused = 0;
  for (const subject of measured) {
    try {
      const times = write(trie, subject);
      first.push(times.first);
      later.push(...times.later);
      accepting.push(...times.accepting);
    } catch (error) {
      if (!(error instanceof ConstraintRefusal)) throw error;
      refused += 1;
    }
  }
  return {
    name,
    tokens: trie.tokenCount,
    schemas: measured.length,
    refused,
    firstMaskMs: quantiles(first),
    laterMasksMs: quantiles(later),
    acceptMs: quantiles(accepting),
  };
}

interface Times {
  readonly first: number;
  readonly later: number[];
  readonly accepting: number[];
}

/** Compiles a schema and writes its valid texts, longest token first. */
function write(trie: TokenTrie, { schema, tests }: Subject): Times {
  const times: Times & { first: number } = { first: 0, later: [], accepting: [] };
  const started = processorMs();
  const options = {
    allowsAnyWhitespace: true,
    whitespacePattern: null,
    allowsAdditionalProperties: true,
  };
  const language = readLanguage({ kind: "json-schema", schema, ...options }, defaultGrammarLimits);
  const constraint = new CompiledConstraint(language, trie);
  const mask = new Uint32Array(constraint.maskWords);
  constraint.matcher().mask(mask);
  times.first = processorMs() - started;
  for (const { valid, data } of tests) {
    if (!valid) continue;
    const matcher = constraint.matcher();
    for (const token of tokenized(trie, new TextEncoder().encode(language.textOf?.(data) ?? ""))) {
      const before = processorMs();
      matcher.mask(mask);
      const masked = processorMs();
      if (((mask[token >>> 5] >>> (token & 31)) & 1) === 0 || !matcher.accept(token))
        throw new Error(`token ${token} of a valid text is not allowed`);
      times.accepting.push(processorMs() - masked);
      times.later.push(masked - before);
    }
    if (!matcher.mayEnd) throw new Error("a valid text may not end");
  }
  return times;
}

/** What this process has computed so far: a busy machine changes it little. */
function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/** The longest token that fits, again and again. */
function tokenized(trie: TokenTrie, text: Uint8Array): readonly number[] {
  const tokens: number[] = [];
  for (let at = 0; at < text.length;) {
    let best = { token: -1, length: 0 };
    let node = 0;
    for (let length = 1; at + length <= text.length; length++) {
      const child = childOf(trie, node, text[at + length - 1]);
      if (child === null) break;
      node = child;
      const token = trie.nodes.tokenAt[node];
      if (token >= 0) best = { token, length };
    }
    tokens.push(best.token);
    at += best.length;
  }
  return tokens;
}

function childOf({ nodes: { byteOf, endOf } }: TokenTrie, node: number, byte: number): number | null {
  for (let child = node + 1; child < endOf[node]; child = endOf[child])
    if (byteOf[child] === byte) return child;
  return null;
}

/**
 * A vocabulary of the size and the mixture of today's models: what the small one has, pieces of JSON, numbers, and words
 * made of syllables, each also with a blank before it and with a capital.
 */
function largeVocabulary(tiny: readonly (Uint8Array | null)[]): readonly (Uint8Array | null)[] {
  const encoder = new TextEncoder();
  const texts = new Set<string>();
  for (let number = 0; number < 1_000; number++) texts.add(String(number).padStart(number % 4, "0"));
  for (let count = 2; count <= 80; count++)
    for (const blank of [" ", "\n", "\t"]) texts.add(blank.repeat(count));
  const signs = ['"', ",", ":", "{", "}", "[", "]", " ", "\n", "\\", "/", ".", "-", "(", ")", "=", ";"];
  for (const one of signs)
    for (const two of signs) for (const three of ["", ...signs]) texts.add(one + two + three);
  const starts = "b c d f g h j k l m n p r s t v w st tr pr sh".split(" ");
  const ends = "a e i o u an en in on er al ing ed ion".split(" ");
  const syllables = starts.flatMap((start) => ends.map((end) => start + end));
  let state = 1;
  const syllable = (): string => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return syllables[(state >>> 8) % syllables.length];
  };
  // As in a vocabulary that grew by merging, most words go on from another one.
  const words = [...syllables];
  for (let index = 0; texts.size < largeSize - 256 - tiny.length; index++) {
    const word = words[index] ?? "";
    words.push(word + syllable());
    const capital = word.charAt(0).toUpperCase() + word.slice(1);
    for (const form of [word, ` ${word}`, ` ${capital}`]) texts.add(form);
    if (index % 2 === 0) words.push(word + syllable());
  }
  const bytes = Array.from({ length: 256 }, (_, byte) => Uint8Array.of(byte));
  return [...tiny, ...bytes, ...[...texts].map((text) => encoder.encode(text))];
}

function quantiles(times: readonly number[]): Quantiles {
  const sorted = times.toSorted((one, other) => one - other);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  const mean = sorted.reduce((sum, time) => sum + time, 0) / Math.max(1, sorted.length);
  return { mean, p50: at(0.5), p90: at(0.9), p99: at(0.99), max: at(1) };
}

function textOf({ name, tokens, schemas, refused, ...times }: Report): string {
  const row = (label: string, { mean, p50, p90, p99, max }: Quantiles) =>
    `  ${label.padEnd(22)}${[mean, p50, p90, p99, max].map((time) => time.toFixed(3).padStart(10)).join("")}`;
  return [
    `${name}: ${tokens} tokens, ${schemas} schemas, ${refused} refused; milliseconds of the processor`,
    `  ${"".padEnd(22)}${["mean", "p50", "p90", "p99", "max"].map((title) => title.padStart(10)).join("")}`,
    row("to the first mask", times.firstMaskMs),
    row("each further mask", times.laterMasksMs),
    row("accepting a token", times.acceptMs),
    "",
  ].join("\n");
}

main();
