// Flags for the terms of a reward rule: a JSON file, or short forms of the most common terms.
import { readFileSync } from "node:fs";
import type { Command } from "commander";
import type { RewardRule } from "../../client/api.ts";
import { invalid } from "../../../base/domain/service-error.ts";

export type Terms = RewardRule["terms"];

export interface TermFlags {
  readonly terms?: string;
  readonly reactions?: string;
  readonly number?: string;
  readonly annotation?: string;
  readonly preferences?: boolean;
}

export function addTermFlags(command: Command): Command {
  return command
    .option("--terms <file>", "file with the terms of a reward rule as JSON; `-` reads standard input")
    .option("--reactions <table>", "reward of each emoji reaction. Example: `👍=1,👎=0`")
    .option(
      "--number <type:path:range>",
      "use a number in payloads as the reward: the feedback type, the path in the payload, and the number's range, which is rescaled to 0 to 1. Example: `score:stars:1..5`",
    )
    .option(
      "--annotation <name:range|table>",
      "use annotations with this name, and answers to the queue question with this name, as rewards. Examples: `right` (true gives the reward 1, false gives 0); `style:1..5` (the numbers 1 to 5 are rescaled to 0 to 1); `tone:kind=1,rude=0` (the text `kind` gives 1, `rude` gives 0)",
    )
    .option("--preferences", "use feedback that prefers one answer over another (payload field better_than)");
}

/** True if any of these flags is given. */
export function hasTerms({ terms, reactions, number, annotation, preferences }: TermFlags): boolean {
  return [terms, reactions, number, annotation, preferences].some((flag) => flag !== undefined);
}

/**
 * Returns the terms that the flags describe.
 *
 * @throws ServiceError `invalid` for missing or malformed flags
 */
export function readTerms(flags: TermFlags): Terms {
  const terms: Terms[number][] = [];
  if (flags.terms !== undefined) terms.push(...termsIn(flags.terms));
  if (flags.reactions !== undefined) terms.push({ kind: "reaction", rewards: tableOf(flags.reactions) });
  if (flags.number !== undefined) terms.push(numberTerm(flags.number));
  if (flags.annotation !== undefined) terms.push(annotationTerm(flags.annotation));
  if (flags.preferences === true) terms.push({ kind: "preference" });
  if (terms.length > 0) return terms;
  throw invalid("Give the terms of the rule: --reactions 👍=1,👎=0, or another of the flags in --help.");
}

function termsIn(file: string): Terms {
  const text = readFileSync(file === "-" ? 0 : file, "utf8");
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw invalid(`${file} is not JSON: ${cause instanceof Error ? cause.message : String(cause)}`);
  }
  const terms = Array.isArray(value) ? value : (value as { readonly terms?: unknown } | null)?.terms;
  if (!Array.isArray(terms)) throw invalid(`${file} has no list of terms.`);
  // Safe cast: the server validates the terms, and its error names the invalid one.
  return terms as Terms;
}

function tableOf(text: string, usage = reactionsUsage(text)): Readonly<Record<string, number>> {
  const entries = text.split(",").map((entry): readonly [string, number] => {
    const [name = "", value = ""] = entry.split("=");
    const reward = Number(value);
    if (name.trim() === "" || value.trim() === "" || !Number.isFinite(reward)) throw invalid(usage);
    return [name.trim(), reward];
  });
  return Object.fromEntries(entries);
}

function reactionsUsage(text: string): string {
  return `--reactions is ${JSON.stringify(text)}; it must be like 👍=1,👎=0.`;
}

function annotationTerm(text: string): Terms[number] {
  const usage = `--annotation is ${JSON.stringify(text)}; it must be like right, style:1..5 or tone:kind=1,rude=0.`;
  const [name = "", ...rest] = text.split(":");
  const earns = rest.join(":");
  if (name === "" || (earns === "" && rest.length > 0)) throw invalid(usage);
  const term = { kind: "annotation", name } as const;
  if (earns === "") return term;
  const range = /^(-?[\d.]+)\.\.(-?[\d.]+)$/.exec(earns);
  if (range === null) return { ...term, rewards: tableOf(earns, usage) };
  return { ...term, range: [Number(range[1]), Number(range[2])] };
}

function numberTerm(text: string): Terms[number] {
  const match = /^(.+?):([^:]+)(?::(-?[\d.]+)\.\.(-?[\d.]+))?$/.exec(text);
  if (match === null) throw invalid(`--number is ${JSON.stringify(text)}; it must be like score:stars:1..5.`);
  const [, type, path, from, to] = match;
  const term = { kind: "number", feedback_type: type, path } as const;
  return from === undefined ? term : { ...term, range: [Number(from), Number(to)] };
}
