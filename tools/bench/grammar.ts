// Measures the cost of a constraint while valid texts are generated token by token: the time to the first mask
// (including compilation), and the time between masks (accepting a token and computing the next mask). Also measures
// another engine, web-xgrammar, on the schemas that both support. Reports processor time; needs neither a model nor a
// server.
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { byteLevelTokens, tokensOfFile } from "../../src/lib/constraints/grammar/testing/vocabularies.ts";
import type { Tokens } from "../../src/lib/constraints/grammar/testing/vocabularies.ts";
import { buildTokenTrie } from "../../src/lib/constraints/grammar/trie/token-trie.ts";
import { ConstraintRefusal } from "../../src/lib/constraints/regex/limits.ts";
import { subjects } from "./grammar-subjects.ts";
import type { Subject } from "./grammar-subjects.ts";
import { quantileNames, quantiles } from "./grammar-times.ts";
import type { Quantiles, Times } from "./grammar-times.ts";
import { writeSubject } from "./grammar-writing.ts";
import { OtherGrammarEngine } from "./other-grammar-engine.ts";

const help = `Usage: node dist/tools/bench/grammar.js [flags]
  --schemas <file>      a JSON object in each line: {name, schema, tests: [{valid, data}]}; without it a few of the kinds that people send
  --part <i/n>          every n-th line from the i-th on                  (1/1)
  --alone               leave the other engine out
  --deadline <seconds>  how long the other engine has for a schema        (10)
  --json                print the report as JSON
How the large vocabulary is made: src/lib/constraints/grammar/trie/synthetic-vocabulary.ts.`;

interface EngineReport {
  readonly engine: string;
  /** Number of schemas measured. */
  readonly schemas: number;
  readonly firstMaskMs: Quantiles;
  readonly betweenMasksMs: Quantiles;
}

interface Report {
  readonly vocabulary: string;
  readonly hone: EngineReport;
  /** Number of schemas that Hone refuses. */
  readonly refused: number;
  /** Comparison with the other engine; null if it was not run. */
  readonly comparison: Comparison | null;
}

interface Comparison {
  /** Reports of both engines, on the schemas that both support. */
  readonly hone: EngineReport;
  readonly other: EngineReport;
  /** Number of schemas by the other engine's outcome, among those that Hone supports. */
  readonly outcomes: Readonly<Record<string, number>>;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      schemas: { type: "string" },
      part: { type: "string", default: "1/1" },
      alone: { type: "boolean" },
      deadline: { type: "string", default: "10" },
      json: { type: "boolean" },
      help: { type: "boolean" },
    },
  });
  if (values.help) return console.log(help);
  const all = values.schemas === undefined ? subjects : subjectsOf(values.schemas);
  const [first, step] = values.part.split("/").map(Number);
  const measured = all.filter((_, index) => index % step === first - 1);
  const tiny = tokensOfFile("models/hone-tiny/tokenizer.json");
  const large = byteLevelTokens(128_000);
  const other = values.alone ? null : new OtherGrammarEngine(large, Number(values.deadline) * 1_000);
  const reports = [
    await report("hone-tiny", { tokens: tiny, other: null }, measured),
    await report("grown", { tokens: large, other }, measured),
  ];
  await other?.stop();
  process.stdout.write(
    values.json ? `${JSON.stringify(reports, null, 2)}\n` : reports.map(textOf).join("\n"),
  );
}

function subjectsOf(file: string): readonly Subject[] {
  const lines = readFileSync(file, "utf8").trim().split("\n");
  return lines.map((line) => JSON.parse(line) as Subject);
}

async function report(
  name: string,
  { tokens, other }: { readonly tokens: Tokens; readonly other: OtherGrammarEngine | null },
  measured: readonly Subject[],
): Promise<Report> {
  const trie = buildTokenTrie({ bytes: tokens });
  const hone: Times[] = [];
  const both: { readonly hone: Times; readonly other: Times }[] = [];
  const outcomes: Record<string, number> = {};
  for (const subject of measured) {
    const written = served(() => writeSubject(trie, subject));
    if (written === null) continue;
    const { times, texts } = written;
    hone.push(times);
    if (other === null) continue;
    const outcome = await other.write({ schema: subject.schema, texts });
    const isWhole = outcome.kind === "measured" && outcome.acceptsAll;
    if (isWhole) both.push({ hone: times, other: outcome.times });
    const kind = outcome.kind === "measured" && !isWhole ? "valid text rejected" : outcome.kind;
    outcomes[kind] = (outcomes[kind] ?? 0) + 1;
  }
  return {
    vocabulary: `${name}, ${tokens.length} tokens`,
    hone: engineReport("Hone", hone),
    refused: measured.length - hone.length,
    comparison:
      other === null
        ? null
        : {
            hone: engineReport(
              "Hone",
              both.map((times) => times.hone),
            ),
            other: engineReport(
              "web-xgrammar",
              both.map((times) => times.other),
            ),
            outcomes,
          },
  };
}

/** Returns the result of `write`; null if Hone refuses the schema. */
function served<T>(write: () => T): T | null {
  try {
    return write();
  } catch (error) {
    if (!(error instanceof ConstraintRefusal)) throw error;
    return null;
  }
}

function engineReport(engine: string, times: readonly Times[]): EngineReport {
  return {
    engine,
    schemas: times.length,
    firstMaskMs: quantiles(times.map(({ firstMask }) => firstMask)),
    betweenMasksMs: quantiles(times.flatMap(({ betweenMasks }) => betweenMasks)),
  };
}

function textOf({ vocabulary, hone, refused, comparison }: Report): string {
  const lines = [
    `${vocabulary}: ${hone.schemas} schemas served, ${refused} refused; milliseconds of the processor`,
    `  ${"".padEnd(32)}${quantileNames.map((title) => title.padStart(10)).join("")}`,
    ...rowsOf(hone),
  ];
  if (comparison !== null) {
    const counts = Object.entries(comparison.outcomes).map(([kind, count]) => `${kind} ${count}`);
    lines.push(
      `  the other engine on them: ${counts.join(", ")}; on the ${comparison.other.schemas} measured`,
    );
    lines.push(...rowsOf(comparison.hone), ...rowsOf(comparison.other), "  its times, in times Hone's");
    for (const key of ["firstMaskMs", "betweenMasksMs"] as const)
      lines.push(row(titles[key], ratios(comparison.other[key], comparison.hone[key])));
  }
  return `${lines.join("\n")}\n`;
}

const titles = { firstMaskMs: "to the first mask", betweenMasksMs: "between masks" };

function rowsOf({ engine, firstMaskMs, betweenMasksMs }: EngineReport): readonly string[] {
  return [
    row(`${engine}, ${titles.firstMaskMs}`, firstMaskMs),
    row(`${engine}, ${titles.betweenMasksMs}`, betweenMasksMs),
  ];
}

const row = (title: string, times: Quantiles): string =>
  `  ${title.padEnd(32)}${quantileNames.map((name) => times[name].toFixed(3).padStart(10)).join("")}`;

function ratios(one: Quantiles, other: Quantiles): Quantiles {
  const ratio = (name: keyof Quantiles) => one[name] / other[name];
  return { mean: ratio("mean"), p50: ratio("p50"), p90: ratio("p90"), p99: ratio("p99"), max: ratio("max") };
}

await main();
